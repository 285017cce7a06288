//! What a report says, in order.

use super::{against, compute, differing, equal, lead, tables};
use crate::arm::{Arm, PaperTable};
use crate::claims::{Claim, groups};
use crate::differences::{self, Rule};
use crate::error::Result;
use crate::plan::{Plan, size};
use crate::results::{ArmResults, Results, Unusable};
use crate::scale::Scale;
use kuramoto_model::ModelKind;
use kuramoto_report::document::{Block, Document};
use kuramoto_report::figure::Figure;
use kuramoto_train::config::Length;
use kuramoto_train::presets::Protocol;
use strum::VariantArray;

/// A table's heading, with its number in the paper.
pub fn title(table: PaperTable) -> &'static str {
    match table {
        PaperTable::Compare => "Matched comparison (Tables 1 and 2 of the paper)",
        PaperTable::Ablations => "Ablations (Table 3)",
        PaperTable::Grid => "Heads by layers (Table 4)",
    }
}

/// A report of what is finished; figures are put beside their tables.
pub fn document(plan: &Plan, results: &Results, figures: Vec<(PaperTable, Figure)>) -> Result<Document> {
    let papers = differences::of(plan).iter().all(|difference| difference.rule != Rule::Fixed);
    let (done, planned) = results.progress;
    let judged = plan.scale != Scale::Smoke && !results.claims.is_empty();
    let mut blocks = lead::blocks(plan, results, papers, &lengths(plan));
    blocks.push(Block::Text(format!(
        "{done} of {planned} runs are finished. Values are bits per byte; a run's validation is its best on \
         the way, its test is read with those parameters."
    )));
    if !results.unusable.is_empty() {
        blocks.push(Block::Heading("Runs that cannot be used".into()));
        let list = results.unusable.iter();
        let line = |run: &Unusable| {
            let Unusable { index, arm, corpus, budget, seed, why } = run;
            format!("Run {index} ({arm}, {corpus}, {}, seed {seed}): {why}", size(*budget))
        };
        blocks.push(Block::List(list.map(line).collect()));
    }
    let notes = if judged { lead::notes(results) } else { Vec::new() };
    if !notes.is_empty() {
        blocks.push(Block::Heading("Notes on the verdicts".into()));
        blocks.push(Block::List(notes));
    }
    blocks.push(Block::Heading("What differs from the paper".into()));
    blocks.extend(differing::blocks(plan));
    blocks.push(Block::List(remarks(plan, results)));
    let mut figures = figures.into_iter().peekable();
    for table in PaperTable::all() {
        let arms: Vec<&ArmResults> = results.arms.iter().filter(|arm| arm.arm.table() == table).collect();
        if arms.is_empty() {
            continue;
        }
        blocks.push(Block::Heading(title(table).into()));
        match table {
            PaperTable::Grid => {
                for group in groups(&results.arms, table) {
                    let grid = |&model: &ModelKind| Block::Table(tables::grid(&group, model));
                    blocks.extend(ModelKind::VARIANTS.iter().map(grid));
                }
            }
            PaperTable::Compare | PaperTable::Ablations => {
                blocks.extend(tables::cells(&arms).into_iter().map(Block::Table));
            }
        }
        let claims: Vec<&Claim> = results.claims.iter().filter(|claim| claim.arm.table() == table).collect();
        if !claims.is_empty() {
            blocks.push(Block::Table(tables::tests(&claims, &results.arms, judged)));
        }
        blocks.extend(against::table(results, table).map(Block::Table));
        if table == PaperTable::Compare {
            blocks.extend(equal::table(&results.equals).map(Block::Table));
        }
        if table == PaperTable::Ablations && judged {
            blocks.extend(results.ranks.iter().map(|ranks| Block::Table(tables::ranked(ranks, &arms))));
        }
        while let Some((_, figure)) = figures.next_if(|(of, _)| *of == table) {
            blocks.push(Block::Figure(Box::new(figure)));
        }
    }
    if let Some(table) = compute::table(results)? {
        blocks.push(Block::Heading("Throughput and memory".into()));
        blocks.push(Block::Table(table));
        blocks.push(Block::List(compute::ratios(results)));
    }
    blocks.push(Block::Heading("How these numbers are made".into()));
    blocks.push(Block::List(method()));
    blocks.push(Block::Heading("Runs".into()));
    blocks.push(Block::Text(
        "runs.csv lists every finished run with its values, size, speed, folder and the sha256 of its best \
         weights, curves.csv every validation of every seed; plan.json has its complete configuration under the same index."
            .into(),
    ));
    blocks.push(Block::Table(tables::runs(plan, results)));
    // A list without items would be an empty line.
    blocks.retain(|block| !matches!(block, Block::List(items) if items.is_empty()));
    Ok(Document { title: format!("Report of {}", plan.name()), blocks })
}

