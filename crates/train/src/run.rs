//! Run folders.
//!
//! `config.toml` (the resolved configuration), `corpus.json` (what identifies the corpus, and its
//! vocabulary), `metrics.jsonl` (a row a step), `events.out.tfevents.*` (the same for TensorBoard),
//! `checkpoints/step-N/`, the pointers `best` and `last` (text files that name a checkpoint), `summary.json`
//! once training is done, `notes.json` if somebody wrote any, and `lock`, held while a process trains.

use crate::checkpoint::{self, Loaded};
use crate::config::{Config, Policy};
use crate::data::naming::with_its_name;
use crate::data::{Identity, Source};
use crate::disk::{self, Disk};
use crate::error::{At, Error, Result};
use crate::memory;
use crate::overlay::Overlay;
use crate::state::{State, Stretch};
use kuramoto_model::{Kuramoto, Layout, ModelConfig, Weights, with_network};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A run folder.
#[derive(Clone, Debug)]
pub struct Run {
    folder: PathBuf,
    config: Config,
    corpus: Identity,
}

/// What a finished run came to; saved as `summary.json`, printed by `--json` as the last line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The run folder; a name that is not UTF-8 is shown as far as it can be.
    #[serde(serialize_with = "disk::as_text")]
    pub run: PathBuf,
    /// `kuramoto` or `transformer`.
    pub model: String,
    /// The corpus.
    pub corpus: String,
    /// Exact count.
    pub parameters: usize,
    /// Steps taken.
    pub steps: u64,
    /// Bytes read.
    pub tokens: u64,
    /// Seconds of training.
    pub seconds: f64,
    /// Why training ended.
    pub ended: Ended,
    /// The first step whose loss or gradient was not finite, where that ended the run. It was not applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub non_finite_step: Option<u64>,
    /// Of recent training steps.
    pub train_bits_per_byte: Option<f64>,
    /// The best validation.
    pub validation_bits_per_byte: Option<f64>,
    /// After which step it was.
    pub best_step: Option<u64>,
    /// Of the last validation.
    pub last_validation_bits_per_byte: Option<f64>,
    /// Fewest bits per byte that were possible on what was validated, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_bits_per_byte: Option<f64>,
    /// Of the test split with the best parameters, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_bits_per_byte: Option<f64>,
    /// Steps that were not applied.
    pub bad_steps: u64,
    /// What computed the last steps; runs that are compared bit by bit need the same.
    #[serde(default)]
    pub device: String,
    /// Where several devices computed the run: which, and from which step on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<Stretch>,
    /// Of several processes: share of the time that the first spent on sending, receiving and waiting for the
    /// others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange_share: Option<f64>,
    /// Most bytes that were in memory of the process (of several, the first) that trained the last steps, the
    /// corpus included, while it did; None where the system does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
    /// Runs that shared that memory, where several trained in one process at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory_runs: Option<usize>,
}

/// Why training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// All steps were taken.
    Finished,
    /// Validation had not improved for as long as `validation.patience` says.
    EarlyStop,
    /// It was asked to stop; resume it to go on.
    Interrupted,
    /// The loss or the gradient of a step was not finite, under the policy `continue`.
    NonFinite,
}

impl Summary {
    /// Why training ended, in words.
    pub fn ended_in_words(&self) -> String {
        match (self.ended, self.non_finite_step) {
            (Ended::Finished, _) => "finished".into(),
            (Ended::EarlyStop, _) => "stopped early".into(),
            (Ended::Interrupted, _) => "interrupted".into(),
            (Ended::NonFinite, Some(step)) => format!("not finite from step {step}"),
            (Ended::NonFinite, None) => "not finite".into(),
        }
    }

    /// True of a run that is not finite and would end at the same step again, with nothing left to test.
    pub fn stays_non_finite(&self, config: &Config) -> bool {
        let untested =
            config.validation.test && self.best_step.is_some() && self.test_bits_per_byte.is_none();
        self.ended == Ended::NonFinite && config.bad_steps.policy == Policy::Continue && !untested
    }
}

/// Which checkpoint of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one that validated best.
    Best,
    /// The newest.
    Last,
    /// The one of that step.
    Step(u64),
}

