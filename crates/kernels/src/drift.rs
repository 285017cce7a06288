//! Gated, drifted phasors: q~ and k~, whose dot products are the scores.
//!
//! q~_t = c g^q_t (cos, sin)(theta_t + omega t) and k~_t = g^k_t (cos, sin)(theta_t + omega t), the drift
//! being one rotation of psi(theta) by a table. Rows of q~ and k~ hold, head by head, kh cosines, kh sines
//! and room for `extra` values of the low-rank transport frame (see [`crate::frame`]).

use crate::Real;
use crate::arch::Arch;
use macro_rules_attribute::apply;

/// The shape of q~ and k~ rows.
#[derive(Clone, Copy, Debug)]
pub struct Heads {
    /// Coordinates k.
    pub k: usize,
    /// Heads h, dividing k.
    pub heads: usize,
    /// Values per head after the cosines and sines.
    pub extra: usize,
}

impl Heads {
    /// Coordinates per head.
    #[inline(always)]
    pub fn kh(&self) -> usize {
        self.k / self.heads
    }
    /// Values per head in a row of q~ or k~.
    #[inline(always)]
    pub fn width(&self) -> usize {
        2 * self.kh() + self.extra
    }
    /// Values in a row of q~ or k~.
    #[inline(always)]
    pub fn row(&self) -> usize {
        self.heads * self.width()
    }
}

/// omega (k) -> cos, sin (n x k each) of omega_j t, for positions t = first, first + 1, ..
pub fn table<F: Real>(omega: &[F], first: usize, cos: &mut [F], sin: &mut [F]) {
    let k = omega.len();
    for (t, (cos, sin)) in cos.chunks_exact_mut(k).zip(sin.chunks_exact_mut(k)).enumerate() {
        for ((&omega, cos), sin) in omega.iter().zip(cos).zip(sin) {
            // In f64: the product of a rate and a position is an angle of many turns.
            let (s, c) = (omega.to_f64() * (first + t) as f64).sin_cos();
            (*sin, *cos) = (F::from_f64(s), F::from_f64(c));
        }
    }
}

/// psi (n x 2k), gq, gk (n x k), table cos, sin (n x k) -> q, k (n x row each); q carries the factor `c`
#[apply(vectorised)]
pub fn forward<A: Arch, F: Real>(
    shape: Heads,
    psi: &[F],
    gq: &[F],
    gk: &[F],
    cos: &[F],
    sin: &[F],
    c: F,
    q: &mut [F],
    key: &mut [F],
) {
    let (k, kh, width) = (shape.k, shape.kh(), shape.width());
    for (t, (q, key)) in q.chunks_exact_mut(shape.row()).zip(key.chunks_exact_mut(shape.row())).enumerate() {
        let (psi_cos, psi_sin) = psi[t * 2 * k..][..2 * k].split_at(k);
        for (head, (q, key)) in q.chunks_exact_mut(width).zip(key.chunks_exact_mut(width)).enumerate() {
            let (psi_cos, psi_sin) = (&psi_cos[head * kh..][..kh], &psi_sin[head * kh..][..kh]);
            let at = t * k + head * kh;
            let (cos, sin) = (&cos[at..][..kh], &sin[at..][..kh]);
            let (gq, gk) = (&gq[at..][..kh], &gk[at..][..kh]);
            let (q_cos, q_sin) = q[..2 * kh].split_at_mut(kh);
            let (k_cos, k_sin) = key[..2 * kh].split_at_mut(kh);
            for j in 0..kh {
                let z_cos = psi_cos[j] * cos[j] - psi_sin[j] * sin[j];
                let z_sin = psi_sin[j] * cos[j] + psi_cos[j] * sin[j];
                let gate = c * gq[j];
                q_cos[j] = gate * z_cos;
                q_sin[j] = gate * z_sin;
                k_cos[j] = gk[j] * z_cos;
                k_sin[j] = gk[j] * z_sin;
            }
        }
    }
}

/// dq, dk (n x row) -> dgq, dgk (written, n x k), dtheta (n x k), domega (k); returns d loss / d c.
/// Row t stands at position `first + t`.
#[apply(vectorised)]
pub fn backward<A: Arch, F: Real>(
    shape: Heads,
    first: usize,
    psi: &[F],
    gq: &[F],
    gk: &[F],
    cos: &[F],
    sin: &[F],
    c: F,
    dq: &[F],
    dk: &[F],
    dgq: &mut [F],
    dgk: &mut [F],
    dtheta: &mut [F],
    domega: &mut [F],
) -> f64 {
    let (k, kh, width) = (shape.k, shape.kh(), shape.width());
    let mut dc = 0.0;
    for (t, (dq, dk)) in dq.chunks_exact(shape.row()).zip(dk.chunks_exact(shape.row())).enumerate() {
        let position = F::from_f64((first + t) as f64);
        let (psi_cos, psi_sin) = psi[t * 2 * k..][..2 * k].split_at(k);
        for (head, (dq, dk)) in dq.chunks_exact(width).zip(dk.chunks_exact(width)).enumerate() {
            let (psi_cos, psi_sin) = (&psi_cos[head * kh..][..kh], &psi_sin[head * kh..][..kh]);
            let at = t * k + head * kh;
            let (cos, sin) = (&cos[at..][..kh], &sin[at..][..kh]);
            let (gq, gk) = (&gq[at..][..kh], &gk[at..][..kh]);
            let (dgq, dgk) = (&mut dgq[at..][..kh], &mut dgk[at..][..kh]);
            let (dtheta, domega) = (&mut dtheta[at..][..kh], &mut domega[head * kh..][..kh]);
            let (dq_cos, dq_sin) = dq[..2 * kh].split_at(kh);
            let (dk_cos, dk_sin) = dk[..2 * kh].split_at(kh);
            for j in 0..kh {
                let z_cos = psi_cos[j] * cos[j] - psi_sin[j] * sin[j];
                let z_sin = psi_sin[j] * cos[j] + psi_cos[j] * sin[j];
                // Along the phasor: the gates. Across it: the angle theta + omega t.
                dgq[j] = z_cos * dq_cos[j] + z_sin * dq_sin[j];
                dgk[j] = z_cos * dk_cos[j] + z_sin * dk_sin[j];
                let q_angle = c * gq[j] * (z_cos * dq_sin[j] - z_sin * dq_cos[j]);
                let angle = q_angle + gk[j] * (z_cos * dk_sin[j] - z_sin * dk_cos[j]);
                dtheta[j] += angle;
                domega[j] += position * angle;
            }
            dc += crate::reduce::dot::<A, F>(dgq, gq).to_f64();
            for dgq in dgq {
                *dgq *= c;
            }
        }
    }
    dc
}
