//! Initialization as a pure function of the seed and each parameter's name.
//!
//! Every tensor has a random stream of its own, keyed by its name: two configurations that share a parameter
//! start it alike, so an ablation differs from the reference only where it must.

use crate::layout::Tensor;
use crate::random;
use kuramoto_kernels::{Real, rope};

/// Where a parameter starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Start {
    /// All the same.
    Constant(f64),
    /// Normal around zero with this standard deviation.
    Normal(f64),
    /// Uniform between minus and plus this.
    Uniform(f64),
    /// base^(-j / period) for j = 0.. within each period: the rotary schedule.
    Rotary { base: f64, period: usize },
}

/// A linear map over `inputs`: uniform within 1 / sqrt(inputs).
pub(crate) fn linear(inputs: usize) -> Start {
    Start::Uniform(1.0 / (inputs as f64).sqrt())
}

/// Writes the tensor's part of `parameters`.
pub(crate) fn fill<F: Real>(seed: u64, tensor: &Tensor, start: Start, parameters: &mut [F]) {
    let mut stream = random::stream(seed, random::stream_of_name(&tensor.name));
    for (i, x) in tensor.slot.slice_mut(parameters).iter_mut().enumerate() {
        *x = F::from_f64(match start {
            Start::Constant(value) => value,
            Start::Normal(deviation) => deviation * random::normal(&mut stream),
            Start::Uniform(edge) => edge * random::uniform_signed(&mut stream),
            Start::Rotary { base, period } => rope::rate(base, i % period, period),
        });
    }
}
