//! Query and key gates: an activation, then division by its mean over the head's coordinates.

use crate::Real;
use crate::arch::Arch;
use crate::reduce::{dot, sum_of};
use macro_rules_attribute::apply;

/// What makes a gate of its pre-activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// log(1 + e^x): the paper's reference.
    Softplus,
    /// 1 / (1 + e^-x).
    Sigmoid,
    /// x itself: gates may be negative, and the mean is of absolute values.
    Linear,
}

/// Keeps the mean from being zero.
const EPSILON: f64 = 1e-12;

/// pre (n rows of `stride`, k used) -> gates (n x k), inverse_mean (n x heads; ones if not `normalize`)
#[apply(vectorised)]
pub fn forward<A: Arch, F: Real>(
    activation: Activation,
    normalize: bool,
    heads: usize,
    k: usize,
    pre: &[F],
    stride: usize,
    gates: &mut [F],
    inverse_mean: &mut [F],
) {
    let kh = k / heads;
    let rows = gates.chunks_exact_mut(k).zip(inverse_mean.chunks_exact_mut(heads));
    for (pre, (gates, inverse_mean)) in pre.chunks(stride).zip(rows) {
        let pre = &pre[..k];
        match activation {
            Activation::Softplus => gates.iter_mut().zip(pre).for_each(|(g, x)| *g = x.softplus::<A>()),
            Activation::Sigmoid => gates.iter_mut().zip(pre).for_each(|(g, x)| *g = x.sigmoid::<A>()),
            Activation::Linear => gates.copy_from_slice(pre),
        }
        if !normalize {
            inverse_mean.fill(F::ONE);
            continue;
        }
        for (gates, inverse_mean) in gates.chunks_exact_mut(kh).zip(inverse_mean) {
            let mean = sum_of(gates, |g| g.abs()) / F::from_f64(kh as f64);
            *inverse_mean = F::ONE / (mean + F::from_f64(EPSILON));
            for g in gates {
                *g *= *inverse_mean;
            }
        }
    }
}

/// dgates (n x k) -> dpre (written: n rows of `stride`, k used)
#[apply(vectorised)]
pub fn backward<A: Arch, F: Real>(
    activation: Activation,
    normalize: bool,
    heads: usize,
    k: usize,
    pre: &[F],
    stride: usize,
    gates: &[F],
    inverse_mean: &[F],
    dgates: &[F],
    dpre: &mut [F],
) {
    let kh = k / heads;
    let saved = gates.chunks_exact(k).zip(inverse_mean.chunks_exact(heads));
    let rows = pre.chunks(stride).zip(saved).zip(dgates.chunks_exact(k)).zip(dpre.chunks_mut(stride));
    for (((pre, (gates, inverse_mean)), dgates), dpre) in rows {
        for head in 0..heads {
            let block = head * kh..(head + 1) * kh;
            let (pre, gates, dgates) = (&pre[block.clone()], &gates[block.clone()], &dgates[block.clone()]);
            let dpre = &mut dpre[block];
            let inverse = inverse_mean[head];
            // d(g / mean|g|): what moves the mean moves every gate of the head.
            let shift = if normalize { dot::<A, F>(dgates, gates) / F::from_f64(kh as f64) } else { F::ZERO };
            match activation {
                Activation::Softplus => {
                    for j in 0..kh {
                        dpre[j] = (dgates[j] - shift) * inverse * pre[j].sigmoid::<A>();
                    }
                }
                Activation::Sigmoid => {
                    for j in 0..kh {
                        let s = pre[j].sigmoid::<A>();
                        dpre[j] = (dgates[j] - shift) * inverse * s * (F::ONE - s);
                    }
                }
                Activation::Linear => {
                    for j in 0..kh {
                        let shift = if gates[j] < F::ZERO { -shift } else { shift };
                        dpre[j] = (dgates[j] - shift) * inverse;
                    }
                }
            }
        }
    }
}
