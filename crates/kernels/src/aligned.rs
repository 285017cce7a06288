//! Buffers that start on a cache line, so that no vector load straddles two.

use crate::Real;
use std::fmt;
use std::ops::{Deref, DerefMut};

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line<F>([F; LINE]);

// SAFETY: it is an array of `F` and nothing else, so all of it may be zero bytes if an `F` may.
unsafe impl<F: bytemuck::Zeroable> bytemuck::Zeroable for Line<F> {}

/// Elements a line: one cache line of `f32`, two of `f64`.
const LINE: usize = 16;

/// A fixed-length vector of zeros to start with, aligned to 64 bytes.
pub struct AlignedVec<F> {
    lines: Vec<Line<F>>,
    len: usize,
}

impl<F: Real> AlignedVec<F> {
    /// `len` zeros. A system with several memory nodes gives memory where it is first touched, so nothing is
    /// touched here: what one thread alone works on, as in a workspace, will lie near it.
    pub fn zeros(len: usize) -> Self {
        AlignedVec { lines: bytemuck::zeroed_vec(len.div_ceil(LINE)), len }
    }

    /// A copy of `values`.
    pub fn from_slice(values: &[F]) -> Self {
        let mut vec = Self::zeros(values.len());
        vec.copy_from_slice(values);
        vec
    }
}

impl<F> Deref for AlignedVec<F> {
    type Target = [F];

    #[inline]
    fn deref(&self) -> &[F] {
        // SAFETY: `lines` holds at least `len` initialized values back to back: `Line` is
        // `repr(C)` and its size (16 values of 4 or 8 bytes) is a multiple of its alignment, so
        // there is no padding between lines.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl<F> DerefMut for AlignedVec<F> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [F] {
        // SAFETY: as in `deref`; the borrow is unique.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

impl<F: Clone> Clone for AlignedVec<F> {
    fn clone(&self) -> Self {
        AlignedVec { lines: self.lines.clone(), len: self.len }
    }
}

impl<F: fmt::Debug> fmt::Debug for AlignedVec<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
