//! Errors of measurements.

/// What can go wrong when a model is looked into.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is nothing to look at.
    #[error("the text is empty: give at least one byte")]
    Empty,
    /// A projected or transported value is not a pull between phases.
    #[error(
        "this model projects or transports its values (an ablation), so its step is not a sum of pulls between phases"
    )]
    NoPulls,
    /// Asked for what the model does not have.
    #[error("this model has no value gate: leave value_gate out of the arrays")]
    NoValueGate,
    /// The system refused to write.
    #[error(transparent)]
    Write(#[from] std::io::Error),
    /// The model.
    #[error(transparent)]
    Model(#[from] kuramoto_model::Error),
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;
