//! What proves that a finished run is still what it was when it finished.
//!
//! `finished.json` is written last and holds the hash of every file that tells of the run. Checkpoints are
//! listed by their manifests, which hold the hashes of theirs.

use crate::error::{Error, Result};
use kuramoto_train::checkpoint::{self, MANIFEST};
use kuramoto_train::disk::{self, System};
use kuramoto_train::run::Ended;
use kuramoto_train::{Run, Summary, hash};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

const FILE: &str = "finished.json";

fn path(run: &Run) -> PathBuf {
    run.folder().join(FILE)
}

fn changed(run: &Run, why: impl std::fmt::Display) -> Error {
    let why =
        format!("this run is finished, but its files changed since ({why}): move it away, or put them back");
    Error::plan(run.folder(), why)
}

fn hash_of(run: &Run, file: &str) -> Result<String> {
    let bytes =
        disk::read(&run.folder().join(file)).map_err(|error| changed(run, format!("{file}: {error}")))?;
    Ok(hash::of(&bytes))
}

/// A finished run whose files are what they were when it finished.
#[derive(Clone, Debug, PartialEq)]
pub struct Proven {
    /// What it came to.
    pub summary: Summary,
    /// sha256 of its best weights, which its validation and test are of.
    pub weights_sha256: String,
}

/// The step whose weights were best; the last where nothing was validated.
fn best_step(summary: &Summary) -> u64 {
    summary.best_step.unwrap_or(summary.steps)
}

/// Checkpoints that the numbers of a run are of: the last and the best.
fn checkpoints(summary: &Summary) -> BTreeSet<u64> {
    [summary.steps, best_step(summary)].into()
}

/// Writes the proof of a run that has just finished.
pub(crate) fn write(run: &Run, summary: &Summary) -> Result<()> {
    let files = ["config.toml", "corpus.json", "metrics.jsonl", "summary.json"].map(String::from);
    let manifests =
        checkpoints(summary).into_iter().map(|step| format!("checkpoints/step-{step}/{MANIFEST}"));
    let hash = |file: String| Ok((file.clone(), hash_of(run, &file)?));
    let hashes = files.into_iter().chain(manifests).map(hash).collect::<Result<BTreeMap<_, _>>>()?;
    let json = serde_json::to_vec_pretty(&hashes).expect("hashes are plain data");
    Ok(disk::replace(&System, &path(run), &json)?)
}

/// What a finished run came to, once every file is proven; None of one that is not finished.
pub(crate) fn finished(run: &Run) -> Result<Option<Proven>> {
    let path = path(run);
    if !path.exists() {
        return Ok(None);
    }
    let text = disk::read(&path).map_err(|error| changed(run, format!("{FILE}: {error}")))?;
    let hashes: BTreeMap<String, String> =
        serde_json::from_slice(&text).map_err(|error| changed(run, format!("{FILE}: {error}")))?;
    for (file, expected) in &hashes {
        if hash_of(run, file)? != *expected {
            return Err(changed(run, format!("{file} is another than when it finished")));
        }
    }
    let summary = run.summary().filter(|summary| summary.ended != Ended::Interrupted);
    let Some(summary) = summary.filter(|_| hashes.contains_key("summary.json")) else {
        return Err(changed(run, format!("{FILE} does not prove summary.json")));
    };
    let mut weights_sha256 = String::new();
    for step in checkpoints(&summary) {
        let folder = checkpoint::folder(run.folder(), step);
        let found = checkpoint::verify(&folder, run).map_err(|why| changed(run, why))?;
        if step == best_step(&summary) {
            weights_sha256 = found;
        }
    }
    Ok(Some(Proven { summary, weights_sha256 }))
}
