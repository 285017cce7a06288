//! Corpora: the bytes that models are trained on.

use crate::error::{Raised, Result};
use crate::whole::Whole;
use kuramoto_train::config::Data;
use kuramoto_train::data::default_cache;
use kuramoto_train::{Identity, Source, Split};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::Arc;

/// A corpus with its three splits.
#[pyclass(frozen, module = "kuramoto._native")]
pub struct Corpus {
    pub corpus: Arc<kuramoto_train::Corpus>,
    /// Where it came from, as the section `data` of a configuration says it.
    pub source: Data,
}

impl Corpus {
    pub fn identity(&self) -> &Identity {
        self.corpus.identity()
    }
}

#[pymethods]
impl Corpus {
    #[new]
    fn open(
        py: Python<'_>,
        name: &str,
        path: &str,
        bytes: Whole,
        cache: Option<PathBuf>,
    ) -> PyResult<Corpus> {
        let bytes = bytes.size()?;
        let open = || -> Result<_> {
            let source = Source::find(name, path, bytes)?;
            let corpus = kuramoto_train::Corpus::open(&source, &cache.unwrap_or_else(default_cache))?;
            let source = Data { corpus: name.into(), path: path.into(), bytes, sha256: String::new() };
            Ok(Corpus { corpus: Arc::new(corpus), source })
        };
        Ok(py.detach(open)?)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.identity().name
    }

    /// Where it came from, as JSON.
    #[getter]
    fn source(&self) -> String {
        serde_json::to_string(&self.source).expect("plain data")
    }

    #[getter]
    fn sha256(&self) -> &str {
        &self.identity().sha256
    }

    #[getter]
    fn vocabulary<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.identity().vocabulary)
    }

    fn __len__(&self) -> usize {
        self.identity().bytes
    }

    /// The bytes of a split.
    fn bytes<'py>(&self, py: Python<'py>, split: &str) -> PyResult<Bound<'py, PyBytes>> {
        let range = self.corpus.split(named(split)?);
        Ok(PyBytes::new(py, &self.corpus.bytes()[range]))
    }

    /// The tokens of a split, as an array.
    fn tokens<'py>(&self, py: Python<'py>, split: &str) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let bytes = &self.corpus.bytes()[self.corpus.split(named(split)?)];
        let known = self.identity().tokens().map(Option::unwrap_or_default);
        let tokens: Vec<u8> = py.detach(|| bytes.iter().map(|&byte| known[usize::from(byte)]).collect());
        Ok(tokens.into_pyarray(py))
    }
}

/// A split by its name.
pub fn named(split: &str) -> Result<Split> {
    split.parse().map_err(|_| {
        Raised::value(format!("split = {split:?} is not allowed: choose train, validation or test"))
    })
}
