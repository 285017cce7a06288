//! What training saves: its state, and the batches of bad steps.

use super::Trainer;
use crate::checkpoint::{self, Snapshot};
use crate::config::Policy;
use crate::error::{At, Error, Result};
use crate::metrics::Row;
use crate::start::Start;
use crate::state::State;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Consecutive bad steps after which skipping gives up.
const MOST_BAD: u64 = 20;

/// A state that is on disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Saved {
    step: u64,
    /// Its validation is part of it.
    validated: bool,
}

impl Saved {
    pub fn of(state: &State) -> Saved {
        Saved { step: state.step, validated: state.unvalidated.is_none() }
    }
}

impl Trainer<'_> {
    /// True if nothing of the state would be lost.
    pub(super) fn is_saved(&self) -> bool {
        !self.is_worth_saving() || self.saved == Some(Saved::of(&self.state))
    }

    /// Nothing is saved before the first step, unless the run ends there.
    fn is_worth_saving(&self) -> bool {
        self.state.step > 0 || self.non_finite.is_some()
    }

    pub(super) fn checkpoint_is_due(&self, row: &Row) -> bool {
        let every = self.run.config().checkpoints.every;
        row.best == Some(true)
            || self.state.step == self.steps
            || (every == 0 && row.validation_bits_per_byte.is_some())
            || (every > 0 && self.state.step.is_multiple_of(every))
            || self.time_is_up()
    }

    /// True if the state was not saved for as long as `checkpoints.minutes` says.
    fn time_is_up(&self) -> bool {
        let minutes = self.run.config().checkpoints.minutes;
        // The first process saves: the others need not agree.
        self.setting.leads() && minutes > 0.0 && self.tried_to_save.elapsed().as_secs_f64() >= 60.0 * minutes
    }

    /// Where this state belongs.
    fn state_folder(&self) -> PathBuf {
        match self.state.unvalidated {
            None => checkpoint::folder(self.run.folder(), self.state.step),
            Some(_) => checkpoint::unvalidated_folder(self.run.folder(), self.state.step),
        }
    }

    /// Saves the state. If that fails, the checkpoints that are there stay as they are and training goes on,
    /// unless the whole run is gone.
    pub(super) fn checkpoint(&mut self) -> Result<()> {
        if !self.setting.leads() {
            self.saved = Some(Saved::of(&self.state));
            return Ok(());
        }
        self.run.check_is_there()?;
        self.observer.busy("saving");
        self.tried_to_save = Instant::now();
        match self.try_checkpoint() {
            Ok(()) => {
                self.saved = Some(Saved::of(&self.state));
                self.observer.saved(self.state.step);
            }
            Err(error) => {
                let kept = match self.saved {
                    Some(Saved { step, .. }) => {
                        format!("the checkpoint of step {step} stays the last good one")
                    }
                    None => "there is no checkpoint yet".into(),
                };
                self.observer.warning(&format!("{error}; {kept}"));
            }
        }
        Ok(())
    }

    fn try_checkpoint(&mut self) -> Result<()> {
        let disk = self.setting.disk;
        // What is not finite never takes the place of a good checkpoint.
        if self.engine.parameters()?.iter().any(|x| !x.is_finite()) {
            let why = format!(
                "after step {} some parameters are not finite, so they are not saved",
                self.state.step
            );
            return Err(Error::run(self.run.folder(), why));
        }
        // Rows up to here must not be lost to a crash that the checkpoint survives.
        if let Some(recorder) = &self.recorder {
            recorder.sync(disk)?;
        }
        self.save_as(&self.state_folder())?;
        self.run.settle(disk, &self.state)
    }

    fn save_as(&mut self, folder: &Path) -> Result<()> {
        let layout = self.engine.layout().clone();
        let snapshot =
            Snapshot { run: self.run, layout: &layout, arenas: self.engine.arenas()?, state: &self.state };
        checkpoint::save(self.setting.disk, folder, &snapshot)
    }

    /// Keeps the batch and the state before a bad step. Under the policy `stop` that is an error, under
    /// `continue` the end of the run.
    pub(super) fn keep_bad_step(&mut self, step: u64, why: &str) -> Result<()> {
        let kept = self.run.folder().join("bad-steps").join(format!("step-{step}"));
        if let Err(error) = self.try_keep(&kept, step, why) {
            self.observer.warning(&format!("the bad step could not be kept: {error}"));
        }
        let policy = self.run.config().bad_steps.policy;
        if policy == Policy::Continue {
            self.non_finite = Some(step);
            self.observer.warning(&format!(
                "step {step}: {why}; applied, it would make every later step NaN, so the run ends before it; its \
                 batch and state are in {}",
                kept.display()
            ));
            return Ok(());
        }
        let give_up = self.state.consecutive_bad + 1 >= MOST_BAD;
        if policy == Policy::Stop || give_up {
            // The state is still that of the step before, and worth keeping.
            if !self.is_saved() {
                self.checkpoint()?;
            }
            let why =
                if give_up { format!("{why}, as in the {} steps before", MOST_BAD - 1) } else { why.into() };
            return Err(Error::BadStep { step, why, kept });
        }
        self.state.bad_steps += 1;
        self.state.consecutive_bad += 1;
        self.observer
            .warning(&format!("step {step} skipped: {why}; its batch and state are in {}", kept.display()));
        Ok(())
    }

    fn try_keep(&mut self, folder: &Path, step: u64, why: &str) -> Result<()> {
        if !self.setting.leads() {
            return Ok(());
        }
        let disk = self.setting.disk;
        disk.create_folder(folder).at("create", folder)?;
        let vocabulary = &self.corpus.identity().vocabulary;
        let windows: Vec<u64> =
            self.sampler.clone().windows(step - 1).map(|window| window.start as u64).collect();
        let bytes: Vec<u8> = self.tokens.iter().map(|&token| vocabulary[usize::from(token)]).collect();
        let note = serde_json::json!({ "step": step, "why": why, "window_starts": windows,
            "context": self.run.config().batch.context });
        for (name, bytes) in [("batch.bytes", bytes), ("batch.json", note.to_string().into_bytes())] {
            let path = folder.join(name);
            disk.write(&path, &bytes).at("write", &path)?;
        }
        // The arenas are still those before the step.
        self.save_as(&folder.join("state"))
    }

    /// An update may leave parameters that are not finite without its loss showing it. They cannot be saved:
    /// the run ends with the newest state that can.
    pub(super) fn leave_what_is_not_finite(&mut self) -> Result<()> {
        if self.engine.parameters()?.iter().all(|x| x.is_finite()) {
            return Ok(());
        }
        let start = Start::find(self.engine.layout(), self.run, self.steps, self.setting)?;
        start.restore(&mut *self.engine, self.run, self.setting, self.observer)?;
        self.saved = start.state.as_ref().map(Saved::of);
        let seconds = self.state.seconds;
        self.state = State { seconds, unvalidated: None, ..start.state.unwrap_or_default() };
        self.observer.warning(&format!(
            "some parameters were not finite before that step; the run ends with those of step {}",
            self.state.step
        ));
        Ok(())
    }

    /// Proves what will be called saved.
    pub(super) fn check_saved(&self) -> Result<()> {
        if self.setting.leads() {
            self.run.check_is_there()?;
            if self.is_worth_saving() {
                checkpoint::load(&self.state_folder(), self.run, self.engine.layout(), true)?;
            }
        }
        Ok(())
    }
}
