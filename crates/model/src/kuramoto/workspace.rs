//! One sequence's activations: what the forward pass saves for the backward pass, and scratch.

use super::Kuramoto;
use crate::workspace::buffers;
use kuramoto_kernels::{AlignedVec, Packed, Real};

/// The sizes buffers are made of.
pub(super) struct Sizes {
    /// T, the planned context.
    t: usize,
    /// V, the vocabulary.
    v: usize,
    /// k, oscillators per token.
    k: usize,
    /// Outputs of all gate maps together.
    m: usize,
    /// h, the heads.
    h: usize,
    /// Length of a row of query or key phasors.
    row: usize,
    /// Values of contracted frames per token that attention averages, 2 r h or 0.
    frames: usize,
    /// Values of a token that were turned by drift, 2k or 0.
    turned: usize,
    /// Length of a row of the coupling.
    stride: usize,
    /// Lifted phases of a token that the feed-forward block reads, 2k or 0.
    middle_psi: usize,
    /// Outputs of the SwiGLU's gate and up maps together, twice its hidden width; 0 without a SwiGLU.
    gate_up: usize,
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
            frames: model.value_frames(),
            turned: if config.drift_in_values { 2 * config.width } else { 0 },
            stride: model.attention_stride(),
            middle_psi: if config.feed_forward.reads_lift() { 2 * config.width } else { 0 },
            gate_up: if config.feed_forward.is_swiglu() { 4 * config.width } else { 0 },
        }
    }
}

buffers! {
    /// What one layer saves for the backward pass. The glossary is in [`super`].
    pub(super) struct Layer(s: &Sizes) {
        psi: s.t * 2 * s.k,
        /// Its query and key sections become slopes of the activation once the gates are computed.
        preactivations: s.t * s.m,
        query_gate: s.t * s.k,
        key_gate: s.t * s.k,
        inverse_mean_query: s.t * s.h,
        inverse_mean_key: s.t * s.h,
        coupling: s.h * s.t * s.stride,
        resultant: s.t * 2 * s.k,
        /// F^T psi, what attention averages besides psi where there is a transport frame.
        contracted_values: s.t * s.frames,
        contracted_mean: s.t * s.frames,
        update: s.t * s.k,
        update_rms: s.t,
        middle: s.t * s.k,
        middle_psi: s.t * s.middle_psi,
        gate_up: s.t * s.gate_up,
        feed_forward: s.t * s.k,
        feed_forward_rms: s.t,
    }
}

buffers! {
    /// What is used and forgotten within a pass; `dx` is the gradient of `x`.
    pub(super) struct Scratch(s: &Sizes) {
        /// Stands in for absent gates.
        ones: s.t * s.k,
        theta: s.t * s.k,
        /// Phasors are cheaper to compute again in the backward pass than to keep for every layer.
        query: s.t * s.row,
        key: s.t * s.row,
        turned: s.t * s.turned,
        /// psi of the last state.
        final_psi: s.t * 2 * s.k,
        /// What dropout leaves of one head's coupling, rescaled.
        kept_coupling: s.t * s.stride,
        /// silu(gate) up of the SwiGLU.
        hidden: s.t * s.gate_up / 2,
        dhidden: s.t * s.gate_up / 2,
        dgate_up: s.t * s.gate_up,
        logit_row: s.v,
        dtheta: s.t * s.k,
        /// Of `update` or of `feed_forward`, before their bounds.
        dincrement: s.t * s.k,
        dpsi: s.t * 2 * s.k,
        dresultant: s.t * 2 * s.k,
        dcontracted_values: s.t * s.frames,
        dcontracted_mean: s.t * s.frames,
        dquery: s.t * s.row,
        dkey: s.t * s.row,
        dquery_gate: s.t * s.k,
        dkey_gate: s.t * s.k,
        dpreactivations: s.t * s.m,
        /// The gradient of drift rates that are not learned goes here.
        fixed_domega: s.k,
        /// Of one head; then of its scores.
        dcoupling: s.t * s.stride,
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

    /// Room for any activation as a right operand: (T x width) for gradients of
    /// weights, (row x T) for scores.
    fn packed(s: &Sizes) -> (usize, usize) {
        // Transposed operands pad T instead of the width; a spare tile covers both.
        (s.t + 64, (2 * s.k).max(s.row).max(s.gate_up / 2) + 64)
    }
}
