//! The sequences of a process' lanes, forward and backward.

use super::evaluator::own_workspace;
use crate::batch::Batch;
use kuramoto_kernels::{AlignedVec, Real};
use kuramoto_model::{Network, SequenceDropout, Weights};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Mutex;

/// What all lanes read.
pub(super) struct Lanes<'a, F: Real, N: Network<F>> {
    pub weights: &'a Weights<F, N>,
    pub workspaces: &'a [Mutex<N::Workspace>],
    /// Lanes of all processes.
    pub count: usize,
    pub batch: &'a Batch<'a>,
    pub seed: u64,
    pub step: u64,
}

impl<F: Real, N: Network<F>> Lanes<'_, F, N> {
    /// Writes the gradients of the mean loss, and summed losses (lanes x sequences of a
    /// lane), of the lanes `own`.
    pub fn run(&self, own: Range<usize>, gradients: &mut [AlignedVec<F>], losses: &mut [f64]) {
        let (stride, weight) = (losses.len() / own.len(), 1.0 / self.batch.tokens.len() as f64);
        let rate = self.weights.network().dropout();
        let lanes = gradients.par_iter_mut().zip(losses.par_chunks_mut(stride)).zip(own).with_max_len(1);
        lanes.for_each(|((gradient, losses), lane)| {
            gradient.fill(F::ZERO);
            let work = &mut *own_workspace(self.workspaces);
            for (i, loss) in (lane..self.batch.sequences()).step_by(self.count).zip(losses) {
                let (tokens, targets) = self.batch.sequence(i);
                let dropout = SequenceDropout { rate, seed: self.seed, step: self.step, sequence: i as u64 };
                *loss = self.weights.add_gradient(tokens, targets, dropout, weight, work, gradient);
            }
        });
    }
}
