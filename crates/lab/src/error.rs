//! Errors of plans and experiments.

use std::path::PathBuf;

/// What can go wrong with an experiment.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A plan that cannot be used.
    #[error("{}: {why}", path.display())]
    Plan {
        /// The plan's folder or file.
        path: PathBuf,
        /// What is wrong and what to do.
        why: String,
    },
    /// Something that was asked for and does not exist.
    #[error("{what} = {value} is not allowed: {allowed}")]
    Choice {
        /// The argument.
        what: &'static str,
        /// What was given.
        value: String,
        /// What may be given.
        allowed: String,
    },
    /// Training.
    #[error(transparent)]
    Train(#[from] kuramoto_train::Error),
    /// A model's configuration.
    #[error(transparent)]
    Model(#[from] kuramoto_model::Error),
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// True if what the user asked for was not understood, rather than that it failed.
    pub fn is_usage(&self) -> bool {
        match self {
            Error::Plan { .. } => false,
            Error::Choice { .. } | Error::Model(_) => true,
            Error::Train(error) => error.is_usage(),
        }
    }

    pub(crate) fn plan(path: impl Into<PathBuf>, why: impl Into<String>) -> Self {
        Error::Plan { path: path.into(), why: why.into() }
    }
}
