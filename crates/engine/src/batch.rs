//! What a step reads.

use kuramoto_kernels::Real;
use kuramoto_model::{Error, Network, Result};

/// Sequences of equal length, back to back.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// Inputs (sequences x length).
    pub tokens: &'a [u8],
    /// The token that follows each input.
    pub targets: &'a [u8],
    /// Tokens per sequence.
    pub length: usize,
}

impl Batch<'_> {
    /// Number of sequences.
    pub fn sequences(&self) -> usize {
        self.tokens.len() / self.length.max(1)
    }

    /// Tokens and targets of a sequence.
    pub fn sequence(&self, i: usize) -> (&[u8], &[u8]) {
        let range = i * self.length..(i + 1) * self.length;
        (&self.tokens[range.clone()], &self.targets[range])
    }

    /// Says what is wrong for a network, if anything.
    pub fn check<F: Real>(&self, network: &impl Network<F>) -> Result<()> {
        let (left, right) = (self.tokens.len(), self.targets.len());
        if left != right {
            return Err(Error::Length { what: "tokens and targets", left, right });
        }
        if self.length == 0 || left == 0 || left % self.length != 0 {
            return Err(Error::Length { what: "tokens and whole sequences", left, right: self.length });
        }
        for i in 0..self.sequences() {
            let (tokens, targets) = self.sequence(i);
            network.check(tokens)?;
            network.check(targets)?;
        }
        Ok(())
    }
}
