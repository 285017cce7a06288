//! Saving a model that was trained by other means as a run folder.

use crate::array::numbers;
use crate::corpus::Corpus;
use crate::error::{Raised, Result};
use crate::training::overlays;
use crate::whole::Whole;
use kuramoto_engine::Arenas;
use kuramoto_model::{Layout, with_network};
use kuramoto_train::disk::System;
use kuramoto_train::elsewhere::{Elsewhere, save};
use kuramoto_train::{Config, Row};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Named arrays.
type Arrays<'py> = Vec<(String, Bound<'py, PyAny>)>;

/// The arena of named arrays, which must be all of a layout.
fn arena(what: &str, layout: &Layout, arrays: &Arrays<'_>) -> PyResult<Vec<f32>> {
    let mut arena = vec![0.0; layout.count()];
    if let Some((name, _)) = arrays.iter().find(|(name, _)| layout.find(name).is_none()) {
        return Err(Raised::value(format!("{what} {name:?} is not one of this configuration")).into());
    }
    for tensor in layout.tensors() {
        let Some((_, values)) = arrays.iter().find(|(name, _)| *name == tensor.name) else {
            return Err(Raised::value(format!("{what} {:?} is missing", tensor.name)).into());
        };
        let values = numbers::<f32>(&format!("{what} {}", tensor.name), values, &tensor.shape)?;
        tensor.slot.slice_mut(&mut arena).copy_from_slice(&values);
    }
    Ok(arena)
}

/// Rows from JSON objects, in which only `step` must be there.
fn rows(config: &Config, bytes: usize, given: &str) -> Result<Vec<Row>> {
    let refused = |error: String| Raised::value(format!("rows: {error}"));
    let mut given: Vec<Value> = serde_json::from_str(given).map_err(|error| refused(error.to_string()))?;
    let epoch = kuramoto_train::Split::Train.range(bytes).len() as f64;
    for row in &mut given {
        let Some(fields) = row.as_object_mut() else {
            return Err(refused(format!("{row} is not a mapping")));
        };
        let tokens = fields.get("step").and_then(Value::as_u64).unwrap_or(0) * config.batch.tokens();
        let known = [("tokens", json!(tokens)), ("epoch", json!(tokens as f64 / epoch))];
        let unknown =
            ["train_bits_per_byte", "gradient_norm", "learning_rate", "seconds", "tokens_per_second"];
        for (name, value) in known.into_iter().chain(unknown.map(|name| (name, Value::Null))) {
            fields.entry(name).or_insert(value);
        }
    }
    serde_json::from_value(given.into()).map_err(|error| refused(error.to_string()))
}

/// Saves a state of training as a checkpoint of the run in a folder.
#[pyfunction]
pub fn save_run<'py>(
    py: Python<'py>,
    path: PathBuf,
    settings: Vec<(String, String, String)>,
    corpus: &Corpus,
    parameters: Arrays<'py>,
    moments: Option<(Arrays<'py>, Arrays<'py>)>,
    step: Whole,
    rows_json: &str,
    test_bits_per_byte: Option<f64>,
    device: &str,
    locked: bool,
) -> PyResult<()> {
    let resolve = || -> Result<(Config, Layout)> {
        let mut config = Config::from_overlays(&overlays(&settings))?;
        config.resolve(corpus.identity())?;
        let layout = with_network!(&config.model, config.batch.context, |network| network.layout().clone());
        Ok((config, layout))
    };
    let (config, layout) = resolve()?;
    let parameters = arena("parameter", &layout, &parameters)?;
    let moments = match &moments {
        Some((first, second)) => {
            Some((arena("first moment", &layout, first)?, arena("second moment", &layout, second)?))
        }
        None => None,
    };
    let rows = rows(&config, corpus.identity().bytes, rows_json)?;
    let from = Elsewhere {
        config: &config,
        corpus: corpus.identity(),
        arenas: Arenas {
            parameters: &parameters,
            moments: moments.as_ref().map(|(first, second)| (&first[..], &second[..])),
        },
        step: step.0,
        rows: &rows,
        test_bits_per_byte,
        device,
        locked,
    };
    py.detach(|| save(&System, &path, &from)).map_err(Raised::from)?;
    Ok(())
}
