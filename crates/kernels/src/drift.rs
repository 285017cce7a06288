//! Gated, drifted phasors, whose dot products are the scores s of Equation (1).
//!
//! query_t = c g^q_t (cos, sin)(theta_t + omega t) and key_u = g^k_u (cos, sin)(theta_u + omega u), so that
//! the dot product has cos(theta_t - theta_u + omega (t - u)): position as phase drift (Section 3.5). The
//! drift is one rotation of psi(theta) by a table. Rows hold, head by head, kh cosines, kh sines and room for
//! `extra` values of the low-rank transport frame (see [`crate::frame`]).

use crate::Real;
use crate::arch::Arch;
use macro_rules_attribute::apply;

/// The shape of rows of query and key phasors.
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
    /// Values per head in a row of phasors.
    #[inline(always)]
    pub fn width(&self) -> usize {
        2 * self.kh() + self.extra
    }
    /// Values in a row of phasors.
    #[inline(always)]
    pub fn row(&self) -> usize {
        self.heads * self.width()
    }
}

/// Section 3.5: omega (k) -> cos, sin (n x k each) of omega_j t, for positions t = first, first + 1, ..
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

/// Equation (1), the factors of s: psi (n x 2k), query_gate, key_gate (n x k), table cos, sin (n x k) ->
/// query, key (n x row each); the query carries the factor `scale`, tau / sqrt(k / h)
#[apply(vectorised)]
pub fn forward<A: Arch, F: Real>(
    shape: Heads,
    psi: &[F],
    query_gate: &[F],
    key_gate: &[F],
    cos: &[F],
    sin: &[F],
    scale: F,
    query: &mut [F],
    key: &mut [F],
) {
    let (k, kh, width) = (shape.k, shape.kh(), shape.width());
    for (t, (query, key)) in
        query.chunks_exact_mut(shape.row()).zip(key.chunks_exact_mut(shape.row())).enumerate()
    {
        let (psi_cos, psi_sin) = psi[t * 2 * k..][..2 * k].split_at(k);
        for (head, (query, key)) in query.chunks_exact_mut(width).zip(key.chunks_exact_mut(width)).enumerate()
        {
            let (psi_cos, psi_sin) = (&psi_cos[head * kh..][..kh], &psi_sin[head * kh..][..kh]);
            let at = t * k + head * kh;
            let (cos, sin) = (&cos[at..][..kh], &sin[at..][..kh]);
            let (query_gate, key_gate) = (&query_gate[at..][..kh], &key_gate[at..][..kh]);
            let (query_cos, query_sin) = query[..2 * kh].split_at_mut(kh);
            let (key_cos, key_sin) = key[..2 * kh].split_at_mut(kh);
            for j in 0..kh {
                let z_cos = psi_cos[j] * cos[j] - psi_sin[j] * sin[j];
                let z_sin = psi_sin[j] * cos[j] + psi_cos[j] * sin[j];
                let gate = scale * query_gate[j];
                query_cos[j] = gate * z_cos;
                query_sin[j] = gate * z_sin;
                key_cos[j] = key_gate[j] * z_cos;
                key_sin[j] = key_gate[j] * z_sin;
            }
        }
    }
}

/// Equation (1), the factors of s: dquery, dkey (n x row) -> dquery_gate, dkey_gate (written, n x k), dtheta
/// (n x k), domega (k); returns d loss / d scale. Row t stands at position `first + t`.
#[apply(vectorised)]
pub fn backward<A: Arch, F: Real>(
    shape: Heads,
    first: usize,
    psi: &[F],
    query_gate: &[F],
    key_gate: &[F],
    cos: &[F],
    sin: &[F],
    scale: F,
    dquery: &[F],
    dkey: &[F],
    dquery_gate: &mut [F],
    dkey_gate: &mut [F],
    dtheta: &mut [F],
    domega: &mut [F],
) -> f64 {
    let (k, kh, width) = (shape.k, shape.kh(), shape.width());
    let mut dscale = 0.0;
    for (t, (dquery, dkey)) in
        dquery.chunks_exact(shape.row()).zip(dkey.chunks_exact(shape.row())).enumerate()
    {
        let position = F::from_f64((first + t) as f64);
        let (psi_cos, psi_sin) = psi[t * 2 * k..][..2 * k].split_at(k);
        for (head, (dquery, dkey)) in dquery.chunks_exact(width).zip(dkey.chunks_exact(width)).enumerate() {
            let (psi_cos, psi_sin) = (&psi_cos[head * kh..][..kh], &psi_sin[head * kh..][..kh]);
            let at = t * k + head * kh;
            let (cos, sin) = (&cos[at..][..kh], &sin[at..][..kh]);
            let (query_gate, key_gate) = (&query_gate[at..][..kh], &key_gate[at..][..kh]);
            let (dquery_gate, dkey_gate) = (&mut dquery_gate[at..][..kh], &mut dkey_gate[at..][..kh]);
            let (dtheta, domega) = (&mut dtheta[at..][..kh], &mut domega[head * kh..][..kh]);
            let (dquery_cos, dquery_sin) = dquery[..2 * kh].split_at(kh);
            let (dkey_cos, dkey_sin) = dkey[..2 * kh].split_at(kh);
            for j in 0..kh {
                let z_cos = psi_cos[j] * cos[j] - psi_sin[j] * sin[j];
                let z_sin = psi_sin[j] * cos[j] + psi_cos[j] * sin[j];
                // Along the phasor: the gates. Across it: the angle theta + omega t.
                dquery_gate[j] = z_cos * dquery_cos[j] + z_sin * dquery_sin[j];
                dkey_gate[j] = z_cos * dkey_cos[j] + z_sin * dkey_sin[j];
                let query_angle = scale * query_gate[j] * (z_cos * dquery_sin[j] - z_sin * dquery_cos[j]);
                let angle = query_angle + key_gate[j] * (z_cos * dkey_sin[j] - z_sin * dkey_cos[j]);
                dtheta[j] += angle;
                domega[j] += position * angle;
            }
            dscale += crate::reduce::dot::<A, F>(dquery_gate, query_gate).to_f64();
            for dquery_gate in dquery_gate {
                *dquery_gate *= scale;
            }
        }
    }
    dscale
}
