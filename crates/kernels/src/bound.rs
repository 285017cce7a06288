//! The bounded residual step of Equation (1) (Sections 2.0.2 and 3.3): theta + dropout(bound_r(x)).
//!
//! bound_r(x) = x (r / n) tanh(n / r), with n the root mean square of x over all k coordinates: the direction
//! of x stays, its size stays below r.

use crate::arch::Arch;
use crate::reduce::dot;
use crate::{Dropout, Real};
use macro_rules_attribute::apply;

/// Keeps the root mean square above zero.
const EPSILON: f64 = 1e-12;

/// The factor (r / n) tanh(n / r), and tanh(n / r).
#[inline(always)]
fn factor(n: f64, radius: f64) -> (f64, f64) {
    let tanh = (n / radius).tanh();
    (radius / n * tanh, tanh)
}

/// Equation (1), theta + bound(x): theta, x (n x k) -> rms (n), out (n x k); without a radius x is not
/// bounded and rms is left alone
#[apply(vectorised)]
pub fn forward<A: Arch, F: Real>(
    k: usize,
    theta: &[F],
    x: &[F],
    radius: Option<f64>,
    dropout: &Dropout,
    rms: &mut [F],
    out: &mut [F],
) {
    let scale = dropout.scale();
    let rows = theta.chunks_exact(k).zip(x.chunks_exact(k)).zip(out.chunks_exact_mut(k));
    for (t, ((theta, x), out)) in rows.enumerate() {
        let mut by = scale;
        if let Some(radius) = radius {
            let n = (dot::<A, F>(x, x).to_f64() / k as f64 + EPSILON).sqrt();
            rms[t] = F::from_f64(n);
            by *= factor(n, radius).0;
        }
        let by = F::from_f64(by);
        if dropout.is_active() {
            let first = (t * k) as u32;
            for j in 0..k {
                let by = if dropout.keeps(first.wrapping_add(j as u32)) { by } else { F::ZERO };
                out[j] = x[j].mul_add::<A>(by, theta[j]);
            }
        } else {
            for ((&theta, &x), out) in theta.iter().zip(x).zip(out) {
                *out = x.mul_add::<A>(by, theta);
            }
        }
    }
}

/// Equation (1), theta + bound(x): x (n x k), rms (n), dout (n x k) -> dx (written, n x k); returns d loss /
/// d log r. The gradient of theta is dout itself.
#[apply(vectorised)]
pub fn backward<A: Arch, F: Real>(
    k: usize,
    x: &[F],
    radius: Option<f64>,
    dropout: &Dropout,
    rms: &[F],
    dout: &[F],
    dx: &mut [F],
) -> f64 {
    let scale = F::from_f64(dropout.scale());
    let mut dlog_radius = 0.0;
    let rows = x.chunks_exact(k).zip(dout.chunks_exact(k)).zip(dx.chunks_exact_mut(k));
    for (t, ((x, dout), dx)) in rows.enumerate() {
        if dropout.is_active() {
            let first = (t * k) as u32;
            for j in 0..k {
                dx[j] = if dropout.keeps(first.wrapping_add(j as u32)) { dout[j] * scale } else { F::ZERO };
            }
        } else {
            dx.copy_from_slice(dout);
        }
        let Some(radius) = radius else { continue };
        let n = rms[t].to_f64();
        let (by, tanh) = factor(n, radius);
        let sech2 = 1.0 - tanh * tanh;
        let along = dot::<A, F>(x, dx).to_f64();
        // d by / d log r = by - sech^2, and d by / d n is minus that over n.
        dlog_radius += along * (by - sech2);
        let pull = F::from_f64((sech2 - by) / (n * n) * along / k as f64);
        let by = F::from_f64(by);
        for (&x, dx) in x.iter().zip(dx) {
            *dx = x.mul_add::<A>(pull, by * *dx);
        }
    }
    dlog_radius
}
