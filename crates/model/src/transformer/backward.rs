//! One sequence, from its loss back to every parameter. The doc line of a stage says what it reads -> what it
//! writes. Gradients are added to, except where the doc line says that they are written.

use super::workspace::{Layer, Scratch};
use super::{Pass, Transformer, Workspace};
use crate::attention::{Columns, ColumnsMut, Head};
use crate::layout::Slot;
use crate::network::Purpose;
use kuramoto_kernels::product::product;
use kuramoto_kernels::{
    Causal, Packed, Real, View, bound, couple, cross_entropy, layer_norm, linear, rope, swiglu,
};

/// What a SwiGLU saved, and room for its gradients.
struct Swiglu<'a, F> {
    gate_up: &'a [F],
    hidden: &'a mut [F],
    dhidden: &'a mut [F],
    dgate_up: &'a mut [F],
}

/// A layer norm: where its scale and bias lie, and what it saved.
#[derive(Clone, Copy)]
struct Norm<'a, F> {
    slots: [Slot; 2],
    normal: &'a [F],
    inverse_sd: &'a [F],
}

impl Transformer {
    pub(super) fn run_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        work: &mut Workspace<F>,
        targets: &[u8],
        weight: f64,
        gradient: &mut [F],
    ) {
        let (n, d, vocab) = (pass.tokens.len(), self.config.width, self.config.vocab);
        let Workspace { layers, scratch, logits, packed, losses } = work;
        let Scratch { normalized, increment, final_normal, final_inverse_sd, kept_attention, .. } = scratch;
        let Scratch { hidden, dhidden, dgate_up, logit_row, dstream, dincrement, .. } = scratch;
        let Scratch { dnormalized, dqkv, dattention, .. } = scratch;
        let (logits, weight) = (&mut logits[..n * vocab], F::from_f64(weight));
        cross_entropy::forward_backward(vocab, F::ONE, weight, targets, logits, losses, logit_row);
        let saved = Norm { slots: [Slot::default(); 2], normal: final_normal, inverse_sd: final_inverse_sd };
        self.read_out_backward(pass, logits, saved, dnormalized, dstream, packed, gradient);
        for (index, layer) in layers.iter().enumerate().rev() {
            let Layer { normal1, inverse_sd1, qkv, attention, mixed, .. } = layer;
            let Layer { normal2, inverse_sd2, gate_up, .. } = layer;
            let slots = &self.slots.layers[index];

            self.increment_backward(pass, index, Purpose::SecondIncrement, increment, dstream, dincrement);
            let norm = Norm { slots: slots.ln2, normal: normal2, inverse_sd: inverse_sd2 };
            self.normalize_again(pass, norm, normalized);
            let swiglu = Swiglu { gate_up, hidden, dhidden, dgate_up };
            self.feed_forward_backward(
                pass,
                index,
                normalized,
                swiglu,
                dincrement,
                dnormalized,
                packed,
                gradient,
            );
            self.norm_backward(pass, norm, dnormalized, dstream, gradient);

            self.increment_backward(pass, index, Purpose::FirstIncrement, increment, dstream, dincrement);
            let dmixed = &mut dnormalized[..];
            self.project_backward(pass, index, mixed, dincrement, dmixed, packed, gradient);
            self.attend_backward(
                pass,
                index,
                qkv,
                attention,
                dmixed,
                dqkv,
                kept_attention,
                dattention,
                packed,
            );
            if index == 0 {
                let table = self.slots.table_qkv.slice_mut(gradient);
                linear::scatter(3 * d, &dqkv[..n * 3 * d], pass.tokens, table);
                continue;
            }
            let norm = Norm { slots: slots.ln1, normal: normal1, inverse_sd: inverse_sd1 };
            self.normalize_again(pass, norm, normalized);
            self.map_backward(pass, index, normalized, dqkv, dnormalized, packed, gradient);
            self.norm_backward(pass, norm, dnormalized, dstream, gradient);
        }
        linear::scatter(d, &dstream[..n * d], pass.tokens, self.slots.emb.slice_mut(gradient));
    }

    /// dlogits, the last norm -> dnormal (written), dstream (written), the readout's map
    fn read_out_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        dlogits: &[F],
        norm: Norm<'_, F>,
        dnormal: &mut [F],
        dstream: &mut [F],
        packed: &mut Packed<F>,
        gradient: &mut [F],
    ) {
        let (n, d, vocab) = (pass.tokens.len(), self.config.width, self.config.vocab);
        linear::bias_backward(dlogits, vocab, self.slots.head_bias.slice_mut(gradient));
        packed.pack(norm.normal, d, n, d);
        let (head, by_logit) = (self.slots.head.slice_mut(gradient), View::transposed(dlogits, vocab));
        product(head, d, vocab, by_logit, packed, true, Causal::Full);
        let (by_token, map) = (View::rows(dlogits, vocab), &pass.tables.head.backward);
        product(dnormal, d, n, by_token, map, false, Causal::Full);
        dstream[..n * d].fill(F::ZERO);
        layer_norm::backward(d, &norm.normal[..n * d], norm.inverse_sd, &dnormal[..n * d], dstream);
    }

    /// dstream -> dincrement (written)
    fn increment_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        purpose: Purpose,
        increment: &[F],
        dstream: &[F],
        dincrement: &mut [F],
    ) {
        let (d, len) = (self.config.width, pass.tokens.len() * self.config.width);
        let dropout = pass.dropout.mask(purpose, index);
        bound::backward(d, increment, None, &dropout, &[], &dstream[..len], &mut dincrement[..len]);
    }

    /// norm -> normalized: cheaper to compute again than to keep
    fn normalize_again<F: Real>(&self, pass: &Pass<'_, F>, norm: Norm<'_, F>, normalized: &mut [F]) {
        let (n, d) = (pass.tokens.len(), self.config.width);
        let [weight, bias] = norm.slots.map(|slot| slot.slice(pass.parameters));
        layer_norm::affine(d, &norm.normal[..n * d], weight, bias, normalized);
    }

    /// dnormalized, norm -> dstream, the norm's scale and bias
    fn norm_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        norm: Norm<'_, F>,
        dnormalized: &mut [F],
        dstream: &mut [F],
        gradient: &mut [F],
    ) {
        let (d, len) = (self.config.width, pass.tokens.len() * self.config.width);
        let (normal, weight) = (&norm.normal[..len], norm.slots[0].slice(pass.parameters));
        let (dweight, dbias) = norm.slots[0].join(norm.slots[1]).slice_mut(gradient).split_at_mut(d);
        let dnormal = &mut dnormalized[..len];
        layer_norm::affine_backward(d, normal, weight, dnormal, dweight, dbias);
        layer_norm::backward(d, normal, norm.inverse_sd, dnormal, &mut dstream[..len]);
    }

    /// dincrement, normalized, what the SwiGLU saved -> dnormalized (written), the block's maps
    fn feed_forward_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        normalized: &[F],
        swiglu: Swiglu<'_, F>,
        dincrement: &[F],
        dnormalized: &mut [F],
        packed: &mut Packed<F>,
        gradient: &mut [F],
    ) {
        let (n, d) = (pass.tokens.len(), self.config.width);
        let (slots, maps) = (&self.slots.layers[index], &pass.tables.layers[index]);
        let Swiglu { gate_up, hidden, dhidden, dgate_up } = swiglu;
        let (gate_up, dgate_up) = (&gate_up[..n * 8 * d], &mut dgate_up[..n * 8 * d]);
        let dincrement = &dincrement[..n * d];
        linear::bias_backward(dincrement, d, slots.down_bias.slice_mut(gradient));
        product(dhidden, 4 * d, n, View::rows(dincrement, d), &maps.down.backward, false, Causal::Full);
        swiglu::backward(4 * d, gate_up, dhidden, dgate_up, hidden);
        packed.pack(hidden, 4 * d, n, 4 * d);
        let by_output = View::transposed(dincrement, d);
        product(slots.down.slice_mut(gradient), 4 * d, d, by_output, packed, true, Causal::Full);
        packed.pack(normalized, d, n, d);
        let by_output = View::transposed(dgate_up, 8 * d);
        product(slots.gate_up.slice_mut(gradient), d, 8 * d, by_output, packed, true, Causal::Full);
        let by_token = View::rows(dgate_up, 8 * d);
        product(dnormalized, d, n, by_token, &maps.gate_up.backward, false, Causal::Full);
    }

    /// dincrement, mixed -> dmixed (written), the output projection
    fn project_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        mixed: &[F],
        dincrement: &[F],
        dmixed: &mut [F],
        packed: &mut Packed<F>,
        gradient: &mut [F],
    ) {
        let (n, d, wo) = (pass.tokens.len(), self.config.width, self.slots.layers[index].wo);
        let dincrement = &dincrement[..n * d];
        packed.pack(mixed, d, n, d);
        let by_output = View::transposed(dincrement, d);
        product(wo.slice_mut(gradient), d, d, by_output, packed, true, Causal::Full);
        let (by_token, map) = (View::rows(dincrement, d), &pass.tables.layers[index].wo.backward);
        product(dmixed, d, n, by_token, map, false, Causal::Full);
    }

    /// dmixed, qkv, attention -> dqkv before RoPE (written); `kept_attention` and `dattention` are scratch
    fn attend_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        qkv: &[F],
        attention: &[F],
        dmixed: &[F],
        dqkv: &mut [F],
        kept_attention: &mut [F],
        dattention: &mut [F],
        packed: &mut Packed<F>,
    ) {
        let Pass { tables, tokens, .. } = *pass;
        let (n, d, h) = (tokens.len(), self.config.width, self.config.heads);
        let (width, stride) = (self.head_width(), self.attention_stride());
        let products = Head { n, stride };
        let dropout = pass.dropout.mask(Purpose::Attention, index);
        for head in 0..h {
            let attention = &attention[head * self.context * stride..][..self.context * stride];
            let kept: &[F] = if dropout.is_active() {
                couple::kept(n, attention, stride, &dropout, kept_attention);
                kept_attention
            } else {
                attention
            };
            let first = |part: usize| part * d + head * width;
            let part = |part: usize| Columns::new(qkv, 3 * d, first(part), width);
            let dmean = Columns::new(dmixed, d, head * width, width);
            products.dot(dmean, part(2), dattention, packed, false);
            products.mix_back(kept, dmean, ColumnsMut::new(dqkv, 3 * d, first(2)), packed);
            couple::backward(n, attention, stride, &dropout, dattention);
            let dscores = &*dattention;
            products.mix(dscores, part(1), ColumnsMut::new(dqkv, 3 * d, first(0)), packed);
            products.mix_back(dscores, part(0), ColumnsMut::new(dqkv, 3 * d, first(1)), packed);
        }
        let dqkv = &mut dqkv[..n * 3 * d];
        rope::backward(h, width, &tables.cos, &tables.sin, self.score_scale(), dqkv, 3 * d);
        rope::backward(h, width, &tables.cos, &tables.sin, F::ONE, &mut dqkv[d..], 3 * d);
    }

    /// dqkv, normalized -> dnormalized (written), the maps to queries, keys and values
    fn map_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        normalized: &[F],
        dqkv: &[F],
        dnormalized: &mut [F],
        packed: &mut Packed<F>,
        gradient: &mut [F],
    ) {
        let (n, d, slots) = (pass.tokens.len(), self.config.width, &self.slots.layers[index]);
        let dqkv = &dqkv[..n * 3 * d];
        linear::bias_backward(dqkv, 3 * d, slots.qkv_bias.slice_mut(gradient));
        packed.pack(normalized, d, n, d);
        let by_output = View::transposed(dqkv, 3 * d);
        product(slots.qkv.slice_mut(gradient), d, 3 * d, by_output, packed, true, Causal::Full);
        let (by_token, map) = (View::rows(dqkv, 3 * d), &pass.tables.layers[index].qkv.backward);
        product(dnormalized, d, n, by_token, map, false, Causal::Full);
    }
}
