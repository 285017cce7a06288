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

/// One head's attention for a sequence of `n`: its rows are `stride` apart.
#[derive(Clone, Copy)]
pub(crate) struct Head {
    pub n: usize,
    pub stride: usize,
}

impl Head {
    /// Equation (1), score and A: query, key (n x width) -> coupling (n x n), softmaxed
    pub fn couple<F: Real>(
        self,
        query: Columns<F>,
        key: Columns<F>,
        coupling: &mut [F],
        packed: &mut Packed<F>,
    ) {
        self.dot(query, key, coupling, packed, false);
        couple::forward(self.n, coupling, self.stride);
    }

    /// left, right (n x width) -> scores (n x n) = left right^T below the diagonal
    pub fn dot<F: Real>(
        self,
        left: Columns<F>,
        right: Columns<F>,
        scores: &mut [F],
        packed: &mut Packed<F>,
        accumulate: bool,
    ) {
        packed.pack_transposed(right.data, right.stride, right.width, self.n);
        product(scores, self.stride, self.n, left.rows(), packed, accumulate, Causal::OutputBelow);
    }

    /// Equation (1), G: coupling (n x n), values (n x width) -> mean (n x width) = coupling values
    pub fn mix<F: Real>(
        self,
        coupling: &[F],
        values: Columns<F>,
        mean: ColumnsMut<F>,
        packed: &mut Packed<F>,
    ) {
        packed.pack(values.data, values.stride, self.n, values.width);
        let coupling = View::rows(coupling, self.stride);
        product(mean.data, mean.stride, self.n, coupling, packed, false, Causal::InnerPast);
    }

    /// coupling (n x n), dmean (n x width) -> dvalues (n x width) = coupling^T dmean
    pub fn mix_back<F: Real>(
        self,
        coupling: &[F],
        dmean: Columns<F>,
        dvalues: ColumnsMut<F>,
        packed: &mut Packed<F>,
    ) {
        packed.pack(dmean.data, dmean.stride, self.n, dmean.width);
        let coupling = View::transposed(coupling, self.stride);
        product(dvalues.data, dvalues.stride, self.n, coupling, packed, false, Causal::InnerFuture);
    }
}
