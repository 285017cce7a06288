//! Training on many cores and many machines, the same bits for any number of threads and processes.
//!
//! Sequence i of a batch belongs to lane i mod `lanes`. A lane's gradient is summed sequence by
//! sequence in order, the lanes in a fixed binary tree (`reduction.rs`); a process owns neighbouring
//! lanes, a thread takes whole ones. Everything is sized when the engine is made, and a step of a
//! single process allocates nothing.

use super::evaluator::CpuEvaluator;
use super::lanes::Lanes;
use super::reduction::Reduction;
use super::{Cpu, check_lanes, within};
use crate::batch::Batch;
use crate::engine::{Arenas, Engine, Evaluator, Shape};
use crate::error::{Error, Result};
use crate::group::Group;
use crate::optimizer::{CHUNK, Update};
use crate::timings::{Clock, Timings};
use kuramoto_kernels::{AlignedVec, Real, arch, reduce};
use kuramoto_model::{Error as ModelError, Layout, Network, Weights};
use rayon::ThreadPool;
use rayon::prelude::*;
use std::sync::Arc;

/// A model with its parameters, moments, lanes and threads.
pub struct CpuEngine<F: Real, N: Network<F>> {
    evaluator: CpuEvaluator<F, N>,
    first: AlignedVec<F>,
    second: AlignedVec<F>,
    /// Of the lanes of this process.
    gradients: Vec<AlignedVec<F>>,
    /// Summed nats of each sequence (lanes x sequences of a lane), of all processes.
    losses: Vec<f64>,
    /// Most sequences of a lane.
    stride: usize,
    reduction: Reduction<F>,
    timings: Timings,
    partial_sums: Vec<f64>,
    device: String,
}

impl<F: Real, N: Network<F>> CpuEngine<F, N> {
    /// An engine that shares its lanes with those of the other processes of the device. All
    /// must be made and used alike.
    pub fn new(network: N, shape: &Shape, cpu: &Cpu) -> Result<Self> {
        let lanes = shape.lanes;
        within("lanes", lanes)?;
        within("threads", cpu.threads)?;
        check_lanes(lanes, &*cpu.group)?;
        let (len, count) = (network.gradient_len(), network.layout().count());
        let reduction = Reduction::new(cpu.group.clone(), lanes, len);
        let own = reduction.own().len();
        // Threads beyond the lanes would have nothing to do.
        let threads = cpu.threads.min(own);
        let stride = shape.sequences.div_ceil(lanes);
        Ok(CpuEngine {
            evaluator: CpuEvaluator::new(network, &AlignedVec::zeros(count), threads, cpu)?,
            first: AlignedVec::zeros(count),
            second: AlignedVec::zeros(count),
            gradients: (0..own).map(|_| AlignedVec::zeros(len)).collect(),
            losses: vec![0.0; lanes * stride],
            stride,
            reduction,
            timings: Timings::default(),
            partial_sums: vec![0.0; count.div_ceil(CHUNK)],
            device: format!("cpu, {:?}", arch::level()).to_lowercase(),
        })
    }

    /// Bytes an engine will hold, known before it is made.
    pub fn planned_bytes(network: &N, lanes: usize, threads: usize, group: &dyn Group) -> usize {
        let (own, len) = (group.part(lanes).len(), network.gradient_len());
        let arenas = 2 * network.layout().count() + own * len + Reduction::<F>::planned(group, lanes, len);
        CpuEvaluator::planned_bytes(network, threads.min(own)) + arenas * size_of::<F>()
    }

    /// The network and its parameters.
    pub fn weights(&self) -> &Weights<F, N> {
        &self.evaluator.weights
    }

    /// Changes parameters, and derives again what depends on them.
    pub fn edit<R: Send>(&mut self, change: impl FnOnce(&N, &mut [F]) -> R + Send) -> R {
        let (pool, weights) = (self.pool(), &mut self.evaluator.weights);
        pool.install(|| weights.edit(change))
    }

    /// The threads that work here. A training loop run inside `install` of this pool
    /// allocates nothing per step.
    pub fn pool(&self) -> Arc<ThreadPool> {
        self.evaluator.pool.clone()
    }

    /// Sets the parameters to those that training starts from and forgets the moments. Not every machine
    /// draws the same start to the last bit, so that of process 0 counts.
    pub fn initialize(&mut self, seed: u64) {
        let group = self.evaluator.group.clone();
        self.edit(|network, parameters| {
            network.initialize(seed, parameters);
            group.broadcast(bytemuck::cast_slice_mut(parameters));
        });
        self.first.fill(F::ZERO);
        self.second.fill(F::ZERO);
    }

    /// The optimizer's first and second moments.
    pub fn moments(&self) -> (&[F], &[F]) {
        (&self.first, &self.second)
    }

    /// The gradient of the last [`CpuEngine::mean_gradient`].
    pub fn last_gradient(&self) -> &[F] {
        &self.gradients[0][..self.first.len()]
    }

    /// Mean loss of the batch in nats per token, its gradient left in [`CpuEngine::last_gradient`].
    pub fn mean_gradient(&mut self, batch: &Batch<'_>, seed: u64, step: u64) -> Result<f64> {
        batch.check(self.weights().network())?;
        let most = self.stride * self.reduction.lanes();
        if batch.sequences() > most {
            let (left, right) = (batch.sequences(), most);
            return Err(ModelError::Length { what: "sequences and room for them", left, right }.into());
        }
        let pool = self.pool();
        Ok(pool.install(|| {
            let mut clock = Clock::start();
            self.run_lanes(batch, seed, step);
            self.timings.lanes = clock.lap();
            let loss = self.summed_loss(batch);
            self.timings.exchange = clock.lap();
            let exchange = self.reduction.sum(&mut self.gradients);
            self.timings.sum = clock.lap() - exchange;
            self.timings.exchange += exchange;
            self.evaluator.weights.finish_gradient(&mut self.gradients[0]);
            self.timings.finish = clock.lap();
            loss * (1.0 / batch.tokens.len() as f64)
        }))
    }

