//! Errors of engines and devices.

/// What can go wrong when a step is computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A model's configuration or input.
    #[error(transparent)]
    Model(#[from] kuramoto_model::Error),
    /// Processes that cannot work together.
    #[error("{origin}: {why}")]
    Processes {
        /// The variable or library that says so.
        origin: String,
        /// What is wrong and what to do.
        why: String,
    },
    /// A device that cannot do what was asked of it.
    #[error("{device}: {why}")]
    Device {
        /// Which device.
        device: String,
        /// What is wrong and what to do.
        why: String,
    },
    /// A process whose parameters are not those of the others.
    #[error(
        "process {rank} holds other parameters than the first, because its machine rounds differently: \
         use machines of one kind"
    )]
    Disagreement {
        /// Which process.
        rank: usize,
    },
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn field(field: &'static str, value: usize, allowed: impl Into<String>) -> Error {
        kuramoto_model::Error::Field { field, value: value.to_string(), allowed: allowed.into() }.into()
    }
}
