//! `train --dry-run`: what would be trained, and how long it would take; `train --explain`: what a graphics
//! device would launch.

use super::note_other_name;
use crate::describe;
use crate::device::{self, DeviceArguments};
use crate::progress::seconds;
use crate::table::counted;
use anyhow::Result;
use kuramoto_train::{NewRun, Setting, Split};

/// Prints everything that is known before the first step, and makes no folder.
pub fn run(new: &NewRun, setting: &Setting<'_>, json: bool) -> Result<()> {
    let prepared = new.prepare(setting.device)?;
    let (config, identity) = (&prepared.config, prepared.corpus.identity());
    note_other_name(config, identity);
    let estimate = prepared.estimate(setting)?;
    let parameters = config.model.parameters()?;
    if json {
        let object = serde_json::json!({
            "config": config,
            "parameters": parameters,
            "planned_bytes": prepared.planned_bytes,
            "estimate": estimate,
        });
        return crate::print(&format!("{object}\n"));
    }
    let splits =
        [Split::Train, Split::Validation, Split::Test].map(|split| prepared.corpus.split(split).len());
    let steps_per_epoch = config.sampler(identity)?.steps_per_epoch();
    crate::print(&format!(
        "{}{}{}\n{} MB of memory besides the corpus; {}\nabout {}: {:.3} s a step, measured on {}, and \
         {:.1} s for each of {}\n\n{}\nnothing was saved; leave out --dry-run to train\n",
        describe::model(config, parameters),
        describe::corpus(&identity.name, identity.vocabulary.len(), splits),
        describe::length(config, estimate.steps, steps_per_epoch),
        prepared.planned_bytes.div_ceil(1_000_000),
        describe::device(&estimate.device, estimate.threads),
        seconds(estimate.seconds),
        estimate.seconds_per_step,
        counted(estimate.measured_steps as usize, "step"),
        estimate.seconds_per_validation,
        counted(estimate.validations as usize, "validation"),
        config.to_toml(),
    ))
}

/// Prints the launches of a training step.
pub fn explain(new: &NewRun, device: &DeviceArguments) -> Result<()> {
    crate::print(&device::explain(new, device)?)
}
