//! What the paper claims, and what these runs say of it.
//!
//! `questions` lists what can be asked of the cells of a plan. A question is answered from the
//! finished runs, with the test that fits what is claimed: a difference, a median, a range.

mod grid;
mod questions;
mod ranks;

pub(crate) use grid::{Measure, best};
pub(crate) use questions::{Place, Quantity, Question, questions};
pub(crate) use ranks::rank_agreements;
pub use ranks::{Rank, RankAgreement};

use crate::arm::{Arm, PaperTable, with_table};
use crate::paper::Part;
use crate::plan::Plan;
use crate::results::{ArmResults, Finished};
use crate::scale::Scale;
use crate::statistics::{Interval, holm, mean, mean_interval, sign_flip, smallest_p};
use kuramoto_model::ModelKind;
use kuramoto_report::samples::{Moments, equivalence, equivalence_of_means, least_one_sided_p, medians};
use serde::Serialize;

/// Whose claim it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The runs are the paper's in all that it fixes: a claim of the paper.
    Paper,
    /// The paper's question, asked at another size, length or recipe, on the same corpus.
    Elsewhere,
    /// The paper says nothing of it.
    Own,
}

impl Scope {
    /// In words, for tables.
    pub fn words(self) -> &'static str {
        match self {
            Scope::Paper => "the paper's runs",
            Scope::Elsewhere => "other runs than the paper's",
            Scope::Own => "not in the paper",
        }
    }
}

/// How a claim is tested.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// A mean paired difference has the paper's sign: sign-flip permutation test, two-sided.
    Sign,
    /// A mean difference lies in a range: two one-sided tests, sign-flip tests of paired differences, or
    /// Welch's of two samples.
    Within {
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// A difference of medians has the paper's sign: permutation of labels over all seeds, two-sided.
    Medians,
}

impl Test {
    /// In words, for tables.
    pub fn words(self) -> String {
        match self {
            Test::Sign => "sign of the mean".into(),
            Test::Within { low, high } if low == -high => format!("mean within {high}"),
            Test::Within { low, high } => format!("mean from {low} to {high}"),
            Test::Medians => "sign of the median".into(),
        }
    }
}

/// What can be said of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// A claim of the paper, on the paper's runs: it holds, and a test excludes chance at 5%.
    Reproduced,
    /// A claim of the paper, on the paper's runs: a test shows the contrary at 5%.
    NotReproduced,
    /// Other runs than the paper's, and a test shows what the paper found in its own.
    Agrees,
    /// Other runs than the paper's, and a test shows the contrary of what the paper found in its own.
    Disagrees,
    /// The paper says nothing of it, and a test excludes chance.
    Shown,
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
            Verdict::Agrees => "agrees with the paper",
            Verdict::Disagrees => "disagrees with the paper",
            Verdict::Shown => "shown",
            Verdict::Inconclusive => "inconclusive at this power",
            Verdict::NotJudged => "not judged: smoke test",
        }
    }

    /// True if a test excludes chance.
    pub fn is_shown(self) -> bool {
        !matches!(self, Verdict::Inconclusive | Verdict::NotJudged)
    }
}

/// A claim, and what these runs say of it.
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
    /// Whose claim it is.
    pub scope: Scope,
    /// How it is tested.
    pub test: Test,
    /// Differences within seeds; none where medians of all seeds are compared.
    pub differences: Vec<f64>,
    /// Seeds that the test is of; of two samples the smaller.
    pub seeds: usize,
    /// The mean difference, or the difference of medians.
    pub mean: f64,
    /// Its 95% bootstrap interval.
    pub interval: Interval,
    /// p-value of the test.
    pub p: f64,
    /// Corrected for the number of claims of the same table (Holm).
    pub p_holm: f64,
    /// The least p that so many seeds could show, corrected alike.
    pub smallest_p: f64,
    /// The paper's value, where it has one.
    pub paper: Option<f64>,
    /// What can be said.
    pub verdict: Verdict,
    /// What it is about.
    #[serde(skip)]
    pub(crate) quantity: Quantity,
}

impl Claim {
    /// True if the estimate is what is claimed, by chance or not.
    fn holds(&self) -> bool {
        match (self.test, self.paper) {
            (Test::Within { low, high }, _) => (low..=high).contains(&self.mean),
            (_, Some(paper)) => self.mean.signum() == paper.signum(),
            (_, None) => true,
        }
    }
}

/// Highest corrected p-value that counts as shown.
pub const LEVEL: f64 = 0.05;

/// Fewest paired seeds with which one of so many claims of a table could pass the corrected sign test.
pub fn seeds_needed(claims: usize) -> usize {
    (1..64).find(|&seeds| smallest_p(seeds) * claims as f64 <= LEVEL).unwrap_or(64)
}

