//! What training needs besides a run and its corpus, and what it tells.

use crate::config::Config;
use crate::disk::Disk;
use crate::error::Result;
use crate::memory;
use crate::metrics::Row;
use crate::state::State;
use kuramoto_model::{Alone, Engine, Group, Network, with_network};
use std::path::PathBuf;
use std::sync::Arc;

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
    /// Threads at work in each process.
    pub threads: usize,
    /// Processes at work.
    pub processes: usize,
}

/// Is told what happens.
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
pub struct Setting<'a> {
    /// Threads; more than `batch.lanes` have nothing to do.
    pub threads: usize,
    /// The files.
    pub disk: &'a dyn Disk,
    /// Multiply-adds of the whole machine counted as FLOP/s, for utilisation.
    pub peak_flops: Option<f64>,
    /// Keep each thread on a core of its own.
    pub pin: bool,
    /// The processes that train this run together.
    pub group: Arc<dyn Group>,
    /// They send gradients while they compute others; found out in the first steps unless told.
    pub overlap: Option<bool>,
}

impl<'a> Setting<'a> {
    /// A single process.
    pub fn alone(threads: usize, disk: &'a dyn Disk) -> Setting<'a> {
        Setting { threads, disk, peak_flops: None, pin: false, group: Arc::new(Alone), overlap: None }
    }

    /// True for the process that reads and writes.
    pub(crate) fn leads(&self) -> bool {
        self.group.rank() == 0
    }
}

/// Says so if training will not fit in memory or among the processes, before a run folder is made.
pub fn check(config: &Config, threads: usize, group: &dyn Group) -> Result<()> {
    kuramoto_model::engine::check_lanes(config.batch.lanes, group)?;
    memory::check(with_network!(&config.model, config.batch.context, |network| planned_bytes(
        &network, config, threads, group
    )) as u64)
}

/// Bytes of memory that training will hold, besides the corpus.
pub fn planned_memory(config: &Config, threads: usize) -> Result<usize> {
    Ok(with_network!(&config.model, config.batch.context, |network| planned_bytes(&network, config, threads, &Alone)))
}

pub(crate) fn planned_bytes<N: Network<f32>>(network: &N, config: &Config, threads: usize, group: &dyn Group) -> usize {
    Engine::planned_bytes(network, config.batch.lanes, threads, group)
}
