//! Models of runs that answer questions.

use crate::error::Answer;
use kuramoto_answer::Model;
use kuramoto_train::{Run, Which, checkpoint};
use std::sync::{Mutex, PoisonError};

/// Models that are kept loaded.
const KEPT: usize = 3;

struct Loaded {
    /// Of the checkpoint's manifest: another run in the same folder is another model.
    identity: String,
    model: Model,
}

/// Models that were loaded, to be used again; a model in use is not in it.
#[derive(Default)]
pub(crate) struct Models {
    idle: Mutex<Vec<Loaded>>,
}

impl Models {
    /// Does something with a model, and keeps it for the next time.
    pub fn with<T>(
        &self,
        run: &Run,
        checkpoint: &str,
        work: impl FnOnce(&mut Model) -> kuramoto_answer::Result<T>,
    ) -> Answer<T> {
        let which: Which = checkpoint.parse()?;
        let mut loaded = match self.kept(run, which) {
            Some(loaded) => loaded,
            None => {
                let (weights, state) = run.kuramoto(which)?;
                let identity = checkpoint::identity(&checkpoint::folder(run.folder(), state.step))?;
                Loaded { identity, model: Model::new(weights, run.corpus().clone(), state.step) }
            }
        };
        let answer = work(&mut loaded.model);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.insert(0, loaded);
        idle.truncate(KEPT);
        Ok(answer?)
    }

    /// A model that is loaded and still what the checkpoint's files say.
    fn kept(&self, run: &Run, which: Which) -> Option<Loaded> {
        let step = run.step(which)?;
        let identity = checkpoint::identity(&checkpoint::folder(run.folder(), step)).ok()?;
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let place = idle.iter().position(|loaded| loaded.identity == identity)?;
        Some(idle.remove(place))
    }
}
