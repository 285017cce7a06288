//! One sequence's activations: what the forward pass saves for the backward pass, and scratch.

use super::Transformer;
use crate::workspace::buffers;
use kuramoto_kernels::{AlignedVec, Packed, Real};

/// The sizes buffers are made of.
pub(super) struct Sizes {
    /// T, the planned context.
    t: usize,
    v: usize,
    d: usize,
    h: usize,
    /// Length of an attention row.
    stride: usize,
}

impl Sizes {
    /// Sizes for one token at a time.
    pub fn for_one_token(model: &Transformer) -> Self {
        Sizes { t: 1, ..Sizes::for_model(model) }
    }

    pub fn for_model(model: &Transformer) -> Self {
        let config = &model.config;
        Sizes {
            t: model.context,
            v: config.vocab,
            d: config.width,
            h: config.heads,
            stride: model.attention_stride(),
        }
    }
}

buffers! {
    /// What one layer saves.
    pub(super) struct Layer(s: &Sizes) {
        normal1: s.t * s.d,
        inverse_sd1: s.t,
        qkv: s.t * 3 * s.d,
        a: s.h * s.t * s.stride,
        o: s.t * s.d,
        normal2: s.t * s.d,
        inverse_sd2: s.t,
        wide: s.t * 8 * s.d,
    }
}

buffers! {
    /// What is used and forgotten within a pass.
    pub(super) struct Scratch(s: &Sizes) {
        x: s.t * s.d,
        /// A normalized stream after scale and bias.
        y: s.t * s.d,
        /// An increment before dropout.
        z: s.t * s.d,
        normal: s.t * s.d,
        inverse_sd: s.t,
        coupled: s.t * s.stride,
        hidden: s.t * 4 * s.d,
        dhidden: s.t * 4 * s.d,
        dwide: s.t * 8 * s.d,
        spare: s.v,
        dx: s.t * s.d,
        dz: s.t * s.d,
        dy: s.t * s.d,
        dqkv: s.t * 3 * s.d,
        da: s.t * s.stride,
    }
}

/// One sequence's activations.
#[derive(Debug)]
pub struct Workspace<F> {
    pub(super) layers: Vec<Layer<F>>,
    pub(super) scratch: Scratch<F>,
    /// Logits (T x V).
    pub(super) logits: AlignedVec<F>,
    /// The right operand of a product between activations.
    pub(super) packed: Packed<F>,
    /// Nats per token.
    pub(super) losses: Vec<f64>,
}

impl<F: Real> Workspace<F> {
    pub(super) fn new(model: &Transformer) -> Self {
        let sizes = Sizes::for_model(model);
        let (depth, width) = Self::packed(&sizes);
        Workspace {
            layers: (0..model.config.layers).map(|_| Layer::new(&sizes)).collect(),
            scratch: Scratch::new(&sizes),
            logits: AlignedVec::zeros(sizes.t * sizes.v),
            packed: Packed::with_capacity(depth, width),
            losses: vec![0.0; sizes.t],
        }
    }

    pub(super) fn bytes(model: &Transformer) -> usize {
        let sizes = Sizes::for_model(model);
        let (depth, width) = Self::packed(&sizes);
        let floats = model.config.layers * Layer::<F>::floats(&sizes)
            + Scratch::<F>::floats(&sizes)
            + sizes.t * sizes.v
            + Packed::<F>::floats(depth, width);
        floats * size_of::<F>() + sizes.t * size_of::<f64>()
    }

    /// Room for any activation as a right operand: (T x 4d) for gradients of weights, (d x T) for scores.
    fn packed(s: &Sizes) -> (usize, usize) {
        // Transposed operands pad T instead of the width; a spare tile covers both.
        (s.t + 64, 4 * s.d + 64)
    }
}
