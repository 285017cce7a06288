//! `kuramoto export`: a run's phases as NumPy or Zarr arrays, or its weights as a folder for others.

use crate::checkpoint::Checkpoint;
use crate::chosen::{Chosen, FOR_CORPUS};
use crate::inspect::one_of;
use crate::wrong;
use anyhow::{Context, Result, bail};
use kuramoto_phase::export::{Array, Npz, Selection, Store, Zarr, record};
use kuramoto_phase::subject::check_memory;
use kuramoto_report::write;
use kuramoto_train::disk::System;
use kuramoto_train::publish::publish;
use kuramoto_train::{Error, Run, checkpoint, disk, hash, hugging_face};
use std::path::{Path, PathBuf};

const WEIGHTS: &str = "model.safetensors";

#[derive(clap::Args)]
pub struct Arguments {
    /// Run folder or shipped model [default: tales-kuramoto]
    run: Option<PathBuf>,
    /// The same as --out
    #[arg(conflicts_with = "out")]
    folder: Option<PathBuf>,
    /// FILE.npz or FOLDER.zarr for arrays, weights for model.safetensors with its configuration, model for a
    /// run folder without what only training needs, hf for a folder that Hugging Face Transformers loads
    #[arg(long)]
    to: String,
    /// The text to run through the model; needed for arrays
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
    /// Arrays, separated by commas
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "phase,phase_last,local_order,byte,bits",
        value_parser = one_of::<Array>()
    )]
    arrays: Vec<Array>,
    /// Layers, from 0, as numbers and ranges (0,2-3) [default: all]
    #[arg(long)]
    layers: Option<String>,
    /// Oscillators, from 0, as numbers and ranges (0-9,40) [default: all]
    #[arg(long)]
    oscillators: Option<String>,
    #[command(flatten)]
    checkpoint: Checkpoint,
    /// Folder of --to weights, model or hf [default: one of that name in the run]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let chosen = Chosen::new(arguments.run.as_deref(), FOR_CORPUS)?;
    let run = chosen.open()?;
    let given = arguments.out.as_ref().or(arguments.folder.as_ref());
    let folder = || given.cloned().unwrap_or_else(|| chosen.output(&arguments.to));
    match arguments.to.as_str() {
        "weights" => return weights(arguments, &run, &folder()),
        to @ ("model" | "hf") => {
            let write = if to == "model" { publish } else { hugging_face::write };
            write(&System, &run, arguments.checkpoint.of(&run)?, &folder())?;
            return crate::print(&format!("wrote {}\n", folder().display()));
        }
        _ => {}
    }
    let path = PathBuf::from(&arguments.to);
    let failed = || format!("{} cannot be written", path.display());
    let mut store: Box<dyn Store> = match path.extension().and_then(|ending| ending.to_str()) {
        Some("npz") => Box::new(Npz::new(&path).with_context(failed)?),
        Some("zarr") => Box::new(Zarr::new(&path).with_context(failed)?),
        _ => {
            return Err(wrong(
                "--to",
                format!("{:?}", arguments.to),
                "give FILE.npz, FOLDER.zarr, weights, model or hf",
            )
            .into());
        }
    };
    let Some(text) = &arguments.text else {
        return Err(wrong("--text", "nothing", "give the file whose phases are to be recorded").into());
    };
    let (weights, state) = run.kuramoto(arguments.checkpoint.of(&run)?)?;
    check_memory(weights.network(), run.config().batch.context, 1)?;
    let config = weights.network().config();
    let selection = Selection {
        arrays: distinct(&arguments.arrays),
        layers: numbers("--layers", arguments.layers.as_deref(), config.layers)?,
        oscillators: numbers("--oscillators", arguments.oscillators.as_deref(), config.width)?,
    };
    let bytes = disk::read(text).with_context(|| format!("{} cannot be read", text.display()))?;
    if bytes.is_empty() {
        return Err(wrong(&text.display().to_string(), "an empty file", "give at least one byte").into());
    }
    let tokens = run.corpus().encode(&text.display().to_string(), &bytes)?;
    record(&weights, (&tokens, &bytes), &selection, &mut *store)?;
    let attributes = serde_json::json!({
        "run": run.folder().to_string_lossy(),
        "step": state.step,
        "context": run.config().batch.context,
        "text": text.to_string_lossy(),
        "layers": selection.layers,
        "oscillators": selection.oscillators,
    });
    store.finish(&attributes).with_context(failed)?;
    let names: Vec<&str> = selection.arrays.iter().map(|array| array.name()).collect();
    crate::print(&format!("wrote {}: {} of {} bytes\n", path.display(), names.join(", "), bytes.len()))
}

/// Each array once, in the order of their first mention.
fn distinct(arrays: &[Array]) -> Vec<Array> {
    let mut found = Vec::new();
    for array in arrays {
        if !found.contains(array) {
            found.push(*array);
        }
    }
    found
}

/// `0,2-3` within `0..count`; all of them if nothing is said.
fn numbers(key: &str, text: Option<&str>, count: usize) -> Result<Vec<usize>, Error> {
    let Some(text) = text else { return Ok((0..count).collect()) };
    let mut found = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.trim().parse::<usize>(), last.trim().parse::<usize>()) {
            (Ok(first), Ok(last)) if first <= last && last < count => found.extend(first..=last),
            _ => {
                return Err(wrong(
                    key,
                    format!("{part:?}"),
                    format!("give numbers and ranges from 0 to {}", count - 1),
                ));
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// `model.safetensors` and a `config.json` that says all one needs to use it, which is written last: an export
/// that was killed before can be repeated.
fn weights(arguments: &Arguments, run: &Run, folder: &Path) -> Result<()> {
    let (config, model) = (folder.join("config.json"), folder.join(WEIGHTS));
    let (from, step) = run.checkpoint(arguments.checkpoint.of(run)?)?;
    let sha256 = checkpoint::verify(&from, run)?;
    let is_ours = |path: &Path| disk::read(path).is_ok_and(|bytes| hash::of(&bytes) == sha256);
    if let Some(there) =
        [&config, &model].into_iter().find(|path| path.exists() && (*path == &config || !is_ours(path)))
    {
        bail!("{} is there already: choose another folder with --out", there.display());
    }
    let saved = from.join(WEIGHTS);
    let bytes = disk::read(&saved).with_context(|| format!("{} cannot be read", saved.display()))?;
    write(folder, WEIGHTS, bytes)?;
    let description = serde_json::json!({
        "model_type": format!("kuramoto-attention/{}", run.config().model.kind().name()),
        "model": run.config().model,
        "context": run.config().batch.context,
        "vocabulary": run.corpus().vocabulary,
        "corpus": run.corpus().name,
        "step": step,
        "weights_sha256": sha256,
    });
    write(folder, "config.json", serde_json::to_string_pretty(&description)? + "\n")?;
    crate::print(&format!("wrote {} and {}\n", config.display(), model.display()))
}
