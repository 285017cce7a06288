//! Errors of configuration and use; each names the field, the value and what is allowed.

/// What can be wrong with a model's configuration or input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A field outside its range.
    #[error("{field} = {value} is not allowed: {allowed}")]
    Field {
        /// Its name in configuration files.
        field: &'static str,
        /// What it was set to.
        value: String,
        /// What it may be.
        allowed: String,
    },
    /// Two settings that contradict each other.
    #[error("{first} and {second} do not go together: {why}")]
    Conflict {
        /// One setting.
        first: String,
        /// The other.
        second: String,
        /// Why not, and what to do.
        why: String,
    },
    /// A sequence without tokens.
    #[error("the text is empty: give at least one byte")]
    Empty,
    /// A sequence that does not fit the planned context.
    #[error(
        "a sequence of {length} bytes is longer than the planned context of {context}: \
         plan for more or cut it"
    )]
    TooLong {
        /// Its length.
        length: usize,
        /// What the workspaces were sized for.
        context: usize,
    },
    /// A token outside the vocabulary.
    #[error(
        "token {token} at position {position} is outside the vocabulary of {vocab}: \
         tokens run from 0 to vocab - 1"
    )]
    Token {
        /// What was given.
        token: u8,
        /// Where it stands.
        position: usize,
        /// Distinct tokens of the model.
        vocab: usize,
    },
    /// A byte that no token stands for.
    #[error(
        "{what} = byte 0x{byte:02x} ({character:?}) at {at} is not allowed: it does not occur in {corpus}; \
         the model knows only bytes that do"
    )]
    Byte {
        /// What the text is.
        what: String,
        /// The byte.
        byte: u8,
        /// The character it belongs to.
        character: char,
        /// Where it stands.
        at: usize,
        /// Name of the model's corpus.
        corpus: String,
    },
    /// A file of weights that are not this model's.
    #[error("{why}")]
    Weights {
        /// What is wrong with it, beginning with "it" or a tensor's name.
        why: String,
    },
    /// Inputs and targets, or sequences of a batch, of different lengths.
    #[error("{what}: {left} and {right} differ in length")]
    Length {
        /// What was compared.
        what: &'static str,
        /// One length.
        left: usize,
        /// The other.
        right: usize,
    },
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Checks that `value` is one of `range`.
pub(crate) fn within(
    field: &'static str,
    value: usize,
    range: std::ops::RangeInclusive<usize>,
) -> Result<()> {
    if range.contains(&value) {
        return Ok(());
    }
    let allowed = format!("it must be from {} to {}", range.start(), range.end());
    Err(Error::Field { field, value: value.to_string(), allowed })
}
