//! What a report says first: three sentences and a table of verdicts.

use super::tables::link;
use crate::arm::{Arm, PaperTable};
use crate::claims::{Claim, LEVEL, Verdict, seeds_needed};
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
    let mut sentences = vec![counted(&results.claims)];
    sentences.extend(found(results));
    sentences.push(if as_in_paper {
        "Nothing that the paper fixes was changed.".into()
    } else {
        let arms: Vec<&ArmResults> = results.arms.iter().collect();
        let most = arms.iter().map(|arm| arm.runs.len()).max().unwrap_or(0);
        format!(
            "These are models of about {} parameters that read {length}, in {}; the paper trains 1M and 5M on \
             4.5 billion bytes, so all of this is about small models early in training.",
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

/// How many claims stand, fell, or stay open.
fn counted(claims: &[Claim]) -> String {
    if claims.is_empty() {
        return "The paper says nothing that these runs could be asked about.".into();
    }
    let of = |verdict| claims.iter().filter(|claim| claim.verdict == verdict).count();
    let [reproduced, reversed, open] =
        [Verdict::Reproduced, Verdict::NotReproduced, Verdict::Inconclusive].map(of);
    let all = match claims.len() {
        1 => "The one claim of the paper that was tested".into(),
        count => format!("Of {count} claims of the paper"),
    };
    format!(
        "{all}: {reproduced} reproduced, {reversed} not reproduced (the difference has the other sign), {open} \
         inconclusive."
    )
}

/// The main finding of every table, in one sentence.
fn found(results: &Results) -> Option<String> {
    let parts: Vec<String> =
        [compared(results), ablated(results), deepened(results)].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("{}.", parts.join("; ")))
}

fn compared(results: &Results) -> Option<String> {
    let several = sizes(&results.arms.iter().collect::<Vec<_>>()).len() > 1;
    let part = |(protocol, ours, theirs): (_, &ArmResults, &ArmResults)| {
        let [a, b] = [ours, theirs].map(|arm| mean(&arm.validations()));
        let [k, d] = [ours, theirs].map(|arm| arm.first().map_or(0, |run| run.planned.parameters));
        let word = if a > b { "behind" } else { "ahead of" };
        let place = if several { format!(" at {}", size(ours.budget)) } else { String::new() };
        format!(
            "with the {protocol} protocol{place} the Kuramoto model ({} parameters) is {:.3} bits per byte \
             {word} the transformer ({}, {:+.1}%)",
            thousands(k),
            (a - b).abs(),
            thousands(d),
            100.0 * (d as f64 / k as f64 - 1.0)
        )
    };
    let parts: Vec<String> = pairs(&results.arms).map(part).collect();
    (!parts.is_empty()).then(|| format!("On validation, {}", parts.join(", and ")))
}

fn ablated(results: &Results) -> Option<String> {
    let ablations = results.claims.iter().filter(|claim| claim.arm.table() == PaperTable::Ablations);
    let largest = ablations.max_by(|a, b| a.mean.abs().total_cmp(&b.mean.abs()))?;
    let Arm::Ablation(row) = largest.arm else { return None };
    let order = results.ranks.first().map_or_else(String::new, |ranks| {
        format!("; the order of the ablations agrees with the paper's with Kendall's tau {:.2}", ranks.tau)
    });
    Some(format!(
        "The largest change is that of \"{}\" ({:+.3} bits per byte; paper {:+.2}){order}",
        row.title, largest.mean, largest.paper
    ))
}

fn deepened(results: &Results) -> Option<String> {
    let grid = results.claims.iter().filter(|claim| claim.arm.table() == PaperTable::Grid);
    let part = |claim: &Claim| {
        let than = if claim.mean > 0.0 { "more" } else { "less" };
        format!("{:.3} bits per byte {than} than heads for the {}", claim.mean.abs(), claim.arm.model())
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
            Cell::number(format!("{:+.3}", claim.paper)),
            Cell::number(format!("{:+.3}", claim.mean)).bold_if(shown).link_if(link.as_ref()),
            Cell::text(claim.verdict.words()).bold_if(shown),
        ]
    };
    Table {
        caption: format!(
            "Verdicts. Differences in bits per byte, in the paper{} and here. Bold: significant at {:.0}% after \
             correction for the number of claims.",
            if results.claims.iter().all(claimed_at_this_size) { "" } else { " (at 1M parameters)" },
            100.0 * LEVEL
        ),
        head: vec!["claim of the paper", "paper", "here", "verdict"],
        rows: results.claims.iter().map(row).collect(),
        result: true,
    }
}

fn claimed_at_this_size(claim: &Claim) -> bool {
    matches!(claim.budget, 1_000_000 | 5_000_000)
}

/// What else should be known of the verdicts: sizes of effects, the order, and tests that no result could pass.
pub fn notes(results: &Results) -> Vec<String> {
    let mut list = Vec::new();
    let outside = |word: &str, is_outside: fn(&Claim) -> bool| {
        let names: Vec<&str> =
            results.claims.iter().filter(|claim| is_outside(claim)).map(|claim| &*claim.statement).collect();
        (!names.is_empty()).then(|| {
            format!("The paper's value is {word} the 95% interval of these runs for: {}.", names.join("; "))
        })
    };
    list.extend(outside("below", |claim| claim.paper < claim.interval.low));
    list.extend(outside("above", |claim| claim.paper > claim.interval.high));
    for ranks in &results.ranks {
        let interval = match ranks.interval.low.is_nan() {
            true => String::new(),
            false => format!(" (95% interval {:.2} to {:.2})", ranks.interval.low, ranks.interval.high),
        };
        list.push(format!(
            "{}: the order of the ablations agrees with the paper's with a Kendall's tau of \
             {:.2}{interval}; orders that have nothing to do with each other agree or disagree as much \
             with p = {:.4}.",
            ranks.corpus, ranks.tau, ranks.p
        ));
    }
    for table in PaperTable::all() {
        let claims: Vec<&Claim> = results.claims.iter().filter(|claim| claim.arm.table() == table).collect();
        if !claims.is_empty() && claims.iter().all(|claim| claim.smallest_p > LEVEL) {
            list.push(format!(
                "{}: with so few seeds no difference could pass the test, however large; it takes {}.",
                super::content::title(table),
                seeds_needed(claims.len())
            ));
        }
    }
    list
}
