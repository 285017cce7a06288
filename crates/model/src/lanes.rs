//! The sequences of a process' lanes, forward and backward.

use crate::batch::Batch;
use crate::gradient::Gradient;
use crate::hooks::NoHooks;
use crate::network::{Draw, Network, Pass};
use crate::relay::Relay;
use kuramoto_kernels::{AlignedVec, Real};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What all lanes read.
pub(crate) struct Lanes<'a, F: Real, N: Network<F>> {
    pub network: &'a N,
    pub parameters: &'a [F],
    pub tables: &'a N::Tables,
    pub workspaces: &'a [Mutex<N::Workspace>],
    /// Lanes of all processes.
    pub count: usize,
    pub batch: &'a Batch<'a>,
    pub seed: u64,
    pub step: u64,
}

impl<F: Real, N: Network<F>> Lanes<'_, F, N> {
    /// Writes the gradients of the mean loss, and summed losses (lanes x sequences of a lane), of the lanes `own`. A relay
    /// gets the blocks that are finished.
    pub fn run<'g>(
        &self,
        own: Range<usize>,
        gradients: &'g mut [AlignedVec<F>],
        losses: &mut [f64],
        relay: Option<&Relay<'g, F>>,
    ) {
        let (stride, weight) = (losses.len() / own.len(), 1.0 / self.batch.tokens.len() as f64);
        let lanes = gradients.par_iter_mut().zip(losses.par_chunks_mut(stride)).zip(own).with_max_len(1);
        lanes.for_each(|((gradient, losses), lane)| {
            gradient.fill(F::ZERO);
            let take = relay.map(|relay| move |index: usize, block: &'g mut [F]| relay.take(lane, index, block));
            let taker = take.as_ref().map(|take| take as _);
            let mut gradient = Gradient::new(gradient, self.network.blocks());
            let work = &mut *own_workspace(self.workspaces);
            let mut sequences = (lane..self.batch.sequences()).step_by(self.count).zip(losses).peekable();
            while let Some((i, loss)) = sequences.next() {
                if sequences.peek().is_none() {
                    gradient.hand_to(taker);
                }
                let (tokens, targets) = self.batch.sequence(i);
                let draw = Draw { rate: self.network.dropout(), seed: self.seed, step: self.step, sequence: i as u64 };
                let pass = Pass { parameters: self.parameters, tables: self.tables, tokens, draw };
                self.network.forward(&pass, work, &mut NoHooks);
                *loss = self.network.backward(&pass, work, targets, weight, &mut gradient);
            }
            if lane >= self.batch.sequences() {
                // Nothing to wait for.
                gradient.hand_to(taker);
                while gradient.finish_block() {}
            }
        });
    }
}

/// The workspace of the calling thread; never contended, as each thread of the pool has its own.
pub(crate) fn own_workspace<W>(workspaces: &[Mutex<W>]) -> MutexGuard<'_, W> {
    let index = rayon::current_thread_index().unwrap_or(0) % workspaces.len();
    workspaces[index].lock().unwrap_or_else(PoisonError::into_inner)
}
