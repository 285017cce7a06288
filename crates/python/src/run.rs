//! Run folders and shipped models.

use crate::corpus::{self, Corpus};
use crate::error::{Raised, Result};
use crate::model::Model;
use crate::networks::{Numbers, Start};
use crate::signals::Interrupted;
use crate::threads;
use crate::whole::Whole;
use kuramoto_engine::Cpu;
use kuramoto_model::with_network;
use kuramoto_train::data::default_cache;
use kuramoto_train::disk::System;
use kuramoto_train::evaluate::evaluate_until;
use kuramoto_train::listing::{self, Listed};
use kuramoto_train::publish::publish;
use kuramoto_train::{Row, Which, checkpoint, elsewhere, hugging_face, metrics};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A run folder, read again whenever something is asked of it.
#[pyclass(frozen, module = "kuramoto._native")]
pub struct Run {
    folder: PathBuf,
}

impl Run {
    fn open(&self) -> Result<kuramoto_train::Run> {
        Ok(kuramoto_train::Run::open(&self.folder)?)
    }
}

/// Held while Python trains a run.
#[pyclass(frozen, module = "kuramoto._native")]
pub struct Lock {
    _lock: kuramoto_train::run::RunLock,
}

/// The folder of a run or of a shipped model; a folder of that name is the user's own.
pub fn folder(path: &Path) -> Result<PathBuf> {
    match path.to_str().and_then(kuramoto_models::find) {
        Some(model) if !path.exists() => Ok(model.unpack(&default_cache())?),
        _ => Ok(path.to_path_buf()),
    }
}

fn which(name: &str) -> Result<Which> {
    Ok(name.parse()?)
}

#[pymethods]
impl Run {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Run> {
        let open = || -> Result<Run> {
            let run = Run { folder: folder(&path)? };
            run.open()?;
            Ok(run)
        };
        Ok(py.detach(open)?)
    }

    #[getter]
    fn folder(&self) -> PathBuf {
        self.folder.clone()
    }

    /// As JSON.
    #[getter]
    fn config(&self) -> PyResult<String> {
        Ok(serde_json::to_string(self.open()?.config()).expect("a configuration is plain data"))
    }

    /// As JSON.
    #[getter]
    fn corpus(&self) -> PyResult<String> {
        Ok(serde_json::to_string(self.open()?.corpus()).expect("an identity is plain data"))
    }

    /// As JSON, if there is one.
    #[getter]
    fn summary(&self) -> PyResult<Option<String>> {
        let summary = self.open()?.summary();
        Ok(summary.map(|summary| serde_json::to_string(&summary).expect("a summary is plain data")))
    }

    /// As a list of runs shows it, as JSON.
    #[getter]
    fn listed(&self) -> PyResult<String> {
        let listed = Listed::read(&self.folder).map_err(Raised::from)?;
        Ok(serde_json::to_string(&listed).expect("plain data"))
    }

    /// Steps of its checkpoints, and those of best and last.
    fn checkpoints(&self) -> PyResult<(Vec<u64>, Option<u64>, Option<u64>)> {
        let run = self.open()?;
        let mut steps = checkpoint::steps(&self.folder).map_err(Raised::from)?;
        steps.reverse();
        Ok((steps, run.step(Which::Best), run.step(Which::Last)))
    }

    /// Keeps other processes from training it until what is returned is dropped.
    fn lock(&self) -> PyResult<Lock> {
        match self.open()?.lock().map_err(Raised::from)? {
            Some(lock) => Ok(Lock { _lock: lock }),
            None => Err(Raised::failed(format!(
                "{}: another process is training this run",
                self.folder.display()
            ))
            .into()),
        }
    }

    /// Adds a reading of the test split to its summary.
    fn record_test(&self, bits_per_byte: f64) -> PyResult<()> {
        Ok(elsewhere::record_test(&System, &self.open()?, bits_per_byte).map_err(Raised::from)?)
    }

