//! Runs what a plan still lacks.
//!
//! A run is taken by locking its folder, so any number of processes may work on one plan and none takes what
//! another has. A run that was broken off goes on bit for bit; a finished one is proven by its hashes and
//! left alone.

use crate::error::{Error, Result};
use crate::failure;
pub use crate::failure::Failure;
use crate::plan::{Plan, Planned};
use crate::proof;
pub use crate::proof::Proven;
use kuramoto_train::run::Ended;
use kuramoto_train::{Corpus, Observer, Run, Session, Setting, Summary};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Where a planned run is.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// Not begun.
    Missing,
    /// Begun and not finished.
    Begun,
    /// Another process trains it now.
    Training,
    /// Finished, and every file is what it was then.
    Finished(Box<Proven>),
    /// Stopped at a bad step, as it would again on the same device.
    Failed(Failure),
}

/// Where a planned run is; an error if what is in its folder is not that run.
pub fn status(plan: &Plan, planned: &Planned) -> Result<Status> {
    let folder = plan.run_folder(planned);
    if !folder.join("config.toml").exists() {
        return Ok(Status::Missing);
    }
    let run = Run::open(&folder)?;
    same_run(&run, planned)?;
    if run.is_training() {
        return Ok(Status::Training);
    }
    if let Some(proven) = proof::finished(&run)? {
        return Ok(Status::Finished(Box::new(proven)));
    }
    Ok(failure::read(&run)?.map_or(Status::Begun, Status::Failed))
}

/// The folder must hold the planned run and no other.
fn same_run(run: &Run, planned: &Planned) -> Result<()> {
    let mut found = run.config().clone();
    // Where the corpus lies may differ between machines; its hash may not.
    found.data.corpus.clone_from(&planned.config.data.corpus);
    found.data.path.clone_from(&planned.config.data.path);
    if found == planned.config && run.corpus().sha256 == planned.config.data.sha256 {
        return Ok(());
    }
    let why = format!(
        "this folder holds another run than run {} of the plan ({}, seed {}): move it away",
        planned.index, planned.arm, planned.seed
    );
    Err(Error::plan(run.folder(), why))
}

/// Keeps corpora open for all runs of a process.
pub struct Corpora {
    cache: PathBuf,
    open: Mutex<HashMap<String, Arc<Corpus>>>,
}

impl Corpora {
    /// Prepared in this folder.
    pub fn new(cache: &Path) -> Corpora {
        Corpora { cache: cache.to_path_buf(), open: Mutex::default() }
    }

    fn of(&self, plan: &Plan, planned: &Planned) -> Result<Arc<Corpus>> {
        let expected = &planned.config.data.sha256;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(corpus) = open.get(expected) {
            return Ok(corpus.clone());
        }
        let corpus = Corpus::prepared(expected, &self.cache)
            .map_or_else(|| Corpus::open(&planned.config.source()?, &self.cache), Ok)?;
        let found = &corpus.identity().sha256;
        if found != expected {
            let why = format!(
                "it was made for a text with sha256 {expected}, but {} has {found}: put the text back, or \
                 make a new plan",
                planned.config.data.corpus
            );
            return Err(Error::plan(plan.folder(), why));
        }
        let corpus = Arc::new(corpus);
        open.insert(expected.clone(), corpus.clone());
        Ok(corpus)
    }
}

/// What came of trying to run one.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It ran, to its end or until it was asked to stop.
    Ran(Box<Summary>),
    /// It was finished before.
    WasFinished(Box<Summary>),
    /// Another process has it.
    Taken,
    /// It stopped at a bad step, now or before.
    Failed(Failure),
}

/// Runs one run of a plan from wherever it is.
pub fn run_one(
    plan: &Plan,
    planned: &Planned,
    corpora: &Corpora,
    setting: Setting<'_>,
    observer: &mut dyn Observer,
) -> Result<Outcome> {
    match status(plan, planned)? {
        Status::Finished(proven) => return Ok(Outcome::WasFinished(Box::new(proven.summary))),
        Status::Training => return Ok(Outcome::Taken),
        Status::Failed(failure) => return Ok(Outcome::Failed(failure)),
        Status::Missing | Status::Begun => {}
    }
    let corpus = corpora.of(plan, planned)?;
    let folder = plan.run_folder(planned);
    let mut session = match Session::open_or_create(&folder, &planned.config, corpus, setting) {
        Ok(Some(session)) => session,
        Ok(None) => return Ok(Outcome::Taken),
        // It refused the folder; a disk that is full, say, has an error of its own.
        Err(kuramoto_train::Error::Run { .. }) if !folder.join("config.toml").exists() => {
            let why = "this folder holds something, but no run of the plan: move it away";
            return Err(Error::plan(folder, why));
        }
        Err(error) => return Err(error.into()),
    };
    // It may have been finished between the first look and the lock.
    if let Some(proven) = proof::finished(session.run())? {
        return Ok(Outcome::WasFinished(Box::new(proven.summary)));
    }
    let summary = match session.train(observer) {
        Err(kuramoto_train::Error::BadStep { step, why, .. }) => {
            let failure = Failure { step, why };
            failure::write(session.run(), &failure)?;
            return Ok(Outcome::Failed(failure));
        }
        trained => trained?,
    };
    if summary.ended != Ended::Interrupted {
        proof::write(session.run(), &summary)?;
    }
    Ok(Outcome::Ran(Box::new(summary)))
}

/// Follows how a plan goes, from several threads.
pub trait Watcher: Sync {
    /// A worker looks at a run; what this returns watches it.
    fn begins<'a>(&'a self, run: &'a Planned) -> Box<dyn Observer + 'a>;
    /// What came of it.
    fn ended(&self, run: &Planned, outcome: &Result<Outcome>);
    /// True if no further run is to begin.
    fn stop(&self) -> bool;
}

/// Runs what is missing of `chosen`, `jobs` at a time, each on an engine of its own. A run that fails stops
/// no other: they do not depend on each other.
pub fn run_all(
    plan: &Plan,
    chosen: &[&Planned],
    corpora: &Corpora,
    jobs: usize,
    setting: Setting<'_>,
    watcher: &dyn Watcher,
) {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(run) = chosen.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| !watcher.stop()) {
            let mut observer = watcher.begins(run);
            let outcome = run_one(plan, run, corpora, setting, &mut *observer);
            drop(observer);
            watcher.ended(run, &outcome);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(work);
        }
    });
}
