//! Which checkpoint of a run a command reads.

use anyhow::Result;
use kuramoto_train::{Run, Which};

#[derive(clap::Args)]
pub struct Checkpoint {
    /// Checkpoint: best, last or step-N
    #[arg(long, default_value = "best")]
    checkpoint: String,
    /// If that checkpoint is damaged, use the newest good one before it
    #[arg(long)]
    allow_older: bool,
}

impl Checkpoint {
    /// The checkpoint to read. One that takes the place of another is named in a warning.
    pub fn of(&self, run: &Run) -> Result<Which> {
        let which: Which = self.checkpoint.parse()?;
        if !self.allow_older {
            return Ok(which);
        }
        Ok(match run.older(which)? {
            None => which,
            Some((step, why)) => {
                crate::note(&format!("warning: {why}; using the older checkpoint step-{step} instead"));
                Which::Step(step)
            }
        })
    }
}
