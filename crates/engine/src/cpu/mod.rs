//! Engines on processor cores.

mod engine;
mod evaluator;
mod lanes;
mod reduction;

pub use engine::CpuEngine;
pub use evaluator::CpuEvaluator;

use crate::engine::{Device, Engine, Evaluator, Shape};
use crate::error::{Error, Result};
use crate::group::{Group, SingleProcess};
use kuramoto_model::{ModelConfig, with_network};
use rayon::ThreadPool;
use std::sync::Arc;

/// Most threads and lanes accepted.
pub const MAX_THREADS: usize = 1024;

/// Cores of this machine, and of others where processes work together.
#[derive(Clone)]
pub struct Cpu {
    /// Threads of this process; more than it has lanes have nothing to do.
    pub threads: usize,
    /// Keeps each thread on a core of its own, so that what it touches first stays near it.
    pub pin: bool,
    /// The processes that work together.
    pub group: Arc<dyn Group>,
}

impl Cpu {
    /// So many threads of this process alone.
    pub fn new(threads: usize) -> Cpu {
        Cpu { threads, pin: false, group: Arc::new(SingleProcess) }
    }

    /// Every core of this machine.
    pub fn all_cores() -> Cpu {
        Cpu::new(std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS))
    }
}

impl Device for Cpu {
    fn planned_bytes(&self, model: &ModelConfig, shape: &Shape) -> Result<usize> {
        check_lanes(shape.lanes, &*self.group)?;
        with_network!(model, shape.context, |network| Ok(CpuEngine::<f32, _>::planned_bytes(
            &network,
            shape.lanes,
            self.threads,
            &*self.group
        )))
    }

    fn evaluation_bytes(&self, model: &ModelConfig, context: usize) -> Result<usize> {
        within("threads", self.threads)?;
        with_network!(model, context, |network| Ok(CpuEvaluator::<f32, _>::planned_bytes(
            &network,
            self.threads
        )))
    }

    fn engine(&self, model: &ModelConfig, shape: &Shape) -> Result<Box<dyn Engine>> {
        with_network!(model, shape.context, |network| Ok(Box::new(CpuEngine::<f32, _>::new(
            network, shape, self
        )?)))
    }

    fn evaluator(
        &self,
        model: &ModelConfig,
        context: usize,
        parameters: &[f32],
    ) -> Result<Box<dyn Evaluator>> {
        with_network!(model, context, |network| Ok(Box::new(CpuEvaluator::new(
            network,
            parameters,
            self.threads,
            self
        )?)))
    }

    fn group(&self) -> Arc<dyn Group> {
        self.group.clone()
    }

    fn threads(&self, shape: &Shape) -> usize {
        self.threads.min(self.group.part(shape.lanes).len())
    }
}

/// Every process needs a lane of its own.
fn check_lanes(lanes: usize, group: &dyn Group) -> Result<()> {
    if group.size() <= lanes {
        return Ok(());
    }
    let allowed =
        format!("each needs a lane of its own, and there are {lanes}: start fewer, or set batch.lanes");
    Err(Error::field("processes", group.size(), allowed))
}

fn within(field: &'static str, value: usize) -> Result<()> {
    if (1..=MAX_THREADS).contains(&value) {
        return Ok(());
    }
    Err(Error::field(field, value, format!("it must be from 1 to {MAX_THREADS}")))
}

fn start_threads(threads: usize, pin: bool) -> Result<ThreadPool> {
    within("threads", threads)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| {
        Error::field("threads", threads, format!("the system could not start them ({error}); ask for fewer"))
    })?;
    // A thread that looks for work for the first time registers itself, which allocates: now, not in a step.
    pool.broadcast(|_| rayon::yield_now());
    if pin {
        pin_threads(&pool)?;
    }
    Ok(pool)
}

fn pin_threads(pool: &ThreadPool) -> Result<()> {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let threads = pool.current_num_threads();
    let refuse = |allowed: String| Err(Error::field("pinned threads", threads, allowed));
    if cores.len() < threads {
        return refuse(format!("this process may use {} cores: ask for as many threads", cores.len()));
    }
    let pinned = pool.broadcast(|thread| core_affinity::set_for_current(cores[thread.index()]));
    if pinned.contains(&false) {
        return refuse("this system does not pin threads: leave it out".into());
    }
    Ok(())
}
