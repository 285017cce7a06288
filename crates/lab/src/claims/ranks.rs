//! The order of the ablations beside the paper's.

use super::{find, groups};
use crate::arm::{Arm, PaperTable};
use crate::paper;
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
    /// Kendall's tau-b.
    pub tau: f64,
    /// 95% bootstrap interval over seeds.
    pub interval: Interval,
    /// Of the permutation test that the two orders have nothing to do with each other, two-sided.
    pub p: f64,
    /// Every ablation that has all seeds, in the paper's order.
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
    let reference = find(group, Arm::Reference)?;
    let row = |row: &Ablation| {
        let arm = Arm::Ablation(*row);
        let differences = find(group, arm)?.minus(reference, |run| run.summary.validation_bits_per_byte);
        // Seeds are resampled together, so all rows must have all of them.
        let whole = differences.len() == reference.runs.len();
        whole.then_some((arm, differences, paper::ablated(*row)?.mean))
    };
    let rows: Vec<(Arm, Vec<f64>, f64)> = ABLATIONS.iter().filter_map(row).collect();
    if rows.len() < 2 {
        return None;
    }
    let paper: Vec<f64> = rows.iter().map(|(.., paper)| *paper).collect();
    let means = |chosen: &[usize]| -> Vec<f64> {
        rows.iter().map(|(_, d, _)| chosen.iter().map(|&i| d[i]).sum::<f64>() / chosen.len() as f64).collect()
    };
    let seeds = reference.runs.len();
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
        tau: kendall(&means(&all), &paper),
        p: order_p(&means(&all), &paper),
        interval: bootstrap(seeds, |chosen| kendall(&means(chosen), &paper)),
        rows: rows.collect(),
    })
}
