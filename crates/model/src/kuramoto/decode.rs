//! Cached decoding: each token leaves its key phasors and its values behind, layer by layer.

use super::workspace::{Layer, Scratch, Sizes};
use super::{Kuramoto, Pass};
use crate::hooks::NoHooks;
use kuramoto_kernels::{AlignedVec, Real, couple, linear};

/// What the past left in one layer.
#[derive(Debug)]
struct Past<F> {
    /// k~ (T x row).
    key: AlignedVec<F>,
    /// psi (T x 2k), or projected values (T x k).
    values: AlignedVec<F>,
    /// F^T psi (T x 2rh).
    framed: AlignedVec<F>,
}

/// What decoding keeps of the bytes so far.
#[derive(Debug)]
pub struct Cache<F> {
    past: Vec<Past<F>>,
    /// The current token's activations, one layer at a time.
    layer: Layer<F>,
    scratch: Scratch<F>,
    weights: AlignedVec<F>,
    logits: AlignedVec<F>,
}

impl<F: Real> Cache<F> {
    pub(super) fn new(model: &Kuramoto) -> Self {
        let sizes = Sizes::for_one_token(model);
        let (t, heads, k) = (model.context, model.heads(), model.config.width);
        let mut scratch = Scratch::new(&sizes);
        scratch.ones.fill(F::ONE);
        let values = if model.circular() { 2 * k } else { k };
        let past = || Past {
            key: AlignedVec::zeros(t * heads.row()),
            values: AlignedVec::zeros(t * values),
            framed: AlignedVec::zeros(t * heads.heads * heads.extra),
        };
        Cache {
            past: (0..model.config.layers).map(|_| past()).collect(),
            layer: Layer::new(&sizes),
            scratch,
            weights: AlignedVec::zeros(t),
            logits: AlignedVec::zeros(model.config.vocab),
        }
    }
}

impl Kuramoto {
    pub(super) fn decode_token<'c, F: Real>(
        &self,
        pass: &Pass<'_, F>,
        position: usize,
        cache: &'c mut Cache<F>,
    ) -> &'c [F] {
        let Pass { parameters, tables, tokens, .. } = *pass;
        let k = self.config.width;
        linear::gather(k, self.slots.emb.slice(parameters), tokens, &mut cache.scratch.theta);
        for index in 0..self.config.layers {
            let Cache { layer, scratch, .. } = cache;
            if index == 0 {
                linear::gather(2 * k, &tables.emb_psi, tokens, &mut layer.psi);
                linear::gather(self.slots.sections.total, &tables.emb_pre, tokens, &mut layer.pre);
            } else {
                self.lift_and_map(pass, index, &scratch.theta, layer);
            }
            self.gates(1, layer);
            self.phasors(pass, index, position, layer, scratch);
            self.attend_past(index, position, cache);
            self.step(pass, index, &mut cache.layer, &mut cache.scratch, &mut NoHooks);
        }
        self.read_out(pass, &mut cache.scratch, &mut cache.logits);
        let scale = self.logit_scale(parameters);
        cache.logits.iter_mut().for_each(|x| *x *= scale);
        &cache.logits
    }

    /// q of the current token, the past and itself -> u
    fn attend_past<F: Real>(&self, index: usize, position: usize, cache: &mut Cache<F>) {
        let Cache { past, layer, scratch, weights, .. } = cache;
        let past = &mut past[index];
        let (k, heads, sections) = (self.config.width, self.heads(), self.slots.sections);
        let (kh, width, row) = (heads.kh(), heads.width(), heads.row());
        let frames = heads.heads * heads.extra;
        past.key[position * row..][..row].copy_from_slice(&scratch.key);
        past.framed[position * frames..][..frames].copy_from_slice(&layer.framed);
        let (own, stride): (&[F], usize) = match sections.value {
            Some(first) if !self.circular() => (&layer.pre[first..first + k], k),
            _ => (&layer.psi, 2 * k),
        };
        past.values[position * stride..][..stride].copy_from_slice(own);
        layer.g.fill(F::ZERO);
        layer.u.fill(F::ZERO);
        layer.framed_mean.fill(F::ZERO);
        for head in 0..heads.heads {
            let weights = &mut weights[..=position];
            linear::apply_rows(&past.key[head * width..], row, &scratch.q[head * width..][..width], weights);
            couple::row(weights);
            if !self.circular() {
                let mean = &mut layer.u[head * kh..][..kh];
                linear::combine_rows(&past.values[head * kh..], stride, weights, mean);
                continue;
            }
            for (first, width) in self.value_columns(head) {
                let mean = &mut layer.g[first..first + width];
                linear::combine_rows(&past.values[first..], stride, weights, mean);
            }
            if heads.extra > 0 {
                let mean = &mut layer.framed_mean[head * heads.extra..][..heads.extra];
                linear::combine_rows(&past.framed[head * heads.extra..], frames, weights, mean);
            }
        }
        self.direction(1, &scratch.ones, layer);
    }
}
