//! What can be asked of the cells of a plan: what the paper claims of them, and the same elsewhere.

use super::grid::{self, Measure};
use super::{Scope, Test};
use crate::arm::{Arm, PaperTable};
use crate::differences;
use crate::paper::{self, Part};
use crate::plan::{Planned, size};
use crate::results::ArmResults;
use kuramoto_model::ModelKind;
use kuramoto_model::ablation::Ablation;
use kuramoto_train::presets::Protocol;

/// A cell that can be asked about.
pub(crate) struct Place<'a> {
    pub arm: Arm,
    pub corpus: &'a str,
    pub budget: usize,
    /// Its runs are the paper's in all that the paper fixes.
    pub exact: bool,
    /// Its test split was read.
    pub tested: bool,
}

impl<'a> Place<'a> {
    pub fn of_planned(run: &'a Planned) -> Place<'a> {
        let (arm, corpus, budget) = run.cell();
        Place { arm, corpus, budget, exact: differences::is_papers(run), tested: run.config.validation.test }
    }

    pub fn of_results(results: &'a ArmResults) -> Place<'a> {
        let (arm, corpus, budget) = results.cell();
        Place { arm, corpus, budget, exact: results.as_in_paper, tested: !results.tests().is_empty() }
    }
}

/// What a question is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Quantity {
    /// The Kuramoto model less the transformer.
    Compared { protocol: Protocol, part: Part },
    /// An ablation less its reference.
    Ablated,
    /// Something about the cells of the grid.
    Gridded(Measure),
}

/// A question, before it is answered.
pub(crate) struct Question {
    pub statement: String,
    pub arm: Arm,
    pub corpus: String,
    pub budget: usize,
    pub scope: Scope,
    pub test: Test,
    pub quantity: Quantity,
    pub paper: Option<f64>,
}

/// Everything that can be asked of these cells, in the order of the paper's tables.
pub(crate) fn questions(places: &[Place<'_>]) -> Vec<Question> {
    let compared = places.iter().filter_map(|ours| {
        let Arm::Compare { model: ModelKind::Kuramoto, protocol } = ours.arm else { return None };
        let theirs = other(places, ours, Arm::Compare { model: ModelKind::Transformer, protocol })?;
        Some(compare_questions(ours, theirs, protocol))
    });
    let ablated = places.iter().filter_map(|ablated| {
        let reference = other(places, ablated, Arm::Reference)?;
        ablation_question(ablated, reference)
    });
    let mut all: Vec<Question> = compared.flatten().collect();
    all.extend(ablated);
    all.extend(grid::questions(places));
    all
}

/// Another arm of the same corpus and size.
pub(super) fn other<'a, 'b>(places: &'a [Place<'b>], of: &Place<'_>, arm: Arm) -> Option<&'a Place<'b>> {
    places.iter().find(|place| (place.arm, place.corpus, place.budget) == (arm, of.corpus, of.budget))
}

/// Corpus and size, which every statement begins with.
pub(super) fn prefix(place: &Place<'_>) -> String {
    format!("{}, {}", place.corpus, size(place.budget))
}

/// Whose claim something about these cells is.
pub(super) fn scope(places: &[&Place<'_>]) -> Scope {
    let first = places[0];
    match (paper::has_corpus(first.arm.table(), first.corpus), places.iter().all(|place| place.exact)) {
        (false, _) => Scope::Own,
        (true, true) => Scope::Paper,
        (true, false) => Scope::Elsewhere,
    }
}

/// Largest difference of means at 5M on enwik8 by which the paper calls them close.
const CLOSE: f64 = 0.01;

/// Tables 1 and 2. The paper claims differences of means, but at 5M on enwik8: lower medians, and means within
/// 0.01 of each other, as one run left the cluster of the others. At 5M on CodeParrot it claims both.
fn compare_questions(ours: &Place<'_>, theirs: &Place<'_>, protocol: Protocol) -> Vec<Question> {
    let scope = scope(&[ours, theirs]);
    let budget = paper::budget_for(PaperTable::Compare, ours.budget);
    let parts = [Some(Part::Validation), (ours.tested && theirs.tested).then_some(Part::Test)];
    let of = |part: Part| {
        let known = scope != Scope::Own;
        let gap = known.then(|| paper::gap(ours.corpus, budget, part)).flatten();
        let median_gap = known.then(|| paper::median_gap(ours.corpus, budget, part)).flatten();
        let five = known && ours.budget == paper::BUDGETS[1];
        let place = format!("{}, {protocol} protocol, {part}", prefix(ours));
        let question = |statement: String, test: Test, paper: Option<f64>| Question {
            statement,
            arm: ours.arm,
            corpus: ours.corpus.into(),
            budget: ours.budget,
            scope,
            test,
            quantity: Quantity::Compared { protocol, part },
            paper,
        };
        let word = |paper: Option<f64>| match paper {
            Some(paper) if paper > 0.0 => "behind",
            Some(_) => "ahead of",
            None => "against",
        };
        let means = question(format!("{place}: Kuramoto {} transformer", word(gap)), Test::Sign, gap);
        let medians = question(
            format!("{place}: median of Kuramoto {} the transformer's", word(median_gap)),
            Test::Medians,
            median_gap,
        );
        let close = question(
            format!("{place}: means within {CLOSE} of each other"),
            Test::Within { low: -CLOSE, high: CLOSE },
            gap,
        );
        match (five, ours.corpus == paper::CORPORA[0], scope) {
            (true, true, Scope::Paper) => vec![medians, close],
            // A margin that the paper gives for its own runs means nothing for others.
            (true, true, _) => vec![medians],
            (true, false, _) => vec![means, medians],
            (false, ..) => vec![means],
        }
    };
    parts.into_iter().flatten().flat_map(of).collect()
}

/// Largest change by what the paper calls minor or of little effect: "at most 0.02", to two digits.
const MINOR: f64 = 0.025;

/// True of the rows of Table 3 of which the paper says that they change little, in whichever direction: the
/// activation of the gates, their normalization, the value bound and the readout.
fn is_minor(row: Ablation) -> bool {
    paper::ablated(row).is_some_and(|cell| cell.mean.abs() <= 0.02)
}

/// Table 3.
fn ablation_question(ablated: &Place<'_>, reference: &Place<'_>) -> Option<Question> {
    let Arm::Ablation(row) = ablated.arm else { return None };
    let scope = match ablated.arm.is_in_paper() {
        true => scope(&[ablated, reference]),
        false => Scope::Own,
    };
    let paper = (scope != Scope::Own).then(|| paper::ablated(row)).flatten().map(|cell| cell.mean);
    let minor = scope == Scope::Paper && is_minor(row);
    let word = match paper {
        Some(_) if minor => "changes little",
        Some(paper) if paper > 0.0 => "hurts",
        Some(_) => "helps",
        None => "changes validation",
    };
    Some(Question {
        statement: format!("{}: {}: {word}", prefix(ablated), row.title),
        arm: ablated.arm,
        corpus: ablated.corpus.into(),
        budget: ablated.budget,
        scope,
        test: if minor { Test::Within { low: -MINOR, high: MINOR } } else { Test::Sign },
        quantity: Quantity::Ablated,
        paper,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kuramoto_model::ablation::{ABLATIONS, VARIANTS};

    fn place(arm: Arm, corpus: &str, budget: usize, exact: bool) -> Place<'_> {
        Place { arm, corpus, budget, exact, tested: true }
    }

    fn compared(corpus: &str, budget: usize, exact: bool) -> Vec<(String, Scope, Test, Option<f64>)> {
        let arm = |model| Arm::Compare { model, protocol: Protocol::Paper };
        let places = [ModelKind::Kuramoto, ModelKind::Transformer]
            .map(|model| place(arm(model), corpus, budget, exact));
        let list = questions(&places).into_iter();
        list.map(|q| (q.statement, q.scope, q.test, q.paper.map(|x| (x * 1e4).round() / 1e4))).collect()
    }

    #[test]
    fn minor_rows_are_claimed_to_change_little() {
        let minor: Vec<&str> = ABLATIONS.iter().filter(|row| is_minor(**row)).map(|row| row.name).collect();
        let expected =
            ["no-gate-normalization", "no-value-bound", "linear-readout", "sigmoid-gates", "linear-gates"];
        assert_eq!(minor, expected);
        let of = |exact| {
            let arms = [Arm::Reference, Arm::Ablation(ABLATIONS[11])];
            questions(&arms.map(|arm| place(arm, "enwik8", 1_000_000, exact)))[0].test
        };
        assert_eq!(of(true), Test::Within { low: -MINOR, high: MINOR });
        assert_eq!(of(false), Test::Sign);
    }

    /// At 5M on enwik8 the paper claims no difference of means; it does everywhere else.
    #[test]
    fn what_the_paper_claims_is_asked() {
        let five = compared("enwik8", 5_000_000, true);
        let tests: Vec<Test> = five.iter().map(|question| question.2).collect();
        let close = Test::Within { low: -0.01, high: 0.01 };
        assert_eq!(tests, [Test::Medians, close, Test::Medians, close]);
        assert_eq!(five[0].3, Some(-0.003), "the Kuramoto median is lower");
        assert!(five[0].0.contains("median of Kuramoto ahead of the transformer's"), "{}", five[0].0);
        let code = compared("codeparrot", 5_000_000, true);
        assert_eq!(code.len(), 4, "means and medians, validation and test");
        assert!(code[0].2 == Test::Sign && code[0].3 == Some(-0.0118), "{code:?}");
        let one = compared("enwik8", 1_000_000, true);
        assert!(one.len() == 2 && one[0].0.contains("enwik8, 1m") && one[0].0.contains("behind"), "{one:?}");
        assert!([five, code, one].concat().iter().all(|question| question.1 == Scope::Paper));
    }

    #[test]
    fn other_sizes_and_corpora_are_no_claims_of_the_paper() {
        let small = compared("enwik8", 120_000, false);
        assert!(
            small.iter().all(|q| q.1 == Scope::Elsewhere && q.0.starts_with("enwik8, 120k,")),
            "{small:?}"
        );
        let other = compared("novels", 1_000_000, false);
        assert!(other.iter().all(|q| q.1 == Scope::Own && q.3.is_none()) && other.len() == 2, "{other:?}");
        let ablations = |corpus, budget, exact| {
            let arms = [Arm::Reference, Arm::Ablation(ABLATIONS[3]), Arm::Ablation(VARIANTS[0])];
            let places = arms.map(|arm| place(arm, corpus, budget, exact));
            questions(&places).into_iter().map(|q| (q.scope, q.paper)).collect::<Vec<_>>()
        };
        let [paper, elsewhere] = [(Scope::Paper, Some(0.11)), (Scope::Elsewhere, Some(0.11))];
        let own = (Scope::Own, None);
        assert_eq!(ablations("enwik8", 1_000_000, true), [paper, own]);
        assert_eq!(ablations("enwik8", 120_000, false), [elsewhere, own]);
        // The paper compares on CodeParrot and does not ablate on it.
        assert_eq!(ablations("codeparrot", 1_000_000, true), [own, own]);
    }
}
