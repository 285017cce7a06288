//! The order of the ablations beside the paper's.

use super::{groups, value};
use crate::arm::{Arm, PaperTable};
use crate::paper::{self, Part};
use crate::results::ArmResults;
use crate::statistics::{Interval, bootstrap, kendall, order_p, ranks};
use kuramoto_model::ablation::{ABLATIONS, Ablation};
use serde::Serialize;

/// Agreement of the order of ablations with the paper's.
#[derive(Clone, Debug, Serialize)]
pub struct RankAgreement {
    /// The corpus.
    pub corpus: String,
    /// Parameter budget of the runs.
    pub budget: usize,
    /// Seeds that all rows have.
    pub seeds: usize,
    /// Kendall's tau-b.
    pub tau: f64,
    /// 95% bootstrap interval over seeds.
    pub interval: Interval,
    /// Of the permutation test that the two orders have nothing to do with each other, two-sided.
    pub p: f64,
    /// Every ablation, in the paper's order.
    pub rows: Vec<Rank>,
}

/// The rank of an ablation; 1 hurts most.
#[derive(Clone, Debug, Serialize)]
pub struct Rank {
    /// Which ablation.
    pub ablation: Arm,
    /// By the mean difference over seeds; ties share their mean rank.
    pub here: f64,
    /// 95% bootstrap interval over seeds.
    pub interval: Interval,
    /// In the paper.
    pub paper: f64,
}

/// Agreement of the order of ablations with the paper's, resampling seeds; one for each size. The paper has
/// ablated on one corpus alone: orders on others are not held against it.
pub(crate) fn rank_agreements(arms: &[ArmResults]) -> Vec<RankAgreement> {
    let groups = groups(arms, PaperTable::Ablations).into_iter();
    let groups = groups.filter(|group| paper::has_corpus(PaperTable::Ablations, &group[0].corpus));
    groups.filter_map(|group| rank_agreement(&group)).collect()
}

fn rank_agreement(group: &[&ArmResults]) -> Option<RankAgreement> {
    let find = |arm| group.iter().copied().find(|results| results.arm == arm);
    let reference = find(Arm::Reference)?;
    let row = |row: &Ablation| Some((find(Arm::Ablation(*row))?, paper::ablated(*row)?.mean));
    let arms: Vec<(&ArmResults, f64)> = ABLATIONS.iter().filter_map(row).collect();
    // Seeds are resampled together, so only those count that all rows have.
    let validated = |arm: &ArmResults, seed: &u64| value(arm.runs.get(seed)?, Part::Validation);
    let all_have = |seed: &&u64| {
        validated(reference, seed).is_some() && arms.iter().all(|(arm, _)| validated(arm, seed).is_some())
    };
    let shared: Vec<u64> = reference.runs.keys().filter(all_have).copied().collect();
    let difference = |arm: &ArmResults, seed: &u64| Some(validated(arm, seed)? - validated(reference, seed)?);
    let rows: Vec<(Arm, Vec<f64>, f64)> = arms
        .iter()
        .map(|(arm, paper)| {
            (arm.arm, shared.iter().filter_map(|seed| difference(arm, seed)).collect(), *paper)
        })
        .collect();
    if rows.len() < 2 || shared.is_empty() {
        return None;
    }
    let paper: Vec<f64> = rows.iter().map(|(.., paper)| *paper).collect();
    let means = |chosen: &[usize]| -> Vec<f64> {
        rows.iter().map(|(_, d, _)| chosen.iter().map(|&i| d[i]).sum::<f64>() / chosen.len() as f64).collect()
    };
    let seeds = shared.len();
    let all: Vec<usize> = (0..seeds).collect();
    let (here, theirs) = (ranks(&means(&all)), ranks(&paper));
    let rows = rows.iter().enumerate().map(|(i, (arm, ..))| Rank {
        ablation: *arm,
        here: here[i],
        interval: bootstrap(seeds, |chosen| ranks(&means(chosen))[i]),
        paper: theirs[i],
    });
    Some(RankAgreement {
        corpus: reference.corpus.clone(),
        budget: reference.budget,
        seeds,
        tau: kendall(&means(&all), &paper),
        p: order_p(&means(&all), &paper),
        interval: bootstrap(seeds, |chosen| kendall(&means(chosen), &paper)),
        rows: rows.collect(),
    })
}
