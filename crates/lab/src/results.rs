//! What the finished runs of a plan came to: cells over seeds, and claims about paired differences.

use crate::error::Result;
use crate::paper::{self, Cell};
use crate::plan::{Plan, Planned};
use crate::runner::{Status, status};
use crate::statistics::{Interval, bootstrap, holm, kendall, mean, mean_interval, sign_flip, smallest_p};
use kuramoto_model::ablation::ABLATIONS;
use kuramoto_train::{Run, Summary, checkpoint};
use serde::Serialize;
use std::collections::BTreeMap;

/// A finished run.
#[derive(Clone, Debug, Serialize)]
pub struct Finished {
    /// What was planned.
    pub planned: Planned,
    /// What it came to.
    pub summary: Summary,
    /// Hash of its last weights.
    pub weights_sha256: String,
}

impl Finished {
    /// Best validation, bits per byte.
    pub fn validation(&self) -> f64 {
        self.summary.validation_bits_per_byte.unwrap_or(f64::NAN)
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
    /// The paper's value, where the paper has this cell.
    pub paper: Option<Cell>,
}

impl Arm {
    /// Best validations, in order of seeds.
    pub fn validations(&self) -> Vec<f64> {
        self.runs.values().map(Finished::validation).collect()
    }

    /// Differences to `other` in the seeds both have.
    fn minus(&self, other: &Arm) -> Vec<f64> {
        let pairs = self.runs.iter().filter_map(|(seed, run)| Some((run, other.runs.get(seed)?)));
        pairs.map(|(a, b)| a.validation() - b.validation()).collect()
    }
}

/// What can be said of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The same sign as the paper's, and a test that excludes chance at 5%.
    Reproduced,
    /// The other sign than the paper's, and a test that excludes chance at 5%.
    NotReproduced,
    /// No test at 5%: more seeds are needed, or there is nothing to find.
    Inconclusive,
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::NotReproduced => "not reproduced",
            Verdict::Inconclusive => "inconclusive at this power",
        }
    }
}

/// A claim of the paper about a difference, and what these runs say of it.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// What is claimed, in a sentence.
    pub statement: String,
    /// The table it belongs to.
    pub table: String,
    /// Differences within seeds.
    pub differences: Vec<f64>,
    /// Their mean.
    pub mean: f64,
    /// 95% bootstrap interval of the mean.
    pub interval: Interval,
    /// Of the sign-flip permutation test, two-sided.
    pub p: f64,
    /// Corrected for the number of claims of the same table (Holm).
    pub p_holm: f64,
    /// The least p that so many seeds could show, corrected alike.
    pub smallest_p: f64,
    /// The paper's difference.
    pub paper: f64,
    /// What can be said.
    pub verdict: Verdict,
}

/// Agreement of the order of ablations with the paper's.
#[derive(Clone, Debug, Serialize)]
pub struct RankAgreement {
    /// Kendall's tau-b.
    pub tau: f64,
    /// 95% bootstrap interval over seeds.
    pub interval: Interval,
    /// Ablations that were ranked.
    pub ablations: usize,
}

/// Everything a report says.
#[derive(Clone, Debug, Serialize)]
pub struct Results {
    /// Every arm with at least one finished run, in the plan's order.
    pub arms: Vec<Arm>,
    /// Every claim that can be looked at.
    pub claims: Vec<Claim>,
    /// Of the ablations, where there are any.
    pub ranks: Option<RankAgreement>,
    /// Finished runs and planned runs.
    pub progress: (usize, usize),
}

const LEVEL: f64 = 0.05;

impl Results {
    /// Gathers what is finished; every run is proven on the way.
    pub fn gather(plan: &Plan) -> Result<Results> {
        let mut arms: Vec<Arm> = Vec::new();
        for planned in &plan.runs {
            let Status::Finished(summary) = status(plan, planned)? else { continue };
            let run = Run::open(&plan.run_folder(planned))?;
            let weights = checkpoint::verify(&checkpoint::folder(run.folder(), summary.steps), run.config())?;
            let finished = Finished { planned: planned.clone(), summary: *summary, weights_sha256: weights };
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
                    paper: paper_cell(planned),
                    runs: [(planned.seed, finished)].into(),
                }),
            }
        }
        let progress = (arms.iter().map(|arm| arm.runs.len()).sum(), plan.runs.len());
        let mut claims = compare_claims(&arms);
        claims.extend(ablation_claims(&arms));
        claims.extend(grid_claims(&arms));
        correct(&mut claims);
        let ranks = rank_agreement(&arms);
        Ok(Results { arms, claims, ranks, progress })
    }
}

/// The paper's value of the same cell, where the size is the paper's or stands for its 1M.
fn paper_cell(planned: &Planned) -> Option<Cell> {
    let size = if planned.budget == 5_000_000 { "5m" } else { "1m" };
    let model = planned.config.model.kind().name();
    match planned.table.as_str() {
        "compare" => paper::compared(&planned.corpus, size, model, "val"),
        "ablations" => paper::ablated(&planned.arm),
        "grid" => paper::gridded(model, planned.config.model.heads(), planned.config.model.layers()),
        _ => None,
    }
}

/// A claim that a difference has the sign of the paper's; p-values are corrected later, all of a table together.
fn claim(table: &str, statement: String, differences: Vec<f64>, paper: f64) -> Option<Claim> {
    if differences.is_empty() {
        return None;
    }
    let p = sign_flip(&differences);
    Some(Claim {
        statement,
        table: table.into(),
        mean: mean(&differences),
        interval: mean_interval(&differences),
        p,
        p_holm: p,
        smallest_p: smallest_p(differences.len()),
        differences,
        paper,
        verdict: Verdict::Inconclusive,
    })
}

