//! Reports of the paper's own set of runs, with made-up values: such runs take months.

use crate::arm::{Arm, PaperTable};
use crate::claims::{Scope, Test, Verdict};
use crate::plan::{Plan, Planned};
use crate::request::{Experiment, Request};
use crate::results::{Finished, Results};
use crate::scale::Scale;
use kuramoto_model::ModelKind;
use serde_json::json;
use std::path::Path;

/// A run that ended with these values.
fn finished(run: &Planned, validation: f64) -> Finished {
    let summary = json!({
        "run": run.folder, "model": run.arm.model().name(), "corpus": run.corpus,
        "parameters": run.parameters, "steps": 10, "tokens": 1000, "seconds": 1.0, "ended": "finished",
        "train_bits_per_byte": validation, "validation_bits_per_byte": validation, "best_step": 10,
        "last_validation_bits_per_byte": validation, "test_bits_per_byte": validation, "bad_steps": 0,
    });
    Finished {
        planned: run.clone(),
        summary: serde_json::from_value(summary).unwrap(),
        weights_sha256: String::new(),
        curve: vec![(500, validation + 0.5), (1000, validation)],
        bytes_per_second: 1000.0,
        utilisation: None,
    }
}

/// Results of the paper's set, every run's value given by `value`.
fn results(experiment: Experiment, value: impl Fn(&Planned) -> f64) -> (Plan, Results) {
    let request = Request::new(experiment, Scale::Paper);
    let plan = Plan::draft(&request, Path::new("paper"), Path::new("no cache")).unwrap();
    let runs = plan.runs.iter().map(|run| finished(run, value(run))).collect();
    let results = Results::of(&plan, runs, Vec::new());
    (plan, results)
}

fn report(plan: &Plan, results: &Results) -> String {
    let document = super::content::document(plan, results, super::figures::all(results)).unwrap();
    document.markdown().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Values such as the paper has at 5M on enwik8, and its means elsewhere.
fn as_in_paper(run: &Planned) -> f64 {
    const OURS: [f64; 6] = [1.448, 1.447, 1.4485, 1.452, 1.4495, 1.546];
    const THEIRS: [f64; 5] = [1.452, 1.450, 1.455, 1.473, 1.451];
    let seed = run.seed as usize;
    match (&*run.corpus, run.budget, run.arm.model()) {
        ("enwik8", 5_000_000, ModelKind::Kuramoto) => OURS[seed],
        ("enwik8", 5_000_000, ModelKind::Transformer) => THEIRS[seed],
        _ => {
            let cell = crate::paper::validated(run.arm, &run.corpus, run.budget).unwrap();
            cell.mean + cell.sd * (seed as f64 - 2.0) / 2.0
        }
    }
}

#[test]
fn the_papers_runs_are_asked_what_the_paper_claims() {
    let (plan, results) = results(Experiment::Compare, as_in_paper);
    assert!(results.arms.iter().all(|arm| arm.as_in_paper));
    assert!(results.claims.iter().all(|claim| claim.scope == Scope::Paper));
    let five: Vec<_> =
        results.claims.iter().filter(|c| (&*c.corpus, c.budget) == ("enwik8", 5_000_000)).collect();
    assert_eq!(five.len(), 4, "medians and closeness, validation and test");
    assert!(five.iter().all(|claim| claim.test != Test::Sign), "no sign of a mean is claimed there");
    let median = five.iter().find(|claim| claim.test == Test::Medians).unwrap();
    assert!((median.mean - (1.449 - 1.452)).abs() < 1e-9, "all six seeds count: {}", median.mean);
    let close = five.iter().find(|claim| claim.test != Test::Medians).unwrap();
    assert!((close.mean - 0.0090).abs() < 1e-3, "all six seeds count: {}", close.mean);
    // One run is far off, so that the means are close cannot be shown.
    assert!(five.iter().all(|claim| claim.verdict == Verdict::Inconclusive));
    let arm = results.arms.iter().find(|arm| arm.budget == 5_000_000 && arm.runs.len() == 6).unwrap();
    assert_eq!(arm.separated, [5]);
    let text = report(&plan, &results);
    for part in [
        "Nothing that the paper fixes was changed.",
        "8 of the paper's 8 cells are in this plan",
        "kuramoto-paper, separated run (seed 5)",
        "kuramoto-paper, clustered subset",
        "1.449 ± 0.002",
        "1.546",
        "Our runs against the paper's own mean",
    ] {
        assert!(text.contains(part), "{part}");
    }
}

/// Welch's test beside the paper's summaries sees what five paired seeds cannot.
#[test]
fn five_seeds_say_something_against_the_papers_summaries() {
    let worse = |run: &Planned| as_in_paper(run) + if run.arm == Arm::Reference { 0.1 } else { 0.0 };
    let (plan, results) = results(Experiment::Ablations, worse);
    assert!(results.claims.iter().all(|claim| claim.verdict == Verdict::Inconclusive), "too few seeds");
    let table = super::against::table(&results, PaperTable::Ablations).unwrap();
    let bold = |name: &str| {
        let row = table.rows.iter().find(|row| row[0].text.starts_with(name)).unwrap();
        row[3].bold
    };
    assert!(bold("reference,"), "0.1 worse than the paper's reference");
    assert!(report(&plan, &results).contains("Kendall's tau"));
}

/// The same values on other runs reproduce nothing and are not set against the paper's summaries.
#[test]
fn runs_of_another_length_are_not_the_papers() {
    let overlays = vec![kuramoto_train::Overlay::pair("--set", "length.epochs=1").unwrap()];
    let request = Request { seeds: Some(12), overlays, ..Request::new(Experiment::Ablations, Scale::Paper) };
    let plan = Plan::draft(&request, Path::new("short"), Path::new("no cache")).unwrap();
    let value =
        |run: &Planned| 2.0 + if run.arm == Arm::Reference { 0.0 } else { 0.1 } + 0.001 * run.seed as f64;
    let runs = plan.runs.iter().map(|run| finished(run, value(run))).collect();
    let results = Results::of(&plan, runs, Vec::new());
    let verdict = |verdict| results.claims.iter().filter(|claim| claim.verdict == verdict).count();
    assert_eq!((verdict(Verdict::Agrees), verdict(Verdict::Disagrees)), (11, 2), "two help in the paper");
    assert!(super::against::table(&results, PaperTable::Ablations).is_none());
    let text = report(&plan, &results);
    assert!(!text.contains("**reproduced**") && !text.contains("Nothing that the paper fixes"), "{text}");
    assert!(text.contains("| length | 50 epochs | 1 epoch | all |"), "{text}");
}

/// The grid: best cells are marked, budgets that are missed are said, and its sentences are tested.
#[test]
fn the_grid_says_what_the_paper_says_of_it() {
    let (plan, results) = results(Experiment::Grid, as_in_paper);
    assert_eq!(results.claims.len(), 11);
    assert!(results.claims.iter().all(|claim| claim.scope == Scope::Paper));
    for claim in &results.claims {
        let paper = claim.paper.unwrap();
        assert!((claim.mean - paper).abs() < 0.02, "{}: {} against {paper}", claim.statement, claim.mean);
    }
    let text = report(&plan, &results);
    assert!(
        text.contains(" * |") && text.contains("| 1.585 * |") && text.contains("| 1.566 * |"),
        "the best cell is marked"
    );
    assert!(text.contains("-15.5%"), "five heads and five layers miss the budget");
    assert!(text.contains("grid-heat"));
}
