//! Microkernels in plain Rust, of which the compiler makes vector code for the target's baseline: SSE2 on x86-64,
//! simd128 in WebAssembly. The `gemm` crates have only scalar code for both.

use crate::Real;
use crate::microkernel::Microkernels;
use gemm_common::microkernel::MicroKernelFn;
use std::marker::PhantomData;

/// Microkernels of `TILE` outputs, two vectors of 16 bytes, by up to four rows: with what they are multiplied by,
/// the sums fit in 16 registers.
pub(crate) struct Portable<F, const TILE: usize>(PhantomData<F>);

impl<F: Real, const TILE: usize> Portable<F, TILE> {
    const TABLE: [MicroKernelFn<F>; 4] =
        [kernel::<F, TILE, 1>, kernel::<F, TILE, 2>, kernel::<F, TILE, 3>, kernel::<F, TILE, 4>];
    pub const KERNELS: Microkernels<F> =
        Microkernels { tile: TILE, rows: 4, lanes: TILE, table: &Self::TABLE };
}

/// c (ROWS x width, rows of `c_row`) = alpha c + a (ROWS x depth) . p (depth x TILE, rows of `p_row`)
///
/// # Safety
/// The operands must be as large as that, element (r, i) of `a` being `a[r * a_row + i * a_inner]`; c is read only
/// if `status` is not 0.
unsafe fn kernel<F: Real, const TILE: usize, const ROWS: usize>(
    width: usize,
    _rows: usize,
    depth: usize,
    c: *mut F,
    p: *const F,
    a: *const F,
    c_row: isize,
    _c_column: isize,
    p_row: isize,
    a_inner: isize,
    a_row: isize,
    alpha: F,
    _beta: F,
    status: u8,
    _conjugate_c: bool,
    _conjugate_p: bool,
    _conjugate_a: bool,
    _next: *const F,
) {
    let mut sums = [[F::ZERO; TILE]; ROWS];
    for i in 0..depth as isize {
        // SAFETY: p has `depth` rows of TILE elements; a vector of them may be read from any address.
        let values = unsafe { p.offset(i * p_row).cast::<[F; TILE]>().read() };
        for (r, sums) in sums.iter_mut().enumerate() {
            // SAFETY: a has ROWS rows of `depth` elements.
            let x = unsafe { *a.offset(i * a_inner + r as isize * a_row) };
            for j in 0..TILE {
                sums[j] += x * values[j];
            }
        }
    }
    for (r, sums) in sums.iter().enumerate() {
        // SAFETY: c has ROWS rows of `width` elements, and nobody else uses them meanwhile.
        let c = unsafe { std::slice::from_raw_parts_mut(c.offset(r as isize * c_row), width) };
        for (c, &sum) in c.iter_mut().zip(sums) {
            *c = if status == 0 { sum } else { alpha * *c + sum };
        }
    }
}
