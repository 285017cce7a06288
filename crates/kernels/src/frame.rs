//! The low-rank transport frame F_t in R^{kh x r} of a head, for Table 3's row "low-rank value transport"
//! (Section 4.3): contraction F^T z of phasors and expansion F y back.
//!
//! A frame's row holds, for each of kh coordinates, r values. Phasors are kh real and kh imaginary parts,
//! contracted ones r real and r imaginary parts. F is real, so both parts contract alike.

use crate::Real;

/// One token's frame in one head.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a, F> {
    /// kh x rank.
    pub values: &'a [F],
    /// Columns r.
    pub rank: usize,
}

impl<F: Real> Frame<'_, F> {
    /// Table 3, into the frame: re, im (kh each) -> y (2r) += scale F^T (re, im)
    pub fn contract(&self, re: &[F], im: &[F], scale: F, y: &mut [F]) {
        let (y_re, y_im) = y.split_at_mut(self.rank);
        for ((frame, &re), &im) in self.values.chunks_exact(self.rank).zip(re).zip(im) {
            for c in 0..self.rank {
                y_re[c] += scale * frame[c] * re;
                y_im[c] += scale * frame[c] * im;
            }
        }
    }

    /// Table 3, out of the frame: y (2r) -> re, im (kh each) += F y
    pub fn expand(&self, y: &[F], re: &mut [F], im: &mut [F]) {
        let (y_re, y_im) = y.split_at(self.rank);
        for ((frame, re), im) in self.values.chunks_exact(self.rank).zip(re).zip(im) {
            for c in 0..self.rank {
                *re += frame[c] * y_re[c];
                *im += frame[c] * y_im[c];
            }
        }
    }
}

/// Table 3, gradient of the frame in both `contract` (y = dy) and `expand` (re, im = their gradients): an
/// outer product. re, im (kh each), y (2r) -> dframe (kh x r)
pub fn backward<F: Real>(rank: usize, re: &[F], im: &[F], y: &[F], dframe: &mut [F]) {
    let (y_re, y_im) = y.split_at(rank);
    for ((dframe, &re), &im) in dframe.chunks_exact_mut(rank).zip(re).zip(im) {
        for c in 0..rank {
            dframe[c] += re * y_re[c] + im * y_im[c];
        }
    }
}
