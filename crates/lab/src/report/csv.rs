//! Tables for machines.

use crate::arm::Arm;
use crate::equal::Axis;
use crate::paper::Published;
use crate::plan::Planned;
use crate::results::Results;
use crate::statistics::{mean, median, standard_deviation};
use kuramoto_report::Csv;

/// A number as a field; empty if it is not finite.
fn number(x: f64) -> String {
    optional(Some(x))
}

fn optional(x: Option<f64>) -> String {
    kuramoto_report::csv::optional(x.filter(|x| x.is_finite()))
}

/// A row an arm.
pub fn cells(results: &Results) -> String {
    let mut table = Csv::new([
        "table",
        "arm",
        "corpus",
        "budget",
        "seeds",
        "validation_median",
        "validation_mean",
        "validation_sd",
        "test_median",
        "test_mean",
        "test_sd",
        "paper_median",
        "paper_mean",
        "paper_sd",
        "paper_test_median",
        "paper_test_mean",
        "paper_test_sd",
        "paper_seeds",
        "paper_is",
        "as_in_paper",
        "separated_seeds",
    ]);
    for arm in &results.arms {
        let of = |values: &[f64]| [median(values), mean(values), standard_deviation(values)].map(number);
        let paper = |cell: Option<Published>| {
            [cell.and_then(|cell| cell.median), cell.map(|cell| cell.mean), cell.map(|cell| cell.sd)]
                .map(optional)
        };
        let names = [
            arm.arm.table().to_string(),
            arm.arm.to_string(),
            arm.corpus.clone(),
            arm.budget.to_string(),
            arm.runs.len().to_string(),
        ];
        let numbers = [of(&arm.validations()), of(&arm.tests())].concat();
        let papers = [paper(arm.paper), paper(arm.paper_test)].concat();
        // The paper gives ablations as differences to its reference.
        let meaning = if matches!(arm.arm, Arm::Ablation(_)) { "difference" } else { "value" };
        let separated: Vec<String> = arm.separated.iter().map(u64::to_string).collect();
        let rest = vec![
            kuramoto_report::csv::optional(arm.paper.map(|cell| cell.seeds)),
            meaning.into(),
            arm.as_in_paper.to_string(),
            separated.join(" "),
        ];
        table.row([names.to_vec(), numbers, papers, rest].concat());
    }
    table.finish()
}

/// A row a claim.
pub fn claims(results: &Results) -> String {
    let mut table = Csv::new([
        "table",
        "corpus",
        "budget",
        "arm",
        "claim",
        "scope",
        "test",
        "paper",
        "mean",
        "low",
        "high",
        "p",
        "p_holm",
        "least_p_possible_corrected",
        "seeds",
        "verdict",
    ]);
    for claim in &results.claims {
        let numbers =
            [claim.mean, claim.interval.low, claim.interval.high, claim.p, claim.p_holm, claim.smallest_p];
        let mut fields = vec![
            claim.arm.table().to_string(),
            claim.corpus.clone(),
            claim.budget.to_string(),
            claim.arm.to_string(),
            claim.statement.clone(),
            claim.scope.words().into(),
            claim.test.words(),
            optional(claim.paper),
        ];
        fields.extend(numbers.map(number));
        fields.extend([claim.seeds.to_string(), claim.verdict.words().into()]);
        table.row(fields);
    }
    table.finish()
}

/// What a row of a run begins with.
fn names(planned: &Planned) -> [String; 5] {
    [
        planned.index.to_string(),
        planned.arm.table().to_string(),
        planned.arm.to_string(),
        planned.corpus.clone(),
        planned.budget.to_string(),
    ]
}

/// A row a run.
pub fn runs(results: &Results) -> String {
    let mut table = Csv::new([
        "index",
        "table",
        "arm",
        "corpus",
        "budget",
        "parameters",
        "seed",
        "validation",
        "test",
        "steps",
        "tokens",
        "seconds",
        "bytes_per_second",
        "ended",
        "peak_memory_bytes",
        "folder",
        "weights_sha256",
    ]);
    for run in results.arms.iter().flat_map(|arm| arm.runs.values()) {
        let (planned, summary) = (&run.planned, &run.summary);
        let values = [
            planned.parameters.to_string(),
            planned.seed.to_string(),
            optional(summary.validation_bits_per_byte),
            optional(summary.test_bits_per_byte),
            summary.steps.to_string(),
            summary.tokens.to_string(),
            format!("{:.1}", summary.seconds),
            format!("{:.0}", run.bytes_per_second),
            run.summary.ended_in_words(),
            kuramoto_report::csv::optional(summary.peak_memory_bytes),
            planned.folder.clone(),
            run.weights_sha256.clone(),
        ];
        table.row(names(planned).into_iter().chain(values));
    }
    table.finish()
}

/// A row a validation of a run: learning curves of all seeds, by bytes, operations and seconds.
pub fn curves(results: &Results) -> String {
    let mut table = Csv::new([
        "index",
        "table",
        "arm",
        "corpus",
        "budget",
        "seed",
        "bytes",
        "operations",
        "seconds",
        "validation",
    ]);
    for run in results.arms.iter().flat_map(|arm| arm.runs.values()) {
        let planned = &run.planned;
        for &(bytes, bits) in &run.curve {
            let values = [
                planned.seed.to_string(),
                bytes.to_string(),
                format!("{:.6e}", run.at(Axis::Operations, bytes)),
                format!("{:.1}", run.at(Axis::Seconds, bytes)),
                number(bits),
            ];
            table.row(names(planned).into_iter().chain(values));
        }
    }
    table.finish()
}