impl std::str::FromStr for Which {
    type Err = Error;

    fn from_str(text: &str) -> Result<Which> {
        match text {
            "best" => Ok(Which::Best),
            "last" => Ok(Which::Last),
            _ => match text.strip_prefix("step-").unwrap_or(text).parse() {
                Ok(step) => Ok(Which::Step(step)),
                Err(_) => {
                    Err(Error::setting("checkpoint", format!("{text:?}"), "choose best, last or step-N"))
                }
            },
        }
    }
}

/// A checkpoint and what had to be passed over to find it.
pub struct Found {
    /// What it holds.
    pub loaded: Loaded,
    /// Newer ones that are not good, with the reason.
    pub refused: Vec<(PathBuf, String)>,
}

impl Run {
    /// Makes a new run folder; one that is there and holds anything is refused.
    pub fn create(disk: &dyn Disk, folder: &Path, config: &Config, corpus: &Identity) -> Result<Run> {
        if folder.to_str().is_none() {
            return Err(Error::run(
                folder,
                "its name is not UTF-8, so no summary could name it: choose another with --out",
            ));
        }
        let identity = serde_json::to_vec_pretty(corpus).expect("an identity is plain data");
        if holds_anything(folder, &identity) {
            let advice =
                if folder.join("config.toml").exists() { "resume it with --resume, or " } else { "" };
            return Err(Error::run(
                folder,
                format!("the folder is not empty: {advice}choose another with --out"),
            ));
        }
        let checkpoints = folder.join("checkpoints");
        disk.create_folder(&checkpoints).at("create", &checkpoints)?;
        disk::replace(disk, &folder.join("corpus.json"), &identity)?;
        // Last: a folder with a configuration is a run.
        disk::replace(disk, &folder.join("config.toml"), config.to_toml().as_bytes())?;
        Ok(Run { folder: folder.to_path_buf(), config: config.clone(), corpus: corpus.clone() })
    }

