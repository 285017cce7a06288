//! Arms: what an experiment compares. All runs of an arm differ in their seed only.

use crate::error::Error;
use kuramoto_model::ModelKind;
use kuramoto_model::ablation::{ABLATIONS, Ablation};
use kuramoto_train::presets::Protocol;
use serde::ser::{SerializeStruct, Serializer};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use strum::VariantArray;

/// Heads, and layers, of the grid's cells.
pub const GRID: RangeInclusive<usize> = 2..=6;

/// What is compared, before it has a corpus, a size and a seed. In files and on the command line it is its
/// name, such as `kuramoto-tuned`, `reference`, `no-value-gate` or `transformer-h2-l3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Arm {
    /// A model under a recipe, next to the other model.
    Compare {
        /// Which model.
        model: ModelKind,
        /// Its recipe.
        protocol: Protocol,
    },
    /// The unchanged Kuramoto model, which ablations are compared with.
    Reference,
    /// The Kuramoto model with one row of the ablation table, or a variant beyond it.
    Ablation(Ablation),
    /// A cell of heads by layers, each one of [`GRID`], or the [base](Arm::base).
    Grid {
        /// Which model.
        model: ModelKind,
        /// Attention heads.
        heads: usize,
        /// Layers.
        layers: usize,
    },
}

/// A table of the paper; which one follows from the arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::Display, strum::VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum PaperTable {
    /// Both models at equal parameters: Tables 1 and 2.
    Compare,
    /// The reference and its ablations: Table 3.
    Ablations,
    /// Heads by layers: Table 4.
    Grid,
}

impl PaperTable {
    /// Every table, in the paper's order.
    pub fn all() -> impl Iterator<Item = PaperTable> {
        PaperTable::VARIANTS.iter().copied()
    }
}

impl Arm {
    /// Every arm, in the order of the paper's tables.
    pub fn all() -> impl Iterator<Item = Arm> {
        let models = || ModelKind::VARIANTS.iter().copied();
        let compared = Protocol::VARIANTS
            .iter()
            .flat_map(move |&protocol| models().map(move |model| Arm::Compare { model, protocol }));
        let ablated = [Arm::Reference].into_iter().chain(Ablation::all().map(Arm::Ablation));
        let sizes = || GRID.flat_map(|heads| GRID.map(move |layers| (heads, layers)));
        let cells = models()
            .flat_map(move |model| sizes().map(move |(heads, layers)| Arm::Grid { model, heads, layers }));
        compared.chain(ablated).chain(models().map(Arm::base)).chain(cells)
    }

    /// The shape of Tables 1 to 3, one head and four layers, which the grid's cells are compared with.
    pub fn base(model: ModelKind) -> Arm {
        Arm::Grid { model, heads: 1, layers: 4 }
    }

    /// True if the paper's table has it. The grid's base is in Table 1; variants of the layer that the paper
    /// discusses without trying them are in none.
    pub fn is_in_paper(self) -> bool {
        match self {
            Arm::Compare { protocol, .. } => protocol == Protocol::Paper,
            Arm::Ablation(row) => ABLATIONS.contains(&row),
            Arm::Grid { model, .. } => self != Arm::base(model),
            Arm::Reference => true,
        }
    }

    /// The table it belongs to.
    pub fn table(self) -> PaperTable {
        match self {
            Arm::Compare { .. } => PaperTable::Compare,
            Arm::Reference | Arm::Ablation(_) => PaperTable::Ablations,
            Arm::Grid { .. } => PaperTable::Grid,
        }
    }

    /// The arm that its parameters are matched to and its values are compared with: the Kuramoto model for a
    /// transformer, the reference for an ablation; None for these themselves.
    pub fn counterpart(self) -> Option<Arm> {
        match self {
            Arm::Compare { model: ModelKind::Transformer, protocol } => {
                Some(Arm::Compare { model: ModelKind::Kuramoto, protocol })
            }
            Arm::Grid { model: ModelKind::Transformer, heads, layers } => {
                Some(Arm::Grid { model: ModelKind::Kuramoto, heads, layers })
            }
            Arm::Ablation(_) => Some(Arm::Reference),
            Arm::Compare { .. } | Arm::Grid { .. } | Arm::Reference => None,
        }
    }

