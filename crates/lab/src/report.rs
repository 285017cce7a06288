//! The report of a plan: Markdown for people, CSV for machines, LaTeX for papers, JSON with everything.

use crate::error::{Error, Result};
use crate::plan::{Plan, width};
use crate::results::{Arm, Claim, Results};
use crate::scale::Scale;
use crate::statistics::{mean, median, standard_deviation};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

/// Writes `report.md`, `report.tex`, `cells.csv`, `runs.csv` and `report.json` into the plan's folder.
pub fn write(plan: &Plan, results: &Results) -> Result<Vec<PathBuf>> {
    let json = serde_json::to_string_pretty(results).expect("results are plain data") + "\n";
    let files = [
        ("report.md", markdown(plan, results)),
        ("report.tex", latex(results)),
        ("cells.csv", cells_csv(results)),
        ("runs.csv", runs_csv(results)),
        ("report.json", json),
    ];
    let written = files.into_iter().map(|(name, text)| {
        let path = plan.folder().join(name);
        fs::write(&path, text).map_err(|error| Error::plan(&path, format!("it cannot be written: {error}")))?;
        Ok(path)
    });
    written.collect()
}

const TABLES: [(&str, &str); 3] = [
    ("compare", "Matched comparison (Tables 1 and 2 of the paper)"),
    ("ablations", "Ablations (Table 3)"),
    ("grid", "Heads by layers (Table 4)"),
];

fn number(x: f64) -> String {
    if x.is_finite() { format!("{x:.4}") } else { "-".into() }
}

fn signed(x: f64) -> String {
    format!("{x:+.4}")
}

/// Median, mean and standard deviation of an arm.
fn cell(arm: &Arm) -> [String; 3] {
    let values = arm.validations();
    [median(&values), mean(&values), standard_deviation(&values)].map(number)
}

fn paper_value(arm: &Arm) -> String {
    match (&arm.paper, arm.table.as_str()) {
        (None, _) => "-".into(),
        // The paper gives ablations as differences to the reference.
        (Some(cell), "ablations") => format!("{:+.2} ± {:.2}", cell.mean, cell.sd),
        (Some(cell), _) => format!("{:.3} ± {:.3}", cell.mean, cell.sd),
    }
}

fn markdown(plan: &Plan, results: &Results) -> String {
    let mut text = format!("# Report of {}\n\n", plan.folder().file_name().unwrap_or_default().to_string_lossy());
    let (done, planned) = results.progress;
    writeln!(
        text,
        "{done} of {planned} runs are finished. All values are validation bits per byte, the best of each run."
    )
    .ok();
    writeln!(text, "\n{}\n", differences(plan)).ok();
    for (table, title) in TABLES {
        let arms: Vec<&Arm> = results.arms.iter().filter(|arm| arm.table == table).collect();
        if arms.is_empty() {
            continue;
        }
        writeln!(text, "## {title}\n\n| arm | corpus | width | parameters | seeds | median | mean | sd | paper |").ok();
        writeln!(text, "|---|---|---|---|---|---|---|---|---|").ok();
        for arm in arms {
            let Some(first) = arm.runs.values().next() else { continue };
            let [median, mean, sd] = cell(arm);
            let (parameters, width) = (first.planned.parameters, width(&first.planned.config.model));
            let (name, corpus, seeds, paper) = (&arm.name, &arm.corpus, arm.runs.len(), paper_value(arm));
            writeln!(
                text,
                "| {name} | {corpus} | {width} | {parameters} | {seeds} | {median} | {mean} | {sd} | {paper} |"
            )
            .ok();
        }
        let claims: Vec<&Claim> = results.claims.iter().filter(|claim| claim.table == table).collect();
        if !claims.is_empty() {
            writeln!(text, "\n| claim of the paper | paper | here, paired | 95% interval | p | p (Holm) | least p possible | verdict |").ok();
            writeln!(text, "|---|---|---|---|---|---|---|---|").ok();
        }
        for claim in claims {
            writeln!(
                text,
                "| {} | {:+.3} | {} | {} to {} | {:.4} | {:.4} | {:.4} | {} |",
                claim.statement,
                claim.paper,
                signed(claim.mean),
                signed(claim.interval.low),
                signed(claim.interval.high),
                claim.p,
                claim.p_holm,
                claim.smallest_p,
                claim.verdict.words()
            )
            .ok();
        }
        text.push('\n');
    }
    if let Some(ranks) = &results.ranks {
        writeln!(
            text,
            "Order of the {} ablations against the paper's: Kendall's tau {:.2} (95% interval {:.2} to {:.2}).\n",
            ranks.ablations, ranks.tau, ranks.interval.low, ranks.interval.high
        )
        .ok();
    }
    text += "Differences are within seeds, which give both sides the same batches. Intervals are percentile bootstraps over \
             seeds; p-values are of the two-sided sign-flip permutation test, corrected by Holm within a table; *least p \
             possible* is what so many seeds could show at best. A claim is reproduced, or not, only where the corrected p is \
             at most 0.05.\n\n";
    text += "## Runs\n\n| run | arm | seed | validation | steps | bytes | folder | sha256 of its weights |\n|---|---|---|---|---|---|---|---|\n";
    for run in results.arms.iter().flat_map(|arm| arm.runs.values()) {
        let (planned, summary) = (&run.planned, &run.summary);
        writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | [{}]({}/config.toml) | `{}` |",
            planned.index,
            planned.arm,
            planned.seed,
            number(run.validation()),
            summary.steps,
            summary.tokens,
            planned.folder,
            planned.folder,
            &run.weights_sha256[..16]
        )
        .ok();
    }
    text
}

