//! Initialization as a pure function of the seed and each parameter's name.
//!
//! Every tensor has a random stream of its own, keyed by its name: two configurations that share a parameter start it
//! alike, so an ablation differs from the reference only where it must.

use crate::layout::Tensor;
use kuramoto_kernels::Real;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

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

/// Fills the tensor's part of the arena.
pub(crate) fn fill<F: Real>(seed: u64, tensor: &Tensor, start: Start, parameters: &mut [F]) {
    let values = tensor.slot.slice_mut(parameters);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(hash(&tensor.name));
    match start {
        Start::Constant(x) => values.fill(F::from_f64(x)),
        Start::Normal(sd) => values.iter_mut().for_each(|x| *x = F::from_f64(sd * normal(&mut random))),
        Start::Uniform(edge) => {
            values.iter_mut().for_each(|x| *x = F::from_f64(edge * (2.0 * unit(&mut random) - 1.0)))
        }
        Start::Rotary { base, period } => {
            for (j, x) in values.iter_mut().enumerate() {
                *x = F::from_f64(kuramoto_kernels::rope::rate(base, j % period, period));
            }
        }
    }
}

/// FNV-1a.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xCBF2_9CE4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01B3))
}

/// Uniform in (0, 1).
fn unit(random: &mut impl Rng) -> f64 {
    ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// Standard normal, by Box and Muller.
fn normal(random: &mut impl Rng) -> f64 {
    let radius = (-2.0 * unit(random).ln()).sqrt();
    radius * (std::f64::consts::TAU * unit(random)).cos()
}
