//! Opening a run for training: configuration, corpus, folder and lock, in the order in which nothing is left
//! behind when one of them fails.

use crate::config::Config;
use crate::data::source::ENWIK8_ADDRESS;
use crate::data::{self, Corpus, Source, Split};
use crate::error::{Error, Result};
use crate::evaluate::{Evaluation, evaluate};
use crate::overlay::Overlay;
use crate::run::{Run, RunLock, Summary, Which, claim_name};
use crate::setting::{Observer, Setting, check_memory};
use crate::{trainer, warm_start};
use kuramoto_engine::Device;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a new run is made from.
#[derive(Clone, Debug, Default)]
pub struct NewRun {
    /// Keys laid over the preset, later ones over earlier ones.
    pub overlays: Vec<Overlay>,
    /// Rows of the ablation table.
    pub ablations: Vec<String>,
    /// Its folder; the next free `runs/CORPUS-MODEL-N` if None, with the ablations after the model.
    pub folder: Option<PathBuf>,
    /// Where corpora are found.
    pub corpora: CorpusOptions,
}

/// A run that could be made: everything is checked, nothing is written.
pub struct Prepared {
    /// Resolved.
    pub config: Config,
    /// What it would be trained on.
    pub corpus: Corpus,
    /// Bytes of memory that training would hold, besides the corpus.
    pub planned_bytes: usize,
}

impl NewRun {
    /// Resolves the configuration, opens the corpus and checks that training fits in memory.
    pub fn prepare(&self, device: &dyn Device) -> Result<Prepared> {
        let under = warm_start::model(&self.overlays)?;
        let overlays: Vec<Overlay> = under.into_iter().chain(self.overlays.iter().cloned()).collect();
        let mut config = Config::from_overlays(&overlays)?;
        config.model.ablate(&self.ablations)?;
        let corpus = self.corpora.open(config.source()?)?;
        config.resolve(corpus.identity())?;
        config.validation_windows(corpus.identity())?;
        let planned_bytes = check_memory(&config, corpus.identity().bytes, device)?;
        Ok(Prepared { config, corpus, planned_bytes })
    }
}

/// Where corpora are found.
#[derive(Clone, Debug, Default)]
pub struct CorpusOptions {
    /// Folder of prepared corpora; that of the user if None.
    pub cache: Option<PathBuf>,
    /// Fetches enwik8 from its official address if it is not here; called with the address before it does.
    pub download: Option<fn(&str)>,
}

impl CorpusOptions {
    /// Folder of prepared corpora.
    pub fn cache(&self) -> PathBuf {
        self.cache.clone().unwrap_or_else(data::default_cache)
    }

    fn open(&self, source: Source) -> Result<Corpus> {
        let source = match (self.download, source) {
            (Some(announce), Source::Enwik8(None)) => {
                announce(ENWIK8_ADDRESS);
                Source::Enwik8(Some(data::download(ENWIK8_ADDRESS, &self.cache())?))
            }
            (_, source) => source,
        };
        Corpus::open(&source, &self.cache())
    }

    fn of_run(&self, run: &Run) -> Result<Corpus> {
        match self.download {
            Some(_) => self.open(run.config().source()?),
            None => Corpus::of_run(run, &self.cache()),
        }
    }
}

/// A run that is open for training. Other processes cannot train it until this is dropped.
///
/// Where several processes work together ([`Device::group`](kuramoto_engine::Device::group)), every one of
/// them opens the session: the first reads, writes and locks the folder, and the others follow it.
pub struct Session<'a> {
    run: Run,
    corpus: Arc<Corpus>,
    setting: Setting<'a>,
    is_new: bool,
    _lock: Option<RunLock>,
}

impl<'a> Session<'a> {
    /// Makes a new run.
    pub fn create(new: &NewRun, setting: Setting<'a>) -> Result<Session<'a>> {
        in_all_processes(&new.corpora, setting, || {
            let Prepared { config, corpus, .. } = new.prepare(setting.device)?;
            let folder = match &new.folder {
                Some(folder) => folder.clone(),
                None => {
                    let (corpus, kind) = (corpus.identity().name.as_str(), config.model.kind().name());
                    let name = [&[corpus, kind][..], &config.model.ablations()].concat().join("-");
                    claim_name(Path::new("runs"), &name)?
                }
            };
            let run = Run::create(setting.disk, &folder, &config, corpus.identity()).inspect_err(|_| {
                // A folder that was only claimed is empty; one that the user named stays.
                if new.folder.is_none() {
                    fs::remove_dir(&folder).ok();
                }
            })?;
            Session::lock(run, Arc::new(corpus), setting, true)
        })
    }

    /// Goes on with a run. `overlays` may change what does not change its numbers; `data_path` says where its
    /// corpus is now.
    pub fn resume(
        folder: &Path,
        overlays: &[Overlay],
        data_path: Option<&str>,
        corpora: &CorpusOptions,
        setting: Setting<'a>,
    ) -> Result<Session<'a>> {
        in_all_processes(corpora, setting, || {
            let mut run = Run::open(folder)?;
            if let Some(path) = data_path {
                run.set_data_path(path);
            }
            run.reconfigure(overlays)?;
            check_memory(run.config(), run.corpus().bytes, setting.device)?;
            let corpus = corpora.of_run(&run)?;
            Session::lock(run, Arc::new(corpus), setting, false)
        })
    }

