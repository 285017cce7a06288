//! Rotary position of the transformer (Appendix B); its rates are also where omega starts (Section 3.5).
//! Pairs (i, i + half) within a head turn by t * base^(-i / half); with an odd head width the last
//! coordinate is left alone.

use crate::Real;
use crate::arch::Arch;
use macro_rules_attribute::apply;

/// The angle per position of pair `i` of `half`.
pub fn rate(base: f64, i: usize, half: usize) -> f64 {
    base.powf(-(i as f64) / half as f64)
}

/// -> cos, sin (n x half each) for positions first, first + 1, ..
pub fn table<F: Real>(base: f64, half: usize, first: usize, cos: &mut [F], sin: &mut [F]) {
    if half == 0 {
        return;
    }
    for (t, (cos, sin)) in cos.chunks_exact_mut(half).zip(sin.chunks_exact_mut(half)).enumerate() {
        for i in 0..half {
            let (s, c) = ((first + t) as f64 * rate(base, i, half)).sin_cos();
            (cos[i], sin[i]) = (F::from_f64(c), F::from_f64(s));
        }
    }
}

/// x (n rows of `stride`, heads x width used), turned in place and multiplied by `scale`
#[apply(vectorised)]
pub fn forward<A: Arch, F: Real>(
    heads: usize,
    width: usize,
    cos: &[F],
    sin: &[F],
    scale: F,
    x: &mut [F],
    stride: usize,
) {
    turn(heads, width, cos, sin, scale, F::ONE, x, stride);
}

/// dx (as x), turned back in place and multiplied by `scale`
#[apply(vectorised)]
pub fn backward<A: Arch, F: Real>(
    heads: usize,
    width: usize,
    cos: &[F],
    sin: &[F],
    scale: F,
    dx: &mut [F],
    stride: usize,
) {
    turn(heads, width, cos, sin, scale, -F::ONE, dx, stride);
}

/// Turns forwards (`direction` 1) or backwards (-1).
#[inline(always)]
fn turn<F: Real>(
    heads: usize,
    width: usize,
    cos: &[F],
    sin: &[F],
    scale: F,
    direction: F,
    x: &mut [F],
    stride: usize,
) {
    let half = width / 2;
    for (t, row) in x.chunks_mut(stride).enumerate() {
        let (cos, sin) = (&cos[t * half..][..half], &sin[t * half..][..half]);
        for head in row[..heads * width].chunks_exact_mut(width) {
            let (first, rest) = head.split_at_mut(half);
            let (second, odd) = rest.split_at_mut(half);
            for i in 0..half {
                let (a, b, sin) = (first[i], second[i], direction * sin[i]);
                first[i] = scale * (a * cos[i] - b * sin);
                second[i] = scale * (a * sin + b * cos[i]);
            }
            for x in odd {
                *x *= scale;
            }
        }
    }
}
