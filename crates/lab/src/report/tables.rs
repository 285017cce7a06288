//! The tables of a report.

use crate::arm::{self, Arm, GRID};
use crate::claims::{Claim, Rank, RankAgreement, best, value};
use crate::paper::{self, Part};
use crate::plan::{Plan, size, width};
use crate::results::{ArmResults, Results};
use crate::statistics::{mean, median, standard_deviation};
use kuramoto_model::ModelKind;
use kuramoto_report::document::{Cell, Table};
use kuramoto_report::table::thousands;
use kuramoto_train::run::Ended;

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

fn beside(cell: Option<paper::Published>) -> Cell {
    Cell::number(cell.map_or_else(|| "-".into(), |cell| format!("{:.3} ± {:.3}", cell.mean, cell.sd)))
}

/// Validation of every arm; where it was read, the test too, in a table of its own.
pub fn cells(arms: &[&ArmResults]) -> Vec<Table> {
    let tested = arms.iter().any(|arm| !arm.tests().is_empty());
    let mut tables = vec![measured(arms, Part::Validation)];
    tables.extend(tested.then(|| measured(arms, Part::Test)));
    tables
}

fn measured(arms: &[&ArmResults], part: Part) -> Table {
    // One corpus and one size need no columns.
    let several = arms.iter().any(|arm| (&arm.corpus, arm.budget) != (&arms[0].corpus, arms[0].budget));
    let row = |arm: &&ArmResults| {
        let first = arm.first()?;
        let link = format!("#{}", anchor(arm));
        let values = arm.values(part);
        let counts = thousands(first.planned.parameters);
        let counts = arm.off(arms).map_or(counts.clone(), |off| format!("{counts} ({:+.1}%)", 100.0 * off));
        let mut row = vec![Cell::text(arm.arm).link(&link)];
        row.extend(place(arm, several));
        row.extend([
            Cell::number(width(&first.planned.config.model)),
            Cell::number(counts),
            Cell::number(seeds(arm, values.len())),
        ]);
        row.extend(
            [median(&values), mean(&values), standard_deviation(&values)].map(|x| number(x).link(&link)),
        );
        let paper = arm.published(part);
        match arm.arm {
            // The paper gives ablations as differences to the reference.
            Arm::Ablation(ablation) => {
                row.push(Cell::text(paper::component(ablation).unwrap_or("-")));
                let text = paper.map(|cell| format!("{:+.2} ± {:.2}", cell.mean, cell.sd));
                row.push(Cell::number(text.unwrap_or_else(|| "-".into())));
            }
            Arm::Reference => row.extend([Cell::text("-"), beside(paper)]),
            _ => {
                let median = paper.and_then(|cell| cell.median);
                row.push(Cell::number(median.map_or_else(|| "-".into(), |median| format!("{median:.3}"))));
                row.push(beside(paper));
            }
        }
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
    let papers = paper_sizes(arms);
    let mut head = vec!["arm"];
    head.extend(several.then_some(["corpus", "size"]).into_iter().flatten());
    head.extend(["width", "parameters", "seeds", "median", "mean", "sd"]);
    head.extend(match arms[0].arm.table() {
        arm::PaperTable::Ablations => ["component", "paper"],
        _ => ["paper, median", "paper, mean"],
    });
    Table {
        caption: if several {
            format!("{caption}{papers}")
        } else {
            format!("{}, {}. {caption}{papers}", arms[0].corpus, size(arms[0].budget))
        },
        head,
        rows: arms.iter().filter_map(row).chain(clusters(arms, part, several)).collect(),
        result: true,
    }
}

/// Corpus and size, where they need columns.
fn place(arm: &ArmResults, several: bool) -> impl Iterator<Item = Cell> {
    several.then(|| [Cell::text(&arm.corpus), Cell::text(size(arm.budget))]).into_iter().flatten()
}

/// How many seeds, and how many of them ended before their last step because they were not finite.
fn seeds(arm: &ArmResults, measured: usize) -> String {
    let lost = arm.runs.values().filter(|run| run.summary.ended == Ended::NonFinite).count();
    match lost {
        0 => measured.to_string(),
        lost => format!("{measured} ({lost} not finite)"),
    }
}

/// At which size the paper's values are, where ours are of another.
fn paper_sizes(arms: &[&ArmResults]) -> String {
    let other = arms
        .iter()
        .any(|arm| arm.paper.is_some() && paper::budget_for(arm.arm.table(), arm.budget) != arm.budget);
    if other { " The paper's values are at 1m, for orientation: another size.".into() } else { String::new() }
}

/// Rows of arms whose runs form a cluster that others are separated from, as the paper's Table 1 has one. No
/// seed is dropped from the rows above.
fn clusters<'a>(
    arms: &'a [&'a ArmResults],
    part: Part,
    several: bool,
) -> impl Iterator<Item = Vec<Cell>> + 'a {
    arms.iter().flat_map(move |arm| {
        let link = format!("#{}", anchor(arm));
        let paper = match arm.arm {
            Arm::Compare { model, .. } if paper::BUDGETS.contains(&arm.budget) => {
                paper::clustered(&arm.corpus, arm.budget, model, part)
            }
            _ => None,
        };
        let row = |name: String, values: &[f64], median_paper: String, mean_paper: String| {
            let mut row = vec![Cell::text(name).link(&link)];
            row.extend(place(arm, several));
            row.extend([Cell::number("-"), Cell::number("-")]);
            row.push(Cell::number(values.len().to_string()));
            row.extend([median(values), mean(values), standard_deviation(values)].map(number));
            row.extend([Cell::number(median_paper), Cell::number(mean_paper)]);
            row
        };
        let dash = || "-".to_string();
        let separated = |seed: &u64| arm.runs.get(seed).and_then(|run| value(run, part));
        let apart: Vec<f64> = arm.separated.iter().filter_map(separated).collect();
        let cluster = arm.clustered(part);
        let (median_of, mean_of, run_of) = paper.map_or_else(
            || (dash(), dash(), dash()),
            |(cluster, run)| {
                let median = cluster.median.map_or_else(dash, |median| format!("{median:.3}"));
                (median, format!("{:.3} ± {:.3}", cluster.mean, cluster.sd), format!("{run:.3}"))
            },
        );
        let shown = !apart.is_empty() || paper.is_some();
        let names: Vec<String> = arm.separated.iter().map(u64::to_string).collect();
        let rows = [
            row(format!("{}, clustered subset", arm.arm), &cluster, median_of, mean_of),
            row(
                match names.is_empty() {
                    true => format!("{}, separated run", arm.arm),
                    false => format!("{}, separated run (seed {})", arm.arm, names.join(", ")),
                },
                &apart,
                dash(),
                run_of,
            ),
        ];
        shown.then_some(rows).into_iter().flatten()
    })
}

