//! The paper's numbers, to stand beside ours.

use kuramoto_model::ablation::ABLATIONS;
use serde_json::Value;
use std::sync::LazyLock;

/// Every number of every table, by hand from the paper.
static RESULTS: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("paper.json")).expect("the paper's numbers are well formed"));

/// A cell of a table.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Cell {
    /// Median over seeds, where the paper gives it.
    pub median: Option<f64>,
    /// Mean over seeds.
    pub mean: f64,
    /// Standard deviation over seeds.
    pub sd: f64,
}

fn cell(value: &Value) -> Option<Cell> {
    Some(Cell { median: value["median"].as_f64(), mean: value["mean"].as_f64()?, sd: value["std"].as_f64()? })
}

/// Tables 1 and 2: bits per byte of a model ("kuramoto", "transformer") on a split ("val", "test") of a corpus at a
/// size ("1m", "5m").
pub fn compared(corpus: &str, size: &str, model: &str, split: &str) -> Option<Cell> {
    cell(&RESULTS[corpus][size][model][split])
}

/// Table 3: what an ablation adds to the validation of the reference, by its name on the command line.
pub fn ablated(name: &str) -> Option<Cell> {
    let title = ABLATIONS.iter().find(|row| row.name == name)?.title;
    let rows = RESULTS["ablations"]["delta_val"].as_array()?;
    cell(rows.iter().find(|row| row["row"] == title)?)
}

/// Validation of the reference of Table 3.
pub const REFERENCE: &str = "1.637";

/// Table 4: validation of a model with so many heads and layers.
pub fn gridded(model: &str, heads: usize, layers: usize) -> Option<Cell> {
    let cells = RESULTS["grid"][model].as_array()?;
    cell(&cells.iter().find(|cell| cell["heads"] == heads && cell["layers"] == layers)?["val"])
}

/// Bytes a second and peak gigabytes of a model's training on the paper's GPU.
pub fn computed(corpus: &str, size: &str, model: &str) -> Option<(f64, f64)> {
    let entry = &RESULTS["compute"][corpus][size][model];
    Some((entry["tokens_per_s"].as_f64()?, entry["peak_gb"].as_f64()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_is_there() {
        for corpus in ["enwik8", "codeparrot"] {
            for (size, model) in [("1m", "kuramoto"), ("1m", "transformer"), ("5m", "kuramoto"), ("5m", "transformer")]
            {
                assert!(compared(corpus, size, model, "val").is_some_and(|cell| cell.median.is_some()));
                assert!(compared(corpus, size, model, "test").is_some_and(|cell| cell.median.is_some()));
                assert!(computed(corpus, size, model).is_some());
            }
        }
        for row in ABLATIONS {
            assert!(ablated(row.name).is_some(), "{}", row.name);
        }
        for heads in 2..=6 {
            for layers in 2..=6 {
                assert!(
                    gridded("kuramoto", heads, layers).is_some() && gridded("transformer", heads, layers).is_some()
                );
            }
        }
        assert_eq!(RESULTS["ablations"]["reference_val_mean"].as_f64(), REFERENCE.parse().ok());
        assert_eq!(ablated("no-value-gate").unwrap().mean, 0.11);
        assert_eq!(compared("tales", "1m", "kuramoto", "val"), None);
    }
}
