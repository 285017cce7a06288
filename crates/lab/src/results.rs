//! What the finished runs of a plan came to, gathered into arms over seeds.

use crate::claims::{Claim, RankAgreement, claims, rank_agreements};
use crate::error::Result;
use crate::paper::{self, Cell};
use crate::plan::{Plan, Planned};
use crate::runner::{Status, status};
use crate::statistics::median;
use kuramoto_train::{Run, Summary, checkpoint, metrics};
use serde::Serialize;
use std::collections::BTreeMap;

/// A finished run.
#[derive(Clone, Debug, Serialize)]
pub struct Finished {
    /// What was planned.
    pub planned: Planned,
    /// What it came to.
    pub summary: Summary,
    /// Hash of its best weights, which its validation and test are of.
    pub weights_sha256: String,
    /// Validations on the way: bytes read, bits per byte.
    pub curve: Vec<(u64, f64)>,
    /// Bytes a second, the median of its steps.
    pub bytes_per_second: f64,
    /// Share of the multiply-add peak of its threads, the median of its steps, where the peak was measured.
    pub utilisation: Option<f64>,
}

impl Finished {
    fn read(plan: &Plan, planned: &Planned, summary: Summary) -> Result<Finished> {
        let run = Run::open(&plan.run_folder(planned))?;
        let rows = metrics::read(&run.folder().join("metrics.jsonl"))?;
        let speeds: Vec<f64> = rows.iter().map(|row| row.tokens_per_second).collect();
        let shares: Vec<f64> = rows.iter().filter_map(|row| row.utilisation).collect();
        Ok(Finished {
            planned: planned.clone(),
            weights_sha256: checkpoint::verify(
                &checkpoint::folder(run.folder(), summary.best_step.unwrap_or(summary.steps)),
                run.config(),
            )?,
            summary,
            curve: rows.iter().filter_map(|row| Some((row.tokens, row.validation_bits_per_byte?))).collect(),
            bytes_per_second: median(&speeds),
            utilisation: (!shares.is_empty()).then(|| median(&shares)),
        })
    }
}

/// An arm at one size on one corpus, over its seeds.
#[derive(Clone, Debug, Serialize)]
pub struct Arm {
    /// `compare`, `ablations` or `grid`.
    pub table: String,
    /// Its name.
    pub name: String,
    /// The corpus.
    pub corpus: String,
    /// Budget its width was matched to.
    pub budget: usize,
    /// Its finished runs, by seed.
    pub runs: BTreeMap<u64, Finished>,
    /// The paper's validation, where the paper has this cell; for an ablation, its difference to the reference.
    pub paper: Option<Cell>,
    /// The paper's test, where it has one.
    pub paper_test: Option<Cell>,
}

impl Arm {
    /// Its finished run of the lowest seed.
    pub fn first(&self) -> Option<&Finished> {
        self.runs.values().next()
    }

    /// Best validations, in order of seeds.
    pub fn validations(&self) -> Vec<f64> {
        self.runs.values().filter_map(|run| run.summary.validation_bits_per_byte).collect()
    }

    /// Tests with the best parameters, in order of seeds; empty where none was asked for.
    pub fn tests(&self) -> Vec<f64> {
        self.runs.values().filter_map(|run| run.summary.test_bits_per_byte).collect()
    }

    /// Differences of a value to `other` in the seeds both have.
    pub(crate) fn minus(&self, other: &Arm, value: impl Fn(&Finished) -> Option<f64>) -> Vec<f64> {
        let pairs = self.runs.iter().filter_map(|(seed, run)| Some((run, other.runs.get(seed)?)));
        pairs.filter_map(|(a, b)| Some(value(a)? - value(b)?)).collect()
    }
}

/// Everything a report says.
#[derive(Clone, Debug, Serialize)]
pub struct Results {
    /// Every arm with at least one finished run, in the plan's order.
    pub arms: Vec<Arm>,
    /// Every claim that can be looked at.
    pub claims: Vec<Claim>,
    /// Of the ablations, where there are any; one for each corpus.
    pub ranks: Vec<RankAgreement>,
    /// Finished runs and planned runs.
    pub progress: (usize, usize),
}

impl Results {
    /// Gathers what is finished; every run is proven on the way.
    pub fn gather(plan: &Plan) -> Result<Results> {
        let mut arms: Vec<Arm> = Vec::new();
        for planned in &plan.runs {
            let Status::Finished(mut summary) = status(plan, planned)? else { continue };
            // A report may be moved with its plan.
            summary.run = planned.folder.clone().into();
            let finished = Finished::read(plan, planned, *summary)?;
            let same = |arm: &&mut Arm| (&*arm.table, &*arm.name, &*arm.corpus, arm.budget) == planned.cell();
            match arms.iter_mut().find(same) {
                Some(arm) => {
                    arm.runs.insert(planned.seed, finished);
                }
                None => arms.push(Arm {
                    table: planned.table.clone(),
                    name: planned.arm.clone(),
                    corpus: planned.corpus.clone(),
                    budget: planned.budget,
                    paper: paper_cell(planned, "val"),
                    paper_test: (planned.table == "compare").then(|| paper_cell(planned, "test")).flatten(),
                    runs: [(planned.seed, finished)].into(),
                }),
            }
        }
        let progress = (arms.iter().map(|arm| arm.runs.len()).sum(), plan.runs.len());
        Ok(Results { claims: claims(&arms), ranks: rank_agreements(&arms), arms, progress })
    }
}

/// The paper's value of the same cell, where the size is the paper's or stands for its 1M.
fn paper_cell(planned: &Planned, split: &str) -> Option<Cell> {
    let size = if planned.budget == 5_000_000 { "5m" } else { "1m" };
    let model = planned.config.model.kind().name();
    match planned.table.as_str() {
        "compare" => paper::compared(&planned.corpus, size, model, split),
        "ablations" => paper::ablated(&planned.arm),
        "grid" => paper::gridded(model, planned.config.model.heads(), planned.config.model.layers()),
        _ => None,
    }
}

/// Every Kuramoto arm with the transformer of the same protocol, corpus and size.
pub(crate) fn pairs(arms: &[Arm]) -> impl Iterator<Item = (&str, &Arm, &Arm)> {
    arms.iter().filter(|arm| arm.table == "compare").filter_map(move |ours| {
        let protocol = ours.name.strip_prefix("kuramoto-")?;
        let theirs = arms.iter().find(|arm| {
            let same = (&arm.table, &arm.corpus, arm.budget) == (&ours.table, &ours.corpus, ours.budget);
            same && arm.name.strip_prefix("transformer-") == Some(protocol)
        })?;
        Some((protocol, ours, theirs))
    })
}