/// What differs from the paper's protocol, plainly.
fn differences(plan: &Plan) -> String {
    match (plan.scale, plan.runs.first()) {
        (Scale::Paper, _) | (_, None) => "These runs follow the paper's protocol.".into(),
        (_, Some(run)) => format!(
            "**These are not the paper's runs.** The paper trains 1M and 5M parameters for 50 epochs of enwik8 (4.5 billion bytes) \
             in batches of 64 x 256. Here models of about {} parameters read {} in batches of {} x {}. Arms named *paper* keep \
             its recipe otherwise (learning rate 1e-3, constant; dropout 0.1; decay of everything); all others use the tuned \
             recipe. The paper's values stand beside ours for orientation; only signs and orders can be compared.",
            run.budget,
            match run.config.length {
                kuramoto_train::config::Length::Steps(steps) => format!("{} bytes", steps * run.config.batch.tokens()),
                kuramoto_train::config::Length::Tokens(tokens) => format!("{tokens} bytes"),
                kuramoto_train::config::Length::Epochs(epochs) => format!("{epochs} epochs"),
            },
            run.config.batch.sequences,
            run.config.batch.context
        ),
    }
}

fn latex(results: &Results) -> String {
    let escape = |text: &str| text.replace('_', "\\_").replace('%', "\\%");
    let mut text = String::new();
    for (table, title) in TABLES {
        let arms: Vec<&Arm> = results.arms.iter().filter(|arm| arm.table == table).collect();
        if arms.is_empty() {
            continue;
        }
        writeln!(text, "% {title}\n\\begin{{tabular}}{{llrrrl}}\n\\toprule").ok();
        writeln!(text, "arm & corpus & median & mean & sd & paper \\\\\n\\midrule").ok();
        for arm in arms {
            let [median, mean, sd] = cell(arm);
            let paper = paper_value(arm).replace('±', "$\\pm$");
            writeln!(text, "{} & {} & {median} & {mean} & {sd} & {paper} \\\\", escape(&arm.name), escape(&arm.corpus))
                .ok();
        }
        writeln!(text, "\\bottomrule\n\\end{{tabular}}\n").ok();
    }
    text
}

fn cells_csv(results: &Results) -> String {
    let mut text = "table,arm,corpus,budget,seeds,median,mean,sd,paper_mean,paper_sd\n".to_string();
    for arm in &results.arms {
        let [median, mean, sd] = cell(arm);
        let paper = arm.paper.map_or_else(|| ",".into(), |cell| format!("{},{}", cell.mean, cell.sd));
        let (table, name, corpus, budget, seeds) = (&arm.table, &arm.name, &arm.corpus, arm.budget, arm.runs.len());
        writeln!(text, "{table},{name},{corpus},{budget},{seeds},{median},{mean},{sd},{paper}").ok();
    }
    text
}

fn runs_csv(results: &Results) -> String {
    let mut text =
        "index,table,arm,corpus,budget,parameters,seed,validation,steps,tokens,seconds,folder,weights_sha256\n"
            .to_string();
    for run in results.arms.iter().flat_map(|arm| arm.runs.values()) {
        let (planned, summary) = (&run.planned, &run.summary);
        writeln!(
            text,
            "{},{},{},{},{},{},{},{},{},{},{:.1},{},{}",
            planned.index,
            planned.table,
            planned.arm,
            planned.corpus,
            planned.budget,
            planned.parameters,
            planned.seed,
            run.validation(),
            summary.steps,
            summary.tokens,
            summary.seconds,
            planned.folder,
            run.weights_sha256
        )
        .ok();
    }
    text
}
