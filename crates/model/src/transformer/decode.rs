//! Cached decoding: each token leaves its keys and values behind, layer by layer.

use super::workspace::{Layer, Scratch, Sizes};
use super::{Pass, Transformer};
use crate::hooks::NoHooks;
use kuramoto_kernels::{AlignedVec, Real, couple, linear};

/// What decoding keeps of the bytes so far.
#[derive(Debug)]
pub struct Cache<F> {
    /// Keys and values (T x 2d) of every layer.
    past: Vec<AlignedVec<F>>,
    /// The current token's activations, one layer at a time.
    layer: Layer<F>,
    scratch: Scratch<F>,
    weights: AlignedVec<F>,
    logits: AlignedVec<F>,
}

impl<F: Real> Cache<F> {
    pub(super) fn new(model: &Transformer) -> Self {
        let sizes = Sizes::for_one_token(model);
        let past = || AlignedVec::zeros(model.context * 2 * model.config.width);
        Cache {
            past: (0..model.config.layers).map(|_| past()).collect(),
            layer: Layer::new(&sizes),
            scratch: Scratch::new(&sizes),
            weights: AlignedVec::zeros(model.context),
            logits: AlignedVec::zeros(model.config.vocab),
        }
    }
}

impl Transformer {
    pub(super) fn decode_token<'c, F: Real>(
        &self,
        pass: &Pass<'_, F>,
        position: usize,
        cache: &'c mut Cache<F>,
    ) -> &'c [F] {
        let Pass { parameters, tables, tokens, .. } = *pass;
        let d = self.config.width;
        linear::gather(d, self.slots.emb.slice(parameters), tokens, &mut cache.scratch.x);
        for index in 0..self.config.layers {
            let Cache { layer, scratch, .. } = cache;
            if index == 0 {
                linear::gather(3 * d, &tables.emb_qkv, tokens, &mut layer.qkv);
            } else {
                self.normalize_and_map(pass, index, layer, scratch);
            }
            self.turn(tables, position, &mut layer.qkv);
            self.attend_past(index, position, cache);
            self.step(pass, index, &mut cache.layer, &mut cache.scratch, &mut NoHooks);
        }
        self.read_out(pass, &mut cache.scratch, &mut cache.logits);
        &cache.logits
    }

    /// q of the current token, the past and itself -> o
    fn attend_past<F: Real>(&self, index: usize, position: usize, cache: &mut Cache<F>) {
        let Cache { past, layer, weights, .. } = cache;
        let past = &mut past[index];
        let (d, width) = (self.config.width, self.head_width());
        past[position * 2 * d..][..2 * d].copy_from_slice(&layer.qkv[d..]);
        layer.o.fill(F::ZERO);
        for head in 0..self.config.heads {
            let weights = &mut weights[..=position];
            let (q, o) = (&layer.qkv[head * width..][..width], &mut layer.o[head * width..][..width]);
            linear::apply_rows(&past[head * width..], 2 * d, q, weights);
            couple::row(weights);
            linear::combine_rows(&past[d + head * width..], 2 * d, weights, o);
        }
    }
}