/// Why cells of five heads stand out, as far as we can tell: docs/reconstruction.md.
const FIVE_HEADS: &str = " Widths are multiples of 4 and of the number of heads: with five heads they come in \
                          steps of 20 and at 1m miss the budget by up to 15%. In the paper these cells stand \
                          out, if its widths were chosen as ours.";

/// Heads down, layers across, as in the paper, whose means stand below.
pub fn grid(arms: &[&ArmResults], model: ModelKind) -> Table {
    let find = |heads, layers| arms.iter().find(|arm| arm.arm == Arm::Grid { model, heads, layers });
    let known = paper::has_corpus(arm::PaperTable::Grid, &arms[0].corpus);
    let best_here = best(&|heads, layers| Some(mean(&find(heads, layers)?.validations())));
    let best_paper = best(&|heads, layers| Some(paper::gridded(model, heads, layers)?.mean));
    let base = arms.iter().find(|arm| arm.arm == Arm::base(model)).map(|arm| {
        let value =
            Cell::number(format!("{:.3}", mean(&arm.validations()))).link(format!("#{}", anchor(arm)));
        let cell = |layers: usize| if layers == 4 { value.clone() } else { Cell::number("-") };
        [Cell::text("1 (Table 1)")].into_iter().chain(GRID.map(cell)).collect::<Vec<Cell>>()
    });
    let row = |heads: usize| {
        let ours = |layers: usize| {
            let Some(arm) = find(heads, layers) else { return Cell::number("-") };
            let values = arm.validations();
            if values.is_empty() {
                return Cell::number("-");
            }
            let sd = standard_deviation(&values);
            let sd = if sd.is_finite() { format!(" ± {sd:.3}") } else { String::new() };
            let mark = if best_here == Some((heads, layers)) { " *" } else { "" };
            Cell::number(format!("{:.3}{sd}{mark}", mean(&values))).link(format!("#{}", anchor(arm)))
        };
        let off = |layers: usize| {
            let run = find(heads, layers).and_then(|arm| arm.first());
            let off = run.map(|run| run.planned.parameters as f64 / run.planned.budget as f64 - 1.0);
            Cell::number(off.map_or_else(|| "-".into(), |off| format!("{:+.1}%", 100.0 * off)))
        };
        let paper = |layers: usize| {
            let cell = paper::gridded(model, heads, layers);
            let mark = if best_paper == Some((heads, layers)) { " *" } else { "" };
            Cell::number(cell.map_or_else(|| "-".into(), |cell| format!("{:.3}{mark}", cell.mean)))
        };
        let title = |text: String| [Cell::text(text)].into_iter();
        let mut rows = vec![title(format!("{heads}")).chain(GRID.map(ours)).collect::<Vec<Cell>>()];
        rows.push(title(format!("{heads}, budget")).chain(GRID.map(off)).collect());
        rows.extend(known.then(|| title(format!("{heads}, paper")).chain(GRID.map(paper)).collect()));
        rows
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
            "{}, {}: {model}: mean validation ± sd over seeds, bits per byte, by heads and layers; a star marks \
             the best cell. Below, by how much a cell's parameters miss the budget: cells have {} to {} \
             parameters{beside}.{}{}",
            arms[0].corpus,
            size(arms[0].budget),
            thousands(counts().min().unwrap_or(0)),
            thousands(counts().max().unwrap_or(0)),
            if known { FIVE_HEADS } else { "" },
            paper_sizes(arms),
        ),
        head: vec!["heads", "L = 2", "L = 3", "L = 4", "L = 5", "L = 6"],
        rows: base.into_iter().chain(GRID.flat_map(row)).collect(),
        result: true,
    }
}

