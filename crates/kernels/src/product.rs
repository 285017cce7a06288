//! Matrix products: `c (n x m) = a (n x k) . p (k x m)`, single-threaded, without allocation.
//!
//! The right operand is packed beforehand into strips of one microkernel tile. Weights are packed once
//! per step and serve every sequence; activations are packed once per product. The left operand is
//! read where it lies if its rows are contiguous; if its columns are, some rows at a time are gathered
//! into a buffer on the stack.
//!
//! Causal attention needs four products over triangles; [`Causal`] skips the tiles above the diagonal.

use crate::arch::Arch;
use crate::microkernel::Microkernels;
use crate::{AlignedVec, Real};
use gemm_common::microkernel::MicroKernelFn;
use macro_rules_attribute::apply;
use std::mem::MaybeUninit;
use std::ops::Range;

/// A left operand: element (i, p) is `data[i * row + p * column]`, and one of `row` and `column` is 1.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, F> {
    /// Starts at element (0, 0).
    pub data: &'a [F],
    /// Distance between rows.
    pub row: usize,
    /// Distance between neighbours in a row.
    pub column: usize,
}

impl<'a, F> View<'a, F> {
    /// Rows of `stride` elements, contiguous within a row.
    pub fn rows(data: &'a [F], stride: usize) -> Self {
        View { data, row: stride, column: 1 }
    }

    /// The transpose of a matrix whose rows have `stride` elements.
    pub fn transposed(data: &'a [F], stride: usize) -> Self {
        View { data, row: 1, column: stride }
    }
}

/// Which part of a product is needed. Tiles wholly outside are not computed; tiles on the edge are
/// computed whole, so operands must be zero, and outputs may hold anything, just beyond the
/// diagonal (less than one tile).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Causal {
    /// All of it.
    Full,
    /// Only outputs (i, j) with j <= i: scores.
    OutputBelow,
    /// Only inner indices p <= i, where `a` is lower triangular: attention times values.
    InnerPast,
    /// Only inner indices p >= i, where `a` is upper triangular: transposed attention times gradients.
    InnerFuture,
}

/// A right operand (k x m) in strips of one tile width, zero-padded to a whole tile.
#[derive(Clone, Debug)]
pub struct Packed<F> {
    data: AlignedVec<F>,
    depth: usize,
    width: usize,
    tile: usize,
}

/// Inner length a microkernel runs at most, so that a strip stays in the first-level cache.
const MAX_DEPTH: usize = 512;
/// Elements of the left operand worked on at a time, so that they stay in the second-level cache.
const BLOCK: usize = 24 * 1024;
/// Rows of the tallest microkernel of any table: the buffer for gathered rows depends on it, and
/// `microkernel.rs` checks every table against it when it is compiled.
pub(crate) const MAX_ROWS: usize = 6;
/// Row blocks gathered at a time, so that cache lines of a transposed left operand are used whole.
const GROUP: usize = 8;

impl<F: Real> Packed<F> {
    /// Room for operands of up to `depth x width`.
    pub fn with_capacity(depth: usize, width: usize) -> Self {
        let tile = F::microkernels().tile;
        Packed { data: AlignedVec::zeros(Self::floats(depth, width)), depth: 0, width: 0, tile }
    }

    /// Elements that `with_capacity(depth, width)` allocates; more than there can be if they cannot be counted.
    pub fn floats(depth: usize, width: usize) -> usize {
        let padded = width.checked_next_multiple_of(F::microkernels().tile);
        padded.and_then(|padded| depth.checked_mul(padded)).unwrap_or(usize::MAX)
    }

    fn shape(&mut self, depth: usize, width: usize) {
        self.tile = F::microkernels().tile;
        assert!(
            Self::floats(depth, width) <= self.data.len(),
            "packing {depth} x {width} into room for {} elements",
            self.data.len()
        );
        (self.depth, self.width) = (depth, width);
    }

