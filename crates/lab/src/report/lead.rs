//! What a report says first: a few sentences and a table of verdicts.

use super::tables::link;
use crate::arm::{Arm, PaperTable};
use crate::claims::{Claim, LEVEL, Measure, Quantity, Scope, Test, Verdict, seeds_needed, value};
use crate::paper::Part;
use crate::plan::{Plan, size};
use crate::results::{ArmResults, Results, pairs};
use crate::scale::Scale;
use crate::statistics::mean;
use kuramoto_report::document::{Block, Cell, Table};
use kuramoto_report::table::thousands;
use std::collections::BTreeSet;

/// The first blocks of a report.
pub fn blocks(plan: &Plan, results: &Results, as_in_paper: bool, length: &str) -> Vec<Block> {
    if plan.scale == Scale::Smoke {
        return vec![Block::Text(SMOKE.into())];
    }
    let mut sentences = counted(&results.claims);
    sentences.extend(found(results));
    sentences.push(if as_in_paper {
        "Nothing that the paper fixes was changed.".into()
    } else {
        let arms: Vec<&ArmResults> = results.arms.iter().collect();
        let most = arms.iter().map(|arm| arm.runs.len()).max().unwrap_or(0);
        format!(
            "These are models of about {} parameters that read {length}, in {}; the paper trains 1M and 5M \
             parameters on 4.5 billion bytes. The table of what differs from the paper says what else is not \
             the paper's.",
            sizes(&arms).join(" and "),
            if most == 1 { "1 seed".into() } else { format!("{most} seeds") },
        )
    });
    let mut blocks = vec![Block::Text(sentences.join(" "))];
    if !results.claims.is_empty() {
        blocks.push(Block::Table(verdicts(results)));
    }
    blocks
}

const SMOKE: &str = "This is a smoke test: it shows that plans, runs, statistics and reports work, and nothing \
                     about the models. They are so small and so short that differences between them mean \
                     nothing, so no claim of the paper is judged. Use --scale study for that.";

fn sizes(arms: &[&ArmResults]) -> Vec<String> {
    let budgets: BTreeSet<usize> = arms.iter().map(|arm| arm.budget).collect();
    budgets.into_iter().map(size).collect()
}

/// How many claims stand, fell, or stay open; separately for the paper's own runs and for others.
fn counted(claims: &[Claim]) -> Vec<String> {
    if claims.is_empty() {
        return vec!["There is nothing that these runs could be asked about.".into()];
    }
    let of = |scope: Scope| {
        let own: Vec<&Claim> = claims.iter().filter(|claim| claim.scope == scope).collect();
        let count = |verdict| own.iter().filter(|claim| claim.verdict == verdict).count();
        let open = count(Verdict::Inconclusive);
        let all = own.len();
        if all == 0 {
            return None;
        }
        let plural = if all == 1 { "" } else { "s" };
        Some(match scope {
            Scope::Paper => format!(
                "Of {all} claim{plural} of the paper, tested on runs that are the paper's in all that it \
                 fixes: {} reproduced, {} not reproduced, {open} inconclusive.",
                count(Verdict::Reproduced),
                count(Verdict::NotReproduced)
            ),
            Scope::Elsewhere => format!(
                "Runs that are not the paper's cannot reproduce it: of {all} finding{plural} of the paper that \
                 such runs were asked about here, {} agree, {} disagree and {open} are inconclusive.",
                count(Verdict::Agrees),
                count(Verdict::Disagrees)
            ),
            Scope::Own => format!(
                "Of {all} question{plural} that the paper does not ask: {} differences shown, {open} \
                 inconclusive.",
                count(Verdict::Shown)
            ),
        })
    };
    [Scope::Paper, Scope::Elsewhere, Scope::Own].into_iter().filter_map(of).collect()
}

/// The main finding of every table, in one sentence.
fn found(results: &Results) -> Option<String> {
    let parts: Vec<String> =
        [compared(results), ablated(results), deepened(results)].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("{}.", parts.join(". ")))
}

fn compared(results: &Results) -> Option<String> {
    let part = |(protocol, ours, theirs): (_, &ArmResults, &ArmResults)| {
        let differences = ours.minus(theirs, |run| value(run, Part::Validation));
        let difference = Some(mean(&differences)).filter(|mean| mean.is_finite())?;
        let [k, d] = [ours, theirs].map(|arm| arm.first().map_or(0, |run| run.planned.parameters));
        let word = if difference > 0.0 { "behind" } else { "ahead of" };
        let place = format!(" at {} on {}", size(ours.budget), ours.corpus);
        Some(format!(
            "with the {protocol} protocol{place} the Kuramoto model ({} parameters) is {:.3} bits per byte \
             {word} the transformer ({}, {:+.1}%)",
            thousands(k),
            difference.abs(),
            thousands(d),
            100.0 * (d as f64 / k as f64 - 1.0)
        ))
    };
    let parts: Vec<String> = pairs(&results.arms).filter_map(part).collect();
    (!parts.is_empty()).then(|| format!("On validation, {}", parts.join(", and ")))
}

