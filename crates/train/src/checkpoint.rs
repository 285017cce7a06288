//! Checkpoints: folders that are there completely, proven by their manifest, or not believed.
//!
//! `checkpoints/step-N/` holds `model.safetensors` beside `config.json` (names and shapes as documented;
//! PyTorch, NumPy and JAX read it as it is), `optimizer.safetensors` with both moments (a published model has
//! none), `state.json`, and `manifest.json` with the length and sha256 of each, written last. A checkpoint is
//! written beside, synced, then renamed.

use crate::config::{BadSteps, Checkpoints, Config, Length, Policy, USUAL_MINUTES};
use crate::data::Identity;
use crate::disk::{self, Disk};
use crate::error::{At, Error, Result};
use crate::hash;
use crate::run::Run;
use crate::state::State;
use kuramoto_engine::Arenas;
use kuramoto_model::{Layout, weight_file};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const FORMAT: u32 = 1;
const MODEL: &str = "model.safetensors";
const OPTIMIZER: &str = "optimizer.safetensors";
const STATE: &str = "state.json";
const CONFIG: &str = "config.json";
/// Ending of the folder of a state that is not validated yet.
const UNVALIDATED: &str = ".unvalidated";
/// Of a checkpoint: holds the hashes of its other files.
pub const MANIFEST: &str = "manifest.json";

/// What proves a checkpoint.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    step: u64,
    /// sha256 of the run's configuration; a checkpoint of another run is foreign.
    config: String,
    /// sha256 of what identifies the corpus, whose vocabulary says what tokens mean; version 0.1 did not save
    /// it.
    #[serde(default)]
    corpus: Option<String>,
    files: BTreeMap<String, Proof>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Proof {
    bytes: usize,
    sha256: String,
}

/// Identifies a run's configuration in its checkpoints.
pub fn fingerprint(config: &Config) -> String {
    // How long to train, what is kept and where the corpus lies may change when a run is resumed; what it
    // computes may not.
    let mut config = config.clone();
    config.length = Length::Steps(0);
    config.data.corpus.clear();
    config.data.path.clear();
    (config.validation.patience, config.validation.test) = (0, false);
    config.checkpoints = Checkpoints { every: 0, keep: 0, minutes: USUAL_MINUTES };
    config.bad_steps = BadSteps { policy: Policy::Stop, spike: 0.0 };
    if let Some(from) = &mut config.init_from {
        from.run.clear();
    }
    // Version 0.1 had one more key, which was 1 in all runs that can be resumed; their checkpoints stay
    // valid.
    let text = config.to_toml().replacen("\nlanes = ", "\naccumulate = 1\nlanes = ", 1);
    hash::of(text.as_bytes())
}

/// Identifies a corpus in the checkpoints of its runs; its name may change.
fn corpus_fingerprint(corpus: &Identity) -> String {
    hash::of(&json(&(corpus.bytes, &corpus.sha256, &corpus.vocabulary)))
}

/// What is saved.
pub struct Snapshot<'a> {
    /// The run.
    pub run: &'a Run,
    /// Names and places in the arenas.
    pub layout: &'a Layout,
    /// Parameters, and the moments if training is to go on from them.
    pub arenas: Arenas<'a>,
    /// Where training is.
    pub state: &'a State,
}

/// What was read from a checkpoint.
pub struct Loaded {
    /// Where training was.
    pub state: State,
    /// The parameter arena.
    pub parameters: Vec<f32>,
    /// First and second moments; empty if they were not asked for.
    pub moments: (Vec<f32>, Vec<f32>),
}

/// `checkpoints/step-N` of a run.
pub fn folder(run: &Path, step: u64) -> PathBuf {
    run.join("checkpoints").join(format!("step-{step}"))
}

/// Where the state after a step is kept while that step is validated. It is no checkpoint for readers: what it
/// would be judged by is not known yet.
pub(crate) fn unvalidated_folder(run: &Path, step: u64) -> PathBuf {
    run.join("checkpoints").join(format!(".step-{step}{UNVALIDATED}"))
}

