//! Claims of the paper about differences, and what paired runs say of them.

use crate::arm::{Arm, GRID, PaperTable, with_table};
use crate::paper;
use crate::plan::{Plan, Planned};
use crate::results::{ArmResults, pairs};
use crate::scale::Scale;
use crate::statistics::{
    Interval, bootstrap, holm, kendall, mean, mean_interval, order_p, ranks, sign_flip, smallest_p,
};
use kuramoto_model::ModelKind;
use kuramoto_model::ablation::{ABLATIONS, Ablation};
use kuramoto_train::presets::Protocol;
use serde::Serialize;
use strum::VariantArray;

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
    /// Runs of a smoke test: nothing can be said of them, whatever a test says.
    NotJudged,
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::NotReproduced => "not reproduced",
            Verdict::Inconclusive => "inconclusive at this power",
            Verdict::NotJudged => "not judged: smoke test",
        }
    }

    /// True if a test excludes chance.
    pub fn is_shown(self) -> bool {
        matches!(self, Verdict::Reproduced | Verdict::NotReproduced)
    }
}

/// A claim of the paper about a difference, and what these runs say of it.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// What is claimed, in a sentence.
    pub statement: String,
    /// The arm it is about; of two that are compared, the first.
    #[serde(flatten, serialize_with = "with_table")]
    pub arm: Arm,
    /// Its corpus.
    pub corpus: String,
    /// Its parameter budget.
    pub budget: usize,
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

/// Highest corrected p-value that counts as shown.
pub const LEVEL: f64 = 0.05;

/// Fewest seeds with which one of so many claims of a table could pass the corrected test.
pub fn seeds_needed(claims: usize) -> usize {
    (1..64).find(|&seeds| smallest_p(seeds) * claims as f64 <= LEVEL).unwrap_or(64)
}

/// Claims that the runs of a plan can be asked about, in the table that has most.
pub fn most_in_a_table(plan: &Plan) -> usize {
    let first = |run: &&Planned| run.seed == plan.runs[0].seed;
    let claims = |run: &Planned| match run.arm {
        Arm::Compare { model: ModelKind::Kuramoto, .. } => 1 + usize::from(run.config.validation.test),
        Arm::Ablation(_) => 1,
        Arm::Grid { model, .. } if run.arm == corner(model) => 1,
        Arm::Compare { .. } | Arm::Reference | Arm::Grid { .. } => 0,
    };
    let of_table = |table| plan.runs.iter().filter(move |run| run.arm.table() == table);
    PaperTable::all().map(|table| of_table(table).filter(first).map(claims).sum()).max().unwrap_or(0)
}

/// The cell of fewest heads and layers, which a claim about all cells of a model is listed under.
fn corner(model: ModelKind) -> Arm {
    Arm::Grid { model, heads: *GRID.start(), layers: *GRID.start() }
}

/// Every claim that these arms can be asked about; those of a smoke test are not judged.
pub(crate) fn claims(arms: &[ArmResults], scale: Scale) -> Vec<Claim> {
    let mut claims = compare_claims(arms);
    claims.extend(ablation_claims(arms));
    claims.extend(grid_claims(arms));
    correct(&mut claims);
    if scale == Scale::Smoke {
        claims.iter_mut().for_each(|claim| claim.verdict = Verdict::NotJudged);
    }
    claims
}

