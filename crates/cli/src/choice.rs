//! Arguments that take one of a few names.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::str::FromStr;
use strum::VariantNames;

/// Parses the name of a variant; `--help` and the message about any other name list all of them.
pub fn choice<T>() -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = strum::ParseError> + VariantNames + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(T::VARIANTS).try_map(|name| name.parse())
}

/// Help for an argument whose names are checked later, where all processes of a run can agree on what is
/// wrong.
pub fn help_with_choices<T: VariantNames>(text: &str) -> String {
    format!("{text} [possible values: {}]", T::VARIANTS.join(", "))
}
