//! The Kuramoto direction a of Equation (1), which is coherence descent by Lemma 2, times the value gate.
//!
//! The resultant G is projected on the tangent at the token's own phase (Section 2.0.2):
//! a = Im(conj(z) G) = cos theta Im G - sin theta Re G = sum_u A sin(theta_u - theta_t). The update is v a.

use crate::Real;
use crate::arch::Arch;
use macro_rules_attribute::apply;

/// Equation (1), v . a: psi, resultant (n x 2k), value_gate (n rows of `stride`, k used) -> update (n x k)
#[apply(vectorised)]
pub fn forward<A: Arch, F: Real>(
    k: usize,
    psi: &[F],
    resultant: &[F],
    value_gate: &[F],
    stride: usize,
    update: &mut [F],
) {
    for (t, update) in update.chunks_exact_mut(k).enumerate() {
        let (cos, sin) = psi[t * 2 * k..][..2 * k].split_at(k);
        let (re, im) = resultant[t * 2 * k..][..2 * k].split_at(k);
        let value_gate = &value_gate[t * stride..][..k];
        for j in 0..k {
            update[j] = value_gate[j] * (cos[j] * im[j] - sin[j] * re[j]);
        }
    }
}

/// Equation (1), v . a: dupdate (n x k) -> dvalue_gate (written: n rows of `stride`, k used), dresultant
/// (written, n x 2k), dtheta (n x k)
#[apply(vectorised)]
pub fn backward<A: Arch, F: Real>(
    k: usize,
    psi: &[F],
    resultant: &[F],
    value_gate: &[F],
    stride: usize,
    dupdate: &[F],
    dvalue_gate: &mut [F],
    dresultant: &mut [F],
    dtheta: &mut [F],
) {
    for (t, dupdate) in dupdate.chunks_exact(k).enumerate() {
        let (cos, sin) = psi[t * 2 * k..][..2 * k].split_at(k);
        let (re, im) = resultant[t * 2 * k..][..2 * k].split_at(k);
        let (value_gate, dvalue_gate) = (&value_gate[t * stride..][..k], &mut dvalue_gate[t * stride..][..k]);
        let (dre, dim) = dresultant[t * 2 * k..][..2 * k].split_at_mut(k);
        let dtheta = &mut dtheta[t * k..][..k];
        for j in 0..k {
            let across = cos[j] * im[j] - sin[j] * re[j];
            let along = cos[j] * re[j] + sin[j] * im[j];
            let ddirection = value_gate[j] * dupdate[j];
            dvalue_gate[j] = across * dupdate[j];
            dre[j] = -sin[j] * ddirection;
            dim[j] = cos[j] * ddirection;
            dtheta[j] -= along * ddirection;
        }
    }
}
