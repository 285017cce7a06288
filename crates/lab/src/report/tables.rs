//! The tables of a report.

use crate::arm::{self, Arm, GRID};
use crate::claims::{Claim, Rank, RankAgreement};
use crate::paper;
use crate::plan::{Plan, size, width};
use crate::results::{ArmResults, Results};
use crate::statistics::{mean, median, standard_deviation};
use kuramoto_model::ModelKind;
use kuramoto_report::document::{Cell, Table};
use kuramoto_report::table::thousands;

fn number(x: f64) -> Cell {
    Cell::number(if x.is_finite() { format!("{x:.4}") } else { "-".into() })
}

/// Where the runs of an arm are listed.
pub fn anchor(arm: &ArmResults) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    format!("{}-{}-{}-{}", arm.arm.table(), arm.arm, arm.corpus, size(arm.budget))
        .chars()
        .map(plain)
        .collect()
}

/// A link to the runs that a claim is about.
pub fn link(claim: &Claim, arms: &[ArmResults]) -> Option<String> {
    let of = |arm: &&ArmResults| arm.cell() == (claim.arm, &claim.corpus, claim.budget);
    arms.iter().find(of).map(|arm| format!("#{}", anchor(arm)))
}

fn beside(cell: Option<paper::Published>, digits: usize) -> Cell {
    Cell::number(
        cell.map_or_else(|| "-".into(), |cell| format!("{:.digits$} ± {:.digits$}", cell.mean, cell.sd)),
    )
}

/// A part of a corpus that a run was measured on.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Validation,
    Test,
}

/// Validation of every arm; where it was read, the test too, in a table of its own.
pub fn cells(arms: &[&ArmResults]) -> Vec<Table> {
    let tested = arms.iter().any(|arm| !arm.tests().is_empty());
    let mut tables = vec![measured(arms, Part::Validation)];
    tables.extend(tested.then(|| measured(arms, Part::Test)));
    tables
}

fn measured(arms: &[&ArmResults], part: Part) -> Table {
    // One corpus needs no column.
    let several = arms.iter().any(|arm| arm.corpus != arms[0].corpus);
    let row = |arm: &&ArmResults| {
        let first = arm.first()?;
        let link = format!("#{}", anchor(arm));
        let values = if part == Part::Test { arm.tests() } else { arm.validations() };
        let counts = thousands(first.planned.parameters);
        let counts = arm.off(arms).map_or(counts.clone(), |off| format!("{counts} ({:+.1}%)", 100.0 * off));
        let mut row = vec![Cell::text(arm.arm).link(&link)];
        row.extend(several.then(|| Cell::text(&arm.corpus)));
        row.extend([
            Cell::number(width(&first.planned.config.model)),
            Cell::number(counts),
            Cell::number(values.len().to_string()),
        ]);
        row.extend(
            [median(&values), mean(&values), standard_deviation(&values)].map(|x| number(x).link(&link)),
        );
        row.push(match (arm.arm, part) {
            // The paper gives ablations as differences to the reference.
            (Arm::Reference, _) => Cell::number(paper::REFERENCE),
            (Arm::Ablation(_), _) => Cell::number(
                arm.paper.map_or_else(|| "-".into(), |cell| format!("{:+.2} ± {:.2}", cell.mean, cell.sd)),
            ),
            (_, Part::Validation) => beside(arm.paper, 3),
            (_, Part::Test) => beside(arm.paper_test, 3),
        });
        Some(row)
    };
    let caption = match (arms[0].arm.table(), part) {
        (arm::PaperTable::Ablations, _) => {
            "Validation of the reference and of every ablation, bits per byte; in brackets the difference in \
             parameters to the reference. The paper gives differences to its reference."
        }
        (_, Part::Validation) => {
            "Validation of both models, bits per byte; in brackets the difference in parameters to the \
             Kuramoto model."
        }
        (_, Part::Test) => "Test of both models with the parameters of the best validation, bits per byte.",
    };
    let mut head = vec!["arm"];
    head.extend(several.then_some("corpus"));
    head.extend(["width", "parameters", "seeds", "median", "mean", "sd", "paper"]);
    Table {
        caption: if several { caption.into() } else { format!("{}. {caption}", arms[0].corpus) },
        head,
        rows: arms.iter().filter_map(row).collect(),
        result: true,
    }
}

