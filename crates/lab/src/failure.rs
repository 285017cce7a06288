//! Runs that stopped at a bad step, under a plan whose configuration says so.
//!
//! `failed.json` in the run's folder says where and why. The run is not tried again, because on the
//! same device it would stop at the same step; without the file it is.

use crate::error::{Error, Result};
use kuramoto_train::Run;
use kuramoto_train::disk::{self, System};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::ErrorKind;

const FILE: &str = "failed.json";

/// Where a run stopped, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The step that was not applied.
    pub step: u64,
    /// What was wrong with it.
    pub why: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { step, why } = self;
        write!(
            f,
            "stopped at step {step}: {why}; on the same device it would stop there again. To train on, make the \
             plan anew with --set bad-steps.policy=continue or skip; to try again, for instance on another device, \
             delete {FILE} in the run's folder"
        )
    }
}

/// Writes why a run failed.
pub(crate) fn write(run: &Run, failure: &Failure) -> Result<()> {
    let json = serde_json::to_vec_pretty(failure).expect("a failure is plain data");
    Ok(disk::replace(&System, &run.folder().join(FILE), &json)?)
}

/// Why a run failed, if it did.
pub(crate) fn read(run: &Run) -> Result<Option<Failure>> {
    let path = run.folder().join(FILE);
    let wrong = |why: String| Error::plan(&path, format!("{why}: delete it, and the run is tried again"));
    match disk::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(wrong(format!("it cannot be read ({error})"))),
        Ok(bytes) => {
            let failure = serde_json::from_slice(&bytes);
            failure.map(Some).map_err(|error| wrong(format!("it is not what `lab run` wrote ({error})")))
        }
    }
}
