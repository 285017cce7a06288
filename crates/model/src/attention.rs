//! The causal products of one attention head, shared by both models.

use kuramoto_kernels::product::product;
use kuramoto_kernels::{Causal, Packed, Real, View, couple};

/// A head's columns of a matrix: `data` starts at its first column, rows are `stride` apart.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'a, F> {
    pub data: &'a [F],
    pub stride: usize,
    pub width: usize,
}

impl<'a, F> Columns<'a, F> {
    pub fn new(data: &'a [F], stride: usize, first: usize, width: usize) -> Self {
        // An empty matrix has no columns to skip.
        Columns { data: data.get(first..).unwrap_or_default(), stride, width }
    }

    fn rows(&self) -> View<'a, F> {
        View::rows(self.data, self.stride)
    }
}

/// A head's columns of a matrix, to write.
pub(crate) struct ColumnsMut<'a, F> {
    pub data: &'a mut [F],
    pub stride: usize,
}

impl<'a, F> ColumnsMut<'a, F> {
    pub fn new(data: &'a mut [F], stride: usize, first: usize) -> Self {
        ColumnsMut { data: &mut data[first..], stride }
    }
}

/// One head's attention for a sequence of `n`: rows are `stride` apart.
#[derive(Clone, Copy)]
pub(crate) struct Head {
    pub n: usize,
    pub stride: usize,
}

impl Head {
    /// q, key (n x width) -> a (n x n), softmaxed
    pub fn couple<F: Real>(self, q: Columns<F>, key: Columns<F>, a: &mut [F], packed: &mut Packed<F>) {
        self.dot(q, key, a, packed, false);
        couple::forward(self.n, a, self.stride);
    }

    /// x, y (n x width) -> s (n x n) = x y^T below the diagonal
    pub fn dot<F: Real>(
        self,
        x: Columns<F>,
        y: Columns<F>,
        s: &mut [F],
        packed: &mut Packed<F>,
        accumulate: bool,
    ) {
        packed.pack_transposed(y.data, y.stride, y.width, self.n);
        product(s, self.stride, self.n, x.rows(), packed, accumulate, Causal::OutputBelow);
    }

    /// a (n x n), values (n x width) -> out (n x width) = a values
    pub fn mix<F: Real>(self, a: &[F], values: Columns<F>, out: ColumnsMut<F>, packed: &mut Packed<F>) {
        packed.pack(values.data, values.stride, self.n, values.width);
        product(out.data, out.stride, self.n, View::rows(a, self.stride), packed, false, Causal::InnerPast);
    }

    /// a (n x n), dout (n x width) -> dvalues (n x width) = a^T dout
    pub fn mix_back<F: Real>(
        self,
        a: &[F],
        dout: Columns<F>,
        dvalues: ColumnsMut<F>,
        packed: &mut Packed<F>,
    ) {
        packed.pack(dout.data, dout.stride, self.n, dout.width);
        let a = View::transposed(a, self.stride);
        product(dvalues.data, dvalues.stride, self.n, a, packed, false, Causal::InnerFuture);
    }
}