    /// Which model is trained.
    pub fn model(self) -> ModelKind {
        match self {
            Arm::Compare { model, .. } | Arm::Grid { model, .. } => model,
            Arm::Reference | Arm::Ablation(_) => ModelKind::Kuramoto,
        }
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arm::Compare { model, protocol } => write!(f, "{model}-{protocol}"),
            Arm::Reference => f.write_str("reference"),
            Arm::Ablation(row) => f.write_str(row.name),
            Arm::Grid { model, heads, layers } => write!(f, "{model}-h{heads}-l{layers}"),
        }
    }
}

impl FromStr for Arm {
    type Err = Error;

    fn from_str(name: &str) -> Result<Arm, Error> {
        Arm::all().find(|arm| arm.to_string() == name).ok_or_else(|| Error::Choice {
            what: "arm",
            value: format!("{name:?}"),
            allowed: format!(
                "choose MODEL-PROTOCOL such as kuramoto-tuned, reference, an ablation ({}), or MODEL-hH-lL \
                 such as transformer-h{}-l{}",
                Ablation::all().map(|row| row.name).collect::<Vec<_>>().join(", "),
                GRID.start(),
                GRID.end(),
            ),
        })
    }
}

impl From<Arm> for String {
    fn from(arm: Arm) -> String {
        arm.to_string()
    }
}

impl TryFrom<String> for Arm {
    type Error = Error;

    fn try_from(name: String) -> Result<Arm, Error> {
        name.parse()
    }
}

/// For `#[serde(flatten)]`: the fields `table` and `arm`, so that readers of a report can select by table.
pub(crate) fn with_table<S: Serializer>(arm: &Arm, serializer: S) -> Result<S::Ok, S::Error> {
    fields(*arm, "arm", serializer)
}

/// As [`with_table`], with the arm in the field `name`.
pub(crate) fn with_table_as_name<S: Serializer>(arm: &Arm, serializer: S) -> Result<S::Ok, S::Error> {
    fields(*arm, "name", serializer)
}

fn fields<S: Serializer>(arm: Arm, key: &'static str, serializer: S) -> Result<S::Ok, S::Error> {
    let mut fields = serializer.serialize_struct("Arm", 2)?;
    fields.serialize_field("table", &arm.table())?;
    fields.serialize_field(key, &arm)?;
    fields.end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kuramoto_model::ablation::VARIANTS;
    use std::collections::BTreeSet;

    #[test]
    fn every_arm_is_read_back_from_its_name() {
        let names: BTreeSet<String> = Arm::all().map(|arm| arm.to_string()).collect();
        assert_eq!(names.len(), 4 + 14 + VARIANTS.len() + 2 + 50, "no two arms share a name");
        assert_eq!(Arm::all().filter(|arm| arm.is_in_paper()).count(), 2 + 14 + 50);
        for arm in Arm::all() {
            assert_eq!(arm.to_string().parse::<Arm>().unwrap(), arm);
            let json = serde_json::to_string(&arm).unwrap();
            assert_eq!(json, format!("\"{arm}\""));
            assert_eq!(serde_json::from_str::<Arm>(&json).unwrap(), arm);
        }
        for name in ["kuramoto-tuned", "reference", "no-value-gate", "kuramoto-h2-l2"] {
            assert!(names.contains(name), "{name}");
        }
    }

    #[test]
    fn a_name_that_no_arm_has_is_refused() {
        for name in ["", "kuramoto", "kuramoto-h7-l2", "kuramoto-h02-l2", "Reference", "transformer-tuned "] {
            let error = name.parse::<Arm>().unwrap_err();
            assert!(error.is_usage() && error.to_string().contains("choose MODEL-PROTOCOL"), "{error}");
        }
    }
}
