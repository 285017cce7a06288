//! What is derived from the parameters once per step: packed weights, and layer 0's
//! queries, keys and values by byte.

use super::Transformer;
use crate::packed::PackedMap;
use crate::parallel::for_each_pair;
use kuramoto_kernels::product::product;
use kuramoto_kernels::{AlignedVec, Causal, Packed, Real, View, layer_norm, linear, rope};

#[derive(Debug)]
pub(super) struct LayerMaps<F> {
    pub qkv: PackedMap<F>,
    pub wo: PackedMap<F>,
    pub gate_up: PackedMap<F>,
    pub down: PackedMap<F>,
}

/// Derived from the parameters once per step, shared by all threads.
#[derive(Debug)]
pub struct Tables<F> {
    pub(super) layers: Vec<LayerMaps<F>>,
    pub(super) head: PackedMap<F>,
    /// RoPE's cosines and sines (T x half each); the same in every step.
    pub(super) cos: AlignedVec<F>,
    pub(super) sin: AlignedVec<F>,
    /// Layer 0's queries, keys and values before RoPE for every byte (V x 3d).
    pub(super) emb_qkv: AlignedVec<F>,
    emb_normal: AlignedVec<F>,
    emb_inverse_sd: AlignedVec<F>,
    /// Normalized, scaled and biased embedding (V x d), and its gradient while folding.
    emb_normalized: AlignedVec<F>,
    emb_dnormalized: AlignedVec<F>,
    emb_packed: Packed<F>,
}

impl<F: Real> Tables<F> {
    pub(super) fn new(model: &Transformer) -> Self {
        let (v, d, t, half) = sizes(model);
        let maps = || LayerMaps {
            qkv: PackedMap::new(3 * d, d),
            wo: PackedMap::new(d, d),
            gate_up: PackedMap::new(8 * d, d),
            down: PackedMap::new(d, 4 * d),
        };
        let (mut cos, mut sin) = (AlignedVec::zeros(t * half), AlignedVec::zeros(t * half));
        rope::table(model.config.rotary_base, half, 0, &mut cos, &mut sin);
        Tables {
            layers: (0..model.config.layers).map(|_| maps()).collect(),
            head: PackedMap::new(v, d),
            cos,
            sin,
            emb_qkv: AlignedVec::zeros(v * 3 * d),
            emb_normal: AlignedVec::zeros(v * d),
            emb_inverse_sd: AlignedVec::zeros(v),
            emb_normalized: AlignedVec::zeros(v * d),
            emb_dnormalized: AlignedVec::zeros(v * d),
            emb_packed: Packed::with_capacity(v, d),
        }
    }

    pub(super) fn floats(model: &Transformer) -> usize {
        let (v, d, t, half) = sizes(model);
        let map = PackedMap::<F>::floats;
        model.config.layers * (map(3 * d, d) + map(d, d) + map(8 * d, d) + map(d, 4 * d))
            + map(v, d)
            + 2 * t * half
            + v * (6 * d + 1)
            + Packed::<F>::floats(v, d)
    }
}

fn sizes(model: &Transformer) -> (usize, usize, usize, usize) {
    (model.config.vocab, model.config.width, model.context, model.head_width() / 2)
}

impl Transformer {
    pub(super) fn derive_tables<F: Real>(&self, parameters: &[F], tables: &mut Tables<F>) {
        let (v, d, ..) = sizes(self);
        for_each_pair(&mut tables.layers, &self.slots.layers, |maps, slots| {
            maps.qkv.pack(slots.qkv.slice(parameters), 3 * d, d);
            maps.wo.pack(slots.wo.slice(parameters), d, d);
            maps.gate_up.pack(slots.gate_up.slice(parameters), 8 * d, d);
            maps.down.pack(slots.down.slice(parameters), d, 4 * d);
        });
        tables.head.pack(self.slots.head.slice(parameters), v, d);
        let emb = self.slots.emb.slice(parameters);
        layer_norm::forward(d, emb, &mut tables.emb_normal, &mut tables.emb_inverse_sd);
        let first = &self.slots.layers[0];
        let [weight, bias] = first.ln1.map(|slot| slot.slice(parameters));
        layer_norm::affine(d, &tables.emb_normal, weight, bias, &mut tables.emb_normalized);
        linear::fill_bias(first.qkv_bias.slice(parameters), &mut tables.emb_qkv, 3 * d);
        let y = View::rows(&tables.emb_normalized, d);
        product(&mut tables.emb_qkv, 3 * d, v, y, &tables.layers[0].qkv.forward, true, Causal::Full);
    }

    pub(super) fn fold_tables<F: Real>(&self, parameters: &[F], tables: &mut Tables<F>, gradient: &mut [F]) {
        let (v, d, ..) = sizes(self);
        let (gradient, dqkv) = gradient.split_at_mut(self.layout.count());
        let first = &self.slots.layers[0];
        linear::bias_backward(dqkv, 3 * d, first.qkv_bias.slice_mut(gradient));
        tables.emb_packed.pack(&tables.emb_normalized, d, v, d);
        let dweight = first.qkv.slice_mut(gradient);
        product(dweight, d, 3 * d, View::transposed(dqkv, 3 * d), &tables.emb_packed, true, Causal::Full);
        let dy = &mut tables.emb_dnormalized;
        product(dy, d, v, View::rows(dqkv, 3 * d), &tables.layers[0].qkv.backward, false, Causal::Full);
        let norm = first.ln1[0].join(first.ln1[1]).slice_mut(gradient);
        let (dweight, dbias) = norm.split_at_mut(d);
        layer_norm::affine_backward(
            d,
            &tables.emb_normal,
            first.ln1[0].slice(parameters),
            dy,
            dweight,
            dbias,
        );
        let demb = self.slots.emb.slice_mut(gradient);
        layer_norm::backward(d, &tables.emb_normal, &tables.emb_inverse_sd, dy, demb);
    }
}