/// Heads down, layers across, as in the paper, whose means stand below.
pub fn grid(arms: &[&ArmResults], model: ModelKind) -> Table {
    let find = |heads, layers| arms.iter().find(|arm| arm.arm == Arm::Grid { model, heads, layers });
    let row = |heads: usize| {
        let ours = |layers: usize| {
            let Some(arm) = find(heads, layers) else { return Cell::number("-") };
            let values = arm.validations();
            let sd = standard_deviation(&values);
            let sd = if sd.is_finite() { format!(" ± {sd:.3}") } else { String::new() };
            Cell::number(format!("{:.3}{sd}", mean(&values))).link(format!("#{}", anchor(arm)))
        };
        let paper = |layers: usize| {
            let cell = paper::gridded(model, heads, layers);
            Cell::number(cell.map_or_else(|| "-".into(), |cell| format!("{:.3}", cell.mean)))
        };
        let title = |text: String| [Cell::text(text)].into_iter();
        let row: Vec<Cell> = title(format!("{heads}")).chain(GRID.map(ours)).collect();
        [row, title(format!("{heads}, paper")).chain(GRID.map(paper)).collect()]
    };
    let counts = || arms.iter().filter(|arm| arm.arm.model() == model).filter_map(|arm| arm.first());
    let counts = || counts().map(|run| run.planned.parameters);
    let offs: Vec<f64> = arms.iter().filter_map(|arm| arm.off(arms)).collect();
    let beside = match (offs.iter().copied().reduce(f64::min), offs.iter().copied().reduce(f64::max)) {
        (Some(least), Some(most)) if model == ModelKind::Transformer => {
            format!(
                ", which is {:+.1}% to {:+.1}% against the Kuramoto model of the same shape",
                100.0 * least,
                100.0 * most
            )
        }
        _ => String::new(),
    };
    Table {
        caption: format!(
            "{}: {model}: mean validation ± sd over seeds, bits per byte, by heads and layers. Cells have {} to \
             {} parameters{beside}.",
            arms[0].corpus,
            thousands(counts().min().unwrap_or(0)),
            thousands(counts().max().unwrap_or(0)),
        ),
        head: vec!["heads", "L = 2", "L = 3", "L = 4", "L = 5", "L = 6"],
        rows: GRID.flat_map(row).collect(),
        result: true,
    }
}

/// The test of every claim of a table.
pub fn tests(claims: &[&Claim], arms: &[ArmResults], judged: bool) -> Table {
    let row = |claim: &&Claim| {
        vec![
            Cell::text(&claim.statement).link_if(link(claim, arms).as_ref()),
            Cell::number(format!("{:+.4}", claim.mean)).bold_if(claim.verdict.is_shown()),
            Cell::number(claim.interval.to_string()),
            Cell::number(claim.differences.len().to_string()),
            Cell::number(format!("{:.4}", claim.p)),
            Cell::number(format!("{:.4}", claim.p_holm)),
            Cell::number(format!("{:.4}", claim.smallest_p)),
        ]
    };
    let mut caption =
        "The test of every claim: mean paired difference, its 95% bootstrap interval, seeds, p, \
                       p after Holm's correction, and the least p that so many seeds could show after the \
                       same correction."
            .to_string();
    if !judged {
        caption += " In a smoke test these numbers show that the computation works, and nothing else.";
    }
    Table {
        caption,
        head: vec![
            "claim of the paper",
            "here",
            "95% interval",
            "seeds",
            "p",
            "p corrected",
            "least p possible, corrected",
        ],
        rows: claims.iter().map(row).collect(),
        result: true,
    }
}

/// The order of the ablations beside the paper's.
pub fn ranked(ranks: &RankAgreement, arms: &[&ArmResults]) -> Table {
    let rank = |x: f64| if x.fract() == 0.0 { format!("{x:.0}") } else { format!("{x:.1}") };
    let row = |row: &Rank| {
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
        caption: format!("{}: order of the ablations; rank 1 hurts most.", ranks.corpus),
        head: vec!["ablation", "rank in the paper", "rank here", "95% interval", "the paper's rank"],
        rows: ranks.rows.iter().map(row).collect(),
        result: true,
    }
}

/// Every finished run; its folder is linked where it was kept.
pub fn runs(plan: &Plan, results: &Results) -> Table {
    let mut rows = Vec::new();
    for arm in &results.arms {
        for (i, run) in arm.runs.values().enumerate() {
            let (planned, summary) = (&run.planned, &run.summary);
            let kept = plan.run_folder(planned).exists();
            let file = |name: &str| kept.then(|| format!("{}{name}", planned.folder));
            let summarized = |value: Option<f64>| {
                number(value.unwrap_or(f64::NAN)).link_if(file("/summary.json").as_ref())
            };
            rows.push(vec![
                Cell::number(planned.index.to_string()).anchor((i == 0).then(|| anchor(arm))),
                Cell::text(planned.arm).link_if(file("").as_ref()),
                Cell::number(planned.seed.to_string()),
                summarized(summary.validation_bits_per_byte),
                summarized(summary.test_bits_per_byte),
                Cell::number(summary.steps.to_string()),
                Cell::number(summary.tokens.to_string()),
                Cell::text("config.toml").link_if(file("/config.toml").as_ref()),
                Cell::text(run.weights_sha256.chars().take(16).collect::<String>()),
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
