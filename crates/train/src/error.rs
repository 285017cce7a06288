//! Errors of training: each names the path or key, the value, and what to do.

use std::io;
use std::path::{Path, PathBuf};

/// What can go wrong between bytes and a trained model.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused.
    #[error("cannot {action} {}: {cause}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not; in the message already, so not a `source`, which would be printed after it once more.
        cause: io::Error,
    },
    /// A setting outside what is allowed.
    #[error("{key} = {value} is not allowed: {allowed}")]
    Setting {
        /// The dotted key.
        key: String,
        /// What it was set to.
        value: String,
        /// What it may be.
        allowed: String,
    },
    /// A key no configuration has.
    #[error("{origin}: there is no key {key}{hint}")]
    UnknownKey {
        /// The file or flag that holds it.
        origin: String,
        /// The dotted key.
        key: String,
        /// What may have been meant.
        hint: String,
    },
    /// A configuration that is not what it should be.
    #[error("{origin}: {why}")]
    Config {
        /// The file or flag.
        origin: String,
        /// What is wrong and what to do.
        why: String,
    },
    /// A corpus that cannot be used.
    #[error("{}: {why}", path.display())]
    Corpus {
        /// File or folder.
        path: PathBuf,
        /// What is wrong and what to do.
        why: String,
    },
    /// A checkpoint that its manifest does not prove.
    #[error("{} is not a good checkpoint: {why}", path.display())]
    Checkpoint {
        /// The file at fault.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A run folder that cannot be used as asked.
    #[error("{}: {why}", path.display())]
    Run {
        /// The folder or a file in it.
        path: PathBuf,
        /// What is wrong and what to do.
        why: String,
    },
    /// A folder that is no run.
    #[error("{} is not a run folder ({}: {cause})", folder.display(), file.display())]
    NotARun {
        /// The folder.
        folder: PathBuf,
        /// The file that every run has.
        file: PathBuf,
        /// Why it cannot be read.
        cause: io::Error,
    },
    /// What was asked for does not fit in memory.
    #[error(
        "{what} needs {} MB of memory and {} MB are free: use {less}, or a machine with more",
        planned.div_ceil(1_000_000), available / 1_000_000
    )]
    Memory {
        /// What needs it.
        what: &'static str,
        /// What would need less.
        less: &'static str,
        /// Bytes planned.
        planned: u64,
        /// Bytes free.
        available: u64,
    },
    /// A step that must not be applied, under the policy `stop`.
    #[error("step {step}: {why}; the step was not applied, its batch and state are kept in {}; \
         look at them, or resume with --on-bad-step skip", kept.display())]
    BadStep {
        /// Which step.
        step: u64,
        /// What was wrong with it.
        why: String,
        /// Where its batch and state are.
        kept: PathBuf,
    },
    /// A model's configuration or input.
    #[error(transparent)]
    Model(kuramoto_model::Error),
    /// The engine.
    #[error(transparent)]
    Engine(kuramoto_engine::Error),
    /// Of several processes, another one failed and says why.
    #[error("another process could not begin, and says why")]
    OtherProcess,
}

impl From<kuramoto_model::Error> for Error {
    fn from(error: kuramoto_model::Error) -> Error {
        Error::Model(error)
    }
}

impl From<kuramoto_engine::Error> for Error {
    fn from(error: kuramoto_engine::Error) -> Error {
        match error {
            kuramoto_engine::Error::Model(error) => Error::Model(error),
            error => Error::Engine(error),
        }
    }
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// True if what the user asked for was not understood, rather than that it failed.
    pub fn is_usage(&self) -> bool {
        match self {
            Error::Setting { .. } | Error::UnknownKey { .. } | Error::Config { .. } | Error::Model(_) => true,
            Error::Engine(error) => matches!(error, kuramoto_engine::Error::Processes { .. }),
            _ => false,
        }
    }

    pub(crate) fn setting(key: impl Into<String>, value: impl ToString, allowed: impl Into<String>) -> Self {
        Error::Setting { key: key.into(), value: value.to_string(), allowed: allowed.into() }
    }

    pub(crate) fn corpus(path: impl Into<PathBuf>, why: impl Into<String>) -> Self {
        Error::Corpus { path: path.into(), why: why.into() }
    }

    pub(crate) fn checkpoint(path: impl Into<PathBuf>, why: impl Into<String>) -> Self {
        Error::Checkpoint { path: path.into(), why: why.into() }
    }

    pub(crate) fn run(path: impl Into<PathBuf>, why: impl Into<String>) -> Self {
        Error::Run { path: path.into(), why: why.into() }
    }
}

/// Names what was tried, and on what, when the system refuses.
pub(crate) trait At<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T> {
        self.map_err(|cause| Error::Io { action, path: path.to_path_buf(), cause })
    }
}
