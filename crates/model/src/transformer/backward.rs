//! One sequence, from its loss back to every parameter.

use super::workspace::{Layer, Scratch};
use super::{Pass, Transformer, Workspace};
use crate::attention::{Columns, ColumnsMut, Head};
use crate::network::Purpose;
use kuramoto_kernels::product::product;
use kuramoto_kernels::{
    Causal, Packed, Real, View, bound, couple, cross_entropy, layer_norm, linear, rope, swiglu,
};

impl Transformer {
    pub(super) fn run_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        work: &mut Workspace<F>,
        targets: &[u8],
        weight: f64,
        gradient: &mut [F],
    ) {
        let Pass { tables, tokens, .. } = *pass;
        let (n, d, vocab) = (tokens.len(), self.config.width, self.config.vocab);
        let Workspace { layers, scratch, logits, packed, losses } = work;
        let dlogits = &mut logits[..n * vocab];
        let spare = &mut scratch.spare;
        cross_entropy::forward_backward(vocab, F::ONE, F::from_f64(weight), targets, dlogits, losses, spare);
        linear::bias_backward(dlogits, self.slots.head_bias.slice_mut(gradient));
        packed.pack(&scratch.normal, d, n, d);
        let dhead = self.slots.head.slice_mut(gradient);
        product(dhead, d, vocab, View::transposed(dlogits, vocab), packed, true, Causal::Full);
        product(
            &mut scratch.dy,
            d,
            n,
            View::rows(dlogits, vocab),
            &tables.head.backward,
            false,
            Causal::Full,
        );
        scratch.dx[..n * d].fill(F::ZERO);
        let (normal, dnormal) = (&scratch.normal[..n * d], &scratch.dy[..n * d]);
        layer_norm::backward(d, normal, &scratch.inverse_sd, dnormal, &mut scratch.dx);
        for index in (0..self.config.layers).rev() {
            let layer = &layers[index];
            self.feed_forward_backward(pass, index, layer, scratch, packed, gradient);
            self.attend_backward(pass, index, layer, scratch, packed, gradient);
            self.map_backward(pass, index, layer, scratch, packed, gradient);
        }
        linear::scatter(d, &scratch.dx[..n * d], tokens, self.slots.emb.slice_mut(gradient));
    }

    /// dx of the layer's output -> dx of its middle
    fn feed_forward_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        layer: &Layer<F>,
        scratch: &mut Scratch<F>,
        packed: &mut Packed<F>,
        gradient: &mut [F],
    ) {
        let Pass { parameters, tables, tokens, .. } = *pass;
        let n = tokens.len();
        let (d, slots, maps) = (self.config.width, &self.slots.layers[index], &tables.layers[index]);
        let Scratch { y, z, hidden, dhidden, dwide, dx, dz, dy, .. } = scratch;
        let (dx, dy, dz) = (&mut dx[..n * d], &mut dy[..n * d], &mut dz[..n * d]);
        let dropout = pass.dropout.mask(Purpose::SecondIncrement, index);
        bound::backward(d, z, None, &dropout, &[], dx, dz);
        linear::bias_backward(dz, slots.down_bias.slice_mut(gradient));
        product(dhidden, 4 * d, n, View::rows(dz, d), &maps.down.backward, false, Causal::Full);
        let (wide, dwide) = (&layer.wide[..n * 8 * d], &mut dwide[..n * 8 * d]);
        swiglu::backward(4 * d, wide, dhidden, dwide, hidden);
        packed.pack(hidden, 4 * d, n, 4 * d);
        product(
            slots.down.slice_mut(gradient),
            4 * d,
            d,
            View::transposed(dz, d),
            packed,
            true,
            Causal::Full,
        );
        let normal = &layer.normal2[..n * d];
        let [weight, bias] = slots.ln2.map(|slot| slot.slice(parameters));
        layer_norm::affine(d, normal, weight, bias, y);
        packed.pack(y, d, n, d);
        let by_wide = View::transposed(dwide, 8 * d);
        product(slots.gate_up.slice_mut(gradient), d, 8 * d, by_wide, packed, true, Causal::Full);
        product(dy, d, n, View::rows(dwide, 8 * d), &maps.gate_up.backward, false, Causal::Full);
        let (dweight, dbias) = slots.ln2[0].join(slots.ln2[1]).slice_mut(gradient).split_at_mut(d);
        layer_norm::affine_backward(d, normal, weight, dy, dweight, dbias);
        layer_norm::backward(d, normal, &layer.inverse_sd2, dy, dx);
    }

    /// dx -> dqkv before RoPE, dwo
    fn attend_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        layer: &Layer<F>,
        scratch: &mut Scratch<F>,
        packed: &mut Packed<F>,
        gradient: &mut [F],
    ) {
        let Pass { tables, tokens, .. } = *pass;
        let n = tokens.len();
        let (d, h, width, stride) =
            (self.config.width, self.config.heads, self.head_width(), self.attention_stride());
        let slots = &self.slots.layers[index];
        let Scratch { z, coupled, dx, dz, dy: do_, dqkv, da, .. } = scratch;
        let dz = &mut dz[..n * d];
        let dropout = pass.dropout.mask(Purpose::FirstIncrement, index);
        bound::backward(d, z, None, &dropout, &[], &dx[..n * d], dz);
        packed.pack(&layer.o, d, n, d);
        product(slots.wo.slice_mut(gradient), d, d, View::transposed(dz, d), packed, true, Causal::Full);
        product(do_, d, n, View::rows(dz, d), &tables.layers[index].wo.backward, false, Causal::Full);
        let attention = Head { n, stride };
        let dropout = pass.dropout.mask(Purpose::Attention, index);
        for head in 0..h {
            let a = &layer.a[head * self.context * stride..][..self.context * stride];
            let coupled: &[F] = if dropout.is_active() {
                couple::kept(n, a, stride, &dropout, coupled);
                coupled
            } else {
                a
            };
            let first = |part: usize| part * d + head * width;
            let part = |part: usize| Columns::new(&layer.qkv, 3 * d, first(part), width);
            let dout = Columns::new(do_, d, head * width, width);
            attention.dot(dout, part(2), da, packed, false);
            attention.mix_back(coupled, dout, ColumnsMut::new(dqkv, 3 * d, first(2)), packed);
            couple::backward(n, a, stride, &dropout, da);
            attention.mix(da, part(1), ColumnsMut::new(dqkv, 3 * d, first(0)), packed);
            attention.mix_back(da, part(0), ColumnsMut::new(dqkv, 3 * d, first(1)), packed);
        }
        let dqkv = &mut dqkv[..n * 3 * d];
        rope::backward(h, width, &tables.cos, &tables.sin, self.score_scale(), dqkv, 3 * d);
        rope::backward(h, width, &tables.cos, &tables.sin, F::ONE, &mut dqkv[d..], 3 * d);
    }

    /// dqkv -> dx of the layer's input; in layer 0, the table by byte
    fn map_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        layer: &Layer<F>,
        scratch: &mut Scratch<F>,
        packed: &mut Packed<F>,
        gradient: &mut [F],
    ) {
        let Pass { parameters, tables, tokens, .. } = *pass;
        let (n, d, slots) = (tokens.len(), self.config.width, &self.slots.layers[index]);
        let Scratch { y, dx, dy, dqkv, .. } = scratch;
        let dqkv = &dqkv[..n * 3 * d];
        if index == 0 {
            linear::scatter(3 * d, dqkv, tokens, self.slots.table_qkv.slice_mut(gradient));
            return;
        }
        linear::bias_backward(dqkv, slots.qkv_bias.slice_mut(gradient));
        let normal = &layer.normal1[..n * d];
        let [weight, bias] = slots.ln1.map(|slot| slot.slice(parameters));
        layer_norm::affine(d, normal, weight, bias, y);
        packed.pack(y, d, n, d);
        let by_qkv = View::transposed(dqkv, 3 * d);
        product(slots.qkv.slice_mut(gradient), d, 3 * d, by_qkv, packed, true, Causal::Full);
        let dy = &mut dy[..n * d];
        product(dy, d, n, View::rows(dqkv, 3 * d), &tables.layers[index].qkv.backward, false, Causal::Full);
        let (dweight, dbias) = slots.ln1[0].join(slots.ln1[1]).slice_mut(gradient).split_at_mut(d);
        layer_norm::affine_backward(d, normal, weight, dy, dweight, dbias);
        layer_norm::backward(d, normal, &layer.inverse_sd1, dy, dx);
    }
}
