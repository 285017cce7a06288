//! Query and key gates: rho of Equation (1), an activation, then division by its mean over the head's
//! coordinates (Section 2.0.1). Their product is the diagonal metric of Appendix A.

use crate::Real;
use crate::arch::Arch;
use crate::reduce::{dot, sum_of};
use macro_rules_attribute::apply;

/// What makes a gate of its preactivation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// log(1 + e^x), the paper's reference (Section 2.0.1).
    Softplus,
    /// 1 / (1 + e^-x), a row of Table 3.
    Sigmoid,
    /// x itself, a row of Table 3: gates may be negative, and the mean is of absolute values.
    Linear,
}

/// Keeps the mean from being zero.
const EPSILON: f64 = 1e-12;

/// Equation (1), g^q or g^k: preactivations (n rows of `stride`, k used) -> gates (n x k), inverse_mean
/// (n x heads; ones if not `normalize`); preactivations become the activation's slope, which is all that the
/// backward pass needs of them
#[apply(vectorised)]
pub fn forward<A: Arch, F: Real>(
    activation: Activation,
    normalize: bool,
    heads: usize,
    k: usize,
    preactivations: &mut [F],
    stride: usize,
    gates: &mut [F],
    inverse_mean: &mut [F],
) {
    let kh = k / heads;
    let rows = gates.chunks_exact_mut(k).zip(inverse_mean.chunks_exact_mut(heads));
    for (preactivations, (gates, inverse_mean)) in preactivations.chunks_mut(stride).zip(rows) {
        let row = &mut preactivations[..k];
        match activation {
            Activation::Softplus => activate(row, gates, |x| x.softplus_and_slope::<A>()),
            Activation::Sigmoid => activate(row, gates, |x| {
                let sigmoid = x.sigmoid::<A>();
                (sigmoid, sigmoid * (F::ONE - sigmoid))
            }),
            Activation::Linear => activate(row, gates, |x| (x, F::ONE)),
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

/// x (k) -> gates (k), slopes in place of x. One loop per activation: a choice inside the loop keeps the
/// compiler from using vectors.
#[inline(always)]
fn activate<F: Real>(x: &mut [F], gates: &mut [F], gate_and_slope: impl Fn(F) -> (F, F)) {
    for (x, gate) in x.iter_mut().zip(gates) {
        (*gate, *x) = gate_and_slope(*x);
    }
}

/// Equation (1), g^q or g^k: slope (n rows of `stride`, k used), dgates (n x k) -> dpreactivations (written:
/// n rows of `stride`, k used)
#[apply(vectorised)]
pub fn backward<A: Arch, F: Real>(
    normalize: bool,
    heads: usize,
    k: usize,
    slope: &[F],
    stride: usize,
    gates: &[F],
    inverse_mean: &[F],
    dgates: &[F],
    dpreactivations: &mut [F],
) {
    let kh = k / heads;
    let saved = gates.chunks_exact(k).zip(inverse_mean.chunks_exact(heads));
    let rows =
        slope.chunks(stride).zip(saved).zip(dgates.chunks_exact(k)).zip(dpreactivations.chunks_mut(stride));
    for (((slope, (gates, inverse_mean)), dgates), dpreactivations) in rows {
        for (head, &inverse) in inverse_mean.iter().enumerate() {
            let block = head * kh..(head + 1) * kh;
            let (slope, gates, dgates) =
                (&slope[block.clone()], &gates[block.clone()], &dgates[block.clone()]);
            let dpreactivations = &mut dpreactivations[block];
            // d(g / mean|g|): what moves the mean moves every gate of the head.
            let shift = if normalize { dot::<A, F>(dgates, gates) / F::from_f64(kh as f64) } else { F::ZERO };
            for j in 0..kh {
                let shift = if gates[j] < F::ZERO { -shift } else { shift };
                dpreactivations[j] = (dgates[j] - shift) * inverse * slope[j];
            }
        }
    }
}
