//! What the finished runs of a plan came to, gathered into arms over seeds.

use crate::arm::{Arm, with_table_as_name};
use crate::claims::{Claim, RankAgreement, claims, rank_agreements, value};
use crate::differences::is_papers;
use crate::equal::{Axis, Equal, equals};
use crate::error::{Error, Result};
use crate::paper::{self, Part, Published};
use crate::plan::{Plan, Planned};
use crate::runner::{Proven, Status, status};
use crate::statistics::median;
use kuramoto_model::ModelKind;
use kuramoto_report::samples::separated;
use kuramoto_train::presets::Protocol;
use kuramoto_train::{Summary, disk, metrics};
use serde::{Deserialize, Serialize};
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
    /// Where it was on an axis after so many bytes. Seconds are those of its median speed, so that pauses and
    /// a busy machine do not count.
    pub fn at(&self, axis: Axis, bytes: u64) -> f64 {
        let config = &self.planned.config;
        match axis {
            Axis::Bytes => bytes as f64,
            Axis::Operations => bytes as f64 * config.model.flops(config.batch.context).training,
            Axis::Seconds => bytes as f64 / self.bytes_per_second,
        }
    }

    fn read(plan: &Plan, planned: &Planned, proven: Proven) -> Result<Finished> {
        let rows = metrics::read(&plan.run_folder(planned).join("metrics.jsonl"))?;
        let speeds: Vec<f64> = rows.iter().map(|row| row.tokens_per_second).collect();
        let shares: Vec<f64> = rows.iter().filter_map(|row| row.utilisation).collect();
        Ok(Finished {
            planned: planned.clone(),
            // A report may be moved with its plan.
            summary: Summary { run: planned.folder.clone().into(), ..proven.summary },
            weights_sha256: proven.weights_sha256,
            curve: rows.iter().filter_map(|row| Some((row.tokens, row.validation_bits_per_byte?))).collect(),
            bytes_per_second: median(&speeds),
            utilisation: (!shares.is_empty()).then(|| median(&shares)),
        })
    }
}

/// An arm at one size on one corpus, over its seeds.
#[derive(Clone, Debug, Serialize)]
pub struct ArmResults {
    /// What was compared.
    #[serde(flatten, serialize_with = "with_table_as_name")]
    pub arm: Arm,
    /// The corpus.
    pub corpus: String,
    /// Budget its width was matched to.
    pub budget: usize,
    /// Its finished runs, by seed.
    pub runs: BTreeMap<u64, Finished>,
    /// True if its runs are the paper's in all that the paper fixes.
    pub as_in_paper: bool,
    /// The paper's validation of the same arm on the same corpus, at its own size; for an ablation, its
    /// difference to the reference.
    pub paper: Option<Published>,
    /// The paper's test, where it has one.
    pub paper_test: Option<Published>,
    /// Seeds whose validation is separated from the cluster of the others. They count like all others.
    pub separated: Vec<u64>,
}

impl ArmResults {
    /// What its runs share: all but the seed.
    pub fn cell(&self) -> (Arm, &str, usize) {
        (self.arm, &self.corpus, self.budget)
    }

    /// By how much its parameters differ from those of the arm it is compared with, as a share of these.
    pub(crate) fn off(&self, arms: &[&ArmResults]) -> Option<f64> {
        let other = self.arm.counterpart()?;
        let other = arms.iter().find(|arm| arm.cell() == (other, &self.corpus, self.budget))?;
        Some(self.parameters()? as f64 / other.parameters()? as f64 - 1.0)
    }

    fn parameters(&self) -> Option<usize> {
        Some(self.first()?.planned.parameters)
    }

    /// Its finished run of the lowest seed.
    pub fn first(&self) -> Option<&Finished> {
        self.runs.values().next()
    }

    /// Best validations, in order of seeds.
    pub fn validations(&self) -> Vec<f64> {
        self.values(Part::Validation)
    }

    /// Tests with the best parameters, in order of seeds; empty where none was asked for.
    pub fn tests(&self) -> Vec<f64> {
        self.values(Part::Test)
    }

