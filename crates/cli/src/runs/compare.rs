//! `kuramoto runs compare`: two runs side by side.

use crate::matching::percent_apart;
use crate::table::{Table, thousands};
use anyhow::Result;
use kuramoto_train::compare::{Comparison, Point};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// A run folder
    first: PathBuf,
    /// Another
    second: PathBuf,
    /// Print one JSON object, with every common validation
    #[arg(long)]
    json: bool,
}

/// Rows of the curves at most.
const ROWS: usize = 12;

pub fn run(arguments: &Arguments) -> Result<()> {
    let found = Comparison::read(&arguments.first, &arguments.second)?;
    if arguments.json {
        return crate::print(&format!("{}\n", serde_json::to_string(&found)?));
    }
    let [first, second] = &found.runs;
    let mut text = format!("A  {}\nB  {}\n\n", first.run.display(), second.run.display());

    let mut table = Table::new(&["", "A", "B"]).left_aligned(&[1, 2]);
    let bits = |value: Option<f64>| value.map_or_else(|| "-".into(), |bits| format!("{bits:.4}"));
    let both = |of: &dyn Fn(&kuramoto_train::listing::Listed) -> String| [of(first), of(second)];
    let facts: [(&str, [String; 2]); 6] = [
        ("parameters", both(&|run| thousands(run.parameters))),
        ("status", both(&|run| run.status.clone())),
        ("steps", both(&|run| thousands(run.steps as usize))),
        ("bytes read", both(&|run| thousands(run.tokens as usize))),
        ("best validation", both(&|run| bits(run.validation_bits_per_byte))),
        ("test", both(&|run| bits(run.test_bits_per_byte))),
    ];
    for (what, [a, b]) in facts {
        table.row([what.into(), a, b]);
    }
    if found.settings.is_empty() {
        table.row(["settings".into(), "the same".into(), "the same".into()]);
    }
    let value = |value: &Option<_>| value.as_ref().map_or_else(|| "-".into(), ToString::to_string);
    for setting in &found.settings {
        table.row([setting.key.clone(), value(&setting.first), value(&setting.second)]);
    }
    text += &table.to_string();
    text += &format!("\nB has {} parameters than A\n", percent_apart(second.parameters, first.parameters));

    if found.curve.is_empty() {
        text += "no validation of A was after as many bytes as one of B\n";
    } else {
        let mut table = Table::new(&["bytes read", "step of A", "step of B", "A", "B", "B - A"]);
        for point in spread(&found.curve) {
            let [a, b] = point.validation_bits_per_byte;
            table.row([
                thousands(point.tokens as usize),
                thousands(point.steps[0] as usize),
                thousands(point.steps[1] as usize),
                format!("{a:.4}"),
                format!("{b:.4}"),
                format!("{:+.4}", b - a),
            ]);
        }
        text += &format!("\nvalidation, bits per byte\n{table}");
    }
    if let Some(difference) = found.difference() {
        text += &match difference {
            0.0 => "\nat their best, both are the same\n".into(),
            _ => format!(
                "\nat their best, B is {:.4} bits per byte {} than A\n",
                difference.abs(),
                if difference < 0.0 { "better" } else { "worse" }
            ),
        };
    }
    if !found.same_corpus() {
        text += "they were not trained on the same corpus: bits per byte of one say nothing of the other\n";
    }
    crate::print(&text)
}

/// At most [`ROWS`] of the points, the last one among them.
fn spread(points: &[Point]) -> Vec<&Point> {
    let every = points.len().div_ceil(ROWS).max(1);
    let mut chosen: Vec<&Point> = points.iter().rev().step_by(every).collect();
    chosen.reverse();
    chosen
}