    /// Opens a run whose corpus is open already; None if another process trains it.
    pub fn open(run: Run, corpus: Arc<Corpus>, setting: Setting<'a>) -> Result<Option<Session<'a>>> {
        let lock = if setting.leads() { run.lock()? } else { None };
        let taken = setting.device.group().any(lock.is_none() && setting.leads());
        Ok((!taken).then_some(Session { run, corpus, setting, is_new: false, _lock: lock }))
    }

    /// Opens the run in `folder`, or makes it there with a configuration that is resolved; None if another
    /// process trains it. What is in the folder is not compared with the configuration.
    pub fn open_or_create(
        folder: &Path,
        config: &Config,
        corpus: Arc<Corpus>,
        setting: Setting<'a>,
    ) -> Result<Option<Session<'a>>> {
        let is_run = || folder.join("config.toml").exists();
        let run = match is_run() {
            true => Run::open(folder)?,
            false => match Run::create(setting.disk, folder, config, corpus.identity()) {
                // Another process was faster.
                Err(_) if is_run() => Run::open(folder)?,
                created => created?,
            },
        };
        Session::open(run, corpus, setting)
    }

    /// In the first of several processes, or the only one.
    fn lock(run: Run, corpus: Arc<Corpus>, setting: Setting<'a>, is_new: bool) -> Result<Session<'a>> {
        match run.lock() {
            Ok(Some(lock)) => Ok(Session { run, corpus, setting, is_new, _lock: Some(lock) }),
            Ok(None) => Err(Error::run(run.folder(), "another process is training this run")),
            Err(error) => {
                if is_new {
                    fs::remove_dir_all(run.folder()).ok();
                }
                Err(error)
            }
        }
    }

    /// The run.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Its corpus.
    pub fn corpus(&self) -> &Corpus {
        &self.corpus
    }

    /// Trains from where the run is to its end, or until the observer asks to stop.
    pub fn train(&mut self, observer: &mut dyn Observer) -> Result<Summary> {
        trainer::train(&self.run, &self.corpus, &self.setting, observer)
    }

    /// Exact bits per byte of a whole split under a checkpoint.
    pub fn evaluate(&self, which: Which, split: Split) -> Result<Evaluation> {
        evaluate(&self.run, which, &self.corpus, split, self.setting.device)
    }

    /// Removes a run that was only just made and will not be trained.
    fn discard(self) {
        if self.is_new {
            fs::remove_dir_all(self.run.folder()).ok();
        }
    }
}

/// What the first process sends the others about the run that it has opened.
#[derive(Serialize, Deserialize)]
struct Opened {
    folder: String,
    config: String,
}

impl Opened {
    fn encode(run: &Run) -> Result<Vec<u8>> {
        let path = std::path::absolute(run.folder()).unwrap_or_else(|_| run.folder().to_path_buf());
        let Ok(folder) = path.into_os_string().into_string() else {
            let why = "its path is not UTF-8, and other processes need it: choose another";
            return Err(Error::run(run.folder(), why));
        };
        Ok(serde_json::to_vec(&Opened { folder, config: run.config().to_toml() })
            .expect("two strings are plain data"))
    }

    fn follow<'a>(message: &[u8], corpora: &CorpusOptions, setting: Setting<'a>) -> Result<Session<'a>> {
        let opened: Opened = serde_json::from_slice(message).expect("the first process wrote it just now");
        let mut run = Run::open(Path::new(&opened.folder))?;
        run.reconfigure(&[Overlay::parse("the first process", &opened.config)?])?;
        check_memory(run.config(), run.corpus().bytes, setting.device)?;
        let corpus = corpora.of_run(&run)?;
        Ok(Session { run, corpus: Arc::new(corpus), setting, is_new: false, _lock: None })
    }
}

/// Opens a session in the first process, then in the others, which find everything in place. An error in one
/// is an error in all: [`Error::OtherProcess`] in those that did not cause it.
fn in_all_processes<'a>(
    corpora: &CorpusOptions,
    setting: Setting<'a>,
    open: impl FnOnce() -> Result<Session<'a>>,
) -> Result<Session<'a>> {
    let group = setting.device.group();
    if group.size() == 1 {
        return open();
    }
    let mut message = Vec::new();
    let mut opened = setting.leads().then(|| {
        let session = open()?;
        match Opened::encode(&session.run) {
            Ok(encoded) => {
                message = encoded;
                Ok(session)
            }
            Err(error) => {
                session.discard();
                Err(error)
            }
        }
    });
    let message = group.share(message);
    if !setting.leads() && !message.is_empty() {
        opened = Some(Opened::follow(&message, corpora, setting));
    }
    let failed = group.any(!matches!(opened, Some(Ok(_))));
    match opened {
        Some(Ok(session)) if !failed => Ok(session),
        Some(Ok(session)) => {
            session.discard();
            Err(Error::OtherProcess)
        }
        Some(Err(error)) => Err(error),
        None => Err(Error::OtherProcess),
    }
}
