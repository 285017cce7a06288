//! The paper's numbers, to stand beside ours, and which runs they are of.

use crate::arm::{Arm, PaperTable};
use kuramoto_model::ModelKind;
use kuramoto_model::ablation::Ablation;
use kuramoto_report::samples::Moments;
use kuramoto_train::Identity;
use kuramoto_train::data::source::ENWIK8_SHA256;
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
    /// How many seeds.
    pub seeds: usize,
    /// What its digits are rounded to.
    #[serde(skip)]
    unit: f64,
}

impl Published {
    /// What a test needs of it. What was rounded away counts as error: half a unit of the deviation, and the
    /// variance of a mean that may lie anywhere within its last digit.
    pub fn moments(self) -> Moments {
        let deviation = self.sd + self.unit / 2.0;
        let rounding = self.seeds as f64 * self.unit * self.unit / 12.0;
        Moments { mean: self.mean, sd: (deviation * deviation + rounding).sqrt(), n: self.seeds }
    }

    /// The same of a difference to another value: of the ablations, the paper gives the deviation without the
    /// reference's.
    pub fn moments_beside(self, other: Published) -> Moments {
        let Moments { mean, sd, n } = self.moments();
        Moments { mean, sd: (sd * sd + other.sd * other.sd).sqrt(), n }
    }
}

/// Seeds where the paper does not say how many: the transformer of 5M on enwik8, which stands beside cells of
/// five.
const ASSUMED_SEEDS: u64 = 5;

fn published(value: &Value, seeds: &Value, unit: f64) -> Option<Published> {
    let number = |key: &str| value[key].as_f64();
    let seeds = seeds.as_u64().unwrap_or(ASSUMED_SEEDS) as usize;
    Some(Published { median: number("median"), mean: number("mean")?, sd: number("std")?, seeds, unit })
}

/// What Tables 1, 2 and 4 are rounded to, and Table 3.
const UNIT: f64 = 0.001;
const ABLATION_UNIT: f64 = 0.01;

/// The paper's parameter budgets.
pub const BUDGETS: [usize; 2] = [1_000_000, 5_000_000];

/// The paper's corpora; the first has all tables, the second the comparison alone.
pub const CORPORA: [&str; 2] = ["enwik8", "codeparrot"];

/// True if the paper has runs of this table on this corpus.
pub fn has_corpus(table: PaperTable, corpus: &str) -> bool {
    corpus == CORPORA[0] || (table == PaperTable::Compare && corpus == CORPORA[1])
}

/// What is known of one of the paper's corpora without having it: its size and how many byte values it has.
/// Which values they are changes no count and no cost.
pub(crate) fn identity(corpus: &str) -> Option<Identity> {
    let (name, values, sha256) = match corpus {
        "enwik8" => (CORPORA[0], 205, ENWIK8_SHA256),
        "codeparrot" => (CORPORA[1], 201, ""),
        _ => return None,
    };
    Some(Identity {
        name: name.into(),
        bytes: 100_000_000,
        sha256: sha256.into(),
        vocabulary: (0..values).collect(),
        opening: Vec::new(),
    })
}

/// The paper's budget that a budget is, or stands for: ablations and grid have one size.
pub fn budget_for(table: PaperTable, budget: usize) -> usize {
    if table == PaperTable::Compare && budget == BUDGETS[1] { BUDGETS[1] } else { BUDGETS[0] }
}

fn size_key(budget: usize) -> &'static str {
    if budget == BUDGETS[1] { "5m" } else { "1m" }
}

/// A split of a corpus on which runs are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum Part {
    /// The validation split.
    Validation,
    /// The test split.
    Test,
}

impl Part {
    fn key(self) -> &'static str {
        match self {
            Part::Validation => "val",
            Part::Test => "test",
        }
    }
}

fn cell(corpus: &str, budget: usize, model: ModelKind) -> &'static Value {
    &RESULTS[corpus][size_key(budget)][model.name()]
}

/// Tables 1 and 2: bits per byte of a model on a part of a corpus at the paper's size for a budget.
pub fn compared(corpus: &str, budget: usize, model: ModelKind, part: Part) -> Option<Published> {
    let cell = cell(corpus, budget, model);
    published(&cell[part.key()], &cell["seeds"], UNIT)
}

/// Of Table 1, where the paper gives them: the runs that form a cluster, and the one that left it.
pub fn clustered(corpus: &str, budget: usize, model: ModelKind, part: Part) -> Option<(Published, f64)> {
    let cell = cell(corpus, budget, model);
    let cluster = &cell["clustered_subset"];
    let separated = cell["separated_run"][part.key()].as_f64()?;
    Some((published(&cluster[part.key()], &cluster["seeds"], UNIT)?, separated))
}

/// The Kuramoto model's mean less the transformer's: as the text gives it where it has more digits than the
/// tables, whose means are rounded to 0.001.
pub fn gap(corpus: &str, budget: usize, part: Part) -> Option<f64> {
    let stated = RESULTS[corpus][size_key(budget)]["mean_gap"][part.key()].as_f64();
    let mean = |model| Some(compared(corpus, budget, model, part)?.mean);
    stated.or_else(|| Some(mean(ModelKind::Kuramoto)? - mean(ModelKind::Transformer)?))
}

/// The Kuramoto model's median less the transformer's.
pub fn median_gap(corpus: &str, budget: usize, part: Part) -> Option<f64> {
    let median = |model| compared(corpus, budget, model, part)?.median;
    Some(median(ModelKind::Kuramoto)? - median(ModelKind::Transformer)?)
}

fn ablation(ablation: Ablation) -> Option<&'static Value> {
    RESULTS["ablations"]["delta_val"].as_array()?.iter().find(|row| row["row"] == ablation.title)
}

