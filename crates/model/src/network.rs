//! What both models offer: one sequence, forward and backward, on one core.

use crate::error::{Error, Result};
use crate::hooks::Hooks;
use crate::layout::Layout;
use kuramoto_kernels::{Dropout, Real, dropout};

/// The dropout masks of one sequence in one step are a pure function of this.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceDropout {
    /// Probability of dropping; 0 for evaluation.
    pub rate: f64,
    /// Of the run.
    pub seed: u64,
    /// Optimizer step.
    pub step: u64,
    /// Its place in the batch.
    pub sequence: u64,
}

/// What a pass over one sequence is given.
#[derive(Debug)]
pub struct Pass<'a, F, T> {
    /// All parameters, in the order of the layout.
    pub parameters: &'a [F],
    /// Derived from these parameters by [`Network::prepare`].
    pub tables: &'a T,
    /// The sequence; n is its length.
    pub tokens: &'a [u8],
    /// Its dropout masks.
    pub dropout: SequenceDropout,
}

/// What a dropout mask is for; part of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Attention = 1,
    FirstIncrement = 2,
    SecondIncrement = 3,
}

impl SequenceDropout {
    /// Nothing is dropped.
    pub const NONE: SequenceDropout = SequenceDropout { rate: 0.0, seed: 0, step: 0, sequence: 0 };

    pub(crate) fn mask(&self, purpose: Purpose, layer: usize) -> Dropout {
        if self.rate == 0.0 {
            return Dropout::NONE;
        }
        Dropout::new(self.rate, self.key(purpose, layer))
    }

    fn key(&self, purpose: Purpose, layer: usize) -> u64 {
        dropout::key(&[self.seed, purpose as u64, self.step, self.sequence, layer as u64])
    }

    /// The keys of a layer's masks, of its attention and of its two increments; for devices that hash by themselves.
    pub fn keys(&self, layer: usize) -> [u64; 3] {
        [Purpose::Attention, Purpose::FirstIncrement, Purpose::SecondIncrement].map(|of| self.key(of, layer))
    }
}

/// A model that runs one sequence at a time.
///
/// `Tables` are derived from the parameters once per step and shared by all threads; a `Workspace`
/// holds one sequence's activations. A sequence's gradient has [`Network::gradient_len`] elements: the
/// parameters', then those of the tables, which [`Network::finish`] folds into the parameters' once
/// all sequences are summed.
/// [`Weights`](crate::Weights) keeps parameters and tables together.
pub trait Network<F: Real>: Clone + Send + Sync {
    /// Derived from the parameters, once per step.
    type Tables: Send + Sync;
    /// One sequence's activations.
    type Workspace: Send;
    /// What decoding keeps of the bytes so far.
    type Cache: Send;

    /// Names and places of the parameters.
    fn layout(&self) -> &Layout;
    /// Distinct tokens.
    fn vocab(&self) -> usize;
    /// Longest sequence planned for.
    fn context(&self) -> usize;
    /// Dropout rate while training.
    fn dropout(&self) -> f64;
    /// Parameters at the start: a pure function of the seed and the configuration.
    fn initialize(&self, seed: u64, parameters: &mut [F]);
    /// Elements of a gradient, the tables' included.
    fn gradient_len(&self) -> usize;

    /// Bytes of one `Tables`, known before it is made.
    fn table_bytes(&self) -> usize;
    /// Bytes of one `Workspace`, known before it is made.
    fn workspace_bytes(&self) -> usize;
    /// Room for the tables.
    fn tables(&self) -> Self::Tables;
    /// Room for one sequence.
    fn workspace(&self) -> Self::Workspace;
    /// Room to decode as many bytes as the context.
    fn cache(&self) -> Self::Cache;

    /// Derives the tables from the parameters.
    fn prepare(&self, parameters: &[F], tables: &mut Self::Tables);
    /// Runs one sequence up to its logits, left in the workspace.
    fn forward(&self, pass: &Pass<'_, F, Self::Tables>, work: &mut Self::Workspace, hooks: &mut dyn Hooks<F>);
    /// The logits (n x vocab) of the last forward pass.
    fn logits(&self, parameters: &[F], work: &Self::Workspace, n: usize) -> Vec<F>;
    /// Losses in nats (n) of the last forward pass; uses up its logits.
    fn losses<'w>(&self, parameters: &[F], work: &'w mut Self::Workspace, targets: &[u8]) -> &'w [f64];
    /// Summed loss in nats, and `weight` times its gradient added to `gradient`; uses up the
    /// forward pass of the same `pass`.
    fn backward(
        &self,
        pass: &Pass<'_, F, Self::Tables>,
        work: &mut Self::Workspace,
        targets: &[u8],
        weight: f64,
        gradient: &mut [F],
    ) -> f64;
    /// Folds the tables' part of a summed gradient into the parameters' part.
    fn finish(&self, parameters: &[F], tables: &mut Self::Tables, gradient: &mut [F]);
    /// The logits (vocab) that follow the one token of `pass`, which stands at `position`; the
    /// cache holds those before.
    fn decode<'c>(
        &self,
        pass: &Pass<'_, F, Self::Tables>,
        position: usize,
        cache: &'c mut Self::Cache,
    ) -> &'c [F];

    /// Checks tokens before they are used.
    fn check(&self, tokens: &[u8]) -> Result<()> {
        let (vocab, context) = (self.vocab(), self.context());
        if tokens.len() > context {
            return Err(Error::TooLong { length: tokens.len(), context });
        }
        match tokens.iter().position(|&token| usize::from(token) >= vocab) {
            Some(position) => Err(Error::Token { token: tokens[position], position, vocab }),
            None => Ok(()),
        }
    }
}

/// Compiles items once with `F` = f32 and once with `F` = f64. Other crates then call code that was compiled
/// here, where a generic implementation would be compiled anew in each of them.
macro_rules! for_each_float {
    ($($item:item)*) => {
        const _: () = {
            type F = f32;
            $($item)*
        };
        const _: () = {
            type F = f64;
            $($item)*
        };
    };
}
pub(crate) use for_each_float;
