//! The Kuramoto direction: the resultant G projected on the tangent at the token's own phase, times the value
//! gate.
//!
//! a = Im(conj(z) G) = cos theta Im G - sin theta Re G = sum_u A sin(theta_u - theta_t), and u = v a.

use crate::Real;
use crate::arch::Arch;
use macro_rules_attribute::apply;

/// psi, g (n x 2k), v (n rows of `stride`, k used) -> u (n x k)
#[apply(vectorised)]
pub fn forward<A: Arch, F: Real>(k: usize, psi: &[F], g: &[F], v: &[F], stride: usize, u: &mut [F]) {
    for (t, u) in u.chunks_exact_mut(k).enumerate() {
        let (cos, sin) = psi[t * 2 * k..][..2 * k].split_at(k);
        let (re, im) = g[t * 2 * k..][..2 * k].split_at(k);
        let v = &v[t * stride..][..k];
        for j in 0..k {
            u[j] = v[j] * (cos[j] * im[j] - sin[j] * re[j]);
        }
    }
}

/// du (n x k) -> dv (written: n rows of `stride`, k used), dg (written, n x 2k), dtheta (n x k)
#[apply(vectorised)]
pub fn backward<A: Arch, F: Real>(
    k: usize,
    psi: &[F],
    g: &[F],
    v: &[F],
    stride: usize,
    du: &[F],
    dv: &mut [F],
    dg: &mut [F],
    dtheta: &mut [F],
) {
    for (t, du) in du.chunks_exact(k).enumerate() {
        let (cos, sin) = psi[t * 2 * k..][..2 * k].split_at(k);
        let (re, im) = g[t * 2 * k..][..2 * k].split_at(k);
        let (v, dv) = (&v[t * stride..][..k], &mut dv[t * stride..][..k]);
        let (dre, dim) = dg[t * 2 * k..][..2 * k].split_at_mut(k);
        let dtheta = &mut dtheta[t * k..][..k];
        for j in 0..k {
            let across = cos[j] * im[j] - sin[j] * re[j];
            let along = cos[j] * re[j] + sin[j] * im[j];
            let da = v[j] * du[j];
            dv[j] = across * du[j];
            dre[j] = -sin[j] * da;
            dim[j] = cos[j] * da;
            dtheta[j] -= along * da;
        }
    }
}
