//! Sums in a fixed order: the same bits whatever the number of threads.

use crate::Real;
use crate::arch::Arch;
use macro_rules_attribute::apply;

/// Partial sums kept side by side, so that additions overlap; a multiple of every vector width.
const LANES: usize = 32;

#[inline(always)]
fn fold<F: Real>(mut lanes: [F; LANES]) -> F {
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            lanes[i] += lanes[i + width];
        }
    }
    lanes[0]
}

/// Sum of `f(x)`, for use inside vectorised kernels.
#[inline(always)]
pub(crate) fn sum_of<F: Real>(x: &[F], f: impl Fn(F) -> F) -> F {
    let mut lanes = [F::ZERO; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane += f(x);
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane += f(x);
    }
    fold(lanes)
}

/// Sum of `x * y`, for use inside vectorised kernels.
#[inline(always)]
pub(crate) fn dot<A: Arch, F: Real>(x: &[F], y: &[F]) -> F {
    let mut lanes = [F::ZERO; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    let (others, others_rest) = y[..x.len()].as_chunks::<LANES>();
    for (x, y) in chunks.iter().zip(others) {
        for i in 0..LANES {
            lanes[i] = x[i].mul_add::<A>(y[i], lanes[i]);
        }
    }
    for ((lane, &x), &y) in lanes.iter_mut().zip(rest).zip(others_rest) {
        *lane = x.mul_add::<A>(y, *lane);
    }
    fold(lanes)
}

/// Largest value, for use inside vectorised kernels; minus infinity for none.
#[inline(always)]
pub(crate) fn max<F: Real>(x: &[F]) -> F {
    let mut lanes = [F::MINUS_INFINITY; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = x.larger(*lane);
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane = x.larger(*lane);
    }
    lanes.iter().fold(F::MINUS_INFINITY, |m, &x| x.larger(m))
}

/// x, y (n) -> sum of x * y
#[apply(vectorised)]
pub fn inner_product<A: Arch, F: Real>(x: &[F], y: &[F]) -> F {
    dot::<A, F>(x, y)
}

/// x (n) += y (n)
#[apply(vectorised)]
pub fn add<A: Arch, F: Real>(x: &mut [F], y: &[F]) {
    for (x, &y) in x.iter_mut().zip(y) {
        *x += y;
    }
}

/// x (n) -> sum of squares, accumulated in f64
#[apply(vectorised)]
pub fn sum_of_squares<A: Arch, F: Real>(x: &[F]) -> f64 {
    let mut lanes = [0.0f64; 16];
    let (chunks, rest) = x.as_chunks::<16>();
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            let x = x.to_f64();
            *lane += x * x;
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        let x = x.to_f64();
        *lane += x * x;
    }
    lanes.iter().sum()
}