    /// The gradients of this process' lanes.
    fn run_lanes(&mut self, batch: &Batch<'_>, seed: u64, step: u64) {
        let own = self.reduction.own();
        let lanes = Lanes {
            weights: &self.evaluator.weights,
            workspaces: &self.evaluator.workspaces,
            count: self.reduction.lanes(),
            batch,
            seed,
            step,
        };
        let losses = &mut self.losses[own.start * self.stride..own.end * self.stride];
        lanes.run(own, &mut self.gradients, losses);
    }

    /// The loss of the whole batch, of all processes.
    fn summed_loss(&mut self, batch: &Batch<'_>) -> f64 {
        let (count, stride, group) = (self.reduction.lanes(), self.stride, &self.evaluator.group);
        if group.size() > 1 {
            group.gather_parts(bytemuck::cast_slice_mut(&mut self.losses), count, stride * size_of::<f64>());
        }
        (0..batch.sequences()).map(|i| self.losses[i % count * stride + i / count]).sum()
    }

    /// The global norm of the last gradient.
    pub fn gradient_norm(&mut self) -> f64 {
        let mut clock = Clock::start();
        let gradient = &self.gradients[0][..self.first.len()];
        let sums = &mut self.partial_sums;
        self.evaluator.pool.install(|| {
            let chunks = gradient.par_chunks(CHUNK).zip(sums.par_iter_mut());
            chunks.for_each(|(chunk, sum)| *sum = reduce::sum_of_squares(chunk));
        });
        let norm = self.partial_sums.iter().sum::<f64>().sqrt();
        self.timings.norm = clock.lap();
        norm
    }

    /// Clips the last gradient, whose norm is `norm`, and applies AdamW.
    pub fn apply(&mut self, update: &Update, norm: f64) {
        let mut clock = Clock::start();
        let pool = self.pool();
        pool.install(|| {
            let CpuEngine { evaluator, gradients, first, second, timings, .. } = self;
            let gradient = &gradients[0][..first.len()];
            evaluator.weights.edit(|network, parameters| {
                update.apply(network.layout(), norm, gradient, (first, second), parameters);
                timings.update = clock.lap();
            });
        });
        self.timings.prepare = clock.lap();
    }
}

impl<F: Real, N: Network<F>> Evaluator for CpuEngine<F, N> {
    fn evaluate(&mut self, batch: &Batch<'_>, sums: &mut [f64]) -> Result<()> {
        self.evaluator.losses(batch, sums)
    }
}

impl<N: Network<f32>> Engine for CpuEngine<f32, N> {
    fn device(&self) -> &str {
        &self.device
    }

    fn layout(&self) -> &Layout {
        self.evaluator.weights.network().layout()
    }

    fn start(&mut self, seed: u64) -> Result<()> {
        self.initialize(seed);
        Ok(())
    }

    fn load(&mut self, arenas: Option<Arenas<'_>>) -> Result<()> {
        let count = self.first.len();
        let check = |values: &[f32]| match values.len() == count {
            true => Ok(()),
            false => Err(ModelError::Length {
                what: "saved and planned elements",
                left: values.len(),
                right: count,
            }),
        };
        self.first.fill(0.0);
        self.second.fill(0.0);
        if let Some((first, second)) = arenas.and_then(|arenas| arenas.moments) {
            check(first)?;
            check(second)?;
            self.first.copy_from_slice(first);
            self.second.copy_from_slice(second);
        }
        let parameters = arenas.map(|arenas| arenas.parameters);
        parameters.map_or(Ok(()), check)?;
        let group = self.evaluator.group.clone();
        self.edit(|_, own| {
            if let Some(parameters) = parameters {
                own.copy_from_slice(parameters);
            }
            group.broadcast(bytemuck::cast_slice_mut(own));
        });
        group.broadcast(bytemuck::cast_slice_mut(&mut self.first));
        group.broadcast(bytemuck::cast_slice_mut(&mut self.second));
        Ok(())
    }

    fn gradient(&mut self, batch: &Batch<'_>, seed: u64, step: u64) -> Result<f64> {
        self.mean_gradient(batch, seed, step)
    }

    fn norm(&mut self) -> Result<f64> {
        Ok(self.gradient_norm())
    }

    fn update(&mut self, update: &Update, norm: f64) -> Result<()> {
        self.apply(update, norm);
        Ok(())
    }

    fn parameters(&mut self) -> Result<&[f32]> {
        Ok(self.evaluator.weights.parameters())
    }

    fn arenas(&mut self) -> Result<Arenas<'_>> {
        Ok(Arenas {
            parameters: self.evaluator.weights.parameters(),
            moments: Some((&self.first, &self.second)),
        })
    }

    /// A machine that rounds differently would train another model than the first, and
    /// spoil that one's gradients.
    fn check_agreement(&mut self) -> Result<()> {
        let group = &self.evaluator.group;
        let mut sums =
            vec![crc32c::crc32c(bytemuck::cast_slice(self.evaluator.weights.parameters())); group.size()];
        group.gather_parts(bytemuck::cast_slice_mut(&mut sums), group.size(), size_of::<u32>());
        match sums.iter().position(|sum| *sum != sums[0]) {
            None => Ok(()),
            Some(rank) => Err(Error::Disagreement { rank }),
        }
    }

    fn timings(&self) -> Timings {
        self.timings
    }
}
