//! Sequences forward on all threads, without room for gradients.

use super::{Cpu, start_threads};
use crate::batch::Batch;
use crate::engine::Evaluator;
use crate::error::Result;
use crate::group::Group;
use kuramoto_kernels::Real;
use kuramoto_model::{Error, Network, NoHooks, Weights};
use rayon::ThreadPool;
use rayon::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Weights, and threads that each have a workspace.
pub struct CpuEvaluator<F: Real, N: Network<F>> {
    pub(super) weights: Weights<F, N>,
    pub(super) workspaces: Vec<Mutex<N::Workspace>>,
    pub(super) pool: Arc<ThreadPool>,
    pub(super) group: Arc<dyn Group>,
}

impl<F: Real, N: Network<F>> CpuEvaluator<F, N> {
    /// On so many threads of a device.
    pub fn new(network: N, parameters: &[F], threads: usize, cpu: &Cpu) -> Result<Self> {
        let pool = start_threads(threads, cpu.pin)?;
        let weights = pool.install(|| Weights::new(network, parameters))?;
        Ok(CpuEvaluator {
            workspaces: (0..threads).map(|_| Mutex::new(weights.workspace())).collect(),
            weights,
            pool: Arc::new(pool),
            group: cpu.group.clone(),
        })
    }

    /// Bytes an evaluator will hold, known before it is made.
    pub fn planned_bytes(network: &N, threads: usize) -> usize {
        Weights::<F, N>::planned_bytes(network) + threads * network.workspace_bytes()
    }

    /// Summed loss in nats of each sequence, without dropout: sums (sequences)
    pub fn losses(&mut self, batch: &Batch<'_>, sums: &mut [f64]) -> Result<()> {
        batch.check(self.weights.network())?;
        let (left, right) = (sums.len(), batch.sequences());
        if left != right {
            return Err(Error::Length { what: "sums and sequences", left, right }.into());
        }
        let (weights, workspaces) = (&self.weights, &self.workspaces);
        let own = self.group.part(right);
        self.pool.install(|| {
            sums[own.clone()].par_iter_mut().zip(own).with_max_len(1).try_for_each(|(sum, i)| {
                let work = &mut *own_workspace(workspaces);
                let (tokens, targets) = batch.sequence(i);
                weights.forward(tokens, work, &mut NoHooks)?;
                *sum = weights.losses(targets, work)?.iter().sum();
                Ok::<(), Error>(())
            })
        })?;
        self.group.gather_parts(bytemuck::cast_slice_mut(sums), right, size_of::<f64>());
        Ok(())
    }
}

impl<F: Real, N: Network<F>> Evaluator for CpuEvaluator<F, N> {
    fn evaluate(&mut self, batch: &Batch<'_>, sums: &mut [f64]) -> Result<()> {
        self.losses(batch, sums)
    }
}

/// The workspace of the calling thread; never contended, as each thread of the pool has its own.
pub(super) fn own_workspace<W>(workspaces: &[Mutex<W>]) -> MutexGuard<'_, W> {
    let index = rayon::current_thread_index().unwrap_or(0) % workspaces.len();
    workspaces[index].lock().unwrap_or_else(PoisonError::into_inner)
}
