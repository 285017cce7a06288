//! Errors of the libraries as Python exceptions of fitting classes, with the same sentences.

use kuramoto_train::Error as Train;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::io::ErrorKind;

/// An error that is on its way to Python: a class of `kuramoto.errors`, and what it says.
pub struct Raised {
    class: &'static str,
    sentence: String,
}

impl Raised {
    /// Something that was not done, for no fault of an argument.
    pub fn failed(sentence: impl Into<String>) -> Raised {
        Raised { class: "KuramotoError", sentence: sentence.into() }
    }

    /// A value that is not allowed.
    pub fn value(sentence: impl Into<String>) -> Raised {
        Raised { class: "SettingError", sentence: sentence.into() }
    }
}

/// Shorthand for what may be raised.
pub type Result<T> = std::result::Result<T, Raised>;

impl From<Train> for Raised {
    fn from(error: Train) -> Raised {
        let class = match &error {
            Train::Io { cause, .. } => match cause.kind() {
                ErrorKind::NotFound => "MissingFileError",
                ErrorKind::PermissionDenied => "DeniedFileError",
                _ => "FileError",
            },
            Train::NotARun { .. } => "NotARunError",
            Train::Corpus { .. } => "CorpusError",
            Train::Memory { .. } => "OutOfMemoryError",
            Train::Setting { .. } | Train::UnknownKey { .. } | Train::Config { .. } | Train::Model(_) => {
                "SettingError"
            }
            Train::Checkpoint { .. }
            | Train::Run { .. }
            | Train::BadStep { .. }
            | Train::Engine(_)
            | Train::OtherProcess => "RunError",
        };
        Raised { class, sentence: error.to_string() }
    }
}

impl From<kuramoto_model::Error> for Raised {
    fn from(error: kuramoto_model::Error) -> Raised {
        Train::from(error).into()
    }
}

impl From<kuramoto_engine::Error> for Raised {
    fn from(error: kuramoto_engine::Error) -> Raised {
        Train::from(error).into()
    }
}

impl From<kuramoto_phase::Error> for Raised {
    fn from(error: kuramoto_phase::Error) -> Raised {
        match error {
            kuramoto_phase::Error::Run(error) => error.into(),
            error if error.is_usage() => Raised::value(error.to_string()),
            kuramoto_phase::Error::Stopped => Raised::failed(error.to_string()),
            error => Raised { class: "FileError", sentence: error.to_string() },
        }
    }
}

impl From<kuramoto_lab::Error> for Raised {
    fn from(error: kuramoto_lab::Error) -> Raised {
        match error {
            kuramoto_lab::Error::Train(error) => error.into(),
            kuramoto_lab::Error::Plan { .. } => Raised { class: "PlanError", sentence: error.to_string() },
            error => Raised::value(error.to_string()),
        }
    }
}

impl From<Raised> for PyErr {
    fn from(raised: Raised) -> PyErr {
        Python::attach(|py| {
            let class = py.import("kuramoto.errors").and_then(|module| module.getattr(raised.class));
            let error = class.and_then(|class| class.call1((raised.sentence,)));
            error.map_or_else(|error| error, PyErr::from_value)
        })
    }
}

/// An argument of the wrong kind.
pub fn wrong_type(what: &str, found: &Bound<'_, PyAny>, wanted: &str) -> PyErr {
    let class = found.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string());
    PyTypeError::new_err(format!("{what} is of type {class}: give {wanted}"))
}
