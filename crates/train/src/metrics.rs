//! `metrics.jsonl`: one row a step, keyed by step, only ever added to.

use crate::disk::{self, Disk};
use crate::error::{At, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// One step. All but the last three fields are the same bits in every repetition of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Which step, from 1.
    pub step: u64,
    /// Passes over the training split so far.
    pub epoch: f64,
    /// Bytes read so far.
    pub tokens: u64,
    /// Loss of this step's batch.
    #[serde(deserialize_with = "number")]
    pub train_bits_per_byte: f64,
    /// Global norm of the gradient, before clipping.
    #[serde(deserialize_with = "number")]
    pub gradient_norm: f64,
    /// Learning rate of this step.
    pub learning_rate: f64,
    /// Why the step was not applied, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bad: Option<String>,
    /// Of the validation after this step, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation_bits_per_byte: Option<f64>,
    /// In the first row: fewest bits per byte that are possible on what is validated, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor_bits_per_byte: Option<f64>,
    /// True if that was the best so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<bool>,
    /// At a validation: the value of every single-number parameter, and the mean size of every layer's drift rates.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, f64>,
    /// Seconds of training so far.
    pub seconds: f64,
    /// Of this step.
    pub tokens_per_second: f64,
    /// Share of the machine's multiply-add peak, where that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilisation: Option<f64>,
}

/// JSON has no NaN and no infinity: they are written as null.
fn number<'de, D: serde::Deserializer<'de>>(input: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::deserialize(input)?.unwrap_or(f64::NAN))
}

impl Row {
    /// As a line of the file.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("a row is plain data") + "\n"
    }
}

/// Every whole row of a file; a torn last line is passed over.
pub fn read(path: &Path) -> Result<Vec<Row>> {
    Ok(parse(&fs::read(path).at("read", path)?))
}

/// Every whole row of part of a file.
pub fn parse(text: &[u8]) -> Vec<Row> {
    text.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// Makes a file end after `step`: later rows, which a resumed run writes again, and a torn one are removed. Returns its
/// length.
pub(crate) fn rewind(disk: &dyn Disk, path: &Path, step: u64) -> Result<u64> {
    #[derive(Deserialize)]
    struct Key {
        step: u64,
    }
    if !path.exists() {
        return Ok(0);
    }
    let text = fs::read(path).at("read", path)?;
    let mut kept = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let key = serde_json::from_slice::<Key>(line);
        if line.ends_with(b"\n") && key.is_ok_and(|key| key.step <= step) {
            kept.extend_from_slice(line);
        }
    }
    if kept != text {
        disk::replace(disk, path, &kept)?;
    }
    Ok(kept.len() as u64)
}