/// Saves a checkpoint as `folder`. If one is there it is left as it is: the same step has the same bits.
pub fn save(disk: &dyn Disk, folder: &Path, snapshot: &Snapshot<'_>) -> Result<()> {
    if folder.join(MANIFEST).exists() {
        return Ok(());
    }
    let beside = disk::hidden(folder, "partial");
    if beside.exists() {
        disk.remove_folder(&beside).at("remove", &beside)?;
    }
    let saved = write(disk, &beside, snapshot).and_then(|()| {
        if folder.exists() {
            // A folder of that name without a manifest was never whole.
            disk.remove_folder(folder).at("remove", folder)?;
        }
        disk.rename(&beside, folder).at("write", folder)?;
        disk::sync_parent(disk, folder)
    });
    if saved.is_err() && beside.exists() {
        // It only takes room, which may be what is missing; if it cannot be removed, the next process does
        // it.
        disk.remove_folder(&beside).ok();
    }
    saved
}

/// Writes the files of a checkpoint into a new folder, the manifest last.
fn write(disk: &dyn Disk, folder: &Path, snapshot: &Snapshot<'_>) -> Result<()> {
    disk.create_folder(folder).at("create", folder)?;
    let Snapshot { run, layout, arenas, state } = *snapshot;
    let mut contents = vec![
        (MODEL, weight_file::encode(layout, &[("", arenas.parameters)])),
        (CONFIG, json(&run.config().model)),
        (STATE, json(state)),
    ];
    if let Some((first, second)) = arenas.moments {
        contents.push((OPTIMIZER, weight_file::encode(layout, &[("first.", first), ("second.", second)])));
    }
    let mut files = BTreeMap::new();
    let write = |name: &str, bytes: &[u8]| -> Result<()> {
        let path = folder.join(name);
        disk.write(&path, bytes).at("write", &path)?;
        disk.sync(&path).at("write", &path)
    };
    for (name, bytes) in &contents {
        write(name, bytes)?;
        files.insert(name.to_string(), Proof { bytes: bytes.len(), sha256: hash::of(bytes) });
    }
    let manifest = Manifest {
        format: FORMAT,
        step: state.step,
        config: fingerprint(run.config()),
        corpus: Some(corpus_fingerprint(run.corpus())),
        files,
    };
    write(MANIFEST, &json(&manifest))?;
    disk.sync(folder).at("write", folder)
}

impl Manifest {
    /// Of a checkpoint of a run.
    fn open(folder: &Path, run: &Run) -> Result<Manifest> {
        let path = folder.join(MANIFEST);
        let manifest: Manifest = parse(&path, &disk::read(&path).at("read", &path)?)?;
        if manifest.format != FORMAT {
            let why = format!("its format is {}, this program reads format {FORMAT}", manifest.format);
            return Err(Error::checkpoint(path, why));
        }
        if manifest.config != fingerprint(run.config()) {
            return Err(Error::checkpoint(path, "it was written by a run with another configuration"));
        }
        if manifest.corpus.as_ref().is_some_and(|saved| *saved != corpus_fingerprint(run.corpus())) {
            let why = "it was written by a run on another corpus, or corpus.json was changed since";
            return Err(Error::checkpoint(path, why));
        }
        Ok(manifest)
    }

    /// A file, if it is the one that was saved.
    fn read(&self, folder: &Path, name: &str) -> Result<Vec<u8>> {
        let path = folder.join(name);
        let Some(proof) = self.files.get(name) else {
            return Err(Error::checkpoint(folder.join(MANIFEST), format!("it does not list {name}")));
        };
        let bytes = disk::read(&path).at("read", &path)?;
        if bytes.len() != proof.bytes {
            let why = format!("it has {} bytes where the manifest says {}", bytes.len(), proof.bytes);
            return Err(Error::checkpoint(path, why));
        }
        if hash::of(&bytes) != proof.sha256 {
            return Err(Error::checkpoint(path, "its sha256 is not the manifest's"));
        }
        Ok(bytes)
    }

    fn state(&self, folder: &Path) -> Result<State> {
        let path = folder.join(STATE);
        let state: State = parse(&path, &self.read(folder, STATE)?)?;
        if state.step != self.step {
            let why = format!("it is of step {}, the manifest of step {}", state.step, self.step);
            return Err(Error::checkpoint(path, why));
        }
        Ok(state)
    }
}

