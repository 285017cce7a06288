//! `mpirun kuramoto train`: what several processes do apart from training. The first one opens the run, writes and
//! speaks; the others follow.

use crate::signals::Signals;
use anyhow::{Result, bail};
use kuramoto_train::{Error, Job, Observer};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Opens a run in the first process, which tells its folder, then in the others, which find everything in place. None
/// if this process could but another could not, and says why.
pub fn open<T>(
    job: &Job,
    first: impl FnOnce() -> Result<T>,
    folder: impl FnOnce(&T) -> &Path,
    other: impl FnOnce(&Path) -> Result<T>,
) -> Result<Option<T>> {
    let group = job.group();
    let mut opened = job.leads().then(first);
    let place = match &opened {
        Some(Ok(opened)) => std::path::absolute(folder(opened))?,
        _ => PathBuf::new(),
    };
    let place = String::from_utf8_lossy(&group.share(place.into_os_string().into_encoded_bytes())).into_owned();
    if !job.leads() && !place.is_empty() {
        opened = Some(other(Path::new(&place)));
    }
    let failed = group.any(!matches!(opened, Some(Ok(_))));
    match opened {
        Some(Err(error)) => Err(error),
        opened if !failed => opened.transpose(),
        _ if job.leads() => bail!("another process could not begin, and says why"),
        _ => Ok(None),
    }
}

/// What became of a process that follows: the first one's exit code tells all, and one that leaves with another makes
/// `mpirun` end the first before it has spoken.
pub const FOLLOWED: ExitCode = ExitCode::SUCCESS;

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