    /// Opens a run folder.
    pub fn open(folder: &Path) -> Result<Run> {
        let path = folder.join("config.toml");
        let text = disk::read_to_string(&path).map_err(|cause| Error::NotARun {
            folder: folder.to_path_buf(),
            file: path.clone(),
            cause,
        })?;
        let config = Config::parse(&path.display().to_string(), &text)?;
        config.check()?;
        let path = folder.join("corpus.json");
        let corpus = disk::read(&path).at("read", &path)?;
        let corpus: Identity =
            serde_json::from_slice(&corpus).map_err(|error| Error::run(&path, error.to_string()))?;
        if !corpus.vocabulary.is_sorted_by(|a, b| a < b) || corpus.vocabulary.len() != config.model.vocab() {
            let why = format!(
                "its vocabulary is not {} distinct bytes in order: it was changed",
                config.model.vocab()
            );
            return Err(Error::run(path, why));
        }
        Ok(Run { folder: folder.to_path_buf(), config, corpus: with_its_name(corpus) })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The resolved configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The corpus it was trained on.
    pub fn corpus(&self) -> &Identity {
        &self.corpus
    }

    /// Lays keys over the configuration; refused if they change what the run computes. Saved once training
    /// starts.
    pub fn reconfigure(&mut self, overlays: &[Overlay]) -> Result<()> {
        for overlay in overlays {
            let config = self.config.overlaid(std::slice::from_ref(overlay))?;
            if checkpoint::fingerprint(&config) != checkpoint::fingerprint(&self.config) {
                let why = "a resumed run keeps its configuration; only its length, validation.patience, \
                           validation.test, checkpoints and bad-steps may change";
                return Err(Error::Config { origin: overlay.origin.clone(), why: why.into() });
            }
            config.check()?;
            self.config = config;
        }
        Ok(())
    }

    /// Says so if the folder was removed or emptied meanwhile.
    pub(crate) fn check_is_there(&self) -> Result<()> {
        match fs::exists(self.folder.join("config.toml")) {
            Ok(false) => {
                Err(Error::run(&self.folder, "the folder was removed or emptied while the run was trained"))
            }
            _ => Ok(()),
        }
    }

    /// With another configuration, which computes the same.
    pub(crate) fn with_config(self, config: Config) -> Run {
        Run { config, ..self }
    }

    /// Saves the configuration if it was changed.
    pub(crate) fn save_config(&self, disk: &dyn Disk) -> Result<()> {
        let (path, text) = (self.folder.join("config.toml"), self.config.to_toml());
        if disk::read(&path).is_ok_and(|saved| saved == text.as_bytes()) {
            return Ok(());
        }
        disk::replace(disk, &path, text.as_bytes())
    }

    /// Says where the corpus lies now; kept once training starts.
    pub fn set_data_path(&mut self, path: &str) {
        // A corpus without a name is its own path.
        let place = match Source::is_name(&self.config.data.corpus) {
            true => &mut self.config.data.path,
            false => &mut self.config.data.corpus,
        };
        *place = path.into();
    }

    /// What a finished or interrupted run came to.
    pub fn summary(&self) -> Option<Summary> {
        serde_json::from_slice(&disk::read(&self.folder.join("summary.json")).ok()?).ok()
    }

    pub(crate) fn save_summary(&self, disk: &dyn Disk, summary: &Summary) -> Result<()> {
        let json = serde_json::to_vec_pretty(summary).expect("a summary is plain data");
        disk::replace(disk, &self.folder.join("summary.json"), &json)
    }

    /// A training that is about to go on voids what an earlier one came to.
    pub(crate) fn remove_summary(&self, disk: &dyn Disk) -> Result<()> {
        let path = self.folder.join("summary.json");
        if path.exists() { disk.remove_file(&path).at("remove", &path) } else { Ok(()) }
    }

    /// Keeps other processes from training here until the returned files are dropped; None if one does
    /// already. The folder itself is locked too, where the system can: the file `lock` may be removed.
    pub fn lock(&self) -> Result<Option<RunLock>> {
        let path = self.folder.join("lock");
        let file = disk::open_to_write(&path, File::options().create(true).truncate(false).write(true));
        let file = file.at("open", &path)?;
        // Those who only ask, see `is_training`, hold it for a moment too.
        for _ in 0..20 {
            match file.try_lock() {
                Ok(()) => {
                    let folder = File::open(&self.folder).ok();
                    if folder.as_ref().is_some_and(is_locked) {
                        return Ok(None);
                    }
                    return Ok(Some(RunLock { _file: file, _folder: folder }));
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(std::time::Duration::from_millis(5)),
                Err(TryLockError::Error(cause)) => return Err(Error::Io { action: "lock", path, cause }),
            }
        }
        Ok(None)
    }

    /// True while a process trains here.
    pub fn is_training(&self) -> bool {
        let asked = |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        disk::open(&self.folder.join("lock")).is_ok_and(asked) || File::open(&self.folder).is_ok_and(asked)
    }

    /// Reads the newest good state, with its moments; None if there is none at all. A file that the
    /// system refuses to read is an error: it may be good.
    pub fn newest(&self, layout: &Layout) -> Result<Option<Found>> {
        let (saved, unvalidated) =
            (checkpoint::steps(&self.folder)?, checkpoint::unvalidated_steps(&self.folder)?);
        let saved = saved.into_iter().map(|step| (step, checkpoint::folder(&self.folder, step)));
        let unvalidated =
            unvalidated.into_iter().map(|step| (step, checkpoint::unvalidated_folder(&self.folder, step)));
        let mut folders: Vec<(u64, PathBuf)> = saved.chain(unvalidated).collect();
        // Stable: of one step, what was validated comes first.
        folders.sort_by_key(|(step, _)| std::cmp::Reverse(*step));
        let mut refused = Vec::new();
        for (_, folder) in folders {
            match checkpoint::load(&folder, self, layout, true) {
                Ok(loaded) => return Ok(Some(Found { loaded, refused })),
                Err(Error::Io { action, path, cause }) if cause.kind() != ErrorKind::NotFound => {
                    return Err(Error::Io { action, path, cause });
                }
                Err(error) => refused.push((folder, error.to_string())),
            }
        }
        match refused.first() {
            None => Ok(None),
            Some((folder, why)) => Err(Error::checkpoint(
                folder,
                format!("none of the {} checkpoints of this run is good; the newest: {why}", refused.len()),
            )),
        }
    }

    /// The Kuramoto model of a checkpoint, and where training was; a transformer is refused, as it has no
    /// phases.
    pub fn kuramoto(&self, which: Which) -> Result<(Weights<f32, Kuramoto>, State)> {
        let ModelConfig::Kuramoto(config) = &self.config.model else {
            return Err(Error::run(
                &self.folder,
                "it is a transformer, which has no phases: give a Kuramoto run",
            ));
        };
        let network = Kuramoto::new(config.clone(), self.config.batch.context)?;
        let planned = Weights::<f32, _>::planned_bytes(&network);
        memory::check("the model", planned as u64, memory::SMALLER)?;
        let loaded = self.load(which, network.layout())?;
        Ok((Weights::new(network, &loaded.parameters)?, loaded.state))
    }

    /// Reads the parameters of a checkpoint, without moments. One that is damaged is an error, never silently
    /// replaced by another. A run without the pointer `best` or `last` has its newest checkpoint in its
    /// place.
    pub fn load(&self, which: Which, layout: &Layout) -> Result<Loaded> {
        let steps = checkpoint::steps(&self.folder)?;
        let pointed = match which {
            Which::Best => self.best(&steps)?,
            Which::Last => self.pointed("last")?,
            Which::Step(step) => Some(step),
        };
        let Some(step) = pointed.or(steps.first().copied()) else {
            return Err(Error::run(
                &self.folder,
                "there is no checkpoint yet: train it further with --resume",
            ));
        };
        let folder = checkpoint::folder(&self.folder, step);
        checkpoint::load(&folder, self, layout, false).map_err(|error| {
            let others: Vec<String> =
                steps.iter().filter(|&&other| other != step).map(|other| format!("step-{other}")).collect();
            let older = match steps.last() {
                Some(&oldest) if oldest < step => ", or --allow-older for the newest good one before it",
                _ => "",
            };
            let advice = match &others[..] {
                [] => "this run has no other checkpoint".into(),
                others => format!("to use another, give --checkpoint {}{older}", others.join(" or ")),
            };
            Error::run(&self.folder, format!("checkpoint step-{step} cannot be used: {error}; {advice}"))
        })
    }

    /// The newest good checkpoint before one that cannot be used, and why that one cannot; None if it can. An
    /// error if there is no other.
    pub fn older(&self, which: Which) -> Result<Option<(u64, Error)>> {
        let layout = with_network!(&self.config.model, self.config.batch.context, |network| {
            network.layout().clone()
        });
        let Err(refused) = self.load(which, &layout) else { return Ok(None) };
        // Where not even the pointer can be read, all are older.
        let before = self.step(which).unwrap_or(u64::MAX);
        let is_good = |&step: &u64| {
            checkpoint::load(&checkpoint::folder(&self.folder, step), self, &layout, false).is_ok()
        };
        match checkpoint::steps(&self.folder)?.into_iter().filter(|&step| step < before).find(is_good) {
            Some(step) => Ok(Some((step, refused))),
            None => Err(refused),
        }
    }

    /// The step of a checkpoint by its pointer, which is not proven.
    pub fn step(&self, which: Which) -> Option<u64> {
        match which {
            Which::Best => self.pointed("best").ok().flatten(),
            Which::Last => self.pointed("last").ok().flatten(),
            Which::Step(step) => Some(step),
        }
    }

    /// Folder and step of a checkpoint, found as [`Run::load`] finds it.
    pub fn checkpoint(&self, which: Which) -> Result<(PathBuf, u64)> {
        let step = with_network!(&self.config.model, self.config.batch.context, |network| self
            .load(which, network.layout())?
            .state
            .step);
        Ok((checkpoint::folder(&self.folder, step), step))
    }

    /// Points `best` and `last` to the checkpoints of this state, of which the newest is safe already, and
    /// removes those beyond the newest `checkpoints.keep`. Doing it again changes nothing, so a resumed run
    /// makes up for a process that died before it.
    pub(crate) fn settle(&self, disk: &dyn Disk, state: &State) -> Result<()> {
        let point = |name: &str, step: u64| match self.pointed(name) {
            Ok(Some(now)) if now == step => Ok(()),
            _ => disk::replace(disk, &self.folder.join(name), format!("step-{step}\n").as_bytes()),
        };
        let steps = checkpoint::steps(&self.folder)?;
        if let Some(best) = state.best.filter(|best| steps.contains(&best.step)) {
            point("best", best.step)?;
        }
        let best = self.pointed("best")?;
        if state.unvalidated.is_some() {
            return Ok(());
        }
        point("last", state.step)?;
        let keep = match self.config.checkpoints.keep {
            0 => steps.len(),
            keep => keep,
        };
        for step in steps.into_iter().skip(keep).filter(|&step| Some(step) != best) {
            let folder = checkpoint::folder(&self.folder, step);
            // Out of sight first: a folder that is half removed must not look like a checkpoint.
            let aside = disk::hidden(&folder, "old");
            disk.rename(&folder, &aside).at("remove", &folder)?;
            disk.remove_folder(&aside).at("remove", &aside)?;
        }
        for step in checkpoint::unvalidated_steps(&self.folder)?.into_iter().filter(|&at| at <= state.step) {
            let folder = checkpoint::unvalidated_folder(&self.folder, step);
            disk.remove_folder(&folder).at("remove", &folder)?;
        }
        Ok(())
    }

    /// Sets aside checkpoints that are not good, and clears what an interrupted save left half done.
    pub(crate) fn tidy(&self, disk: &dyn Disk, refused: &[(PathBuf, String)]) -> Result<()> {
        for (folder, _) in refused {
            let mut aside = disk::hidden(folder, "refused");
            let mut number = 1;
            while aside.exists() {
                number += 1;
                aside = disk::hidden(folder, &format!("refused-{number}"));
            }
            disk.rename(folder, &aside).at("set aside", folder)?;
        }
        let checkpoints = self.folder.join("checkpoints");
        for entry in fs::read_dir(&checkpoints).at("list", &checkpoints)? {
            let entry = entry.at("list", &checkpoints)?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_ours = name.starts_with(".step-") || name.starts_with("..step-");
            if is_ours && (name.ends_with(".partial") || name.ends_with(".old")) {
                // Only folders were ever saved so; what else has such a name goes too.
                let is_folder = entry.file_type().at("read", &entry.path())?.is_dir();
                let removed = match is_folder {
                    true => disk.remove_folder(&entry.path()),
                    false => disk.remove_file(&entry.path()),
                };
                removed.at("remove", &entry.path())?;
            }
        }
        Ok(())
    }
}

/// Held while a process trains a run.
#[derive(Debug)]
pub struct RunLock {
    _file: File,
    /// Not every system opens or locks folders.
    _folder: Option<File>,
}

/// Locks a folder; true if another process has locked it.
fn is_locked(folder: &File) -> bool {
    // Those who only ask hold it for a moment too.
    for _ in 0..20 {
        match folder.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(std::time::Duration::from_millis(5)),
            _ => return false,
        }
    }
    true
}

/// The run folders in `folder`, in order of their names.
pub fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if folder.join("config.toml").is_file() {
        found.push(folder.to_path_buf());
        return Ok(found);
    }
    for entry in fs::read_dir(folder).at("list", folder)?.flatten() {
        if entry.path().join("config.toml").is_file() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Makes the first of `FOLDER/NAME-1`, `FOLDER/NAME-2`, .. that is not there yet.
pub fn claim_name(folder: &Path, name: &str) -> Result<PathBuf> {
    fs::create_dir_all(folder).at("create", folder)?;
    for number in 1.. {
        let path = folder.join(format!("{name}-{number}"));
        match fs::create_dir(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.at("create", &path).map(|()| path),
        }
    }
    unreachable!("numbers do not end")
}

/// True if a folder holds more than what a process leaves that died while it made this very run.
fn holds_anything(folder: &Path, identity: &[u8]) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| match entry.file_name().to_str() {
        Some("checkpoints") => fs::read_dir(entry.path()).map_or(true, |mut inside| inside.next().is_some()),
        Some("corpus.json") => disk::read(&entry.path()).map_or(true, |found| found != identity),
        Some(".corpus.json.partial" | ".config.toml.partial") => false,
        _ => true,
    })
}