fn compare_claims(arms: &[Arm]) -> Vec<Claim> {
    let of =
        |prefix: &'static str| arms.iter().filter(move |arm| arm.table == "compare" && arm.name.starts_with(prefix));
    of("kuramoto-")
        .filter_map(|ours| {
            let protocol = ours.name.strip_prefix("kuramoto-")?;
            let theirs = of("transformer-")
                .find(|arm| arm.name.ends_with(protocol) && (&arm.corpus, arm.budget) == (&ours.corpus, ours.budget))?;
            let paper = ours.paper.zip(theirs.paper).map(|(a, b)| a.mean - b.mean)?;
            let word = if paper > 0.0 { "behind" } else { "ahead of" };
            let statement = format!(
                "{} at {} parameters, {protocol} protocol: the Kuramoto model is {word} the transformer",
                ours.corpus, ours.budget
            );
            claim("compare", statement, ours.minus(theirs), paper)
        })
        .collect()
}

fn ablation_claims(arms: &[Arm]) -> Vec<Claim> {
    let of = |name: &str| arms.iter().find(|arm| arm.table == "ablations" && arm.name == name);
    let Some(reference) = of("reference") else { return Vec::new() };
    ABLATIONS
        .iter()
        .filter_map(|row| {
            let arm = of(row.name)?;
            let paper = paper::ablated(row.name)?.mean;
            let word = if paper > 0.0 { "hurts" } else { "helps" };
            claim("ablations", format!("{} {word}", row.title), arm.minus(reference), paper)
        })
        .collect()
}

/// Depth matters more than heads: per seed, what going from two to five layers gains, averaged over heads, less the
/// range over heads, averaged over depths.
fn grid_claims(arms: &[Arm]) -> Vec<Claim> {
    let claims = ["kuramoto", "transformer"].into_iter().filter_map(|model| {
        let cell = |heads: usize, layers: usize| {
            arms.iter().find(|arm| arm.table == "grid" && arm.name == format!("{model}-h{heads}-l{layers}"))
        };
        let seeds: Vec<u64> = cell(2, 2)?.runs.keys().copied().collect();
        let margin = |value: &dyn Fn(usize, usize) -> Option<f64>| -> Option<f64> {
            let gains = (2..=6).map(|heads| Some(value(heads, 2)? - value(heads, 5)?));
            let ranges = (2..=6).map(|layers| {
                let row = (2..=6).map(|heads| value(heads, layers)).collect::<Option<Vec<f64>>>()?;
                Some(row.iter().copied().fold(f64::MIN, f64::max) - row.iter().copied().fold(f64::MAX, f64::min))
            });
            Some(mean(&gains.collect::<Option<Vec<_>>>()?) - mean(&ranges.collect::<Option<Vec<_>>>()?))
        };
        let ours =
            seeds.iter().filter_map(|seed| margin(&|h, l| Some(cell(h, l)?.runs.get(seed)?.validation()))).collect();
        let paper = margin(&|h, l| Some(paper::gridded(model, h, l)?.mean))?;
        claim("grid", format!("{model}: depth matters more than heads"), ours, paper)
    });
    claims.collect()
}

/// Holm's correction within each table, and the verdicts.
fn correct(claims: &mut [Claim]) {
    for table in ["compare", "ablations", "grid"] {
        let mut same: Vec<&mut Claim> = claims.iter_mut().filter(|claim| claim.table == table).collect();
        let adjusted = holm(&same.iter().map(|claim| claim.p).collect::<Vec<_>>());
        let count = same.len() as f64;
        for (claim, p) in same.iter_mut().zip(adjusted) {
            claim.p_holm = p;
            claim.smallest_p = (claim.smallest_p * count).min(1.0);
            claim.verdict = match (p <= LEVEL, claim.mean.signum() == claim.paper.signum()) {
                (false, _) => Verdict::Inconclusive,
                (true, true) => Verdict::Reproduced,
                (true, false) => Verdict::NotReproduced,
            };
        }
    }
}

/// Agreement of the order of ablations with the paper's, resampling seeds.
fn rank_agreement(arms: &[Arm]) -> Option<RankAgreement> {
    let reference = arms.iter().find(|arm| arm.table == "ablations" && arm.name == "reference")?;
    let rows: Vec<(Vec<f64>, f64)> = ABLATIONS
        .iter()
        .filter_map(|row| {
            let arm = arms.iter().find(|arm| arm.table == "ablations" && arm.name == row.name)?;
            let differences = arm.minus(reference);
            // Seeds are resampled together, so all rows must have all of them.
            (differences.len() == reference.runs.len()).then_some((differences, paper::ablated(row.name)?.mean))
        })
        .collect();
    if rows.len() < 2 {
        return None;
    }
    let paper: Vec<f64> = rows.iter().map(|(_, paper)| *paper).collect();
    let tau = |chosen: &[usize]| {
        let ours: Vec<f64> =
            rows.iter().map(|(d, _)| chosen.iter().map(|&i| d[i]).sum::<f64>() / chosen.len() as f64).collect();
        kendall(&ours, &paper)
    };
    let seeds = reference.runs.len();
    let all: Vec<usize> = (0..seeds).collect();
    Some(RankAgreement { tau: tau(&all), interval: bootstrap(seeds, tau), ablations: rows.len() })
}