/// Where training was at a checkpoint of a run.
pub(crate) fn state(folder: &Path, run: &Run) -> Result<State> {
    Manifest::open(folder, run)?.state(folder)
}

/// Reads a checkpoint of a run, believing only what its manifest proves.
pub fn load(folder: &Path, run: &Run, layout: &Layout, with_moments: bool) -> Result<Loaded> {
    let manifest = Manifest::open(folder, run)?;
    let state = manifest.state(folder)?;
    let parameters = arena(&folder.join(MODEL), &manifest.read(folder, MODEL)?, layout, "")?;
    if parameters.iter().any(|x| !x.is_finite()) {
        // None is ever saved: this is no checkpoint of ours, whatever its manifest says.
        return Err(Error::checkpoint(folder.join(MODEL), "it holds parameters that are not finite"));
    }
    let moments = if with_moments {
        if !manifest.files.contains_key(OPTIMIZER) {
            let why =
                "it has weights only, so training cannot resume: start a new run from it, with --init-from";
            return Err(Error::checkpoint(folder, why));
        }
        let (path, bytes) = (folder.join(OPTIMIZER), manifest.read(folder, OPTIMIZER)?);
        (arena(&path, &bytes, layout, "first.")?, arena(&path, &bytes, layout, "second.")?)
    } else {
        Default::default()
    };
    Ok(Loaded { state, parameters, moments })
}

/// Checks every file of a checkpoint; returns the sha256 of its weights.
pub fn verify(folder: &Path, run: &Run) -> Result<String> {
    let manifest = Manifest::open(folder, run)?;
    for name in manifest.files.keys() {
        manifest.read(folder, name)?;
    }
    weights_sha256(folder, run)
}

/// The sha256 that a checkpoint's manifest gives for its weights.
pub(crate) fn weights_sha256(folder: &Path, run: &Run) -> Result<String> {
    match Manifest::open(folder, run)?.files.remove(MODEL) {
        Some(proof) => Ok(proof.sha256),
        None => Err(Error::checkpoint(folder.join(MANIFEST), format!("it does not list {MODEL}"))),
    }
}

/// Hash of a checkpoint's manifest, which changes with every file it proves.
pub fn identity(folder: &Path) -> Result<String> {
    let path = folder.join(MANIFEST);
    Ok(hash::of(&disk::read(&path).at("read", &path)?))
}

/// Steps of the checkpoints in a run, newest first. A folder that cannot be read is an error: it may hold
/// some.
pub fn steps(run: &Path) -> Result<Vec<u64>> {
    listed(run, "step-", "")
}

/// Steps whose states are kept while they are validated, newest first.
pub(crate) fn unvalidated_steps(run: &Path) -> Result<Vec<u64>> {
    listed(run, ".step-", UNVALIDATED)
}

/// Numbers between `prefix` and `suffix` in the names of the entries among the checkpoints.
fn listed(run: &Path, prefix: &str, suffix: &str) -> Result<Vec<u64>> {
    let folder = run.join("checkpoints");
    let mut steps = Vec::new();
    for entry in fs::read_dir(&folder).at("list", &folder)? {
        let name = entry.at("list", &folder)?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(prefix)?.strip_suffix(suffix));
        // `step-0025` is nothing that was ever saved.
        let step = number.and_then(|text| text.parse().ok().filter(|step: &u64| step.to_string() == text));
        steps.extend(step);
    }
    steps.sort_unstable_by(|a, b| b.cmp(a));
    Ok(steps)
}

fn json(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect("plain data with text keys");
    text.push(b'\n');
    text
}

fn parse<T: for<'a> Deserialize<'a>>(path: &Path, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| Error::checkpoint(path, error.to_string()))
}

/// The arena of named tensors that must be exactly those of the layout.
pub fn arena(path: &Path, bytes: &[u8], layout: &Layout, prefix: &str) -> Result<Vec<f32>> {
    weight_file::arena(bytes, layout, prefix).map_err(|error| Error::checkpoint(path, error.to_string()))
}
