//! A trained model to hand on: a run folder with the weights of one checkpoint and without what only training
//! needs.
//!
//! Everything that reads a run reads it. Of `metrics.jsonl` it has the rows of validations, and its
//! checkpoint has no `optimizer.safetensors`: training cannot be resumed, but a new run can start from it.

use crate::checkpoint::{self, Snapshot};
use crate::disk::{self, Disk};
use crate::error::{At, Error, Result};
use crate::metrics::{self, Row};
use crate::run::{Run, Summary, Which};
use crate::state::Stretch;
use kuramoto_engine::Arenas;
use kuramoto_model::with_network;
use std::path::Path;

/// Writes the model of a finished run as a new folder, which is there completely or not at all.
pub fn publish(disk: &dyn Disk, run: &Run, which: Which, folder: &Path) -> Result<()> {
    let Some(summary) = run.summary() else {
        return Err(Error::run(run.folder(), "it has no summary yet: finish its training with --resume"));
    };
    let name = folder.file_name().unwrap_or_default();
    let summary = Summary { run: name.into(), ..summary };
    whole(disk, folder, |beside| write(disk, run, which, &summary, beside))
}

/// Makes a new folder by writing it beside and renaming it.
pub(crate) fn whole(disk: &dyn Disk, folder: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    if folder.exists() {
        return Err(Error::run(folder, "it is there already: choose another folder with --out"));
    }
    let beside = disk::hidden(folder, "partial");
    if beside.exists() {
        disk.remove_folder(&beside).at("remove", &beside)?;
    }
    let written = disk
        .create_folder(&beside)
        .at("create", &beside)
        .and_then(|()| write(&beside))
        .and_then(|()| disk.rename(&beside, folder).at("create", folder));
    if written.is_err() {
        // What is half done is worth nothing; if it cannot be removed, the next attempt does it.
        disk.remove_folder(&beside).ok();
    }
    written
}

fn write(disk: &dyn Disk, run: &Run, which: Which, summary: &Summary, folder: &Path) -> Result<()> {
    let mut config = run.config().clone();
    // A place on the machine that trained it.
    config.data.path.clear();
    let published = Run::create(disk, folder, &config, run.corpus())?;
    let (weights, state) = with_network!(&config.model, config.batch.context, |network| {
        let loaded = run.load(which, network.layout())?;
        let arenas = Arenas { parameters: &loaded.parameters, moments: None };
        let snapshot = Snapshot { run: &published, layout: network.layout(), arenas, state: &loaded.state };
        let path = checkpoint::folder(folder, loaded.state.step);
        checkpoint::save(disk, &path, &snapshot)?;
        (checkpoint::verify(&path, &published)?, loaded.state)
    });
    for pointer in ["best", "last"] {
        disk::replace(disk, &folder.join(pointer), format!("step-{}\n", state.step).as_bytes())?;
    }
    let rows = metrics::read(&run.folder().join("metrics.jsonl"))?;
    let rows = rows.iter().filter(|row| row.validation_bits_per_byte.is_some());
    // How busy the machine was that trained it says nothing of the model.
    let of_model = |row: &Row| Row { utilisation: None, ..row.clone() }.to_line();
    let rows: String = rows.map(of_model).collect();
    disk::replace(disk, &folder.join("metrics.jsonl"), rows.as_bytes())?;
    published.save_summary(disk, summary)?;
    let name = summary.run.display().to_string();
    let card = facts(&published, summary, &name, state.step, &weights) + ABOUT;
    disk::replace(disk, &folder.join("README.md"), card.as_bytes())
}

/// The end of a published model's card.
const ABOUT: &str = "`config.toml` has the complete configuration. Weights and configuration only: training cannot be \
     resumed from here, but a new run can start from these weights.\n\n\
     It is a small model for research on how such models work. What it writes looks like its corpus and is \
     not true.\n";

/// The device of a run, or all of a run that moved.
fn devices(summary: &Summary) -> String {
    if summary.devices.is_empty() {
        return summary.device.clone();
    }
    let stretch = |stretch: &Stretch| format!("{} from step {}", stretch.device, stretch.from_step);
    summary.devices.iter().map(stretch).collect::<Vec<_>>().join("; ")
}

/// What a reader needs to know of a model, from its files alone.
pub(crate) fn facts(run: &Run, summary: &Summary, name: &str, step: u64, weights: &str) -> String {
    let (config, corpus) = (run.config(), run.corpus());
    let (model, batch) = (&config.model, &config.batch);
    let bits = |bits: Option<f64>| bits.map_or_else(|| "not measured".into(), |bits| format!("{bits:.4}"));
    let floor = summary.floor_bits_per_byte.map_or_else(String::new, |floor| {
        format!("| fewest bits per byte that are possible on validation | {floor:.4} |\n")
    });
    let best = if summary.best_step == Some(step) { ", the best on validation" } else { "" };
    let (sequences, context) = (batch.sequences, batch.context);
    format!(
        "# {name}\n\n\
         A byte-level language model ({kind}), trained on {corpus}.\n\n\
         | | |\n|---|---|\n\
         | parameters | {parameters} |\n\
         | layers, width, heads | {layers}, {width}, {heads} |\n\
         | context | {context} bytes |\n\
         | corpus | {corpus}, {bytes} bytes, sha256 {sha256} |\n\
         | vocabulary | the {vocabulary} bytes that occur in the corpus |\n\
         | recipe | {protocol}, seed {seed}, {steps} steps of {sequences} x {context} bytes |\n\
         | checkpoint | step {step}{best} |\n\
         | validation, bits per byte | {validation} |\n\
         | test split, bits per byte | {test} |\n\
         {floor}\
         | trained on | {device}, {seconds:.0} seconds |\n\
         | sha256 of the weights | {weights} |\n\n",
        kind = model.kind().name(),
        corpus = corpus.name,
        parameters = summary.parameters,
        layers = model.layers(),
        width = model.width(),
        heads = model.heads(),
        bytes = corpus.bytes,
        sha256 = corpus.sha256,
        vocabulary = corpus.vocabulary.len(),
        protocol = config.protocol.name(),
        seed = config.seed,
        steps = summary.steps,
        validation = bits(summary.validation_bits_per_byte),
        test = bits(summary.test_bits_per_byte),
        device = devices(summary),
        seconds = summary.seconds,
    )
}