/// How many claims of a table the runs of a plan can be asked about.
pub fn count_in(plan: &Plan, table: PaperTable) -> usize {
    let places: Vec<Place<'_>> = plan.cells().map(Place::of_planned).collect();
    questions(&places).iter().filter(|question| question.arm.table() == table).count()
}

/// Every claim that these arms can be asked about; those of a smoke test are not judged.
pub(crate) fn claims(arms: &[ArmResults], scale: Scale) -> Vec<Claim> {
    let places: Vec<Place<'_>> = arms.iter().map(Place::of_results).collect();
    let mut claims: Vec<Claim> =
        questions(&places).into_iter().filter_map(|question| answer(question, arms)).collect();
    correct(&mut claims);
    if scale == Scale::Smoke {
        claims.iter_mut().for_each(|claim| claim.verdict = Verdict::NotJudged);
    }
    claims
}

/// What the runs say; p-values are corrected later, all of a table together.
fn answer(question: Question, arms: &[ArmResults]) -> Option<Claim> {
    let find = |arm: Arm| arms.iter().find(|a| a.cell() == (arm, &*question.corpus, question.budget));
    let differences = match question.quantity {
        Quantity::Compared { protocol, part } => {
            let [ours, theirs] = [ModelKind::Kuramoto, ModelKind::Transformer]
                .map(|model| find(Arm::Compare { model, protocol }));
            let (ours, theirs) = (ours?, theirs?);
            match question.test {
                Test::Sign => ours.minus(theirs, |run| value(run, part)),
                // What the paper says of all its runs is asked of all of them, paired or not.
                Test::Medians => return compared_medians(question, &ours.values(part), &theirs.values(part)),
                Test::Within { low, high } => {
                    return compared_means(question, &ours.values(part), &theirs.values(part), low, high);
                }
            }
        }
        Quantity::Ablated => {
            find(question.arm)?.minus(find(Arm::Reference)?, |run| value(run, Part::Validation))
        }
        Quantity::Gridded(measure) => {
            let seeds = arms.iter().filter(|arm| arm.arm.table() == PaperTable::Grid);
            let seeds = seeds.flat_map(|arm| arm.runs.keys().copied()).collect();
            let of = |arm, seed| value(find(arm)?.runs.get(&seed)?, Part::Validation);
            if let Measure::LeastGain(model) = measure {
                let gains = grid::gains(model, &seeds, &of);
                return least_gain(question, gains);
            }
            grid::by_seed(measure, &seeds, &of)
        }
    };
    paired(question, differences)
}

/// What paired differences say.
fn paired(question: Question, differences: Vec<f64>) -> Option<Claim> {
    if differences.is_empty() {
        return None;
    }
    let seeds = differences.len();
    let (mean, interval) = (mean(&differences), mean_interval(&differences));
    let (p, smallest_p) = match question.test {
        Test::Within { low, high } => {
            let found = equivalence(&differences, low, high);
            let within = (low..=high).contains(&mean);
            (if within { found.within } else { found.outside }, least_one_sided_p(seeds))
        }
        Test::Sign | Test::Medians => (sign_flip(&differences), smallest_p(seeds)),
    };
    Some(question.claim(differences, Estimate { seeds, mean, interval, p, smallest_p }))
}

/// A measured value of a run.
pub(crate) fn value(run: &Finished, part: Part) -> Option<f64> {
    let value = match part {
        Part::Validation => run.summary.validation_bits_per_byte,
        Part::Test => run.summary.test_bits_per_byte,
    };
    value.filter(|value| value.is_finite())
}

fn compared_means(question: Question, ours: &[f64], theirs: &[f64], low: f64, high: f64) -> Option<Claim> {
    let (found, close) = equivalence_of_means(Moments::of(ours), Moments::of(theirs), low, high)?;
    let within = (low..=high).contains(&found.difference);
    let estimate = Estimate {
        seeds: ours.len().min(theirs.len()),
        mean: found.difference,
        interval: found.interval,
        p: if within { close.within } else { close.outside },
        smallest_p: 0.0,
    };
    Some(question.claim(Vec::new(), estimate))
}

/// Every number of heads must gain, so the one that shows it least decides; that one of them loses must be
/// shown beyond having looked at all of them.
fn least_gain(question: Question, gains: Vec<Vec<f64>>) -> Option<Claim> {
    let heads = gains.len() as f64;
    let weakest = gains.iter().map(|gains| sign_flip(gains)).fold(0.0, f64::max);
    let least = gains.into_iter().min_by(|a, b| mean(a).total_cmp(&mean(b)))?;
    let mut claim = paired(question, least)?;
    claim.p = if claim.mean > 0.0 { weakest } else { (heads * claim.p).min(1.0) };
    claim.p_holm = claim.p;
    Some(claim)
}

