//! `kuramoto runs`: what was trained, and how well.

use crate::table::{Table, thousands};
use anyhow::Result;
use kuramoto_train::metrics;
use kuramoto_train::run::{Ended, Run, list};
use serde::Serialize;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    /// Folder of run folders
    #[arg(default_value = "runs")]
    folder: PathBuf,
    /// Print one JSON array
    #[arg(long)]
    json: bool,
}

/// One run, as far as its files tell.
#[derive(Serialize)]
struct Listed {
    run: PathBuf,
    status: &'static str,
    model: &'static str,
    corpus: String,
    parameters: usize,
    seed: u64,
    steps: u64,
    tokens: u64,
    validation_bits_per_byte: Option<f64>,
    floor_bits_per_byte: Option<f64>,
    test_bits_per_byte: Option<f64>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let folders = if arguments.folder.exists() { list(&arguments.folder)? } else { Vec::new() };
    let mut runs = Vec::new();
    for folder in folders {
        match look(&folder) {
            Ok(run) => runs.push(run),
            Err(error) => crate::note(&format!("warning: {error:#}")),
        }
    }
    if arguments.json {
        return crate::print(&format!("{}\n", serde_json::to_string(&runs)?));
    }
    if runs.is_empty() {
        let folder = arguments.folder.display();
        return crate::print(&format!("no runs in {folder} yet; `train` makes one\n"));
    }
    let mut table =
        Table::new(&["run", "model", "corpus", "parameters", "seed", "steps", "validation", "floor", "test", "status"]);
    let bits = |value: Option<f64>| value.map_or_else(|| "-".into(), |bits| format!("{bits:.4}"));
    for run in runs {
        table.row([
            run.run.display().to_string(),
            run.model.into(),
            run.corpus,
            thousands(run.parameters),
            run.seed.to_string(),
            thousands(run.steps as usize),
            bits(run.validation_bits_per_byte),
            bits(run.floor_bits_per_byte),
            bits(run.test_bits_per_byte),
            run.status.into(),
        ]);
    }
    crate::print(&format!("{table}\nbits per byte; validation is the best of each run\n"))
}

fn look(folder: &Path) -> Result<Listed> {
    let run = Run::open(folder)?;
    let config = run.config();
    let training = run.is_training();
    // A run that goes on after an old summary is told by its rows.
    let summary = run.summary().filter(|_| !training);
    let rows = match &summary {
        Some(_) => Vec::new(),
        None => metrics::read(&folder.join("metrics.jsonl")).unwrap_or_default(),
    };
    let last = rows.last();
    let best = rows.iter().filter_map(|row| row.validation_bits_per_byte).min_by(f64::total_cmp);
    Ok(Listed {
        status: match &summary {
            _ if training => "training",
            Some(summary) => match summary.ended {
                Ended::Finished => "finished",
                Ended::EarlyStop => "stopped early",
                Ended::Interrupted => "interrupted",
            },
            None => "broken off",
        },
        model: config.model.kind().name(),
        corpus: run.corpus().name.clone(),
        parameters: config.model.parameters()?,
        seed: config.seed,
        steps: summary.as_ref().map_or_else(|| last.map_or(0, |row| row.step), |summary| summary.steps),
        tokens: summary.as_ref().map_or_else(|| last.map_or(0, |row| row.tokens), |summary| summary.tokens),
        validation_bits_per_byte: summary.as_ref().map_or(best, |summary| summary.validation_bits_per_byte),
        floor_bits_per_byte: summary.as_ref().and_then(|summary| summary.floor_bits_per_byte),
        test_bits_per_byte: summary.as_ref().and_then(|summary| summary.test_bits_per_byte),
        run: folder.to_path_buf(),
    })
}
