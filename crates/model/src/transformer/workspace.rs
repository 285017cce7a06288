//! One sequence's activations: what the forward pass saves for the backward pass, and scratch.

use super::Transformer;
use crate::workspace::buffers;
use kuramoto_kernels::{AlignedVec, Packed, Real};

/// The sizes buffers are made of.
pub(super) struct Sizes {
    /// T, the planned context.
    t: usize,
    /// V, the vocabulary.
    v: usize,
    /// d, the width.
    d: usize,
    /// h, the heads.
    h: usize,
    /// Length of a row of the attention.
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
    /// What one layer saves for the backward pass. The glossary is in [`super`].
    pub(super) struct Layer(s: &Sizes) {
        /// Of the norm before attention.
        normal1: s.t * s.d,
        inverse_sd1: s.t,
        qkv: s.t * 3 * s.d,
        attention: s.h * s.t * s.stride,
        mixed: s.t * s.d,
        /// Of the norm before the feed-forward block.
        normal2: s.t * s.d,
        inverse_sd2: s.t,
        gate_up: s.t * 8 * s.d,
    }
}

buffers! {
    /// What is used and forgotten within a pass; `dx` is the gradient of `x`.
    pub(super) struct Scratch(s: &Sizes) {
        stream: s.t * s.d,
        /// Also room for the next state of the stream.
        normalized: s.t * s.d,
        /// Before dropout.
        increment: s.t * s.d,
        final_normal: s.t * s.d,
        final_inverse_sd: s.t,
        /// What dropout leaves of one head's attention, rescaled.
        kept_attention: s.t * s.stride,
        /// silu(gate) up of the SwiGLU.
        hidden: s.t * 4 * s.d,
        dhidden: s.t * 4 * s.d,
        dgate_up: s.t * 8 * s.d,
        logit_row: s.v,
        dstream: s.t * s.d,
        dincrement: s.t * s.d,
        /// Of `normalized`, or of `mixed`.
        dnormalized: s.t * s.d,
        dqkv: s.t * 3 * s.d,
        /// Of one head; then of its scores.
        dattention: s.t * s.stride,
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
