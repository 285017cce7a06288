//! Run-time choice of vector instructions, in one place.
//!
//! A kernel is written once, as a plain loop over slices, and marked `#[apply(vectorised)]`. The macro
//! compiles it once per instruction set below and picks one at run time, so no build flag is needed and the
//! loop stays readable. The only thing a kernel may ask of its instruction set is whether a multiply-add is
//! fused ([`Arch::FUSED`]): without hardware support `f32::mul_add` would call a slow library routine.

use std::sync::atomic::{AtomicU8, Ordering};

/// What a kernel body may know of the instruction set it is compiled for.
pub trait Arch: Copy {
    /// True where `a * b + c` is one instruction with one rounding.
    const FUSED: bool;
}

/// Instruction sets with a fused multiply-add: AVX2+FMA, AVX-512, NEON.
#[derive(Clone, Copy)]
pub struct Fused;
impl Arch for Fused {
    const FUSED: bool = true;
}

/// The portable path: whatever the compiler's baseline for the target offers.
#[derive(Clone, Copy)]
pub struct Plain;
impl Arch for Plain {
    // NEON's multiply-add is part of the 64-bit Arm baseline.
    const FUSED: bool = cfg!(target_arch = "aarch64");
}

/// The instruction sets kernels are compiled for, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// The target's baseline: SSE2 on x86-64, NEON on 64-bit Arm.
    Portable = 1,
    /// AVX2 and FMA.
    Avx2 = 2,
    /// AVX-512 F, BW, DQ and VL.
    Avx512 = 3,
}

/// 0 = not yet detected.
static LEVEL: AtomicU8 = AtomicU8::new(0);

/// The best level this machine has.
pub fn detect() -> Level {
    #[cfg(target_arch = "x86_64")]
    {
        let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        if avx2 && avx512 {
            return Level::Avx512;
        }
        if avx2 {
            return Level::Avx2;
        }
    }
    Level::Portable
}

/// What this machine has, or less if [`limit`] said so.
#[inline]
pub fn level() -> Level {
    match LEVEL.load(Ordering::Relaxed) {
        0 => {
            let level = detect();
            LEVEL.store(level as u8, Ordering::Relaxed);
            level
        }
        1 => Level::Portable,
        2 => Level::Avx2,
        _ => Level::Avx512,
    }
}

/// Uses `wanted`, or the best this machine has if that is weaker, from now on in the whole process;
/// returns what is in use. For tests and benchmarks of the weaker paths: matrices packed before the
/// call must be packed again.
pub fn limit(wanted: Level) -> Level {
    let level = wanted.min(detect());
    LEVEL.store(level as u8, Ordering::Relaxed);
    level
}

/// Compiles a function `fn name<A: Arch, F: Real>(..)` once per [`Level`] and dispatches at run time; callers
/// see `fn name<F: Real>(..)`.
macro_rules! vectorised {
    ($(#[$attribute:meta])* $vis:vis fn $name:ident<A: Arch, F: Real>(
        $($arg:ident: $ty:ty),* $(,)?
    ) $(-> $out:ty)? $body:block) => {
        $(#[$attribute])*
        $vis fn $name<F: Real>($($arg: $ty),*) $(-> $out)? {
            // A body without a multiply-add has no use for its instruction set's name.
            #[allow(clippy::extra_unused_type_parameters)]
            #[inline(always)]
            fn body<A: Arch, F: Real>($($arg: $ty),*) $(-> $out)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            fn avx512<F: Real>($($arg: $ty),*) $(-> $out)? {
                body::<$crate::arch::Fused, F>($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2<F: Real>($($arg: $ty),*) $(-> $out)? {
                body::<$crate::arch::Fused, F>($($arg),*)
            }

            match $crate::arch::level() {
                // SAFETY: `level` is never above what `detect` found on this machine.
                #[cfg(target_arch = "x86_64")]
                $crate::arch::Level::Avx512 => unsafe { avx512($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::arch::Level::Avx2 => unsafe { avx2($($arg),*) },
                _ => body::<$crate::arch::Plain, F>($($arg),*),
            }
        }
    };
}