/// How long runs are, each length once.
fn lengths(plan: &Plan) -> String {
    let mut found: Vec<String> = Vec::new();
    for run in &plan.runs {
        let length = match run.config.length {
            Length::Steps(steps) => bytes(steps * run.config.batch.tokens()),
            Length::Tokens(tokens) => bytes(tokens),
            Length::Epochs(1) => "1 epoch".into(),
            Length::Epochs(epochs) => format!("{epochs} epochs"),
        };
        if !found.contains(&length) {
            found.push(length);
        }
    }
    found.join(" and ")
}

/// What should be known of recipes and sizes when values are read.
fn remarks(plan: &Plan, results: &Results) -> Vec<String> {
    let mut list = Vec::new();
    if plan.runs.iter().any(|run| run.config.protocol == Protocol::Tuned) {
        list.push(
            "Arms of the tuned protocol train each model with the learning rate, schedule, warm-up and number of \
             heads chosen for it, without dropout (docs/recipe.md), not with the paper's one recipe for both. They \
             were chosen for the unchanged Kuramoto model: an ablation that would do better with others is judged \
             a little too hard."
                .into(),
        );
    }
    list.extend(missed_budgets(results));
    list
}

/// Arms that are far from their budget.
fn missed_budgets(results: &Results) -> Option<String> {
    let off =
        |arm: &ArmResults| Some((arm.first()?.planned.parameters as f64 / arm.budget as f64 - 1.0, arm.arm));
    let mut off: Vec<(f64, Arm)> =
        results.arms.iter().filter_map(off).filter(|(off, _)| off.abs() > 0.03).collect();
    off.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    let (worst, name) = off.first()?;
    Some(format!(
        "Widths come in steps, so small models miss their budget: {} of {} arms by more than 3%, most of all \
         {name} by {:+.1}%.",
        off.len(),
        results.arms.len(),
        100.0 * worst
    ))
}

fn bytes(count: u64) -> String {
    match count {
        1_000_000.. => format!("{} million bytes", (count as f64 / 1e5).round() / 10.0),
        _ => format!("{} bytes", kuramoto_report::table::thousands(count as usize)),
    }
}

fn method() -> Vec<String> {
    let sentences = [
        "Seeds are paired: seed s gives every arm the same windows in the same order. Differences are \
         within seeds.",
        "Intervals are percentile bootstraps over seeds (10,000 draws, fixed seed); with few seeds they are \
         too narrow, and no verdict rests on them.",
        "p-values are of the two-sided sign-flip permutation test on the paired differences, exact up to 20 \
         seeds, corrected by Holm within a table. The least p possible is what so many seeds could show at \
         best, after the same correction.",
        "Ranks and Kendall's tau are compared by percentile bootstraps too. Resampled seeds are noisier \
         than the seeds, and ranks of small effects change places easily, so an estimate need not lie in \
         the middle of its interval. The p-value of tau is of 10,000 random orders.",
        "Depth over heads: in every seed the range over depths, averaged over heads, less the range over \
         heads, averaged over depths. Both ranges are of five cells and grow alike with noise.",
        "That a mean paired difference lies within a range is tested by two one-sided sign-flip tests. What the \
         paper says of all its runs at 5M on enwik8 is asked of all seeds, paired or not: that means are close \
         by two one-sided Welch tests, medians by the permutation of labels. The best cell of a grid is chosen \
         on the other seeds (leave-one-out).",
        "The paper's differences are those of its means, which its tables round to 0.001; at 5M on CodeParrot \
         the text gives more digits. At 5M on enwik8 it claims lower medians and means within 0.01, and that \
         is what is tested there.",
        "A seed is separated where a t-test of its validation against the other seeds', corrected for their \
         number, has p at most 0.001. Separated seeds count in every mean, median and test.",
        "A claim is reproduced, or not reproduced, only on runs that are the paper's in all that it fixes, and \
         only where the corrected p is at most 0.05. Other runs agree or disagree with what the paper found. \
         All else is inconclusive at this power, which is not the same as no difference. Smoke tests are not \
         judged.",
    ];
    sentences.map(String::from).into()
}
