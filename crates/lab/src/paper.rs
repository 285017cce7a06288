//! The paper's numbers, to stand beside ours.

use kuramoto_model::ModelKind;
use kuramoto_model::ablation::Ablation;
use serde_json::Value;
use std::sync::LazyLock;

/// Every number of every table, by hand from the paper.
static RESULTS: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("paper.json")).expect("the paper's numbers are well formed")
});

/// A value of a table over the paper's seeds.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Published {
    /// Median over seeds, where the paper gives it.
    pub median: Option<f64>,
    /// Mean over seeds.
    pub mean: f64,
    /// Standard deviation over seeds.
    pub sd: f64,
}

fn published(value: &Value) -> Option<Published> {
    let number = |key: &str| value[key].as_f64();
    Some(Published { median: number("median"), mean: number("mean")?, sd: number("std")? })
}

/// Tables 1 and 2: bits per byte of a model on a split ("val", "test") of a corpus at a size ("1m", "5m").
pub fn compared(corpus: &str, size: &str, model: ModelKind, split: &str) -> Option<Published> {
    published(&RESULTS[corpus][size][model.name()][split])
}

/// Table 3: what an ablation adds to the validation of the reference.
pub fn ablated(ablation: Ablation) -> Option<Published> {
    let rows = RESULTS["ablations"]["delta_val"].as_array()?;
    published(rows.iter().find(|row| row["row"] == ablation.title)?)
}

/// Validation of the reference of Table 3.
pub const REFERENCE: &str = "1.637";

/// Table 4: validation of a model with so many heads and layers.
pub fn gridded(model: ModelKind, heads: usize, layers: usize) -> Option<Published> {
    let cells = RESULTS["grid"][model.name()].as_array()?;
    published(&cells.iter().find(|cell| cell["heads"] == heads && cell["layers"] == layers)?["val"])
}

/// Bytes a second and peak gigabytes of a model's training on the paper's GPU.
pub fn computed(corpus: &str, size: &str, model: ModelKind) -> Option<(f64, f64)> {
    let entry = &RESULTS["compute"][corpus][size][model.name()];
    Some((entry["tokens_per_s"].as_f64()?, entry["peak_gb"].as_f64()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm::GRID;
    use kuramoto_model::ablation::ABLATIONS;
    use strum::VariantArray;

    #[test]
    fn every_cell_is_there() {
        for &model in ModelKind::VARIANTS {
            let corpora = ["enwik8", "codeparrot"];
            for (corpus, size) in corpora.iter().flat_map(|corpus| ["1m", "5m"].map(|size| (corpus, size))) {
                for split in ["val", "test"] {
                    assert!(compared(corpus, size, model, split).is_some_and(|cell| cell.median.is_some()));
                }
                assert!(computed(corpus, size, model).is_some());
            }
            for (heads, layers) in GRID.flat_map(|heads| GRID.map(move |layers| (heads, layers))) {
                assert!(gridded(model, heads, layers).is_some(), "{model}, {heads}, {layers}");
            }
        }
        for row in ABLATIONS {
            assert!(ablated(row).is_some(), "{}", row.name);
        }
        assert_eq!(RESULTS["ablations"]["reference_val_mean"].as_f64(), REFERENCE.parse().ok());
        assert_eq!(ablated(Ablation::named("no-value-gate").unwrap()).unwrap().mean, 0.11);
        assert_eq!(compared("tales", "1m", ModelKind::Kuramoto, "val"), None);
    }
}
