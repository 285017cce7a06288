//! `kuramoto runs`: what was trained, and how well.

use crate::table::{Table, thousands};
use anyhow::Result;
use kuramoto_train::listing::Listed;
use kuramoto_train::run::list;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// Folder of run folders
    #[arg(default_value = "runs")]
    folder: PathBuf,
    /// Print one JSON array
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let folders = if arguments.folder.exists() { list(&arguments.folder)? } else { Vec::new() };
    let mut runs = Vec::new();
    for folder in folders {
        match Listed::read(&folder) {
            Ok(run) => runs.push(run),
            Err(error) => crate::note(&format!("warning: {error}")),
        }
    }
    if arguments.json {
        return crate::print(&format!("{}\n", serde_json::to_string(&runs)?));
    }
    if runs.is_empty() {
        let folder = arguments.folder.display();
        return crate::print(&format!("no runs in {folder} yet; `train` makes one\n"));
    }
    let mut table = Table::new(&[
        "run",
        "model",
        "corpus",
        "parameters",
        "seed",
        "steps",
        "validation",
        "floor",
        "test",
        "status",
    ]);
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
