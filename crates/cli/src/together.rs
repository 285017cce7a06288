//! `mpirun kuramoto train`: what several processes do apart from training. The first one opens the run, writes and
//! speaks; the others follow.

use crate::signals::Signals;
use crate::train::{Arguments, Opened};
use anyhow::{Context, Result, bail};
use kuramoto_kernels::arch::{self, Level};
use kuramoto_train::{Error, Job, Observer};
use serde::{Deserialize, Serialize};
use std::process::ExitCode;

/// What became of a process that follows: the first one's exit code tells all, and one that leaves with another makes
/// `mpirun` end the first before it has spoken.
pub const FOLLOWED: ExitCode = ExitCode::SUCCESS;

/// What the first process tells the others of the run that it has opened.
#[derive(Serialize, Deserialize)]
struct Told {
    folder: String,
    config: String,
}

impl Told {
    /// As bytes to send.
    fn of(opened: &Opened) -> Result<Vec<u8>> {
        let folder = std::path::absolute(opened.run.folder())?;
        let folder = folder.into_os_string().into_string();
        let folder =
            folder.ok().context("the path of the run is not UTF-8, and other processes need it: choose another")?;
        Ok(serde_json::to_vec(&Told { folder, config: opened.run.config().to_toml() })?)
    }
}

/// Opens a run in the first process, then in the others, which find everything in place. None if this process could but
/// another could not, and says why.
pub fn open(arguments: &Arguments, job: &Job) -> Result<Option<Opened>> {
    let group = job.group();
    if group.size() == 1 {
        return arguments.open(&*group).map(Some);
    }
    let mut opened = job.leads().then(|| {
        let opened = arguments.open(&*group)?;
        match Told::of(&opened) {
            Ok(told) => Ok((told, opened)),
            Err(error) => {
                opened.discard();
                Err(error)
            }
        }
    });
    let told = match &opened {
        Some(Ok((told, _))) => told.clone(),
        _ => Vec::new(),
    };
    let told = group.share(told);
    if !job.leads() && !told.is_empty() {
        let follow = || {
            let Told { folder, config } = serde_json::from_slice(&told)?;
            Ok((Vec::new(), arguments.follow(folder.as_ref(), &config)?))
        };
        opened = Some(follow());
    }
    let failed = group.any(!matches!(opened, Some(Ok(_))));
    match opened {
        Some(Err(error)) => Err(error),
        Some(Ok((_, opened))) if !failed => {
            compute_alike(job);
            Ok(Some(opened))
        }
        Some(Ok((_, opened))) if job.leads() => {
            opened.discard();
            bail!("another process could not begin, and says why")
        }
        _ => Ok(None),
    }
}

/// Machines may differ in their instructions, and these in rounding: all use what all have.
fn compute_alike(job: &Job) {
    let mut levels = vec![arch::level() as u8; job.group().size()];
    job.group().gather_parts(&mut levels, job.group().size(), 1);
    let everywhere = |level: &Level| levels.iter().all(|&other| *level as u8 <= other);
    arch::limit([Level::Avx512, Level::Avx2].into_iter().find(everywhere).unwrap_or(Level::Portable));
}

/// Says why this process failed to begin.
pub fn could_not_begin(job: &Job, error: anyhow::Error) -> Result<ExitCode> {
    if job.leads() {
        return Err(error);
    }
    crate::note(&format!("process {}: {error:#}", job.group().rank()));
    Ok(FOLLOWED)
}

/// After an error in training. A bad step is one for all; of any other, the rest do not know and would wait for ever.
pub fn failed(job: &Job, error: anyhow::Error) -> Result<ExitCode> {
    let known_to_all = matches!(error.downcast_ref(), Some(Error::BadStep { .. }));
    if job.group().size() > 1 && !known_to_all {
        crate::note(&format!("process {}: {error:#}", job.group().rank()));
        job.abort(1);
    }
    if job.leads() { Err(error) } else { Ok(FOLLOWED) }
}

/// Watches a process that is not the first: it only listens to signals.
pub struct Follower(pub Signals);

impl Observer for Follower {
    fn stop(&mut self) -> bool {
        self.0.came()
    }
}
