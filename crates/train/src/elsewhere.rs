//! Runs whose steps another program took, such as one in PyTorch on a graphics card.
//!
//! What is saved is a run folder like any other: everything that reads runs reads it, and with the optimizer's
//! moments its training can be resumed here. Only its device says that the numbers are not this program's.

use crate::checkpoint::{self, Snapshot};
use crate::config::Config;
use crate::data::Identity;
use crate::disk::{self, Disk};
use crate::error::{Error, Result};
use crate::metrics::Row;
use crate::run::{Ended, Run, Summary};
use crate::state::{Best, State, Stretch};
use kuramoto_engine::Arenas;
use kuramoto_model::with_network;
use std::f64::consts::LN_2;
use std::path::Path;

/// A state of training that another program reached.
pub struct Elsewhere<'a> {
    /// Resolved for the corpus.
    pub config: &'a Config,
    /// What it was trained on.
    pub corpus: &'a Identity,
    /// In the order of the model's layout, with the moments if training is to go on from them.
    pub arenas: Arenas<'a>,
    /// Steps taken.
    pub step: u64,
    /// What is known of the steps, in their order.
    pub rows: &'a [Row],
    /// Bits per byte of the test split, if it was read.
    pub test_bits_per_byte: Option<f64>,
    /// What computed it, in words.
    pub device: &'a str,
    /// True if the caller holds the run's lock, see [`Run::lock`].
    pub locked: bool,
}

/// Saves it as a checkpoint of the run in `folder`, which is made if it is not there. A run with another
/// configuration is refused.
pub fn save(disk: &dyn Disk, folder: &Path, from: &Elsewhere<'_>) -> Result<Run> {
    from.config.check()?;
    let steps = from.config.steps(&from.config.sampler(from.corpus)?);
    if from.step == 0 || from.step > steps {
        let allowed = format!("a run of {steps} steps is saved after step 1 to {steps}; length may say more");
        return Err(Error::setting("step", from.step, allowed));
    }
    if let Some(row) = from.rows.iter().find(|row| row.step == 0 || row.step > from.step) {
        let allowed = format!("rows are of steps 1 to {}, the step that is saved", from.step);
        return Err(Error::setting("rows", format!("a row of step {}", row.step), allowed));
    }
    if !from.rows.is_sorted_by(|a, b| a.step < b.step) {
        return Err(Error::setting("rows", "not in order", "each step has one row at most, in their order"));
    }
    if from.arenas.parameters.iter().any(|x| !x.is_finite()) {
        return Err(Error::setting("parameters", "not finite", "only finite parameters are saved"));
    }
    let run = open_or_create(disk, folder, from)?;
    if let Some(last) = checkpoint::steps(folder)?.first().filter(|&&last| last >= from.step) {
        let allowed = format!("this run has a checkpoint of step {last} already: save a later one");
        return Err(Error::setting("step", from.step, allowed));
    }
    let state = state(from);
    with_network!(&from.config.model, from.config.batch.context, |network| {
        let layout = network.layout();
        let snapshot = Snapshot { run: &run, layout, arenas: from.arenas, state: &state };
        checkpoint::save(disk, &checkpoint::folder(folder, from.step), &snapshot)?;
    });
    let mut rows = from.rows.to_vec();
    if let Some(first) = rows.first_mut() {
        first.device.get_or_insert_with(|| from.device.into());
    }
    let rows: String = rows.iter().map(Row::to_line).collect();
    disk::replace(disk, &folder.join("metrics.jsonl"), rows.as_bytes())?;
    run.settle(disk, &state)?;
    run.save_summary(disk, &summary(from, &run, &state, steps)?)?;
    Ok(run)
}

/// Adds a reading of the test split to the summary of a run that was saved here.
pub fn record_test(disk: &dyn Disk, run: &Run, bits_per_byte: f64) -> Result<()> {
    match run.summary() {
        Some(summary) => {
            run.save_summary(disk, &Summary { test_bits_per_byte: Some(bits_per_byte), ..summary })
        }
        None => Err(Error::run(run.folder(), "it has no summary yet")),
    }
}

fn open_or_create(disk: &dyn Disk, folder: &Path, from: &Elsewhere<'_>) -> Result<Run> {
    if !folder.join("config.toml").exists() {
        return Run::create(disk, folder, from.config, from.corpus);
    }
    let run = Run::open(folder)?;
    let same = checkpoint::fingerprint(run.config()) == checkpoint::fingerprint(from.config);
    if !same || run.corpus() != from.corpus {
        let why = "it holds a run with another configuration or corpus: choose another folder";
        return Err(Error::run(folder, why));
    }
    if !from.locked && run.is_training() {
        return Err(Error::run(folder, "another process is training this run"));
    }
    if run.summary().is_none_or(|summary| summary.device != from.device) {
        let why =
            format!("it holds a run whose last steps were not computed by {}: choose another", from.device);
        return Err(Error::run(folder, why));
    }
    // Its length may have changed.
    let run = run.with_config(from.config.clone());
    run.save_config(disk)?;
    Ok(run)
}

fn state(from: &Elsewhere<'_>) -> State {
    let validated = from.rows.iter().filter_map(|row| Some((row.step, row.validation_bits_per_byte?)));
    let best = validated.clone().min_by(|a, b| a.1.total_cmp(&b.1));
    let last = from.rows.last();
    State {
        step: from.step,
        updates: from.step,
        tokens: from.step * from.config.batch.tokens(),
        recent_loss: last.map(|row| row.train_bits_per_byte * LN_2).filter(|loss| loss.is_finite()),
        validation: validated.clone().next_back().map(|(_, bits)| bits),
        best: best.map(|(step, bits_per_byte)| Best { step, bits_per_byte }),
        since_best: validated.skip_while(|pair| Some(*pair) != best).count().saturating_sub(1) as u64,
        seconds: last.map(|row| row.seconds).filter(|seconds| seconds.is_finite()).unwrap_or(0.0),
        devices: vec![Stretch { from_step: 1, device: from.device.into() }],
        ..State::default()
    }
}

fn summary(from: &Elsewhere<'_>, run: &Run, state: &State, steps: u64) -> Result<Summary> {
    let config = run.config();
    Ok(Summary {
        run: run.folder().to_path_buf(),
        model: config.model.kind().name().into(),
        corpus: from.corpus.name.clone(),
        parameters: config.model.parameters()?,
        steps: from.step,
        tokens: state.tokens,
        seconds: state.seconds,
        ended: match config.validation.patience {
            _ if from.step == steps => Ended::Finished,
            patience if patience > 0 && state.since_best >= patience => Ended::EarlyStop,
            _ => Ended::Interrupted,
        },
        non_finite_step: None,
        train_bits_per_byte: state.recent_loss.map(|nats| nats / LN_2),
        validation_bits_per_byte: state.best.map(|best| best.bits_per_byte),
        best_step: state.best.map(|best| best.step),
        last_validation_bits_per_byte: state.validation,
        floor_bits_per_byte: None,
        test_bits_per_byte: from.test_bits_per_byte,
        bad_steps: 0,
        device: from.device.into(),
        devices: Vec::new(),
        exchange_share: None,
        peak_memory_bytes: None,
        peak_memory_runs: None,
    })
}
