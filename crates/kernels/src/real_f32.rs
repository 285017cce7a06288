//! `f32` functions as branch-free polynomials. The coefficients are minimax fits (Remez exchange
//! on the relative error) over the reduced ranges named beside them; each fit's own error is
//! below 5e-9, well under an ulp.

use crate::Real;
use crate::arch::Arch;
use crate::microkernel::Microkernels;

/// Adding and subtracting 1.5 * 2^23 rounds to the nearest integer, which then stands in the low bits.
const ROUND: f32 = 12_582_912.0;
const LOG2_E: f32 = std::f32::consts::LOG2_E;
/// ln 2 in two parts; the first has so few bits that its product with an exponent is exact.
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;

#[inline(always)]
fn polynomial<A: Arch, const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut y = coefficients[N - 1];
    for i in (0..N - 1).rev() {
        y = y.mul_add_on::<A>(x, coefficients[i]);
    }
    y
}

trait MulAdd {
    fn mul_add_on<A: Arch>(self, b: f32, c: f32) -> f32;
}
impl MulAdd for f32 {
    #[inline(always)]
    fn mul_add_on<A: Arch>(self, b: f32, c: f32) -> f32 {
        if A::FUSED { f32::mul_add(self, b, c) } else { self * b + c }
    }
}

/// 2^n for an integer n in -126..=127.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits(((n + 127) << 23) as u32)
}

/// e^x for x <= 0: no overflow to guard against, and results below the normal range are 0 (as in a softmax).
#[inline(always)]
fn exp_of_negative<A: Arch>(x: f32) -> f32 {
    // Below -87.3 the result would be subnormal. A NaN fails the comparison and stays.
    let clamped = if x < -87.3 { -87.3 } else { x };
    let rounded = clamped.mul_add_on::<A>(LOG2_E, ROUND);
    let n = rounded - ROUND;
    let y = exp_reduced::<A>(clamped, n) * power_of_two(integer(rounded));
    if x < -87.3 { 0.0 } else { y }
}

/// The integer that [`ROUND`] left in the low bits.
#[inline(always)]
fn integer(rounded: f32) -> i32 {
    rounded.to_bits().wrapping_sub(ROUND.to_bits()) as i32
}

/// e^(x - n ln 2)
#[inline(always)]
fn exp_reduced<A: Arch>(x: f32, n: f32) -> f32 {
    let r = n.mul_add_on::<A>(-LN_2_HIGH, x);
    let r = n.mul_add_on::<A>(-LN_2_LOW, r);
    // e^r = 1 + r + r^2 P(r) on |r| <= 0.35
    let p =
        polynomial::<A, 5>(r, [0.499_999_94, 0.166_665_15, 0.041_668_456, 0.008_369_419, 0.001_381_314_5]);
    (r * r).mul_add_on::<A>(p, r) + 1.0
}

/// log(1 + e) for e in 0..=1
#[inline(always)]
fn log1p_of_unit<A: Arch>(e: f32) -> f32 {
    // log(1 + e) = 2 atanh(s), s = e / (2 + e) <= 1/3; atanh s = s + s^3 P(s^2)
    let s = e / (2.0 + e);
    let s2 = s * s;
    let p = polynomial::<A, 4>(s2, [0.333_332_06, 0.200_108_5, 0.139_995_7, 0.140_122_3]);
    let twice = s + s;
    (twice * s2).mul_add_on::<A>(p, twice)
}