    /// Values on a part of the corpus, in order of seeds.
    pub(crate) fn values(&self, part: Part) -> Vec<f64> {
        self.runs.values().filter_map(|run| value(run, part)).collect()
    }

    /// The same without separated seeds.
    pub(crate) fn clustered(&self, part: Part) -> Vec<f64> {
        let rest = self.runs.iter().filter(|(seed, _)| !self.separated.contains(seed));
        rest.filter_map(|(_, run)| value(run, part)).collect()
    }

    /// The paper's values on a part of the corpus.
    pub(crate) fn published(&self, part: Part) -> Option<Published> {
        match part {
            Part::Validation => self.paper,
            Part::Test => self.paper_test,
        }
    }

    /// Differences of a value to `other` in the seeds both have.
    pub(crate) fn minus(&self, other: &ArmResults, value: impl Fn(&Finished) -> Option<f64>) -> Vec<f64> {
        let pairs = self.runs.iter().filter_map(|(seed, run)| Some((run, other.runs.get(seed)?)));
        pairs.filter_map(|(a, b)| Some(value(a)? - value(b)?)).collect()
    }
}

/// Everything a report says.
#[derive(Clone, Debug, Serialize)]
pub struct Results {
    /// Every arm with at least one finished run, in the plan's order.
    pub arms: Vec<ArmResults>,
    /// Every claim that can be looked at.
    pub claims: Vec<Claim>,
    /// Both models at equal bytes, operations and seconds.
    pub equals: Vec<Equal>,
    /// Of the ablations on the paper's corpus, where there are any; one for each size.
    pub ranks: Vec<RankAgreement>,
    /// Finished runs and planned runs.
    pub progress: (usize, usize),
    /// Runs that failed, or whose folders do not hold what they should.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unusable: Vec<Unusable>,
}

/// A run that cannot be used.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Unusable {
    /// Its place in the plan.
    pub index: usize,
    /// What was compared.
    pub arm: Arm,
    /// Its corpus.
    pub corpus: String,
    /// Its parameter budget.
    pub budget: usize,
    /// Its seed.
    pub seed: u64,
    /// What is wrong with it.
    pub why: String,
}

impl Results {
    /// Gathers what is finished; every run is proven on the way. One that cannot be used hides no other.
    pub fn gather(plan: &Plan) -> Results {
        let (mut found, mut unusable) = (Vec::new(), Vec::new());
        for planned in &plan.runs {
            let finished = match status(plan, planned) {
                Ok(Status::Finished(proven)) => {
                    Finished::read(plan, planned, *proven).map_err(|e| e.to_string())
                }
                Ok(Status::Failed(failure)) => Err(failure.to_string()),
                Ok(Status::Missing | Status::Begun | Status::Training) => continue,
                Err(error) => Err(error.to_string()),
            };
            match finished {
                Ok(finished) => found.push(finished),
                Err(why) => {
                    // A report may be moved with its plan, and says nothing of the machine it was made on.
                    let why = why.replace(&*plan.run_folder(planned).to_string_lossy(), &planned.folder);
                    let Planned { index, arm, ref corpus, budget, seed, .. } = *planned;
                    unusable.push(Unusable { index, arm, corpus: corpus.clone(), budget, seed, why });
                }
            }
        }
        Results::of(plan, found, unusable)
    }

    /// Reads what an earlier report of the plan gathered, for plans whose run folders were not kept. What
    /// follows from the runs is computed anew.
    pub fn reread(plan: &Plan) -> Result<Results> {
        let path = plan.folder().join(FILE);
        let wrong = |why: String| Error::plan(&path, why);
        let bytes = disk::read(&path).map_err(|error| wrong(format!("it cannot be read: {error}")))?;
        let stored: Stored = serde_json::from_slice(&bytes)
            .map_err(|error| wrong(format!("it is not what `lab report` wrote ({error})")))?;
        let runs = stored.arms.into_iter().flat_map(|arm| arm.runs.into_values());
        let mut found = Vec::new();
        for run in runs {
            let planned = plan.run(run.planned.index)?;
            if (planned.arm, planned.seed) != (run.planned.arm, run.planned.seed) {
                return Err(wrong(format!("run {} is another than in plan.json", planned.index)));
            }
            found.push(run.finished(planned));
        }
        found.sort_by_key(|run| run.planned.index);
        Ok(Results::of(plan, found, stored.unusable))
    }