fn ablated(results: &Results) -> Option<String> {
    let ablations = results.claims.iter().filter(|claim| claim.arm.table() == PaperTable::Ablations);
    let largest = ablations.max_by(|a, b| a.mean.abs().total_cmp(&b.mean.abs()))?;
    let Arm::Ablation(row) = largest.arm else { return None };
    let order = results.ranks.first().map_or_else(String::new, |ranks| {
        format!("; the order of the ablations agrees with the paper's with Kendall's tau {:.2}", ranks.tau)
    });
    let paper = largest.paper.map_or_else(String::new, |paper| format!("; paper {paper:+.2}"));
    Some(format!(
        "The largest change of the ablations at {} is that of \"{}\" ({:+.3} bits per byte{paper}){order}",
        size(largest.budget),
        row.title,
        largest.mean
    ))
}

fn deepened(results: &Results) -> Option<String> {
    let depth = |claim: &&Claim| matches!(claim.quantity, Quantity::Gridded(Measure::DepthOverHeads(_)));
    let grid = results.claims.iter().filter(depth);
    let part = |claim: &Claim| {
        let than = if claim.mean > 0.0 { "more" } else { "less" };
        format!(
            "{:.3} bits per byte {than} than heads for the {} at {} on {}",
            claim.mean.abs(),
            claim.arm.model(),
            size(claim.budget),
            claim.corpus
        )
    };
    let parts: Vec<String> = grid.map(part).collect();
    (!parts.is_empty()).then(|| format!("Depth changes validation by {}", parts.join(" and ")))
}

/// Every claim with what came of it.
fn verdicts(results: &Results) -> Table {
    let row = |claim: &Claim| {
        let shown = claim.verdict.is_shown();
        let link = link(claim, &results.arms);
        vec![
            Cell::text(&claim.statement).link_if(link.as_ref()),
            Cell::number(claim.paper.map_or_else(|| "-".into(), |paper| format!("{paper:+.3}"))),
            Cell::number(format!("{:+.3}", claim.mean)).bold_if(shown).link_if(link.as_ref()),
            Cell::text(claim.verdict.words()).bold_if(shown),
        ]
    };
    Table {
        caption: format!(
            "Verdicts. Differences in bits per byte, in the paper at its own size, and here at the size that a \
             row begins with. Only runs that are the paper's reproduce a claim of the paper or fail to; others \
             agree or disagree with what it found. Bold: significant at {:.0}% after correction for the number \
             of claims.",
            100.0 * LEVEL
        ),
        head: vec!["claim", "paper", "here", "verdict"],
        rows: results.claims.iter().map(row).collect(),
        result: true,
    }
}

/// What else should be known of the verdicts: sizes of effects, the order, and tests that no result could pass.
pub fn notes(results: &Results) -> Vec<String> {
    let mut list = Vec::new();
    let own = results.claims.iter().filter(|claim| claim.scope == Scope::Paper);
    let outside = |word: &str, is_outside: fn(&Claim) -> bool| {
        let names: Vec<&str> =
            // At another size the paper's value is not comparable.
            own.clone().filter(|claim| is_outside(claim)).map(|claim| &*claim.statement).collect();
        (!names.is_empty()).then(|| {
            format!("The paper's value is {word} the 95% interval of these runs for: {}.", names.join("; "))
        })
    };
    list.extend(outside("below", |claim| claim.paper.is_some_and(|paper| paper < claim.interval.low)));
    list.extend(outside("above", |claim| claim.paper.is_some_and(|paper| paper > claim.interval.high)));
    for ranks in &results.ranks {
        let interval = match ranks.interval.low.is_nan() {
            true => String::new(),
            false => format!(" (95% interval {:.2} to {:.2})", ranks.interval.low, ranks.interval.high),
        };
        list.push(format!(
            "{}, {}: over the {} seeds that all rows have, the order of the ablations agrees with the paper's \
             with a Kendall's tau of {:.2}{interval}; orders that have nothing to do with each other agree or disagree as much \
             with p = {:.4}.",
            ranks.corpus,
            size(ranks.budget),
            ranks.seeds,
            ranks.tau,
            ranks.p
        ));
    }
    for table in PaperTable::all() {
        let claims: Vec<&Claim> = results.claims.iter().filter(|claim| claim.arm.table() == table).collect();
        let claims: Vec<&Claim> = claims.into_iter().filter(|claim| claim.test == Test::Sign).collect();
        if !claims.is_empty() && claims.iter().all(|claim| claim.smallest_p > LEVEL) {
            list.push(format!(
                "{}: with so few seeds no difference could pass the paired test, however large; it takes {}.",
                super::content::title(table),
                seeds_needed(claims.len())
            ));
        }
    }
    list
}
