//! What training needs besides a run and its corpus, and what it reports.

use crate::config::Config;
use crate::data::Split;
use crate::disk::{Disk, System};
use crate::error::Result;
use crate::memory;
use crate::metrics::Row;
use crate::state::State;
use crate::windows::Window;
use kuramoto_engine::Device;
use std::path::PathBuf;

/// What is known before the first step.
#[derive(Clone, Debug)]
pub struct TrainingPlan {
    /// The run folder.
    pub run: PathBuf,
    /// The configuration.
    pub config: Config,
    /// The corpus' name.
    pub corpus: String,
    /// Exact count.
    pub parameters: usize,
    /// Steps in all.
    pub steps: u64,
    /// Steps already taken.
    pub done: u64,
    /// Steps in a pass over the training split.
    pub steps_per_epoch: u64,
    /// Bytes of memory that training will hold, besides the corpus.
    pub planned_bytes: usize,
    /// Bytes of the three splits.
    pub splits: [usize; 3],
    /// Distinct bytes.
    pub vocabulary: usize,
    /// Bytes that a validation predicts.
    pub validation_bytes: usize,
    /// Fewest bits per byte that are possible on what is validated, where that is known.
    pub floor: Option<f64>,
    /// The device, in words.
    pub device: String,
    /// Threads at work in each process.
    pub threads: usize,
    /// Processes at work.
    pub processes: usize,
}

/// Follows what happens.
pub trait Observer {
    /// Before the first step.
    fn plan(&mut self, _plan: &TrainingPlan) {}
    /// After every step.
    fn step(&mut self, _row: &Row, _state: &State) {}
    /// Before a stretch of work that takes a while, such as a validation.
    fn busy(&mut self, _with: &str) {}
    /// Something went wrong that training survives.
    fn warning(&mut self, _text: &str) {}
    /// A checkpoint is safe.
    fn saved(&mut self, _step: u64) {}
    /// True to stop after this step.
    fn stop(&mut self) -> bool {
        false
    }
}

/// Watches nothing.
impl Observer for () {}

/// How to train, apart from what decides the numbers.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// What computes the steps.
    pub device: &'a dyn Device,
    /// The files.
    pub disk: &'a dyn Disk,
    /// Multiply-adds of a core, or of the whole of another device, counted as FLOP/s, for utilisation.
    pub core_peak_flops: Option<f64>,
}

impl<'a> Setting<'a> {
    /// On a device and the system's files.
    pub fn new(device: &'a dyn Device) -> Setting<'a> {
        Setting { device, disk: &System, core_peak_flops: None }
    }

    /// True for the process that reads and writes.
    pub(crate) fn leads(&self) -> bool {
        self.device.group().rank() == 0
    }
}

/// Bytes of memory that training on `corpus` bytes will hold besides them; an error if they are not free.
pub fn check_memory(config: &Config, corpus: usize, device: &dyn Device) -> Result<usize> {
    let windows = |split: Split| split.range(corpus).len().div_ceil(config.batch.context.max(1));
    // The order of the training windows, the places and losses of those that are evaluated, and a batch.
    let order = windows(Split::Train) * size_of::<u32>();
    let evaluated = windows(Split::Test).max(windows(Split::Validation)) * size_of::<(Window, f64)>();
    let batch = 2 * config.batch.sequences * config.batch.context;
    let (engine, rest) =
        (device.planned_bytes(&config.model, &config.shape())?, order + 2 * evaluated + batch);
    // A card's own memory is checked by its device.
    let here = if device.uses_main_memory() { engine + rest } else { rest };
    memory::check("training", here as u64, memory::SMALLER)?;
    Ok(engine + rest)
}