    /// Packs the matrix (depth x width) whose rows have `stride` elements.
    pub fn pack(&mut self, source: &[F], stride: usize, depth: usize, width: usize) {
        self.shape(depth, width);
        let tile = self.tile;
        for (strip, first) in self.data.chunks_exact_mut(depth.max(1) * tile).zip((0..width).step_by(tile)) {
            let used = tile.min(width - first);
            if (tile, used) == (16, 16) {
                // The usual tile: a copy of known length is two instructions, not a call.
                for (p, to) in strip.as_chunks_mut::<16>().0.iter_mut().enumerate() {
                    *to = *source[p * stride + first..].first_chunk().unwrap();
                }
                continue;
            }
            for (p, to) in strip.chunks_exact_mut(tile).enumerate() {
                to[..used].copy_from_slice(&source[p * stride + first..][..used]);
                to[used..].fill(F::ZERO);
            }
        }
    }

    /// Packs the transpose of the matrix (width x depth) whose rows have `stride` elements.
    pub fn pack_transposed(&mut self, source: &[F], stride: usize, depth: usize, width: usize) {
        self.shape(depth, width);
        let tile = self.tile;
        for (strip, first) in self.data.chunks_exact_mut(depth.max(1) * tile).zip((0..width).step_by(tile)) {
            let used = tile.min(width - first);
            for start in (0..depth).step_by(BAND) {
                let strip = &mut strip[start * tile..(start + BAND).min(depth) * tile];
                transpose_band(&source[first * stride + start..], stride, used, strip, tile);
            }
            if used < tile {
                for to in strip.chunks_exact_mut(tile) {
                    to[used..].fill(F::ZERO);
                }
            }
        }
    }
}

/// Columns transposed at a time: their cache lines are read whole.
const BAND: usize = 16;

/// source (rows x band, rows of `stride`) -> to (band x tile), its transpose
fn transpose_band<F: Real>(source: &[F], stride: usize, rows: usize, to: &mut [F], tile: usize) {
    let whole = if to.len() == BAND * tile { rows / 8 * 8 } else { 0 };
    for j in (0..whole).step_by(8) {
        transpose_block(&source[j * stride..], stride, &mut to[j..], tile);
    }
    for j in whole..rows {
        for (to, &x) in to[j..].iter_mut().step_by(tile).zip(&source[j * stride..]) {
            *to = x;
        }
    }
}

/// source (8 rows of `stride`, a band each) -> to (a band of rows of `tile`, 8 used)
#[apply(vectorised)]
fn transpose_block<A: Arch, F: Real>(source: &[F], stride: usize, to: &mut [F], tile: usize) {
    let rows: [&[F; BAND]; 8] = std::array::from_fn(|r| source[r * stride..].first_chunk().unwrap());
    for p in 0..BAND {
        *to[p * tile..].first_chunk_mut().unwrap() = rows.map(|row| row[p]);
    }
}

/// Elements from the first to the last of a matrix of at least one element; None if they cannot be counted.
fn extent(rows: usize, row: usize, columns: usize, column: usize) -> Option<usize> {
    (rows - 1).checked_mul(row)?.checked_add((columns - 1).checked_mul(column)?)?.checked_add(1)
}

/// c (n x m, rows of `stride`) = a (n x k) . p (k x m), or `+=` if `accumulate`.
pub fn product<F: Real>(
    c: &mut [F],
    stride: usize,
    n: usize,
    a: View<'_, F>,
    p: &Packed<F>,
    accumulate: bool,
    causal: Causal,
) {
    let (k, m) = (p.depth, p.width);
    if n == 0 || m == 0 {
        return;
    }
    let fits = m <= stride && extent(n, stride, m, 1).is_some_and(|len| len <= c.len());
    assert!(fits, "product: output {n} x {m} does not fit");
    if k == 0 {
        if !accumulate {
            (0..n).for_each(|i| c[i * stride..][..m].fill(F::ZERO));
        }
        return;
    }
    assert!(
        a.row == 1 || a.column == 1,
        "product: the left operand has neither rows nor columns in one piece"
    );
    assert!(
        extent(n, a.row, k, a.column).is_some_and(|len| len <= a.data.len()),
        "product: left operand is shorter than {n} x {k}"
    );
    assert_eq!(
        p.tile,
        F::microkernels().tile,
        "product: the right operand was packed for another instruction set"
    );
    let job = Job { kernels: F::microkernels(), c: c.as_mut_ptr(), stride, n, a, p, causal };
    let chunk = k.div_ceil(k.div_ceil(MAX_DEPTH));
    for first in (0..k).step_by(chunk) {
        let inner = first..(first + chunk).min(k);
        let add = accumulate || first > 0;
        if a.column == 1 { job.by_strips(inner, add) } else { job.by_columns(inner, add) }
    }
}

