//! The two number types the project computes in.

use crate::arch::Arch;
use crate::microkernel::Microkernels;
use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// `f32` (training) or `f64` (gradient checks and parity).
///
/// The transcendental functions are branch-free for `f32`, so that a loop over a slice becomes vector code
/// inside a `vectorised` kernel; for `f64` they are the standard library's. Both return NaN for NaN.
pub trait Real:
    Copy
    + Default
    + Send
    + Sync
    + Debug
    + Display
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + Sum
    + bytemuck::Pod
{
    /// Neutral in sums.
    const ZERO: Self;
    /// Neutral in products.
    const ONE: Self;
    /// The maximum of no values.
    const MINUS_INFINITY: Self;

    /// The nearest value to `x`.
    fn from_f64(x: f64) -> Self;
    /// Exact.
    fn to_f64(self) -> f64;
    /// Correctly rounded.
    fn sqrt(self) -> Self;
    /// With the sign bit cleared.
    fn abs(self) -> Self;
    /// True where the sign bit is set, minus zero included.
    fn is_sign_negative(self) -> bool;
    /// `self * b + c`, in one rounding where the instruction set has it.
    fn mul_add<A: Arch>(self, b: Self, c: Self) -> Self;

    /// `(sin x, cos x)`; in `f32` accurate to 2 ulp of 1 for |x| up to 1e6.
    fn sin_cos<A: Arch>(self) -> (Self, Self);
    /// e^x; 0 and infinity beyond its range.
    fn exp<A: Arch>(self) -> Self;
    /// Hyperbolic tangent.
    fn tanh<A: Arch>(self) -> Self;
    /// log(1 + e^x) and its derivative 1 / (1 + e^-x), which share an exponential.
    fn softplus_and_slope<A: Arch>(self) -> (Self, Self);
    /// 1 / (1 + e^-x), the derivative of `softplus`.
    fn sigmoid<A: Arch>(self) -> Self;

    /// log(1 + e^x).
    #[inline(always)]
    fn softplus<A: Arch>(self) -> Self {
        self.softplus_and_slope::<A>().0
    }

    /// x * sigmoid(x).
    #[inline(always)]
    fn silu<A: Arch>(self) -> Self {
        // At minus infinity the limit is 0, where the product would be NaN.
        let y = self * self.sigmoid::<A>();
        if self == Self::MINUS_INFINITY { Self::ZERO } else { y }
    }

    /// The larger of two values; `other` if one is NaN. Compiles to one instruction,
    /// unlike the standard `max`.
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        if self > other { self } else { other }
    }

    /// The matrix microkernels for this type on this machine.
    #[doc(hidden)]
    fn microkernels() -> &'static Microkernels<Self>;
}

/// The elementary functions on slices, as kernels and users call them: `y[i] = f(x[i])`.
pub mod map {
    use super::Real;
    use crate::arch::Arch;
    use macro_rules_attribute::apply;

    /// x (n) -> cos, sin (n each)
    #[apply(vectorised)]
    pub fn sin_cos<A: Arch, F: Real>(x: &[F], cos: &mut [F], sin: &mut [F]) {
        for ((&x, c), s) in x.iter().zip(cos).zip(sin) {
            (*s, *c) = x.sin_cos::<A>();
        }
    }

    macro_rules! maps {
        ($($name:ident)*) => {$(
            /// x (n) -> y (n)
            #[apply(vectorised)]
            pub fn $name<A: Arch, F: Real>(x: &[F], y: &mut [F]) {
                for (&x, y) in x.iter().zip(y) {
                    *y = x.$name::<A>();
                }
            }
        )*};
    }
    maps!(exp tanh softplus sigmoid silu);
}
