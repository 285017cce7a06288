//! `kuramoto runs`: what was trained, and how well.

mod compare;
mod notes;

use crate::choice::choice;
use crate::program::program;
use crate::table::{Table, thousands};
use anyhow::{Result, bail};
use clap::Subcommand;
use kuramoto_model::ModelKind;
use kuramoto_train::listing::Listed;
use kuramoto_train::presets::Protocol;
use kuramoto_train::run::list;
use std::cmp::Ordering;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  kuramoto runs --sort validation --model kuramoto
  kuramoto runs --filter no-value-gate
  kuramoto runs compare runs/tales-kuramoto-1 runs/tales-transformer-1
  kuramoto runs note runs/tales-kuramoto-1 'the one of the figure'"
)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Folder of run folders, or a run folder
    #[arg(default_value = "runs")]
    folder: PathBuf,
    /// Order; the best first, for results
    #[arg(long, short, value_parser = choice::<Order>(), default_value_t = Order::Run)]
    sort: Order,
    /// The other way round
    #[arg(long, short)]
    reverse: bool,
    /// Only runs of this model
    #[arg(long, short, value_parser = choice::<ModelKind>())]
    model: Option<ModelKind>,
    /// Only runs on this corpus
    #[arg(long, short, value_name = "CORPUS")]
    data: Option<String>,
    /// Only runs whose name, changes, status, tags or note contain this
    #[arg(long, short, value_name = "TEXT")]
    filter: Option<String>,
    /// Print one JSON array
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Show two runs side by side: settings, sizes, curves and the difference
    Compare(compare::Arguments),
    /// Write a note about a run, or print it
    Note(notes::NoteArguments),
    /// Tag a run
    Tag(notes::TagArguments),
    /// Remove a run that is not being trained
    Remove(notes::RemoveArguments),
}

#[derive(Clone, Copy, strum::Display, strum::EnumString, strum::VariantNames)]
#[strum(serialize_all = "kebab-case")]
enum Order {
    Run,
    Date,
    Model,
    Corpus,
    Parameters,
    Steps,
    Validation,
    Test,
}

impl Order {
    fn compare(self, a: &Listed, b: &Listed) -> Ordering {
        let best_first = |a: Option<f64>, b: Option<f64>| {
            a.unwrap_or(f64::INFINITY).total_cmp(&b.unwrap_or(f64::INFINITY))
        };
        match self {
            Order::Run => Ordering::Equal,
            Order::Date => a.started.cmp(&b.started),
            Order::Model => a.model.cmp(b.model),
            Order::Corpus => a.corpus.cmp(&b.corpus),
            Order::Parameters => a.parameters.cmp(&b.parameters),
            Order::Steps => a.steps.cmp(&b.steps),
            Order::Validation => best_first(a.validation_bits_per_byte, b.validation_bits_per_byte),
            Order::Test => best_first(a.test_bits_per_byte, b.test_bits_per_byte),
        }
    }
}

pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        None => show(arguments),
        Some(Command::Compare(arguments)) => compare::run(arguments),
        Some(Command::Note(arguments)) => notes::note(arguments),
        Some(Command::Tag(arguments)) => notes::tag(arguments),
        Some(Command::Remove(arguments)) => notes::remove(arguments),
    }
}

fn show(arguments: &Arguments) -> Result<()> {
    let is_default = arguments.folder.as_os_str() == "runs";
    if !arguments.folder.exists() && !is_default {
        bail!("{}: there is no such folder; give a folder of runs", arguments.folder.display());
    }
    let folders = if arguments.folder.exists() { list(&arguments.folder)? } else { Vec::new() };
    let mut runs = Vec::new();
    for folder in &folders {
        match Listed::read(folder) {
            Ok(run) => runs.push(run),
            Err(error) => crate::note(&format!("warning: {error}")),
        }
    }
    runs.retain(|run| arguments.wants(run));
    runs.sort_by(|a, b| arguments.sort.compare(a, b));
    if arguments.reverse {
        runs.reverse();
    }
    if arguments.json {
        return crate::print(&format!("{}\n", serde_json::to_string(&runs)?));
    }
    let folder = arguments.folder.display();
    if folders.is_empty() {
        return crate::print(&format!("no runs in {folder} yet; `{} train` makes one\n", program()));
    }
    if runs.is_empty() {
        let count = folders.len();
        return crate::print(&format!("none of the runs in {folder} is like that; there are {count}\n"));
    }
    crate::print(&format!(
        "{}\nbits per byte; validation is the best of each run; changes are those to the preset\n",
        table(&runs)
    ))
}

impl Arguments {
    fn wants(&self, run: &Listed) -> bool {
        let contains = |text: &String| {
            let text = text.to_lowercase();
            let tags: Vec<&str> = run.notes.tags.iter().map(String::as_str).collect();
            [
                &*run.run.to_string_lossy(),
                &run.changes_in_words,
                &run.status,
                &run.notes.note,
                &tags.join(" "),
            ]
            .iter()
            .any(|part| part.to_lowercase().contains(&text))
        };
        self.model.is_none_or(|model| model.name() == run.model)
            && self.data.as_ref().is_none_or(|corpus| *corpus == run.corpus)
            && self.filter.as_ref().is_none_or(contains)
    }
}

/// A column: its title, whether it is text, and what a run has in it.
type Column = (&'static str, bool, fn(&Listed) -> String);

const COLUMNS: [Column; 15] = [
    ("run", true, |run| run.run.display().to_string()),
    ("model", true, |run| run.model.into()),
    ("corpus", true, |run| run.corpus.clone()),
    ("parameters", false, |run| thousands(run.parameters)),
    ("seed", false, |run| run.seed.to_string()),
    ("steps", false, |run| thousands(run.steps as usize)),
    ("validation", false, |run| bits(run.validation_bits_per_byte)),
    ("floor", false, |run| bits(run.floor_bits_per_byte)),
    ("test", false, |run| bits(run.test_bits_per_byte)),
    ("status", true, |run| run.status.clone()),
    ("started", true, |run| {
        run.started.as_ref().map_or_else(String::new, |time| time[..16].replace('T', " "))
    }),
    ("preset", true, |run| match run.protocol {
        Protocol::Tuned => run.preset.to_string(),
        Protocol::Paper => format!("{}, paper", run.preset),
    }),
    ("tags", true, |run| run.notes.tags.iter().cloned().collect::<Vec<_>>().join(", ")),
    ("note", true, |run| run.notes.note.replace('\n', " ")),
    ("changes", true, |run| run.changes_in_words.clone()),
];

fn bits(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), |bits| format!("{bits:.4}"))
}

/// Columns that say nothing of any run are left out.
fn table(runs: &[Listed]) -> Table {
    let says = |(_, _, cell): &&Column| runs.iter().any(|run| !matches!(cell(run).as_str(), "" | "-"));
    let columns: Vec<&Column> = COLUMNS.iter().filter(says).collect();
    let titles: Vec<&str> = columns.iter().map(|(title, _, _)| *title).collect();
    let texts: Vec<usize> = (0..columns.len()).filter(|&column| columns[column].1).collect();
    let mut table = Table::new(&titles).left_aligned(&texts);
    for run in runs {
        table.row(columns.iter().map(|(_, _, cell)| cell(run)));
    }
    table
}
