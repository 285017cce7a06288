//! Phasors turned by the drift of their positions, for values that are read in the receiver's rotating frame.
//!
//! With z_u = e^{i theta_u} turned by omega u, the mean over u and a turn back by omega t,
//! G_t = sum_u A_{t,u} e^{i (theta_u - omega (t - u))}: a value of the phase that the score matches best pulls
//! by nothing.

use crate::Real;
use crate::arch::Arch;
use macro_rules_attribute::apply;

/// z (n x 2k), table cos, sin (n x k) of omega t -> turned (n x 2k), z turned forward
#[apply(vectorised)]
pub fn forward<A: Arch, F: Real>(k: usize, z: &[F], cos: &[F], sin: &[F], turned: &mut [F]) {
    for (t, (z, turned)) in z.chunks_exact(2 * k).zip(turned.chunks_exact_mut(2 * k)).enumerate() {
        let (re, im) = z.split_at(k);
        let (turned_re, turned_im) = turned.split_at_mut(k);
        let (cos, sin) = (&cos[t * k..][..k], &sin[t * k..][..k]);
        for j in 0..k {
            turned_re[j] = re[j] * cos[j] - im[j] * sin[j];
            turned_im[j] = im[j] * cos[j] + re[j] * sin[j];
        }
    }
}

/// z (n x 2k), table cos, sin (n x k) of omega t -> z turned back, in place
#[apply(vectorised)]
pub fn back<A: Arch, F: Real>(k: usize, z: &mut [F], cos: &[F], sin: &[F]) {
    for (t, z) in z.chunks_exact_mut(2 * k).enumerate() {
        let (re, im) = z.split_at_mut(k);
        let (cos, sin) = (&cos[t * k..][..k], &sin[t * k..][..k]);
        for j in 0..k {
            (re[j], im[j]) = (re[j] * cos[j] + im[j] * sin[j], im[j] * cos[j] - re[j] * sin[j]);
        }
    }
}

/// A turned z and its gradient dz (n x 2k) -> domega (k); the row at position t was turned by `sign` omega t
#[apply(vectorised)]
pub fn rate_backward<A: Arch, F: Real>(k: usize, sign: f64, z: &[F], dz: &[F], domega: &mut [F]) {
    for (t, (z, dz)) in z.chunks_exact(2 * k).zip(dz.chunks_exact(2 * k)).enumerate() {
        let position = F::from_f64(sign * t as f64);
        let ((re, im), (dre, dim)) = (z.split_at(k), dz.split_at(k));
        for j in 0..k {
            domega[j] += position * (re[j] * dim[j] - im[j] * dre[j]);
        }
    }
}
