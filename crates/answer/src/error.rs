//! Why a question has no answer.

/// What can be wrong with a question.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not JSON of the expected form.
    #[error("the request is not understood: {0}")]
    Request(#[from] serde_json::Error),
    /// A text that is too long to be shown.
    #[error("the text has {length} bytes, {context} can be shown: shorten the text")]
    Long {
        /// Bytes of the text.
        length: usize,
        /// Bytes that can be shown.
        context: usize,
    },
    /// A token that the text does not have.
    #[error("token {token} does not exist: the text has {length}")]
    Token {
        /// Its position.
        token: usize,
        /// Tokens of the text.
        length: usize,
    },
    /// More interventions and changes than one question may ask for.
    #[error("at most {most} changes are made at a time")]
    Changes {
        /// How many there may be.
        most: usize,
    },
    /// More bytes than one request may generate.
    #[error("{bytes} bytes are asked for: at most {most} are written")]
    Bytes {
        /// How many were asked for.
        bytes: usize,
        /// How many there may be.
        most: usize,
    },
    /// A population that is too large, or numbers it cannot have.
    #[error(
        "a simulation has 1 to {oscillators} oscillators and at most {steps} steps a question, a finite coupling, \
         and width and step above 0"
    )]
    Simulation {
        /// How many oscillators there may be.
        oscillators: usize,
        /// How many steps there may be.
        steps: usize,
    },
    /// An intervention or a change that this model does not have.
    #[error("{0}")]
    Change(String),
    /// What was computed elsewhere is not of this model and text.
    #[error("what was computed has {found} bytes where {expected} are expected")]
    Elsewhere {
        /// Bytes that were given.
        found: usize,
        /// Bytes of phases, couplings and logits.
        expected: usize,
    },
    /// What the model says of the text, or of how to draw.
    #[error(transparent)]
    Model(#[from] kuramoto_model::Error),
    /// What is to be measured cannot be.
    #[error(transparent)]
    Phase(#[from] kuramoto_phase::Error),
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;