struct Job<'a, F: Real> {
    kernels: &'static Microkernels<F>,
    c: *mut F,
    stride: usize,
    n: usize,
    a: View<'a, F>,
    p: &'a Packed<F>,
    causal: Causal,
}

impl<F: Real> Job<'_, F> {
    /// Strip by strip over a block of rows: the strip stays in the first-level
    /// cache, the block in the second.
    fn by_strips(&self, inner: Range<usize>, add: bool) {
        let rows = self.kernels.rows;
        let block = (BLOCK / inner.len()).max(1).next_multiple_of(rows);
        for block_start in (0..self.n).step_by(block) {
            let block_end = self.n.min(block_start + block);
            for (strip, first) in (0..self.p.width).step_by(self.p.tile).enumerate() {
                let below = self.causal == Causal::OutputBelow;
                let mut i = if below { block_start.max(first / rows * rows) } else { block_start };
                let strip = self.strip(strip, add);
                while i < block_end {
                    let inner = self.needed(i, &inner);
                    let a = self.a.data[i * self.a.row + inner.start..].as_ptr();
                    self.tile(&strip, i, inner, a, 1, self.a.row);
                    i += rows;
                }
            }
        }
    }

    /// For a left operand whose columns are contiguous: a group of row blocks at a time is gathered into a
    /// buffer, then every strip passes over the group.
    fn by_columns(&self, inner: Range<usize>, add: bool) {
        let rows = self.kernels.rows;
        // Not initialized: `gather` fills what the tiles read.
        let mut buffer = [const { MaybeUninit::<F>::uninit() }; GROUP * MAX_ROWS * MAX_DEPTH];
        for group in (0..self.n).step_by(GROUP * rows) {
            let end = self.n.min(group + GROUP * rows);
            // The first block of a group needs the most of the future, the last the most of the past.
            let inner = self.needed(group, &inner).start..self.needed(end - 1, &inner).end;
            let block_len = rows * inner.len();
            self.gather(group..end, &inner, &mut buffer);
            for strip in 0..self.p.width.div_ceil(self.p.tile) {
                let strip = self.strip(strip, add);
                let (mut i, mut block) = (group, 0);
                while i < end {
                    let needed = self.needed(i, &inner);
                    let skipped = rows * (needed.start - inner.start);
                    let a = buffer[block + skipped..].as_ptr().cast();
                    self.tile(&strip, i, needed, a, rows, 1);
                    (i, block) = (i + rows, block + block_len);
                }
            }
        }
    }

    /// Copies rows of the left operand over `inner` to `buffer`: block by block of `kernels.rows` rows, for
    /// each inner index the values of the block's rows. Missing rows of the last block are left alone.
    fn gather(&self, rows: Range<usize>, inner: &Range<usize>, buffer: &mut [MaybeUninit<F>]) {
        let (height, block_len) = (self.kernels.rows, self.kernels.rows * inner.len());
        let whole = rows.len() / height;
        for (p, at) in inner.clone().zip((0..).step_by(height)) {
            let from = &self.a.data[rows.start + p * self.a.column..][..rows.len()];
            // The next rows lie too far apart for the hardware to foresee.
            prefetch(from.as_ptr().wrapping_add(8 * self.a.column), 16, rows.len().div_ceil(16));
            match height {
                // The height of the AVX microkernels: a copy of known length is a few instructions.
                6 => {
                    for (block, from) in from.as_chunks::<6>().0.iter().enumerate() {
                        let to = &mut buffer[block * block_len + at..];
                        *to.first_chunk_mut().unwrap() = from.map(MaybeUninit::new);
                    }
                }
                _ => {
                    for (block, from) in from.chunks_exact(height).enumerate() {
                        write(from, &mut buffer[block * block_len + at..]);
                    }
                }
            }
            // Where all blocks are whole the buffer may end here.
            if whole * height < from.len() {
                write(&from[whole * height..], &mut buffer[whole * block_len + at..]);
            }
        }
    }

    /// The inner indices that rows `i..i + rows` need, within `inner`; empty ranges stand at its start.
    #[inline]
    fn needed(&self, i: usize, inner: &Range<usize>) -> Range<usize> {
        match self.causal {
            Causal::Full | Causal::OutputBelow => inner.clone(),
            Causal::InnerPast => inner.start..inner.end.min(i + self.kernels.rows).max(inner.start),
            Causal::InnerFuture => inner.start.max(i).min(inner.end)..inner.end,
        }
    }

    fn strip(&self, index: usize, add: bool) -> Strip<'_, F> {
        let (tile, depth) = (self.p.tile, self.p.depth);
        let width = tile.min(self.p.width - index * tile);
        Strip {
            values: &self.p.data[index * depth * tile..][..depth * tile],
            first: index * tile,
            width,
            kernel: self.kernels.pick(width, self.kernels.rows),
            alpha: if add { F::ONE } else { F::ZERO },
            status: u8::from(add),
        }
    }

    /// One tile: rows from `i`, outputs of `strip`, over `inner`; element (r, p) of the left operand is
    /// `a[r * a_row + p * a_inner]`.
    #[inline]
    fn tile(
        &self,
        strip: &Strip<'_, F>,
        i: usize,
        inner: Range<usize>,
        a: *const F,
        a_inner: usize,
        a_row: usize,
    ) {
        let rows = self.kernels.rows.min(self.n - i);
        let kernel =
            if rows == self.kernels.rows { strip.kernel } else { self.kernels.pick(strip.width, rows) };
        // SAFETY: `product` checked that `c` holds n rows of `stride` with `width` outputs each, that `a`
        // covers n rows over the whole inner length (`by_columns` passes a gathered block of it), and that
        // the strip is `depth x tile` elements of the packed operand, zero-padded to a whole tile. The
        // microkernel reads and writes only `rows x width` outputs. It was compiled for instructions that
        // `arch::detect` found here.
        unsafe {
            let c = self.c.add(i * self.stride + strip.first);
            prefetch(c, self.stride, rows);
            kernel(
                strip.width,
                rows,
                inner.len(),
                c,
                strip.values.as_ptr().add(inner.start * self.p.tile),
                a,
                self.stride as isize,
                1,
                self.p.tile as isize,
                a_inner as isize,
                a_row as isize,
                strip.alpha,
                F::ONE,
                strip.status,
                false,
                false,
                false,
                std::ptr::null(),
            );
        }
    }
}

/// A strip of the right operand and what all its tiles share.
struct Strip<'a, F> {
    values: &'a [F],
    /// First output.
    first: usize,
    width: usize,
    kernel: MicroKernelFn<F>,
    /// What the output is multiplied by before the product is added, and whether that is 0 or 1.
    alpha: F,
    status: u8,
}

#[inline]
fn write<F: Copy>(from: &[F], to: &mut [MaybeUninit<F>]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = MaybeUninit::new(from);
    }
}

/// Asks for `rows` cache lines `stride` apart, to be there when they are needed.
#[inline(always)]
fn prefetch<F>(c: *const F, stride: usize, rows: usize) {
    #[cfg(target_arch = "x86_64")]
    for r in 0..rows {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint: it faults at no address, and reads nothing the program sees.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(c.wrapping_add(r * stride).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (c, stride, rows);
}
