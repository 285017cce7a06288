//! What a report says.

use super::compute;
use crate::arm::{self, Arm, GRID};
use crate::claims::{Claim, LEVEL, RankAgreement, Verdict, groups, seeds_needed};
use crate::error::Result;
use crate::paper;
use crate::plan::{Plan, Planned, size, width};
use crate::results::{ArmResults, Results};
use crate::statistics::{mean, median, standard_deviation};
use kuramoto_model::ModelKind;
use kuramoto_report::document::{Block, Cell, Document, Table};
use kuramoto_report::figure::Figure;
use kuramoto_train::config::Length;
use kuramoto_train::presets::Protocol;
use strum::VariantArray;

/// A table's heading, with its number in the paper.
fn title(table: arm::PaperTable) -> &'static str {
    match table {
        arm::PaperTable::Compare => "Matched comparison (Tables 1 and 2 of the paper)",
        arm::PaperTable::Ablations => "Ablations (Table 3)",
        arm::PaperTable::Grid => "Heads by layers (Table 4)",
    }
}

/// A report of what is finished; figures are put beside their tables.
pub fn document(plan: &Plan, results: &Results, figures: Vec<(arm::PaperTable, Figure)>) -> Result<Document> {
    let name = plan.name();
    let (done, planned) = results.progress;
    let mut blocks = vec![Block::Text(format!(
        "{done} of {planned} runs are finished. Values are bits per byte; a run's validation is its best on \
         the way, its test is read with those parameters."
    ))];
    blocks.push(Block::Heading("What differs from the paper".into()));
    blocks.push(Block::List(differences(plan, results)));
    if !results.claims.is_empty() {
        blocks.push(Block::Heading("In short".into()));
        blocks.push(Block::List(in_short(results)));
    }
    let mut figures = figures.into_iter().peekable();
    for table in arm::PaperTable::all() {
        let arms: Vec<&ArmResults> = results.arms.iter().filter(|arm| arm.arm.table() == table).collect();
        if arms.is_empty() {
            continue;
        }
        blocks.push(Block::Heading(title(table).into()));
        match table {
            arm::PaperTable::Grid => {
                for group in groups(&results.arms, table) {
                    blocks.extend(ModelKind::VARIANTS.iter().map(|&model| Block::Table(grid(&group, model))));
                }
            }
            arm::PaperTable::Compare | arm::PaperTable::Ablations => blocks.push(Block::Table(cells(&arms))),
        }
        let claims: Vec<&Claim> = results.claims.iter().filter(|claim| claim.arm.table() == table).collect();
        if !claims.is_empty() {
            blocks.push(Block::Table(claimed(&claims, &arms)));
        }
        if table == arm::PaperTable::Ablations {
            blocks.extend(results.ranks.iter().map(|ranks| Block::Table(ranked(ranks, &arms))));
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
    blocks.push(Block::Table(runs(results)));
    // A list without items would be an empty line.
    blocks.retain(|block| !matches!(block, Block::List(items) if items.is_empty()));
    Ok(Document { title: format!("Report of {name}"), blocks })
}

/// What differs from the paper's protocol, plainly; all of it is read off the configurations.
fn differences(plan: &Plan, results: &Results) -> Vec<String> {
    let distinct = |of: &dyn Fn(&Planned) -> String| {
        let mut found: Vec<String> = Vec::new();
        for value in plan.runs.iter().map(of) {
            if !found.contains(&value) {
                found.push(value);
            }
        }
        found
    };
    let length = |run: &Planned| match run.config.length {
        Length::Steps(steps) => bytes(steps * run.config.batch.tokens()),
        Length::Tokens(tokens) => bytes(tokens),
        Length::Epochs(epochs) => format!("{epochs} epochs"),
    };
    let batch = |run: &Planned| format!("{} x {}", run.config.batch.sequences, run.config.batch.context);
    let validation = |run: &Planned| match run.config.validation.windows {
        0 => "the whole validation split".to_string(),
        windows => format!("{windows} windows spread over the validation split"),
    };
    let (sizes, lengths) = (distinct(&|run| size(run.budget)), distinct(&length));
    let (corpora, batches, validations) =
        (distinct(&|run| run.corpus.clone()), distinct(&batch), distinct(&validation));
    let uses = |protocol: Protocol| plan.runs.iter().any(|run| run.config.protocol == protocol);
    let as_in_paper = sizes.iter().all(|size| matches!(size.as_str(), "1m" | "5m"))
        && lengths == ["50 epochs"]
        && batches == ["64 x 256"]
        && validations == ["the whole validation split"]
        && !uses(Protocol::Tuned)
        && corpora.iter().all(|corpus| matches!(corpus.as_str(), "enwik8" | "codeparrot"));
    if as_in_paper {
        return vec![
            "Nothing that the paper fixes; what it leaves open (initialization) is as documented.".into(),
        ];
    }
    let mut list = vec![
        format!(
            "The paper trains models of 1M and 5M parameters for 50 epochs of enwik8 or CodeParrot (4.5 \
             billion bytes) in batches of 64 x 256 and validates on the whole split. Here models of about \
             {} read {} of {} in batches of {} and are validated on {}.",
            sizes.join(" and "),
            lengths.join(" and "),
            corpora.join(" and "),
            batches.join(" and "),
            validations.join(" and ")
        ),
        "The paper's values stand beside ours for orientation. Signs and orders of ablations can be \
         compared; which model leads may well depend on size and length (in the paper the medians change \
         places between 1M and 5M)."
            .into(),
    ];
    if uses(Protocol::Tuned) {
        list.push(
            "Arms of the tuned protocol train each model with the learning rate, schedule and \
             initialization chosen for it (docs/recipe.md), not with the paper's one recipe for both. They \
             were chosen for the unchanged Kuramoto model: an ablation that would like others is judged a \
             little too hard."
                .into(),
        );
    }
    if uses(Protocol::Paper) {
        list.push(
            "Arms of the paper protocol keep its recipe (learning rate 1e-3, constant; dropout 0.1; decay \
             of every parameter) for as long as these runs last."
                .into(),
        );
    }
    let off =
        |arm: &ArmResults| Some((arm.first()?.planned.parameters as f64 / arm.budget as f64 - 1.0, arm.arm));
    let mut off: Vec<(f64, Arm)> =
        results.arms.iter().filter_map(off).filter(|(off, _)| off.abs() > 0.03).collect();
    off.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    if let Some((worst, name)) = off.first() {
        list.push(format!(
            "Widths come in steps, so small models miss their budget: {} of {} arms by more than 3%, most \
             of all {name} by {:+.1}%.",
            off.len(),
            results.arms.len(),
            100.0 * worst
        ));
    }
    list
}

fn bytes(count: u64) -> String {
    match count {
        1_000_000.. => format!("{:.1} million bytes", count as f64 / 1e6),
        _ => format!("{count} bytes"),
    }
}

/// Which claims stand, which fell.
fn in_short(results: &Results) -> Vec<String> {
    let of = |verdict: Verdict| results.claims.iter().filter(move |claim| claim.verdict == verdict);
    let line = |verdict: Verdict| {
        let statement =
            |claim: &Claim| format!("{} ({:+.3}; paper {:+.3})", claim.statement, claim.mean, claim.paper);
        let statements: Vec<String> = of(verdict).map(statement).collect();
        let names = if statements.is_empty() { "none".into() } else { statements.join("; ") };
        format!("{} of {} claims {}: {names}.", statements.len(), results.claims.len(), verdict.words())
    };
    let mut list: Vec<String> =
        [Verdict::Reproduced, Verdict::NotReproduced, Verdict::Inconclusive].map(line).into();
    let outside = |word: &str, is_outside: fn(&Claim) -> bool| {
        let names: Vec<&str> =
            results.claims.iter().filter(|c| is_outside(c)).map(|c| &*c.statement).collect();
        (!names.is_empty()).then(|| {
            format!(
                "Another size than in the paper, whose value is {word} our 95% interval: {}.",
                names.join("; ")
            )
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
    for table in arm::PaperTable::all() {
        let claims: Vec<&Claim> = results.claims.iter().filter(|claim| claim.arm.table() == table).collect();
        if !claims.is_empty() && claims.iter().all(|claim| claim.smallest_p > LEVEL) {
            list.push(format!(
                "{}: with so few seeds no difference could pass the test, however large; it takes {}.",
                title(table),
                seeds_needed(claims.len())
            ));
        }
    }
    list
}

fn number(x: f64) -> Cell {
    Cell::number(if x.is_finite() { format!("{x:.4}") } else { "-".into() })
}

/// Where the runs of an arm are listed.
pub(super) fn anchor(arm: &ArmResults) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    format!("{}-{}-{}-{}", arm.arm.table(), arm.arm, arm.corpus, size(arm.budget))
        .chars()
        .map(plain)
        .collect()
}

fn beside(cell: Option<paper::Published>, digits: usize) -> Cell {
    Cell::number(
        cell.map_or_else(|| "-".into(), |cell| format!("{:.digits$} ± {:.digits$}", cell.mean, cell.sd)),
    )
}

fn cells(arms: &[&ArmResults]) -> Table {
    let tested = arms.iter().any(|arm| !arm.tests().is_empty());
    let mut head =
        vec!["arm", "corpus", "width", "parameters", "seeds", "validation: median", "mean", "sd", "paper"];
    if tested {
        head.extend(["test: median", "mean", "sd", "paper"]);
    }
    let row = |arm: &&ArmResults| {
        let first = arm.first()?;
        let link = format!("#{}", anchor(arm));
        let of = |values: Vec<f64>| {
            [median(&values), mean(&values), standard_deviation(&values)].map(|x| number(x).link(&link))
        };
        let mut row = vec![
            Cell::text(arm.arm).link(&link),
            Cell::text(&arm.corpus),
            Cell::number(width(&first.planned.config.model)),
            Cell::number(first.planned.parameters.to_string()),
            Cell::number(arm.runs.len().to_string()),
        ];
        row.extend(of(arm.validations()));
        row.push(match arm.arm {
            // The paper gives ablations as differences to the reference.
            Arm::Reference => Cell::number(paper::REFERENCE),
            Arm::Ablation(_) => Cell::number(
                arm.paper.map_or_else(|| "-".into(), |cell| format!("{:+.2} ± {:.2}", cell.mean, cell.sd)),
            ),
            Arm::Compare { .. } | Arm::Grid { .. } => beside(arm.paper, 3),
        });
        if tested {
            row.extend(of(arm.tests()));
            row.push(beside(arm.paper_test, 3));
        }
        Some(row)
    };
    let caption = match arms[0].arm.table() {
        arm::PaperTable::Ablations => {
            "Validation of the reference and of every ablation; the paper gives differences to its reference."
        }
        _ => "Validation and test of both models.",
    };
    Table { caption: caption.into(), head, rows: arms.iter().filter_map(row).collect(), result: true }
}

/// Heads down, layers across, as in the paper.
fn grid(arms: &[&ArmResults], model: ModelKind) -> Table {
    let row = |heads: usize| {
        let cell = |layers: usize| {
            let cell = Arm::Grid { model, heads, layers };
            let paper = paper::gridded(model, heads, layers)
                .map_or_else(|| "-".into(), |cell| format!("{:.3}", cell.mean));
            let Some(arm) = arms.iter().find(|arm| arm.arm == cell) else {
                return Cell::number(format!("- ({paper})"));
            };
            let values = arm.validations();
            let (mean, sd) = (mean(&values), standard_deviation(&values));
            let sd =
                if sd.is_finite() { format!(" ± {sd:.3}, {:.3}", median(&values)) } else { String::new() };
            Cell::number(format!("{mean:.3}{sd} ({paper})")).link(format!("#{}", anchor(arm)))
        };
        [Cell::text(format!("h = {heads}"))].into_iter().chain(GRID.map(cell)).collect()
    };
    Table {
        caption: format!(
            "{}: {model}: mean validation ± sd, median over seeds; in brackets the paper's mean.",
            arms[0].corpus
        ),
        head: vec!["heads", "L = 2", "L = 3", "L = 4", "L = 5", "L = 6"],
        rows: GRID.map(row).collect(),
        result: true,
    }
}

fn claimed(claims: &[&Claim], arms: &[&ArmResults]) -> Table {
    let row = |claim: &&Claim| {
        let shown = claim.verdict != Verdict::Inconclusive;
        let of = |arm: &&&ArmResults| arm.cell() == (claim.arm, &claim.corpus, claim.budget);
        let link = arms.iter().find(of).map(|arm| format!("#{}", anchor(arm)));
        vec![
            Cell::text(&claim.statement).link_if(link.as_ref()),
            Cell::number(format!("{:+.3}", claim.paper)),
            Cell::number(format!("{:+.4}", claim.mean)).bold_if(shown).link_if(link.as_ref()),
            Cell::number(claim.interval.to_string()),
            Cell::number(format!("{:.4}", claim.p)),
            Cell::number(format!("{:.4}", claim.p_holm)),
            Cell::number(format!("{:.4}", claim.smallest_p)),
            Cell::text(claim.verdict.words()).bold_if(shown),
        ]
    };
    Table {
        caption: "Claims of the paper, and paired differences here. Bold: significant after correction."
            .into(),
        head: vec![
            "claim of the paper",
            "paper",
            "here",
            "95% interval",
            "p",
            "p (Holm)",
            "least p possible",
            "verdict",
        ],
        rows: claims.iter().map(row).collect(),
        result: true,
    }
}

fn ranked(ranks: &RankAgreement, arms: &[&ArmResults]) -> Table {
    let rank = |x: f64| if x.fract() == 0.0 { format!("{x:.0}") } else { format!("{x:.1}") };
    let row = |row: &crate::claims::Rank| {
        let (interval, verdict) = match row.interval.low.is_nan() {
            true => ("-".into(), "-"),
            false => (
                format!("{} to {}", rank(row.interval.low), rank(row.interval.high)),
                if row.interval.contains(row.paper) { "compatible" } else { "another rank" },
            ),
        };
        let of = |arm: &&&ArmResults| (arm.arm, &arm.corpus) == (row.ablation, &ranks.corpus);
        let link = arms.iter().find(of).map(|arm| format!("#{}", anchor(arm)));
        vec![
            Cell::text(row.ablation).link_if(link.as_ref()),
            Cell::number(rank(row.paper)),
            Cell::number(rank(row.here)).link_if(link.as_ref()),
            Cell::number(interval),
            Cell::text(verdict),
        ]
    };
    Table {
        caption: format!("{}: order of the ablations, 1 hurts most.", ranks.corpus),
        head: vec!["ablation", "rank in the paper", "rank here", "95% interval", "the paper's rank"],
        rows: ranks.rows.iter().map(row).collect(),
        result: true,
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
         best, corrected alike.",
        "Ranks and Kendall's tau are compared by percentile bootstraps too. Resampled seeds are noisier \
         than the seeds, and ranks of small effects change places easily, so an estimate need not lie in \
         the middle of its interval. The p-value of tau is of 10,000 random orders.",
        "Depth over heads: in every seed the range over depths, averaged over heads, less the range over \
         heads, averaged over depths. Both ranges are of five cells and grow alike with noise.",
        "The paper's differences are those of its means; at 5M on enwik8 its medians have the other sign.",
        "A claim is reproduced, or not reproduced, only where the corrected p is at most 0.05: the sign \
         decides which. All else is inconclusive at this power, which is not the same as no difference.",
    ];
    sentences.map(String::from).into()
}

fn runs(results: &Results) -> Table {
    let mut rows = Vec::new();
    for arm in &results.arms {
        for (i, run) in arm.runs.values().enumerate() {
            let (planned, summary) = (&run.planned, &run.summary);
            let folder = &planned.folder;
            rows.push(vec![
                Cell::number(planned.index.to_string()).anchor((i == 0).then(|| anchor(arm))),
                Cell::text(planned.arm).link(folder),
                Cell::number(planned.seed.to_string()),
                number(summary.validation_bits_per_byte.unwrap_or(f64::NAN))
                    .link(format!("{folder}/summary.json")),
                number(summary.test_bits_per_byte.unwrap_or(f64::NAN)).link(format!("{folder}/summary.json")),
                Cell::number(summary.steps.to_string()),
                Cell::number(summary.tokens.to_string()),
                Cell::text("config.toml").link(format!("{folder}/config.toml")),
                Cell::text(&run.weights_sha256[..16]),
            ]);
        }
    }
    Table {
        caption: "Every finished run, with its folder, its configuration and the hash of its best weights, \
        which its values are of."
            .into(),
        head: vec![
            "run",
            "arm",
            "seed",
            "validation",
            "test",
            "steps",
            "bytes",
            "configuration",
            "sha256 of weights",
        ],
        rows,
        result: false,
    }
}