/// A claim that a difference has the sign of the paper's; p-values are corrected later, all of a table
/// together.
fn claim(arm: &ArmResults, statement: String, differences: Vec<f64>, paper: f64) -> Option<Claim> {
    if differences.is_empty() {
        return None;
    }
    let p = sign_flip(&differences);
    Some(Claim {
        statement,
        arm: arm.arm,
        corpus: arm.corpus.clone(),
        budget: arm.budget,
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

fn compare_claims(arms: &[ArmResults]) -> Vec<Claim> {
    let groups = groups(arms, PaperTable::Compare).len();
    let on = |(protocol, ours, theirs): (Protocol, &ArmResults, &ArmResults), split: &str| {
        // Means against means; at 5M on enwik8 the paper's medians have the other sign, as one of its runs
        // went astray.
        let paper = |arm: &ArmResults| Some(if split == "test" { arm.paper_test } else { arm.paper }?.mean);
        let paper = paper(ours)? - paper(theirs)?;
        let word = if paper > 0.0 { "behind" } else { "ahead of" };
        let statement =
            format!("{}{protocol} protocol, {split}: Kuramoto {word} transformer", prefix(&[ours], groups));
        let differences = ours.minus(theirs, |run| match split {
            "test" => run.summary.test_bits_per_byte,
            _ => run.summary.validation_bits_per_byte,
        });
        claim(ours, statement, differences, paper)
    };
    pairs(arms).flat_map(|pair| ["validation", "test"].map(|split| on(pair, split))).flatten().collect()
}

/// The arms of a table, apart by corpus and size: nothing is compared across them.
pub(crate) fn groups(arms: &[ArmResults], table: PaperTable) -> Vec<Vec<&ArmResults>> {
    let mut groups: Vec<Vec<&ArmResults>> = Vec::new();
    for arm in arms.iter().filter(|arm| arm.arm.table() == table) {
        let place = |arm: &ArmResults| (arm.corpus.clone(), arm.budget);
        match groups.iter_mut().find(|group| place(group[0]) == place(arm)) {
            Some(group) => group.push(arm),
            None => groups.push(vec![arm]),
        }
    }
    groups
}

/// The corpus, where there are several.
fn prefix(group: &[&ArmResults], count: usize) -> String {
    if count > 1 {
        format!("{}, {}: ", group[0].corpus, crate::plan::size(group[0].budget))
    } else {
        String::new()
    }
}

fn find<'a>(group: &[&'a ArmResults], arm: Arm) -> Option<&'a ArmResults> {
    group.iter().copied().find(|results| results.arm == arm)
}

fn ablation_claims(arms: &[ArmResults]) -> Vec<Claim> {
    let groups = groups(arms, PaperTable::Ablations);
    let count = groups.len();
    let of = |group: &Vec<&ArmResults>| {
        let reference = find(group, Arm::Reference)?;
        let of = |row: &Ablation| {
            let arm = find(group, Arm::Ablation(*row))?;
            let paper = paper::ablated(*row)?.mean;
            let word = if paper > 0.0 { "hurts" } else { "helps" };
            let differences = arm.minus(reference, |run| run.summary.validation_bits_per_byte);
            claim(arm, format!("{}{}: {word}", prefix(group, count), row.title), differences, paper)
        };
        Some(ABLATIONS.iter().filter_map(of).collect::<Vec<_>>())
    };
    groups.iter().filter_map(of).flatten().collect()
}

/// The range over depths, averaged over heads, less the range over heads, averaged over depths. Ranges grow
/// with noise, so ranges of as many cells each are compared: were depth and heads alike, either could come
/// out larger.
fn depth_over_heads(value: &dyn Fn(usize, usize) -> Option<f64>) -> Option<f64> {
    let range = |of: &dyn Fn(usize) -> Option<f64>| {
        let row = GRID.map(of).collect::<Option<Vec<f64>>>()?;
        Some(row.iter().copied().fold(f64::MIN, f64::max) - row.iter().copied().fold(f64::MAX, f64::min))
    };
    let over_depths = GRID.map(|heads| range(&|layers| value(heads, layers))).collect::<Option<Vec<_>>>()?;
    let over_heads = GRID.map(|layers| range(&|heads| value(heads, layers))).collect::<Option<Vec<_>>>()?;
    Some(mean(&over_depths) - mean(&over_heads))
}

