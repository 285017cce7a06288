//! One sequence's activations: what the forward pass saves for the backward pass, and scratch.

use super::Kuramoto;
use crate::config::FeedForward;
use crate::workspace::buffers;
use kuramoto_kernels::{AlignedVec, Packed, Real};

/// The sizes buffers are made of.
pub(super) struct Sizes {
    /// T, the planned context.
    t: usize,
    v: usize,
    k: usize,
    /// Columns of `pre`.
    m: usize,
    h: usize,
    /// Length of a q~ or k~ row.
    row: usize,
    /// Values of contracted frames per token, 2 r h.
    frames: usize,
    /// Length of an attention row.
    stride: usize,
    /// Outputs of the feed-forward block's first map; its hidden width is half of it.
    wide: usize,
}

impl Sizes {
    /// Sizes for one token at a time.
    pub fn for_one_token(model: &Kuramoto) -> Self {
        Sizes { t: 1, ..Sizes::for_model(model) }
    }

    pub fn for_model(model: &Kuramoto) -> Self {
        let (config, heads) = (&model.config, model.heads());
        Sizes {
            t: model.context,
            v: config.vocab,
            k: config.width,
            m: model.slots.sections.total,
            h: config.heads,
            row: heads.row(),
            frames: heads.extra * config.heads,
            stride: model.attention_stride(),
            wide: if config.feed_forward == FeedForward::Swiglu { 4 * config.width } else { 0 },
        }
    }
}

buffers! {
    /// What one layer saves.
    pub(super) struct Layer(s: &Sizes) {
        psi: s.t * 2 * s.k,
        pre: s.t * s.m,
        gq: s.t * s.k,
        gk: s.t * s.k,
        inverse_mean_q: s.t * s.h,
        inverse_mean_k: s.t * s.h,
        a: s.h * s.t * s.stride,
        g: s.t * 2 * s.k,
        /// F^T psi, the contracted values of the transport frame.
        framed: s.t * s.frames,
        /// A times `framed`.
        framed_mean: s.t * s.frames,
        u: s.t * s.k,
        rms1: s.t,
        mid: s.t * s.k,
        wide: s.t * s.wide,
        y: s.t * s.k,
        rms2: s.t,
    }
}

buffers! {
    /// What is used and forgotten within a pass.
    pub(super) struct Scratch(s: &Sizes) {
        /// Stands in for absent gates.
        ones: s.t * s.k,
        theta: s.t * s.k,
        /// Cheaper to compute again in the backward pass than to keep for every layer.
        q: s.t * s.row,
        key: s.t * s.row,
        /// psi of the last state.
        psi: s.t * 2 * s.k,
        coupled: s.t * s.stride,
        hidden: s.t * s.wide / 2,
        dhidden: s.t * s.wide / 2,
        dwide: s.t * s.wide,
        spare: s.v,
        dtheta: s.t * s.k,
        dx: s.t * s.k,
        dpsi: s.t * 2 * s.k,
        dg: s.t * 2 * s.k,
        dframed: s.t * s.frames,
        dframed_mean: s.t * s.frames,
        dq: s.t * s.row,
        dkey: s.t * s.row,
        dgq: s.t * s.k,
        dgk: s.t * s.k,
        dpre: s.t * s.m,
        da: s.t * s.stride,
    }
}

/// One sequence's activations.
#[derive(Debug)]
pub struct Workspace<F> {
    pub(super) layers: Vec<Layer<F>>,
    pub(super) scratch: Scratch<F>,
    /// Raw logits (T x V).
    pub(super) logits: AlignedVec<F>,
    /// The right operand of a product between activations.
    pub(super) packed: Packed<F>,
    /// Nats per token.
    pub(super) losses: Vec<f64>,
}

impl<F: Real> Workspace<F> {
    pub(super) fn new(model: &Kuramoto) -> Self {
        let sizes = Sizes::for_model(model);
        let mut scratch = Scratch::new(&sizes);
        scratch.ones.fill(F::ONE);
        let (depth, width) = Self::packed(&sizes);
        Workspace {
            layers: (0..model.config.layers).map(|_| Layer::new(&sizes)).collect(),
            scratch,
            logits: AlignedVec::zeros(sizes.t * sizes.v),
            packed: Packed::with_capacity(depth, width),
            losses: vec![0.0; sizes.t],
        }
    }

    pub(super) fn bytes(model: &Kuramoto) -> usize {
        let sizes = Sizes::for_model(model);
        let (depth, width) = Self::packed(&sizes);
        let floats = model.config.layers * Layer::<F>::floats(&sizes)
            + Scratch::<F>::floats(&sizes)
            + sizes.t * sizes.v
            + Packed::<F>::floats(depth, width);
        floats * size_of::<F>() + sizes.t * size_of::<f64>()
    }

    /// Room for any activation as a right operand: (T x width) for gradients of weights, (row x T) for
    /// scores.
    fn packed(s: &Sizes) -> (usize, usize) {
        // Transposed operands pad T instead of the width; a spare tile covers both.
        (s.t + 64, (2 * s.k).max(s.row).max(s.wide / 2) + 64)
    }
}
