//! `f64` through the standard library: the yardstick, not the fast path.

use crate::Real;
use crate::arch::Arch;
use crate::microkernel::Microkernels;

impl Real for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
    const MINUS_INFINITY: f64 = f64::NEG_INFINITY;

    #[inline(always)]
    fn from_f64(x: f64) -> f64 {
        x
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn abs(self) -> f64 {
        f64::abs(self)
    }
    #[inline(always)]
    fn is_sign_negative(self) -> bool {
        f64::is_sign_negative(self)
    }
    #[inline(always)]
    fn mul_add<A: Arch>(self, b: f64, c: f64) -> f64 {
        if A::FUSED { f64::mul_add(self, b, c) } else { self * b + c }
    }
    fn sin_cos<A: Arch>(self) -> (f64, f64) {
        f64::sin_cos(self)
    }
    fn exp<A: Arch>(self) -> f64 {
        f64::exp(self)
    }
    fn tanh<A: Arch>(self) -> f64 {
        f64::tanh(self)
    }
    fn softplus_and_slope<A: Arch>(self) -> (f64, f64) {
        let e = (-self.abs()).exp();
        let (positive, numerator) = if self < 0.0 { (0.0, e) } else { (self, 1.0) };
        (positive + e.ln_1p(), numerator / (1.0 + e))
    }
    fn sigmoid<A: Arch>(self) -> f64 {
        self.softplus_and_slope::<A>().1
    }
    fn microkernels() -> &'static Microkernels<f64> {
        crate::microkernel::f64_kernels()
    }
}
