//! Two runs side by side.

use crate::difference::Difference;
use crate::disk;
use crate::error::Result;
use crate::listing::Listed;
use crate::metrics;
use crate::run::Run;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Two runs side by side.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Both, as they are listed.
    pub runs: [Listed; 2],
    /// Keys of the configuration that are not the same.
    pub settings: Vec<Difference>,
    /// Validations after the same number of bytes.
    pub curve: Vec<Point>,
}

/// A validation of both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Bytes read.
    pub tokens: u64,
    /// Steps of each run.
    pub steps: [u64; 2],
    /// Bits per byte of each run.
    pub validation_bits_per_byte: [f64; 2],
}

impl Comparison {
    /// Reads both runs.
    pub fn read(first: &Path, second: &Path) -> Result<Comparison> {
        let (a, b) = (Run::open(first)?, Run::open(second)?);
        let mut settings = a.config().differences(b.config());
        // Where a corpus is says nothing about a run, and its hash is told by its name.
        settings.retain(|found| !matches!(found.key.as_str(), "data.path" | "data.sha256" | "model.vocab"));
        let (curve_a, curve_b) = (validations(first), validations(second));
        let curve = curve_a.iter().filter_map(|(&tokens, &(step_a, bits_a))| {
            let &(step_b, bits_b) = curve_b.get(&tokens)?;
            Some(Point { tokens, steps: [step_a, step_b], validation_bits_per_byte: [bits_a, bits_b] })
        });
        let curve = curve.collect();
        Ok(Comparison { runs: [Listed::read(first)?, Listed::read(second)?], settings, curve })
    }

    /// Best validation of the second run minus that of the first, in bits per byte: negative where the second is
    /// better; None before the first validations.
    pub fn difference(&self) -> Option<f64> {
        let [first, second] = self.runs.each_ref().map(|run| run.validation_bits_per_byte);
        Some(second? - first?)
    }

    /// True if the same text was validated, so that bits per byte can be compared.
    pub fn same_corpus(&self) -> bool {
        self.runs[0].corpus_sha256 == self.runs[1].corpus_sha256
    }
}

/// Step and bits per byte of every validation, by bytes read.
fn validations(run: &Path) -> BTreeMap<u64, (u64, f64)> {
    let rows = disk::read(&run.join("metrics.jsonl")).map(|bytes| metrics::parse(&bytes)).unwrap_or_default();
    rows.iter().filter_map(|row| Some((row.tokens, (row.step, row.validation_bits_per_byte?)))).collect()
}
