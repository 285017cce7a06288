//! One sequence, from tokens to logits.

use super::workspace::{Layer, Scratch};
use super::{Pass, Tables, Transformer, Workspace};
use crate::attention::{Columns, ColumnsMut, Head};
use crate::hooks::Hooks;
use crate::network::Purpose;
use kuramoto_kernels::product::product;
use kuramoto_kernels::{Causal, Packed, Real, View, bound, couple, layer_norm, linear, rope, swiglu};

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
        linear::gather(d, self.slots.emb.slice(parameters), tokens, &mut scratch.x[..n * d]);
        hooks.state(0, &mut scratch.x[..n * d]);
        for (index, layer) in layers.iter_mut().enumerate() {
            if index == 0 {
                linear::gather(3 * d, &tables.emb_qkv, tokens, &mut layer.qkv[..n * 3 * d]);
            } else {
                self.normalize_and_map(pass, index, layer, scratch);
            }
            self.turn(tables, 0, &mut layer.qkv[..n * 3 * d]);
            self.attend(pass, index, layer, scratch, packed, hooks);
            self.step(pass, index, layer, scratch, hooks);
        }
        self.read_out(pass, scratch, logits);
    }

    /// x -> qkv before RoPE
    pub(super) fn normalize_and_map<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        layer: &mut Layer<F>,
        scratch: &mut Scratch<F>,
    ) {
        let Pass { parameters, tables, tokens, .. } = *pass;
        let n = tokens.len();
        let (d, slots) = (self.config.width, &self.slots.layers[index]);
        layer_norm::forward(d, &scratch.x[..n * d], &mut layer.normal1, &mut layer.inverse_sd1);
        let [weight, bias] = slots.ln1.map(|slot| slot.slice(parameters));
        layer_norm::affine(d, &layer.normal1[..n * d], weight, bias, &mut scratch.y);
        linear::fill_bias(slots.qkv_bias.slice(parameters), &mut layer.qkv[..n * 3 * d]);
        let y = View::rows(&scratch.y, d);
        product(&mut layer.qkv, 3 * d, n, y, &tables.layers[index].qkv.forward, true, Causal::Full);
    }

    /// Turns queries (with their scale) and keys of positions `first..` in place.
    pub(super) fn turn<F: Real>(&self, tables: &Tables<F>, first: usize, qkv: &mut [F]) {
        let (d, h, width) = (self.config.width, self.config.heads, self.head_width());
        let (cos, sin) = (&tables.cos[first * (width / 2)..], &tables.sin[first * (width / 2)..]);
        rope::forward(h, width, cos, sin, self.score_scale(), qkv, 3 * d);
        rope::forward(h, width, cos, sin, F::ONE, &mut qkv[d..], 3 * d);
    }

    /// qkv -> a, o
    fn attend<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        layer: &mut Layer<F>,
        scratch: &mut Scratch<F>,
        packed: &mut Packed<F>,
        hooks: &mut dyn Hooks<F>,
    ) {
        let n = pass.tokens.len();
        let (d, width, stride) = (self.config.width, self.head_width(), self.attention_stride());
        let attention = Head { n, stride };
        let dropout = pass.dropout.mask(Purpose::Attention, index);
        for head in 0..self.config.heads {
            let a = &mut layer.a[head * self.context * stride..][..self.context * stride];
            let part = |part: usize| Columns::new(&layer.qkv, 3 * d, part * d + head * width, width);
            attention.couple(part(0), part(1), a, packed);
            hooks.attention(index, head, stride, a);
            let coupled: &[F] = if dropout.is_active() {
                couple::drop(n, a, stride, &dropout, (head * n * n) as u32, &mut scratch.coupled);
                &scratch.coupled
            } else {
                a
            };
            attention.mix(coupled, part(2), ColumnsMut::new(&mut layer.o, d, head * width), packed);
        }
    }

    /// x, o -> x: the layer's two increments
    pub(super) fn step<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        layer: &mut Layer<F>,
        scratch: &mut Scratch<F>,
        hooks: &mut dyn Hooks<F>,
    ) {
        let Pass { parameters, tables, tokens, .. } = *pass;
        let n = tokens.len();
        let (d, slots, maps) = (self.config.width, &self.slots.layers[index], &tables.layers[index]);
        let Scratch { x, y, z, hidden, .. } = scratch;
        product(z, d, n, View::rows(&layer.o, d), &maps.wo.forward, false, Causal::Full);
        let dropout = pass.dropout.mask(Purpose::FirstIncrement, index);
        bound::forward(d, &x[..n * d], z, None, &dropout, &mut [], y);
        std::mem::swap(x, y);
        hooks.middle(index, &mut x[..n * d]);
        layer_norm::forward(d, &x[..n * d], &mut layer.normal2, &mut layer.inverse_sd2);
        let [weight, bias] = slots.ln2.map(|slot| slot.slice(parameters));
        layer_norm::affine(d, &layer.normal2[..n * d], weight, bias, y);
        product(&mut layer.wide, 8 * d, n, View::rows(y, d), &maps.gate_up.forward, false, Causal::Full);
        swiglu::forward(4 * d, &layer.wide[..n * 8 * d], hidden);
        linear::fill_bias(slots.down_bias.slice(parameters), &mut z[..n * d]);
        product(z, d, n, View::rows(hidden, 4 * d), &maps.down.forward, true, Causal::Full);
        let dropout = pass.dropout.mask(Purpose::SecondIncrement, index);
        bound::forward(d, &x[..n * d], z, None, &dropout, &mut [], y);
        std::mem::swap(x, y);
        hooks.state(index + 1, &mut x[..n * d]);
    }

    /// x -> logits
    pub(super) fn read_out<F: Real>(&self, pass: &Pass<'_, F>, scratch: &mut Scratch<F>, logits: &mut [F]) {
        let Pass { parameters, tables, tokens, .. } = *pass;
        let n = tokens.len();
        let (d, vocab) = (self.config.width, self.config.vocab);
        layer_norm::forward(d, &scratch.x[..n * d], &mut scratch.normal, &mut scratch.inverse_sd);
        linear::fill_bias(self.slots.head_bias.slice(parameters), &mut logits[..n * vocab]);
        product(logits, vocab, n, View::rows(&scratch.normal, d), &tables.head.forward, true, Causal::Full);
    }
}
