//! AdamW over a whole arena. Another optimizer is another file like this one.

use kuramoto_kernels::Real;
use kuramoto_kernels::adamw::{self, AdamW};
use kuramoto_model::{Layout, ParameterKind, Tensor};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// What the learning rate of some tensors is multiplied by: those with this part in their name.
pub type Multipliers = BTreeMap<String, f64>;

/// Elements a thread works on at a time in sums and updates; part of the order of sums.
pub(crate) const CHUNK: usize = 1 << 15;

/// One optimizer update.
#[derive(Clone, Copy, Debug)]
pub struct Update<'a> {
    /// Learning rate.
    pub learning_rate: f64,
    /// What it is multiplied by for some tensors.
    pub multipliers: &'a Multipliers,
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Added to the root of the second moment.
    pub epsilon: f64,
    /// Decoupled weight decay of the parameters that `decays` names.
    pub weight_decay: f64,
    /// Which kinds of parameters decay.
    pub decays: fn(ParameterKind) -> bool,
    /// Largest global gradient norm; larger gradients are scaled down to it.
    pub clip: Option<f64>,
    /// Which update this is, from 1.
    pub step: u64,
}

/// No tensor has a learning rate of its own.
const NO_MULTIPLIERS: &Multipliers = &Multipliers::new();

impl Default for Update<'_> {
    fn default() -> Self {
        Update {
            learning_rate: 1e-3,
            multipliers: NO_MULTIPLIERS,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            weight_decay: 0.01,
            decays: |_| true,
            clip: Some(1.0),
            step: 1,
        }
    }
}

impl Update<'_> {
    /// The learning rate of a tensor.
    pub fn learning_rate_of(&self, tensor: &Tensor) -> f64 {
        let of_part = |part| self.multipliers.get(part).copied().unwrap_or(1.0);
        self.learning_rate * tensor.parts().map(of_part).product::<f64>()
    }

    /// The decay of a tensor.
    pub fn weight_decay_of(&self, tensor: &Tensor) -> f64 {
        if (self.decays)(tensor.kind) { self.weight_decay } else { 0.0 }
    }

    /// What a gradient of this norm is multiplied by.
    pub fn gradient_scale(&self, norm: f64) -> f64 {
        match self.clip {
            // As PyTorch's clip_grad_norm_ does, so that traces can be compared.
            Some(clip) => (clip / (norm + 1e-6)).min(1.0),
            None => 1.0,
        }
    }

    /// Applies it to an arena on the threads of the current pool.
    pub(crate) fn apply<F: Real>(
        &self,
        layout: &Layout,
        norm: f64,
        gradient: &[F],
        (first, second): (&mut [F], &mut [F]),
        parameters: &mut [F],
    ) {
        let gradient_scale = self.gradient_scale(norm);
        let adamw = |tensor: &Tensor| AdamW {
            learning_rate: self.learning_rate_of(tensor),
            beta1: self.beta1,
            beta2: self.beta2,
            epsilon: self.epsilon,
            weight_decay: self.weight_decay_of(tensor),
            gradient_scale,
            step: self.step,
        };
        let tensors = layout.tensors();
        let moments = first.par_chunks_mut(CHUNK).zip(second.par_chunks_mut(CHUNK));
        let chunks = parameters.par_chunks_mut(CHUNK).zip(gradient.par_chunks(CHUNK)).zip(moments);
        chunks.enumerate().for_each(|(index, ((parameters, gradient), (first, second)))| {
            let start = index * CHUNK;
            let mut done = 0;
            let at = tensors.partition_point(|tensor| tensor.slot.start + tensor.slot.len <= start);
            for tensor in &tensors[at..] {
                if done == parameters.len() {
                    break;
                }
                let end = (tensor.slot.start + tensor.slot.len - start).min(parameters.len());
                let part = done..end;
                adamw::update(
                    &adamw(tensor),
                    &mut parameters[part.clone()],
                    &gradient[part.clone()],
                    &mut first[part.clone()],
                    &mut second[part],
                );
                done = end;
            }
        });
    }
}