/// The test of every claim of a table.
pub fn tests(claims: &[&Claim], arms: &[ArmResults], judged: bool) -> Table {
    let row = |claim: &&Claim| {
        vec![
            Cell::text(&claim.statement).link_if(link(claim, arms).as_ref()),
            Cell::text(claim.test.words()),
            Cell::number(format!("{:+.4}", claim.mean)).bold_if(claim.verdict.is_shown()),
            Cell::number(claim.interval.to_string()),
            Cell::number(claim.seeds.to_string()),
            Cell::number(format!("{:.4}", claim.p)),
            Cell::number(format!("{:.4}", claim.p_holm)),
            Cell::number(format!("{:.4}", claim.smallest_p)),
        ]
    };
    let mut caption =
        "The test of every claim: what is tested, the mean paired difference or the difference of \
                       medians, its 95% bootstrap interval, seeds, p, p after Holm's correction, and the least p that so many seeds could show after the \
                       same correction."
            .to_string();
    if !judged {
        caption += " In a smoke test these numbers show that the computation works, and nothing else.";
    }
    Table {
        caption,
        head: vec![
            "claim",
            "test",
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
        let of = |arm: &&&ArmResults| arm.cell() == (row.ablation, &*ranks.corpus, ranks.budget);
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
        caption: format!(
            "{}, {}: order of the ablations beside the paper's at 1m; rank 1 hurts most.",
            ranks.corpus,
            size(ranks.budget)
        ),
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
                Cell::text(run.summary.ended_in_words()),
                Cell::number(summary.tokens.to_string()),
                Cell::text("config.toml").link_if(file("/config.toml").as_ref()),
                Cell::text(run.weights_sha256.chars().take(16).collect::<String>()),
            ]);
        }
    }
    for failed in &results.unusable {
        let mut row = vec![
            Cell::number(failed.index.to_string()),
            Cell::text(failed.arm),
            Cell::number(failed.seed.to_string()),
        ];
        row.extend(["-", "-", "-"].map(Cell::number));
        row.push(Cell::text("cannot be used: see above"));
        row.extend([Cell::number("-"), Cell::text("-"), Cell::text("-")]);
        rows.push(row);
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
            "ended",
            "bytes",
            "configuration",
            "sha256 of weights",
        ],
        rows,
        result: false,
    }
}
