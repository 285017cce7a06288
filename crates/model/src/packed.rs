//! Weights packed for both directions of a linear map.

use kuramoto_kernels::{Packed, Real};

/// A linear map y = x W^T packed for both directions.
#[derive(Debug)]
pub(crate) struct PackedMap<F> {
    /// (in x out), for y = x W^T.
    pub forward: Packed<F>,
    /// (out x in), for dx = dy W.
    pub backward: Packed<F>,
}

impl<F: Real> PackedMap<F> {
    pub fn new(outputs: usize, inputs: usize) -> Self {
        PackedMap {
            forward: Packed::with_capacity(inputs, outputs),
            backward: Packed::with_capacity(outputs, inputs),
        }
    }

    pub fn floats(outputs: usize, inputs: usize) -> usize {
        Packed::<F>::floats(inputs, outputs) + Packed::<F>::floats(outputs, inputs)
    }

    /// weight (outputs x inputs)
    pub fn pack(&mut self, weight: &[F], outputs: usize, inputs: usize) {
        self.forward.pack_transposed(weight, inputs, inputs, outputs);
        self.backward.pack(weight, inputs, outputs, inputs);
    }
}
