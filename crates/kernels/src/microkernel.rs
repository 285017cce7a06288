//! The register-blocked inner loops of matrix products, one table per number type and instruction set: those of
//! the `gemm` crates, and [`crate::portable`] where these have none that uses vectors.
//!
//! Of `gemm` only the microkernels are used: `gemm`'s own driver allocates on every call and packs both operands
//! every time, while a training step multiplies by the same weights once per sequence.
//! [`crate::product`] is the driver.

#[cfg(target_arch = "x86_64")]
use crate::arch::Level;
use crate::arch::level;
#[cfg(not(target_arch = "aarch64"))]
use crate::portable::Portable;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::product::MAX_ROWS;
use gemm_common::microkernel::MicroKernelFn;

/// A table of microkernels. Each computes a tile of at most `tile` outputs by `rows` rows.
#[derive(Debug)]
pub struct Microkernels<F: 'static> {
    /// Width of a full tile, a multiple of `lanes`.
    pub tile: usize,
    /// Rows of a full tile.
    pub rows: usize,
    /// Elements per vector register.
    pub(crate) lanes: usize,
    /// `[tile / lanes][rows]`, flattened.
    pub(crate) table: &'static [MicroKernelFn<F>],
}

impl<F> Microkernels<F> {
    /// The smallest microkernel that covers `width` outputs by `rows` rows.
    #[inline]
    pub fn pick(&self, width: usize, rows: usize) -> MicroKernelFn<F> {
        self.table[(width.div_ceil(self.lanes) - 1) * self.rows + rows - 1]
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! table {
    ($module:path, $ty:ty, $lanes:expr) => {{
        use $module::{MR_DIV_N, NR, UKR};
        const { assert!(NR <= MAX_ROWS, "a microkernel has more rows than the gather buffer has room for") };
        static TABLE: [[MicroKernelFn<$ty>; NR]; MR_DIV_N] = UKR;
        static KERNELS: Microkernels<$ty> =
            Microkernels { tile: MR_DIV_N * $lanes, rows: NR, lanes: $lanes, table: TABLE.as_flattened() };
        &KERNELS
    }};
}

pub fn f32_kernels() -> &'static Microkernels<f32> {
    match level() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => table!(gemm_f32::microkernel::avx512f::f32, f32, 16),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => table!(gemm_f32::microkernel::fma::f32, f32, 8),
        #[cfg(target_arch = "aarch64")]
        _ => table!(gemm_f32::microkernel::neon::f32, f32, 4),
        #[cfg(not(target_arch = "aarch64"))]
        _ => &Portable::<f32, 8>::KERNELS,
    }
}

pub fn f64_kernels() -> &'static Microkernels<f64> {
    match level() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => table!(gemm_f64::microkernel::avx512f::f64, f64, 8),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => table!(gemm_f64::microkernel::fma::f64, f64, 4),
        #[cfg(target_arch = "aarch64")]
        _ => table!(gemm_f64::microkernel::neon::f64, f64, 2),
        #[cfg(not(target_arch = "aarch64"))]
        _ => &Portable::<f64, 4>::KERNELS,
    }
}
