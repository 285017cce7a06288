//! The pointers of a run, `best` and `last`: text files that name a checkpoint. Nothing proves them by
//! themselves, so `best` is compared with what checkpoints say, which is proven.

use crate::checkpoint;
use crate::disk;
use crate::error::{At, Error, Result};
use crate::run::Run;
use std::io::ErrorKind;

impl Run {
    /// The step that a pointer names; None if there is no such pointer yet.
    pub(crate) fn pointed(&self, name: &str) -> Result<Option<u64>> {
        let path = self.folder().join(name);
        let text = match disk::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).at("read", &path),
        };
        match text.trim().strip_prefix("step-").and_then(|step| step.parse().ok()) {
            Some(step) => Ok(Some(step)),
            None => {
                Err(Error::run(path, format!("it should name a checkpoint such as step-100, not {text:?}")))
            }
        }
    }

    /// The step that `best` names. Of the run's checkpoints, `steps`, each knows which was the best when it was
    /// saved. `best` is set before `last` is, so the checkpoint of `last`, or the newest one, must agree.
    pub(crate) fn best(&self, steps: &[u64]) -> Result<Option<u64>> {
        let mut before = None;
        loop {
            let named = self.pointed("best")?;
            let last = self.pointed("last").ok().flatten();
            let record = |&step: &u64| {
                let state = checkpoint::state(&checkpoint::folder(self.folder(), step), self);
                Some((step, state.ok()?.best?.step))
            };
            let records: Vec<(u64, u64)> = last.iter().chain(steps.first()).filter_map(record).collect();
            // A best checkpoint that is gone, such as one that was damaged, cannot be named.
            let agrees = |&(_, best): &(u64, u64)| Some(best) == named || !steps.contains(&best);
            let (Some(now), Some(&(step, best)), false) =
                (named, records.first(), records.iter().any(agrees))
            else {
                return Ok(named);
            };
            // A run that trains may have set it in the meantime.
            if named != before {
                before = named;
                continue;
            }
            let why = format!(
                "it names step-{now}, and checkpoint step-{step} says that the best is step-{best}: choose one \
                 with --checkpoint, or write step-{best} into this file"
            );
            return Err(Error::run(self.folder().join("best"), why));
        }
    }
}
