//! Errors of measurements.

use std::path::PathBuf;

/// What can go wrong when a model is measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A text too short to predict anything in.
    #[error("{} holds {bytes} bytes: give at least two, one to read and one to predict", path.display())]
    Short {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: usize,
    },
    /// A projected or transported value is not a pull between phases.
    #[error(
        "this model projects or transports its values (an ablation), so its step is not a sum of pulls \
         between phases"
    )]
    NoPulls,
    /// Asked for what the model does not have.
    #[error("this model has no value gate: leave value_gate out of the arrays")]
    NoValueGate,
    /// Asked for gates that a low-rank frame replaces.
    #[error(
        "the score of this model has a low-rank frame in place of query and key gates, so it has no diagonal \
         metric: leave query_gate, key_gate and metric out of the arrays"
    )]
    NoMetric,
    /// The work was asked to stop.
    #[error("the measurement was stopped before its end")]
    Stopped,
    /// A text that the system refused to read.
    #[error("{} cannot be read: {cause}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not; in the message already, so not a `source`, which would be printed after it once more.
        cause: std::io::Error,
    },
    /// The system refused to write.
    #[error(transparent)]
    Write(#[from] std::io::Error),
    /// The model.
    #[error(transparent)]
    Model(#[from] kuramoto_model::Error),
    /// The run or its corpus.
    #[cfg(feature = "runs")]
    #[error(transparent)]
    Run(#[from] kuramoto_train::Error),
}

impl Error {
    /// True if what the user asked for was not understood, rather than that it failed.
    pub fn is_usage(&self) -> bool {
        match self {
            Error::NoPulls | Error::NoValueGate | Error::NoMetric | Error::Model(_) => true,
            Error::Short { .. } | Error::Stopped | Error::Read { .. } | Error::Write(_) => false,
            #[cfg(feature = "runs")]
            Error::Run(error) => error.is_usage(),
        }
    }
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;
