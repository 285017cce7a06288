//! `kuramoto eval`: exact bits per byte of a split.

use crate::checkpoint::Checkpoint;
use crate::choice::choice;
use crate::chosen::{Chosen, FOR_CORPUS};
use crate::device::DeviceArguments;
use crate::table::thousands;
use anyhow::Result;
use kuramoto_engine::Cpu;
use kuramoto_train::data::default_cache;
use kuramoto_train::evaluate::evaluate;
use kuramoto_train::{Corpus, Split};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// Run folder or shipped model [default: tales-kuramoto]
    run: Option<PathBuf>,
    /// Which part of the corpus
    #[arg(long, value_parser = choice::<Split>(), default_value_t = Split::Validation)]
    split: Split,
    #[command(flatten)]
    checkpoint: Checkpoint,
    /// Location of the corpus, if it is neither in the cache nor where the run found it
    #[arg(long, value_name = "PATH")]
    data_path: Option<String>,
    /// Threads [default: all cores]
    #[arg(long)]
    threads: Option<usize>,
    #[command(flatten)]
    device: DeviceArguments,
    /// Folder of prepared corpora
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let mut run = Chosen::new(arguments.run.as_deref(), FOR_CORPUS)?.open()?;
    if let Some(path) = &arguments.data_path {
        run.set_data_path(path);
    }
    let split = arguments.split;
    let corpus = Corpus::of_run(&run, &arguments.cache.clone().unwrap_or_else(default_cache))?;
    let opened = arguments.device.open(Cpu::new(crate::threads(arguments.threads)?))?;
    let found = evaluate(&run, arguments.checkpoint.of(&run)?, &corpus, split, opened.device())?;
    if arguments.json {
        let mut object = serde_json::to_value(&found)?;
        object["split"] = split.to_string().into();
        object["run"] = run.folder().to_string_lossy().into();
        return crate::print(&format!("{object}\n"));
    }
    let floor = found
        .floor_bits_per_byte
        .map_or_else(String::new, |floor| format!("; the best possible is {floor:.4}"));
    crate::print(&format!(
        "{} split of {}: {:.4} bits per byte over {} bytes, after step {}{floor}\n",
        split,
        corpus.identity().name,
        found.bits_per_byte,
        thousands(found.bytes),
        thousands(found.step as usize),
    ))
}
