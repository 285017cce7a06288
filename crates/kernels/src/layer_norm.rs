//! Layer normalization of the transformer, with biased variance, with or without a learned scale and bias.

use crate::Real;
use crate::arch::Arch;
use crate::reduce::{dot, sum_of};
use macro_rules_attribute::apply;

const EPSILON: f64 = 1e-5;

/// x (n x d) -> normal (n x d), inverse_sd (n)
#[apply(vectorised)]
pub fn forward<A: Arch, F: Real>(d: usize, x: &[F], normal: &mut [F], inverse_sd: &mut [F]) {
    let size = F::from_f64(d as f64);
    for ((x, normal), inverse_sd) in x.chunks_exact(d).zip(normal.chunks_exact_mut(d)).zip(inverse_sd) {
        let mean = sum_of(x, |x| x) / size;
        for (normal, &x) in normal.iter_mut().zip(x) {
            *normal = x - mean;
        }
        *inverse_sd = F::ONE / (dot::<A, F>(normal, normal) / size + F::from_f64(EPSILON)).sqrt();
        for normal in normal {
            *normal *= *inverse_sd;
        }
    }
}

/// normal (n x d), weight, bias (d) -> y (n x d)
#[apply(vectorised)]
pub fn affine<A: Arch, F: Real>(d: usize, normal: &[F], weight: &[F], bias: &[F], y: &mut [F]) {
    for (normal, y) in normal.chunks_exact(d).zip(y.chunks_exact_mut(d)) {
        for (((&normal, &weight), &bias), y) in normal.iter().zip(weight).zip(bias).zip(y) {
            *y = normal.mul_add::<A>(weight, bias);
        }
    }
}

/// dy (n x d) -> dnormal in place of dy, dweight, dbias (d)
#[apply(vectorised)]
pub fn affine_backward<A: Arch, F: Real>(
    d: usize,
    normal: &[F],
    weight: &[F],
    dy: &mut [F],
    dweight: &mut [F],
    dbias: &mut [F],
) {
    let (weight, dweight, dbias) = (&weight[..d], &mut dweight[..d], &mut dbias[..d]);
    for (normal, dy) in normal.chunks_exact(d).zip(dy.chunks_exact_mut(d)) {
        for j in 0..d {
            dweight[j] += dy[j] * normal[j];
            dbias[j] += dy[j];
            dy[j] *= weight[j];
        }
    }
}

/// normal, dnormal (n x d), inverse_sd (n) -> dx (n x d)
#[apply(vectorised)]
pub fn backward<A: Arch, F: Real>(d: usize, normal: &[F], inverse_sd: &[F], dnormal: &[F], dx: &mut [F]) {
    let size = F::from_f64(d as f64);
    let rows = normal.chunks_exact(d).zip(dnormal.chunks_exact(d)).zip(dx.chunks_exact_mut(d));
    for (((normal, dnormal), dx), &inverse_sd) in rows.zip(inverse_sd) {
        let mean = sum_of(dnormal, |d| d) / size;
        let along = dot::<A, F>(normal, dnormal) / size;
        for ((&normal, &dnormal), dx) in normal.iter().zip(dnormal).zip(dx) {
            *dx += inverse_sd * (dnormal - mean - normal * along);
        }
    }
}