impl Real for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;
    const MINUS_INFINITY: f32 = f32::NEG_INFINITY;

    #[inline(always)]
    fn from_f64(x: f64) -> f32 {
        x as f32
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn sqrt(self) -> f32 {
        f32::sqrt(self)
    }
    #[inline(always)]
    fn abs(self) -> f32 {
        f32::abs(self)
    }
    #[inline(always)]
    fn is_sign_negative(self) -> bool {
        f32::is_sign_negative(self)
    }
    #[inline(always)]
    fn mul_add<A: Arch>(self, b: f32, c: f32) -> f32 {
        self.mul_add_on::<A>(b, c)
    }

    #[inline(always)]
    fn sin_cos<A: Arch>(self) -> (f32, f32) {
        // The quarter turn nearest to x, then what is left of x. The subtraction is done in f64: phases are
        // not wrapped, and in f32 the remainder of a large angle would keep few correct bits.
        let rounded = self.mul_add_on::<A>(std::f32::consts::FRAC_2_PI, ROUND);
        let quarter = integer(rounded);
        let n = f64::from(rounded - ROUND);
        let r = (f64::from(self) - n * std::f64::consts::FRAC_PI_2) as f32;
        let r2 = r * r;
        // On |r| <= pi/4 + 0.01: sin r = r + r^3 S(r^2), cos r = 1 - r^2/2 + r^4 C(r^2)
        let s = polynomial::<A, 3>(r2, [-0.166_666_54, 0.008_332_118, -0.000_195_090_63]);
        let sine = (r * r2).mul_add_on::<A>(s, r);
        let c = polynomial::<A, 3>(r2, [0.041_666_646, -0.001_388_728_9, 2.442_921_3e-5]);
        let cosine = (r2 * r2).mul_add_on::<A>(c, r2.mul_add_on::<A>(-0.5, 1.0));
        let (a, b) = if quarter & 1 == 0 { (sine, cosine) } else { (cosine, sine) };
        let sign_of_sine = ((quarter & 2) as u32) << 30;
        let sign_of_cosine = ((quarter.wrapping_add(1) & 2) as u32) << 30;
        (f32::from_bits(a.to_bits() ^ sign_of_sine), f32::from_bits(b.to_bits() ^ sign_of_cosine))
    }

    #[inline(always)]
    fn exp<A: Arch>(self) -> f32 {
        // Clamped to where the result is 0 or infinite anyway; a NaN fails both comparisons and stays.
        let x = if self < -105.0 { -105.0 } else { self };
        let x = if x > 90.0 { 90.0 } else { x };
        let rounded = x.mul_add_on::<A>(LOG2_E, ROUND);
        let n = integer(rounded);
        // In two factors, so that subnormal and infinite results come out right.
        let half = n >> 1;
        exp_reduced::<A>(x, rounded - ROUND) * power_of_two(half) * power_of_two(n - half)
    }

    #[inline(always)]
    fn tanh<A: Arch>(self) -> f32 {
        let x = self.abs();
        // tanh x = x + x^3 P(x^2) on |x| <= 0.625, else 1 - 2 / (e^2x + 1)
        let x2 = x * x;
        let p = polynomial::<A, 5>(
            x2,
            [-0.333_332_84, 0.133_314_91, -0.053_743_497, 0.020_650_588, -0.005_717_045_6],
        );
        let small = (x * x2).mul_add_on::<A>(p, x);
        let e = exp_of_negative::<A>(-2.0 * x);
        let large = (1.0 - e) / (1.0 + e);
        let y = if x < 0.625 { small } else { large };
        f32::from_bits(y.to_bits() | (self.to_bits() & 0x8000_0000))
    }

    #[inline(always)]
    fn softplus_and_slope<A: Arch>(self) -> (f32, f32) {
        let e = exp_of_negative::<A>(-self.abs());
        let (positive, numerator) = if self < 0.0 { (0.0, e) } else { (self, 1.0) };
        (positive + log1p_of_unit::<A>(e), numerator / (1.0 + e))
    }

    #[inline(always)]
    fn sigmoid<A: Arch>(self) -> f32 {
        // Clamped to where e^-x neither overflows nor vanishes: beyond, the result stays at 1e-38 or 1.
        let x = if self < -87.0 { -87.0 } else { self };
        let x = if x > 87.0 { 87.0 } else { x };
        let rounded = x.mul_add_on::<A>(-LOG2_E, ROUND);
        let e = exp_reduced::<A>(-x, rounded - ROUND) * power_of_two(integer(rounded));
        1.0 / (1.0 + e)
    }

    fn microkernels() -> &'static Microkernels<f32> {
        crate::microkernel::f32_kernels()
    }
}