/// Depth matters more than heads.
fn grid_claims(arms: &[ArmResults]) -> Vec<Claim> {
    let groups = groups(arms, PaperTable::Grid);
    let of = |(group, model): (&Vec<&ArmResults>, ModelKind)| {
        let cell = |heads: usize, layers: usize| find(group, Arm::Grid { model, heads, layers });
        let corner = find(group, corner(model))?;
        let of_seed =
            |seed| depth_over_heads(&|h, l| cell(h, l)?.runs.get(seed)?.summary.validation_bits_per_byte);
        let ours = corner.runs.keys().filter_map(of_seed).collect();
        let paper = depth_over_heads(&|h, l| Some(paper::gridded(model, h, l)?.mean))?;
        let statement = format!("{}{model}: depth matters more than heads", prefix(group, groups.len()));
        claim(corner, statement, ours, paper)
    };
    groups
        .iter()
        .flat_map(|group| ModelKind::VARIANTS.iter().map(move |&model| (group, model)))
        .filter_map(of)
        .collect()
}

/// Holm's correction within each table, and the verdicts.
fn correct(claims: &mut [Claim]) {
    for table in PaperTable::all() {
        let mut same: Vec<&mut Claim> = claims.iter_mut().filter(|c| c.arm.table() == table).collect();
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

/// Agreement of the order of ablations with the paper's.
#[derive(Clone, Debug, Serialize)]
pub struct RankAgreement {
    /// The corpus.
    pub corpus: String,
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

/// Agreement of the order of ablations with the paper's, resampling seeds; one for each corpus.
pub(crate) fn rank_agreements(arms: &[ArmResults]) -> Vec<RankAgreement> {
    groups(arms, PaperTable::Ablations).iter().filter_map(|group| rank_agreement(group)).collect()
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
        tau: kendall(&means(&all), &paper),
        p: order_p(&means(&all), &paper),
        interval: bootstrap(seeds, |chosen| kendall(&means(chosen), &paper)),
        rows: rows.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A large difference over ten seeds, with a little spread.
    fn differences(mean: f64) -> Vec<f64> {
        (0..10).map(|i| mean + 0.001 * f64::from(i)).collect()
    }

    #[test]
    fn neither_depth_nor_heads_is_favoured() {
        let near = |found: Option<f64>, expected: f64| {
            assert!((found.unwrap() - expected).abs() < 1e-12, "{found:?}")
        };
        // A layer gains 0.1, a head 0.02.
        near(depth_over_heads(&|h, l| Some(3.0 - 0.1 * l as f64 - 0.02 * h as f64)), 0.4 - 0.08);
        // Exchanged, they change the sign and nothing else, whatever the noise.
        let noisy = |h: usize, l: usize| Some(((h * 7919 + l * 104_729) as f64).sin());
        near(depth_over_heads(&|h, l| noisy(l, h)), -depth_over_heads(&noisy).unwrap());
        assert_eq!(depth_over_heads(&|h, l| (h + l < 12).then_some(1.0)), None, "a cell is missing");
        let paper = |model| depth_over_heads(&|h, l| Some(paper::gridded(model, h, l)?.mean)).unwrap();
        assert!(ModelKind::VARIANTS.iter().all(|&model| paper(model) > 0.0), "as the paper says");
    }

    #[test]
    fn the_sign_decides_once_chance_is_excluded() {
        let arm = ArmResults {
            arm: Arm::Ablation(ABLATIONS[0]),
            corpus: "c".into(),
            budget: 1,
            runs: Default::default(),
            paper: None,
            paper_test: None,
        };
        let of = |differences, paper| claim(&arm, "a hurts".into(), differences, paper).unwrap();
        let mut claims = vec![
            of(differences(0.1), 0.2),
            of(differences(-0.1), 0.2),
            of(vec![0.1, -0.1, 0.05, -0.06, 0.1, -0.08, 0.02, -0.03, 0.01, 0.0], 0.2),
            // Large, but three seeds could show nothing.
            of(vec![0.5, 0.6, 0.7], 0.2),
        ];
        correct(&mut claims);
        use Verdict::*;
        assert_eq!(
            claims.iter().map(|claim| claim.verdict).collect::<Vec<_>>(),
            [Reproduced, NotReproduced, Inconclusive, Inconclusive]
        );
        // Four claims of a table: the smallest p counts four times.
        assert_eq!(claims[0].p_holm, 4.0 * claims[0].p);
        assert_eq!(claims[3].smallest_p, 1.0);
    }
}
