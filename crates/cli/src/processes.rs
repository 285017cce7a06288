//! `mpirun kuramoto train`: what several processes do apart from training. The first one writes and prints;
//! the others follow.

use crate::signals::Signals;
use anyhow::Result;
use kuramoto_engine::Processes;
use kuramoto_train::{Error, Observer};
use std::process::ExitCode;

/// The exit code of a process that follows: the first one's code counts, and one that leaves with another
/// makes `mpirun` end the first before it has printed.
pub const FOLLOWED: ExitCode = ExitCode::SUCCESS;

/// A result that counts only if no process failed. What fails in the first process is said by it alone.
pub fn in_all<T>(processes: &Processes, result: Result<T>) -> Result<T> {
    let group = processes.group();
    let failed = result.is_err();
    let first_failed = group.share(vec![u8::from(failed)]) == [1];
    match (group.any(failed), result) {
        (false, result) => result,
        (true, Err(error)) if processes.leads() || !first_failed => Err(error),
        _ => Err(Error::OtherProcess.into()),
    }
}

/// After an error in opening the run.
pub fn could_not_begin(processes: &Processes, error: anyhow::Error) -> Result<ExitCode> {
    if processes.leads() {
        return Err(error);
    }
    if !matches!(error.downcast_ref(), Some(Error::OtherProcess)) {
        crate::note(&format!("process {}: {error:#}", processes.group().rank()));
    }
    Ok(FOLLOWED)
}

/// After an error in training. A bad step is one for all; of any other, the rest do not know and would wait
/// for ever.
pub fn failed(processes: &Processes, error: anyhow::Error) -> Result<ExitCode> {
    let known_to_all = matches!(error.downcast_ref(), Some(Error::BadStep { .. }));
    if processes.group().size() > 1 && !known_to_all {
        crate::note(&format!("process {}: {error:#}", processes.group().rank()));
        processes.abort(1);
    }
    if processes.leads() { Err(error) } else { Ok(FOLLOWED) }
}

/// Observes a process that is not the first: it only listens to signals.
pub struct Follower(pub Signals);

impl Observer for Follower {
    fn stop(&mut self) -> bool {
        self.0.came()
    }
}