    /// Columns of its rows, by name.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let path = self.folder.join("metrics.jsonl");
        let rows = py.detach(|| metrics::read(&path)).map_err(Raised::from)?;
        columns(py, &rows)
    }

    /// The model of a checkpoint.
    fn model(&self, py: Python<'_>, checkpoint: &str, dtype: &str) -> PyResult<Model> {
        let load = || -> Result<Model> {
            let run = self.open()?;
            let (config, context) = (&run.config().model, run.config().batch.context);
            let loaded =
                with_network!(config, context, |network| run.load(which(checkpoint)?, network.layout())?);
            let parameters = Numbers::Single(loaded.parameters);
            let start = Start::Parameters(&parameters);
            Model::new(config.clone(), context, run.corpus().clone(), run.config().seed, dtype, start)
        };
        Ok(py.detach(load)?)
    }

    /// Its corpus.
    fn open_corpus(
        &self,
        py: Python<'_>,
        data_path: Option<&str>,
        cache: Option<PathBuf>,
    ) -> PyResult<Corpus> {
        let open = || -> Result<_> {
            let mut run = self.open()?;
            if let Some(path) = data_path {
                run.set_data_path(path);
            }
            let corpus = kuramoto_train::Corpus::of_run(&run, &cache.unwrap_or_else(default_cache))?;
            Ok(Corpus { corpus: Arc::new(corpus), source: run.config().data.clone() })
        };
        Ok(py.detach(open)?)
    }

    /// Writes the model of a checkpoint as a new folder: `model` or `hf`.
    fn export(&self, py: Python<'_>, to: &str, folder: PathBuf, checkpoint: &str) -> PyResult<()> {
        let write = match to {
            "model" => publish,
            "hf" => hugging_face::write,
            _ => return Err(Raised::value(format!("to = {to:?} is not allowed: choose model or hf")).into()),
        };
        let export = || -> Result<()> { Ok(write(&System, &self.open()?, which(checkpoint)?, &folder)?) };
        Ok(py.detach(export)?)
    }

    /// Exact bits per byte of a split of a corpus, as JSON.
    fn evaluate(
        &self,
        py: Python<'_>,
        checkpoint: &str,
        corpus: &Corpus,
        split: &str,
        threads: Option<Whole>,
    ) -> PyResult<String> {
        let split = corpus::named(split)?;
        let mut interrupted = Interrupted::default();
        let found = py.detach(|| -> Result<_> {
            let (run, device) = (self.open()?, Cpu::new(threads::count(threads)?));
            let stop = &mut || interrupted.came();
            Ok(evaluate_until(&run, which(checkpoint)?, &corpus.corpus, split, &device, stop)?)
        });
        interrupted.raise()?;
        Ok(serde_json::to_string(&found?).expect("plain data"))
    }
}

/// A field that not every row has.
type Column = (&'static str, fn(&Row) -> Option<f64>);

/// Columns of rows; a field that some rows do not have is NaN there.
pub fn columns<'py>(py: Python<'py>, rows: &[Row]) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let integers = |of: fn(&Row) -> u64| rows.iter().map(|row| of(row) as i64).collect::<Vec<i64>>();
    columns.set_item("step", integers(|row| row.step).into_pyarray(py))?;
    columns.set_item("tokens", integers(|row| row.tokens).into_pyarray(py))?;
    let numbers: [Column; 9] = [
        ("epoch", |row| Some(row.epoch)),
        ("train_bits_per_byte", |row| Some(row.train_bits_per_byte)),
        ("validation_bits_per_byte", |row| row.validation_bits_per_byte),
        ("floor_bits_per_byte", |row| row.floor_bits_per_byte),
        ("gradient_norm", |row| Some(row.gradient_norm)),
        ("learning_rate", |row| Some(row.learning_rate)),
        ("seconds", |row| Some(row.seconds)),
        ("tokens_per_second", |row| Some(row.tokens_per_second)),
        ("utilisation", |row| row.utilisation),
    ];
    for (name, of) in numbers {
        let values: Vec<f64> = rows.iter().map(|row| of(row).unwrap_or(f64::NAN)).collect();
        columns.set_item(name, values.into_pyarray(py))?;
    }
    let best: Vec<bool> = rows.iter().map(|row| row.best == Some(true)).collect();
    columns.set_item("best", best.into_pyarray(py))?;
    let bad: Vec<Option<&str>> = rows.iter().map(|row| row.bad.as_deref()).collect();
    columns.set_item("bad", bad)?;
    let names: BTreeSet<&String> = rows.iter().flat_map(|row| row.parameters.keys()).collect();
    for name in names {
        let values: Vec<f64> =
            rows.iter().map(|row| row.parameters.get(name).copied().unwrap_or(f64::NAN)).collect();
        columns.set_item(format!("parameters.{name}"), values.into_pyarray(py))?;
    }
    Ok(columns)
}

/// Summaries of the shipped models, as a JSON list.
#[pyfunction]
pub fn models() -> String {
    let models = kuramoto_models::all().iter().map(|model| {
        let mut object = serde_json::to_value(model.summary()).expect("a summary is plain data");
        object["name"] = model.name.into();
        object
    });
    serde_json::Value::from(models.collect::<Vec<_>>()).to_string()
}

/// Every run at or below a folder, as a JSON list. What cannot be read is left out.
#[pyfunction]
pub fn list_runs(py: Python<'_>, folder: PathBuf, depth: Whole) -> PyResult<String> {
    let depth = depth.size()?;
    if !folder.is_dir() {
        return Err(Raised::value(format!("{} is not a folder", folder.display())).into());
    }
    Ok(py.detach(|| {
        let listed: Vec<Listed> =
            listing::under(&folder, depth).iter().filter_map(|run| Listed::read(run).ok()).collect();
        serde_json::to_string(&listed).expect("plain data")
    }))
}