/// Table 3: what an ablation adds to the validation of the reference.
pub fn ablated(row: Ablation) -> Option<Published> {
    published(ablation(row)?, &RESULTS["ablations"]["seeds"], ABLATION_UNIT)
}

/// Table 3: the part of the layer that an ablation is about.
pub fn component(row: Ablation) -> Option<&'static str> {
    ablation(row)?["component"].as_str()
}

/// Table 4: validation of a model with so many heads and layers.
pub fn gridded(model: ModelKind, heads: usize, layers: usize) -> Option<Published> {
    let cells = RESULTS["grid"][model.name()].as_array()?;
    let cell = cells.iter().find(|cell| cell["heads"] == heads && cell["layers"] == layers)?;
    published(&cell["val"], &RESULTS["grid"]["seeds"], UNIT)
}

/// Validation of an arm in the paper, where it has that cell; for an ablation the difference to its reference.
pub fn validated(arm: Arm, corpus: &str, budget: usize) -> Option<Published> {
    if !has_corpus(arm.table(), corpus) {
        return None;
    }
    match arm {
        Arm::Compare { model, .. } => compared(corpus, budget, model, Part::Validation),
        Arm::Reference => compared(CORPORA[0], BUDGETS[0], ModelKind::Kuramoto, Part::Validation),
        Arm::Ablation(row) => ablated(row),
        // The grid's base is the model of Table 1.
        Arm::Grid { model, heads, layers } => gridded(model, heads, layers).or_else(|| {
            let base = Arm::base(model) == arm;
            base.then(|| compared(CORPORA[0], BUDGETS[0], model, Part::Validation)).flatten()
        }),
    }
}

/// How many seeds the paper has of an arm, where it has that arm on that corpus at that size.
pub fn seeds(arm: Arm, corpus: &str, budget: usize) -> Option<u64> {
    let sized = budget_for(arm.table(), budget) == budget;
    Some(validated(arm, corpus, budget).filter(|_| sized)?.seeds as u64)
}

/// Bytes a second and peak gigabytes of a model's training on the paper's GPU.
pub fn computed(corpus: &str, budget: usize, model: ModelKind) -> Option<(f64, f64)> {
    let entry = &RESULTS["compute"][corpus][size_key(budget)][model.name()];
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
            for (corpus, budget) in CORPORA.iter().flat_map(|corpus| BUDGETS.map(|budget| (corpus, budget))) {
                for part in [Part::Validation, Part::Test] {
                    let cell = compared(corpus, budget, model, part).unwrap();
                    assert!(cell.median.is_some());
                    let six = (*corpus, budget, model) == ("enwik8", BUDGETS[1], ModelKind::Kuramoto);
                    assert_eq!(cell.seeds, if six { 6 } else { 5 });
                    assert_eq!(clustered(corpus, budget, model, part).is_some(), six);
                }
                assert!(computed(corpus, budget, model).is_some());
            }
            for (heads, layers) in GRID.flat_map(|heads| GRID.map(move |layers| (heads, layers))) {
                let cell =
                    gridded(model, heads, layers).unwrap_or_else(|| panic!("{model}, {heads}, {layers}"));
                assert_eq!(cell.seeds, 3);
            }
        }
        for row in ABLATIONS {
            assert!(
                ablated(row).is_some_and(|cell| cell.seeds == 5) && component(row).is_some(),
                "{}",
                row.name
            );
        }
        assert_eq!(ablated(Ablation::named("no-value-gate").unwrap()).unwrap().mean, 0.11);
        assert_eq!(component(Ablation::named("no-value-gate").unwrap()), Some("value update"));
        let reference = validated(Arm::Reference, "enwik8", BUDGETS[0]).unwrap();
        assert_eq!(RESULTS["ablations"]["reference_val_mean"].as_f64(), Some(reference.mean));
        assert_eq!(compared("tales", BUDGETS[0], ModelKind::Kuramoto, Part::Validation), None);
    }

    #[test]
    fn gaps_are_the_papers() {
        let near = |found: Option<f64>, expected: f64| {
            assert!((found.unwrap() - expected).abs() < 1e-9, "{found:?} against {expected}");
        };
        near(gap("enwik8", BUDGETS[0], Part::Validation), 0.021);
        near(gap("enwik8", BUDGETS[1], Part::Validation), 0.009);
        near(median_gap("enwik8", BUDGETS[1], Part::Validation), -0.003);
        // To four digits in the text; the rounded means would say 0.0120 and 0.0100.
        near(gap("codeparrot", BUDGETS[1], Part::Validation), -0.0118);
        near(gap("codeparrot", BUDGETS[1], Part::Test), -0.0099);
    }

    #[test]
    fn a_cell_is_the_papers_only_on_its_corpus_and_at_its_size() {
        let row = Arm::Ablation(ABLATIONS[0]);
        let grid = |heads, layers| Arm::Grid { model: ModelKind::Kuramoto, heads, layers };
        assert_eq!(seeds(row, "enwik8", BUDGETS[0]), Some(5));
        assert_eq!(seeds(grid(2, 2), "enwik8", BUDGETS[0]), Some(3));
        for (corpus, budget) in [("codeparrot", BUDGETS[0]), ("enwik8", 120_000), ("enwik8", BUDGETS[1])] {
            assert_eq!(seeds(row, corpus, budget), None, "{corpus}, {budget}");
            assert_eq!(seeds(grid(2, 2), corpus, budget), None, "{corpus}, {budget}");
        }
        assert_eq!(validated(row, "codeparrot", BUDGETS[0]), None);
        assert!(validated(row, "enwik8", 120_000).is_some(), "for orientation, with its size");
        assert_eq!(validated(grid(1, 4), "enwik8", BUDGETS[0]).unwrap().mean, 1.637);
    }
}
