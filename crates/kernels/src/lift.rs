//! The lift psi(theta) = (cos theta, sin theta) of Section 2, which all gates of Equation (1) read.

use crate::Real;
use crate::arch::Arch;
use macro_rules_attribute::apply;

/// Section 2, psi: theta (n x k) -> psi (n x 2k), the k cosines of a row before its k sines
#[apply(vectorised)]
pub fn forward<A: Arch, F: Real>(k: usize, theta: &[F], psi: &mut [F]) {
    for (theta, psi) in theta.chunks_exact(k).zip(psi.chunks_exact_mut(2 * k)) {
        let (cos, sin) = psi.split_at_mut(k);
        for ((&theta, cos), sin) in theta.iter().zip(cos).zip(sin) {
            (*sin, *cos) = theta.sin_cos::<A>();
        }
    }
}

/// Section 2, psi: psi, dpsi (n x 2k) -> dtheta (n x k)
#[apply(vectorised)]
pub fn backward<A: Arch, F: Real>(k: usize, psi: &[F], dpsi: &[F], dtheta: &mut [F]) {
    for ((psi, dpsi), dtheta) in
        psi.chunks_exact(2 * k).zip(dpsi.chunks_exact(2 * k)).zip(dtheta.chunks_exact_mut(k))
    {
        let (cos, sin) = psi.split_at(k);
        let (dcos, dsin) = dpsi.split_at(k);
        for j in 0..k {
            dtheta[j] += cos[j] * dsin[j] - sin[j] * dcos[j];
        }
    }
}