    /// Of finished runs in the plan's order.
    pub(crate) fn of(plan: &Plan, finished: Vec<Finished>, unusable: Vec<Unusable>) -> Results {
        let progress = (finished.len(), plan.runs.len());
        let mut arms: Vec<ArmResults> = Vec::new();
        for run in finished {
            let planned = &run.planned;
            match arms.iter_mut().find(|arm| arm.cell() == planned.cell()) {
                Some(arm) => {
                    arm.runs.insert(planned.seed, run);
                }
                None => arms.push(ArmResults {
                    arm: planned.arm,
                    corpus: planned.corpus.clone(),
                    budget: planned.budget,
                    as_in_paper: is_papers(planned),
                    paper: paper::validated(planned.arm, &planned.corpus, paper_budget(planned)),
                    paper_test: published_test(planned),
                    separated: Vec::new(),
                    runs: [(planned.seed, run)].into(),
                }),
            }
        }
        for arm in &mut arms {
            let validated = |(seed, run): (&u64, &Finished)| Some((*seed, value(run, Part::Validation)?));
            let (seeds, values): (Vec<u64>, Vec<f64>) = arm.runs.iter().filter_map(validated).unzip();
            arm.separated = separated(&values).into_iter().map(|place| seeds[place]).collect();
        }
        Results {
            claims: claims(&arms, plan.scale),
            equals: equals(&arms),
            ranks: rank_agreements(&arms),
            arms,
            progress,
            unusable,
        }
    }
}

/// Where a report keeps its results.
pub(crate) const FILE: &str = "report.json";

/// What is read back of a report: the runs, from which everything else follows.
#[derive(Deserialize)]
struct Stored {
    arms: Vec<StoredArm>,
    #[serde(default)]
    unusable: Vec<Unusable>,
}

#[derive(Deserialize)]
struct StoredArm {
    runs: BTreeMap<u64, StoredRun>,
}

#[derive(Deserialize)]
struct StoredRun {
    planned: StoredPlace,
    summary: Summary,
    weights_sha256: String,
    /// What was not finite is `null`.
    curve: Vec<(u64, Option<f64>)>,
    bytes_per_second: Option<f64>,
    utilisation: Option<f64>,
}

#[derive(Deserialize)]
struct StoredPlace {
    index: usize,
    arm: Arm,
    seed: u64,
}

impl StoredRun {
    fn finished(self, planned: &Planned) -> Finished {
        let number = |x: Option<f64>| x.unwrap_or(f64::NAN);
        Finished {
            planned: planned.clone(),
            summary: self.summary,
            weights_sha256: self.weights_sha256,
            curve: self.curve.into_iter().map(|(bytes, bits)| (bytes, number(bits))).collect(),
            bytes_per_second: number(self.bytes_per_second),
            utilisation: self.utilisation,
        }
    }
}

/// The paper's budget that a run has, or stands for.
fn paper_budget(planned: &Planned) -> usize {
    paper::budget_for(planned.arm.table(), planned.budget)
}

/// The paper's test of the same cell; only Tables 1 and 2 have one.
fn published_test(planned: &Planned) -> Option<Published> {
    let Arm::Compare { model, .. } = planned.arm else { return None };
    paper::compared(&planned.corpus, paper_budget(planned), model, Part::Test)
}

/// Every Kuramoto arm with the transformer of the same protocol, corpus and size.
pub(crate) fn pairs(arms: &[ArmResults]) -> impl Iterator<Item = (Protocol, &ArmResults, &ArmResults)> {
    arms.iter().filter_map(move |ours| {
        let Arm::Compare { model: ModelKind::Kuramoto, protocol } = ours.arm else { return None };
        let other = Arm::Compare { model: ModelKind::Transformer, protocol };
        let theirs = arms.iter().find(|arm| arm.cell() == (other, &ours.corpus, ours.budget))?;
        Some((protocol, ours, theirs))
    })
}
