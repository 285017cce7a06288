//! What a run is trained by, for other programs: the configuration, the corpus, the batches, the schedule.

use crate::array::array;
use crate::corpus::Corpus;
use crate::error::{Raised, Result};
use crate::threads::on_own_pool;
use crate::training::{corpora, overlays};
use crate::whole::Whole;
use kuramoto_engine::Cpu;
use kuramoto_model::{Tensor, with_network};
use kuramoto_train::windows::{Sampler, Window};
use kuramoto_train::{Config, NewRun};
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Tokens and targets (sequences x n).
type Batch<'py> = (Bound<'py, PyArray2<u8>>, Bound<'py, PyArray2<u8>>);

/// Everything that decides the numbers of a run but the engine.
#[pyclass(frozen, module = "kuramoto._native")]
pub struct Recipe {
    config: Config,
    corpus: Arc<kuramoto_train::Corpus>,
    sampler: Mutex<Sampler>,
    steps: u64,
}

impl Recipe {
    fn read<'py>(&self, py: Python<'py>, windows: &[Window]) -> PyResult<Batch<'py>> {
        let length = windows[0].len;
        let (mut tokens, mut targets) = (vec![0; windows.len() * length], vec![0; windows.len() * length]);
        let rows = tokens.chunks_exact_mut(length).zip(targets.chunks_exact_mut(length));
        for (window, (tokens, targets)) in windows.iter().zip(rows) {
            self.corpus.read(*window, tokens, targets);
        }
        let array = |values: Vec<u8>| values.into_pyarray(py).reshape([windows.len(), length]);
        Ok((array(tokens)?, array(targets)?))
    }
}

#[pymethods]
impl Recipe {
    #[new]
    fn new(
        py: Python<'_>,
        settings: Vec<(String, String, String)>,
        ablations: Vec<String>,
        cache: Option<PathBuf>,
    ) -> PyResult<Recipe> {
        let new =
            NewRun { overlays: overlays(&settings), ablations, folder: None, corpora: corpora(cache, false) };
        let make = || -> Result<Recipe> {
            let prepared = new.prepare(&Cpu::new(1))?;
            let sampler = prepared.config.sampler(prepared.corpus.identity())?;
            let steps = prepared.config.steps(&sampler);
            let (config, corpus) = (prepared.config, Arc::new(prepared.corpus));
            Ok(Recipe { config, corpus, sampler: Mutex::new(sampler), steps })
        };
        Ok(py.detach(make)?)
    }

    /// Resolved, as JSON.
    #[getter]
    fn config(&self) -> String {
        serde_json::to_string(&self.config).expect("a configuration is plain data")
    }

    #[getter]
    fn corpus(&self) -> Corpus {
        Corpus { corpus: self.corpus.clone(), source: self.config.data.clone() }
    }

    #[getter]
    fn steps(&self) -> u64 {
        self.steps
    }

    #[getter]
    fn steps_per_epoch(&self) -> u64 {
        self.sampler.lock().unwrap_or_else(PoisonError::into_inner).steps_per_epoch()
    }

    /// Of a step, from 1.
    fn learning_rate(&self, step: Whole) -> f64 {
        self.config.optimizer.learning_rate_at(step.0, self.steps)
    }

    /// The parameters that training starts from, by name.
    fn start<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        let start = || -> Result<_> {
            let parameters = on_own_pool(|| self.config.starting_parameters(self.corpus.identity()))?;
            let layout = with_network!(&self.config.model, self.config.batch.context, |network| {
                network.layout().clone()
            });
            Ok((parameters, layout))
        };
        let (parameters, layout) = py.detach(start)?;
        let named = |tensor: &Tensor| {
            let values = tensor.slot.slice(&parameters).to_vec();
            Ok((tensor.name.clone(), array(py, values, &tensor.shape)?))
        };
        layout.tensors().iter().map(named).collect()
    }

    /// The batch of a step, from 1.
    fn batch<'py>(&self, py: Python<'py>, step: Whole) -> PyResult<Batch<'py>> {
        let step = step.0;
        if step == 0 {
            return Err(Raised::value("step = 0 is not allowed: steps are counted from 1").into());
        }
        let windows: Vec<Window> = {
            let mut sampler = self.sampler.lock().unwrap_or_else(PoisonError::into_inner);
            sampler.windows(step - 1).collect()
        };
        self.read(py, &windows)
    }

    /// What a validation reads, in batches of windows of one length.
    fn validation<'py>(&self, py: Python<'py>) -> PyResult<Vec<Batch<'py>>> {
        let windows = self.config.validation_windows(self.corpus.identity()).map_err(Raised::from)?;
        let alike = windows.chunk_by(|a, b| a.len == b.len);
        alike
            .flat_map(|windows| windows.chunks(self.config.batch.sequences))
            .map(|w| self.read(py, w))
            .collect()
    }
}