fn compared_medians(question: Question, ours: &[f64], theirs: &[f64]) -> Option<Claim> {
    if ours.is_empty() || theirs.is_empty() {
        return None;
    }
    let found = medians(ours, theirs);
    let estimate = Estimate {
        seeds: ours.len().min(theirs.len()),
        mean: found.difference,
        interval: found.interval,
        p: found.p,
        smallest_p: found.least_p,
    };
    Some(question.claim(Vec::new(), estimate))
}

/// What a test gives.
struct Estimate {
    seeds: usize,
    mean: f64,
    interval: Interval,
    p: f64,
    smallest_p: f64,
}

impl Question {
    fn claim(self, differences: Vec<f64>, estimate: Estimate) -> Claim {
        let Estimate { seeds, mean, interval, p, smallest_p } = estimate;
        Claim {
            statement: self.statement,
            arm: self.arm,
            corpus: self.corpus,
            budget: self.budget,
            scope: self.scope,
            test: self.test,
            differences,
            seeds,
            mean,
            interval,
            p,
            p_holm: p,
            smallest_p,
            paper: self.paper,
            verdict: Verdict::Inconclusive,
            quantity: self.quantity,
        }
    }
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
            claim.verdict = match (p <= LEVEL, claim.scope, claim.holds()) {
                (false, ..) => Verdict::Inconclusive,
                (true, Scope::Paper, true) => Verdict::Reproduced,
                (true, Scope::Paper, false) => Verdict::NotReproduced,
                (true, Scope::Elsewhere, true) => Verdict::Agrees,
                (true, Scope::Elsewhere, false) => Verdict::Disagrees,
                (true, Scope::Own, _) => Verdict::Shown,
            };
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use kuramoto_model::ablation::ABLATIONS;

    /// A large difference over ten seeds, with a little spread.
    fn differences(mean: f64) -> Vec<f64> {
        (0..10).map(|i| mean + 0.001 * f64::from(i)).collect()
    }

    fn claim(scope: Scope, test: Test, differences: Vec<f64>, paper: Option<f64>) -> Claim {
        let question = Question {
            statement: "a claim".into(),
            arm: Arm::Ablation(ABLATIONS[0]),
            corpus: "c".into(),
            budget: 1,
            scope,
            test,
            quantity: Quantity::Ablated,
            paper,
        };
        paired(question, differences).unwrap()
    }

    fn verdicts(mut claims: Vec<Claim>) -> Vec<Verdict> {
        correct(&mut claims);
        claims.iter().map(|claim| claim.verdict).collect()
    }

    #[test]
    fn the_sign_decides_once_chance_is_excluded() {
        use Verdict::*;
        let wide = vec![0.1, -0.1, 0.05, -0.06, 0.1, -0.08, 0.02, -0.03, 0.01, 0.0];
        let sign = |differences, paper| claim(Scope::Paper, Test::Sign, differences, paper);
        let mut claims = vec![
            sign(differences(0.1), Some(0.2)),
            sign(differences(-0.1), Some(0.2)),
            sign(wide, Some(0.2)),
            // Large, but three seeds could show nothing.
            sign(vec![0.5, 0.6, 0.7], Some(0.2)),
        ];
        assert_eq!(verdicts(claims.clone()), [Reproduced, NotReproduced, Inconclusive, Inconclusive]);
        correct(&mut claims);
        // Four claims of a table: the smallest p counts four times.
        assert_eq!(claims[0].p_holm, 4.0 * claims[0].p);
        assert_eq!(claims[3].smallest_p, 1.0);
    }

    /// Only runs that are the paper's reproduce, or fail to reproduce, what it claims.
    #[test]
    fn other_runs_than_the_papers_reproduce_nothing() {
        use Verdict::*;
        let of = |scope, mean, paper| claim(scope, Test::Sign, differences(mean), paper);
        let claims = vec![
            of(Scope::Elsewhere, 0.1, Some(0.2)),
            of(Scope::Elsewhere, -0.1, Some(0.2)),
            of(Scope::Own, -0.1, None),
        ];
        assert_eq!(verdicts(claims), [Agrees, Disagrees, Shown]);
    }

    #[test]
    fn a_range_is_claimed_by_two_one_sided_tests() {
        use Verdict::*;
        let range = Test::Within { low: -0.02, high: 0.02 };
        let of = |mean| claim(Scope::Paper, range, differences(mean), Some(0.009));
        let wide = vec![0.1, -0.1, 0.05, -0.06, 0.1, -0.08, 0.02, -0.03, 0.01, 0.0];
        let claims = vec![of(0.0), of(0.1), claim(Scope::Paper, range, wide, Some(0.009))];
        assert_eq!(verdicts(claims), [Reproduced, NotReproduced, Inconclusive]);
    }
}
