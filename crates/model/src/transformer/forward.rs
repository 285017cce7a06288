//! One sequence, from tokens to logits. The doc line of a stage says what it reads -> what it writes.

use super::workspace::{Layer, Scratch};
use super::{Pass, Tables, Transformer, Workspace};
use crate::attention::{Columns, ColumnsMut, Head};
use crate::hooks::Hooks;
use crate::network::Purpose;
use kuramoto_kernels::product::product;
use kuramoto_kernels::{
    AlignedVec, Causal, Packed, Real, View, bound, couple, layer_norm, linear, rope, swiglu,
};

impl Transformer {
    pub(super) fn run_forward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        work: &mut Workspace<F>,
        hooks: &mut dyn Hooks<F>,
    ) {
        let Pass { parameters, tables, tokens, .. } = *pass;
        let (n, d) = (tokens.len(), self.config.width);
        let Workspace { layers, scratch, logits, packed, .. } = work;
        let Scratch { stream, normalized, increment, hidden, kept_attention, .. } = scratch;
        let Scratch { final_normal, final_inverse_sd, .. } = scratch;
        linear::gather(d, self.slots.emb.slice(parameters), tokens, &mut stream[..n * d]);
        hooks.state(0, &mut stream[..n * d]);
        for (index, layer) in layers.iter_mut().enumerate() {
            let Layer { normal1, inverse_sd1, qkv, attention, mixed, .. } = layer;
            let Layer { normal2, inverse_sd2, gate_up, .. } = layer;
            if index == 0 {
                linear::gather(3 * d, &tables.emb_qkv, tokens, &mut qkv[..n * 3 * d]);
            } else {
                self.normalize_and_map(pass, index, stream, normal1, inverse_sd1, normalized, qkv);
            }
            self.rotate(tables, 0, &mut qkv[..n * 3 * d]);
            self.attend(pass, index, qkv, attention, kept_attention, mixed, packed, hooks);
            self.project(pass, index, mixed, increment);
            self.add_increment(pass, index, Purpose::FirstIncrement, increment, stream, normalized);
            hooks.middle(index, &mut stream[..n * d]);
            self.normalize_middle(pass, index, stream, normal2, inverse_sd2, normalized);
            self.feed_forward(pass, index, normalized, gate_up, hidden, increment);
            self.add_increment(pass, index, Purpose::SecondIncrement, increment, stream, normalized);
            hooks.state(index + 1, &mut stream[..n * d]);
        }
        self.read_out(pass, stream, final_normal, final_inverse_sd, logits);
    }

    /// stream -> normal1, inverse_sd1, normalized, qkv before RoPE
    pub(super) fn normalize_and_map<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        stream: &[F],
        normal1: &mut [F],
        inverse_sd1: &mut [F],
        normalized: &mut [F],
        qkv: &mut [F],
    ) {
        let Pass { parameters, tables, tokens, .. } = *pass;
        let (n, d, slots) = (tokens.len(), self.config.width, &self.slots.layers[index]);
        layer_norm::forward(d, &stream[..n * d], normal1, inverse_sd1);
        let [weight, bias] = slots.ln1.map(|slot| slot.slice(parameters));
        layer_norm::affine(d, &normal1[..n * d], weight, bias, normalized);
        linear::fill_bias(slots.qkv_bias.slice(parameters), &mut qkv[..n * 3 * d], 3 * d);
        let (input, map) = (View::rows(normalized, d), &tables.layers[index].qkv.forward);
        product(qkv, 3 * d, n, input, map, true, Causal::Full);
    }

    /// Turns queries (with their scale) and keys of positions `first..` in place.
    pub(super) fn rotate<F: Real>(&self, tables: &Tables<F>, first: usize, qkv: &mut [F]) {
        let (d, h, width) = (self.config.width, self.config.heads, self.head_width());
        let (cos, sin) = (&tables.cos[first * (width / 2)..], &tables.sin[first * (width / 2)..]);
        rope::forward(h, width, cos, sin, self.score_scale(), qkv, 3 * d);
        rope::forward(h, width, cos, sin, F::ONE, &mut qkv[d..], 3 * d);
    }

    /// qkv -> attention, mixed; `kept_attention` is scratch
    fn attend<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        qkv: &[F],
        attention: &mut [F],
        kept_attention: &mut [F],
        mixed: &mut [F],
        packed: &mut Packed<F>,
        hooks: &mut dyn Hooks<F>,
    ) {
        let n = pass.tokens.len();
        let (d, width, stride) = (self.config.width, self.head_width(), self.attention_stride());
        let products = Head { n, stride };
        let dropout = pass.dropout.mask(Purpose::Attention, index);
        for head in 0..self.config.heads {
            let attention = &mut attention[head * self.context * stride..][..self.context * stride];
            let part = |part: usize| Columns::new(qkv, 3 * d, part * d + head * width, width);
            products.couple(part(0), part(1), attention, packed);
            hooks.attention(index, head, stride, attention);
            let kept: &[F] = if dropout.is_active() {
                couple::drop(n, attention, stride, &dropout, (head * n * n) as u32, kept_attention);
                kept_attention
            } else {
                attention
            };
            products.mix(kept, part(2), ColumnsMut::new(mixed, d, head * width), packed);
        }
    }

    /// mixed -> increment, by the output projection
    pub(super) fn project<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        mixed: &[F],
        increment: &mut [F],
    ) {
        let (n, d, map) = (pass.tokens.len(), self.config.width, &pass.tables.layers[index].wo.forward);
        product(increment, d, n, View::rows(mixed, d), map, false, Causal::Full);
    }

    /// stream, increment -> stream; `spare` is where the sum is written before the two change places
    pub(super) fn add_increment<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        purpose: Purpose,
        increment: &[F],
        stream: &mut AlignedVec<F>,
        spare: &mut AlignedVec<F>,
    ) {
        let (n, d) = (pass.tokens.len(), self.config.width);
        let dropout = pass.dropout.mask(purpose, index);
        bound::forward(d, &stream[..n * d], increment, None, &dropout, &mut [], spare);
        std::mem::swap(stream, spare);
    }

    /// stream -> normal2, inverse_sd2, normalized
    pub(super) fn normalize_middle<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        stream: &[F],
        normal2: &mut [F],
        inverse_sd2: &mut [F],
        normalized: &mut [F],
    ) {
        let (n, d) = (pass.tokens.len(), self.config.width);
        layer_norm::forward(d, &stream[..n * d], normal2, inverse_sd2);
        let [weight, bias] = self.slots.layers[index].ln2.map(|slot| slot.slice(pass.parameters));
        layer_norm::affine(d, &normal2[..n * d], weight, bias, normalized);
    }

    /// normalized -> gate_up, hidden, increment
    pub(super) fn feed_forward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        normalized: &[F],
        gate_up: &mut [F],
        hidden: &mut [F],
        increment: &mut [F],
    ) {
        let Pass { parameters, tables, tokens, .. } = *pass;
        let (n, d, maps) = (tokens.len(), self.config.width, &tables.layers[index]);
        let input = View::rows(normalized, d);
        product(gate_up, 8 * d, n, input, &maps.gate_up.forward, false, Causal::Full);
        swiglu::forward(4 * d, &gate_up[..n * 8 * d], hidden);
        linear::fill_bias(self.slots.layers[index].down_bias.slice(parameters), &mut increment[..n * d], d);
        product(increment, d, n, View::rows(hidden, 4 * d), &maps.down.forward, true, Causal::Full);
    }

    /// stream -> final_normal, final_inverse_sd, logits
    pub(super) fn read_out<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        stream: &[F],
        final_normal: &mut [F],
        final_inverse_sd: &mut [F],
        logits: &mut [F],
    ) {
        let Pass { parameters, tables, tokens, .. } = *pass;
        let (n, d, vocab) = (tokens.len(), self.config.width, self.config.vocab);
        layer_norm::forward(d, &stream[..n * d], final_normal, final_inverse_sd);
        linear::fill_bias(self.slots.head_bias.slice(parameters), &mut logits[..n * vocab], vocab);
        let input = View::rows(final_normal, d);
        product(logits, vocab, n, input, &tables.head.forward, true, Causal::Full);
    }
}
