//! One sequence, from tokens to raw logits.

use super::slots::{FeedForwardSlots, ReadoutSlots};
use super::workspace::{Layer, Scratch};
use super::{Kuramoto, Pass, Workspace};
use crate::attention::{Columns, ColumnsMut, Head};
use crate::hooks::{Gates, Hooks};
use crate::network::Purpose;
use kuramoto_kernels::frame::Frame;
use kuramoto_kernels::product::product;
use kuramoto_kernels::{
    Causal, Packed, Real, View, bound, couple, drift, gate, lift, linear, swiglu, tangent,
};

impl Kuramoto {
    pub(super) fn run_forward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        work: &mut Workspace<F>,
        hooks: &mut dyn Hooks<F>,
    ) {
        let Pass { parameters, tables, tokens, .. } = *pass;
        let (n, k) = (tokens.len(), self.config.width);
        let Workspace { layers, scratch, logits, packed, .. } = work;
        linear::gather(k, self.slots.emb.slice(parameters), tokens, &mut scratch.theta[..n * k]);
        hooks.state(0, &mut scratch.theta[..n * k]);
        for (index, layer) in layers.iter_mut().enumerate() {
            if index == 0 && !hooks.changes_input() {
                linear::gather(2 * k, &tables.emb_psi, tokens, &mut layer.psi[..n * 2 * k]);
                let m = self.slots.sections.total;
                linear::gather(m, &tables.emb_pre, tokens, &mut layer.pre[..n * m]);
            } else {
                self.lift_and_map(pass, index, &scratch.theta, layer);
            }
            self.gates(n, layer);
            hooks.gates(index, self.gates_of(n, layer));
            self.phasors(pass, index, 0, layer, scratch);
            self.attend(pass, index, layer, scratch, packed, hooks);
            self.step(pass, index, layer, scratch, hooks);
        }
        self.read_out(pass, scratch, logits);
    }

    /// theta, u -> mid, theta: the layer's two bounded increments
    pub(super) fn step<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        layer: &mut Layer<F>,
        scratch: &mut Scratch<F>,
        hooks: &mut dyn Hooks<F>,
    ) {
        let Pass { parameters, tokens, .. } = *pass;
        let (n, k, slots) = (tokens.len(), self.config.width, &self.slots.layers[index]);
        let dropout = pass.dropout.mask(Purpose::FirstIncrement, index);
        let (theta, mid) = (&scratch.theta[..n * k], &mut layer.mid[..n * k]);
        bound::forward(k, theta, &layer.u, radius(parameters, slots.log_r1), &dropout, &mut layer.rms1, mid);
        hooks.middle(index, mid);
        self.feed_forward(pass, index, layer, scratch);
        let (mid, theta) = (&layer.mid[..n * k], &mut scratch.theta[..n * k]);
        if slots.feed_forward.is_some() {
            let dropout = pass.dropout.mask(Purpose::SecondIncrement, index);
            bound::forward(
                k,
                mid,
                &layer.y,
                radius(parameters, slots.log_r2),
                &dropout,
                &mut layer.rms2,
                theta,
            );
        } else {
            theta.copy_from_slice(mid);
        }
        hooks.state(index + 1, theta);
    }

    /// theta -> raw logits
    pub(super) fn read_out<F: Real>(&self, pass: &Pass<'_, F>, scratch: &mut Scratch<F>, logits: &mut [F]) {
        let Pass { parameters, tables, tokens, .. } = *pass;
        let n = tokens.len();
        let (vocab, k) = (self.config.vocab, self.config.width);
        lift::forward(k, &scratch.theta[..n * k], &mut scratch.psi);
        let linear_readout = match self.slots.readout {
            ReadoutSlots::Phase { .. } => false,
            ReadoutSlots::Linear { bias, .. } => {
                linear::fill_bias(bias.slice(parameters), &mut logits[..n * vocab]);
                true
            }
        };
        let psi = View::rows(&scratch.psi, 2 * k);
        product(logits, vocab, n, psi, &tables.readout.forward, linear_readout, Causal::Full);
    }

    /// theta -> psi, pre
    pub(super) fn lift_and_map<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        theta: &[F],
        layer: &mut Layer<F>,
    ) {
        let Pass { parameters, tables, tokens, .. } = *pass;
        let (n, slots) = (tokens.len(), &self.slots.layers[index]);
        let (k, m) = (self.config.width, self.slots.sections.total);
        lift::forward(k, &theta[..n * k], &mut layer.psi);
        linear::fill_bias(self.slots.gates[slots.gates].bias.slice(parameters), &mut layer.pre[..n * m]);
        let psi = View::rows(&layer.psi, 2 * k);
        product(&mut layer.pre, m, n, psi, &tables.gates[slots.gates].forward, true, Causal::Full);
    }

    /// pre -> gq, gk; the gates' sections of pre become slopes
    pub(super) fn gates<F: Real>(&self, n: usize, layer: &mut Layer<F>) {
        let (k, h, sections) = (self.config.width, self.config.heads, self.slots.sections);
        let (activation, normalize) = (self.activation(), self.config.gate_normalization);
        let Layer { pre, gq, gk, inverse_mean_q, inverse_mean_k, .. } = layer;
        for (section, gates, inverse) in
            [(sections.q, gq, inverse_mean_q), (sections.key, gk, inverse_mean_k)]
        {
            let Some(first) = section else { continue };
            let (pre, gates, inverse) = (&mut pre[first..], &mut gates[..n * k], &mut inverse[..n * h]);
            gate::forward(activation, normalize, h, k, pre, sections.total, gates, inverse);
        }
    }

    /// What hooks see of a layer's gates.
    fn gates_of<'a, F: Real>(&self, n: usize, layer: &'a Layer<F>) -> Gates<'a, F> {
        let (k, sections) = (self.config.width, self.slots.sections);
        let metric = if sections.q.is_some() { n * k } else { 0 };
        let value = sections.value.filter(|_| self.circular()).map_or(&[][..], |first| &layer.pre[first..]);
        Gates { query: &layer.gq[..metric], key: &layer.gk[..metric], value, value_stride: sections.total }
    }

    /// psi, gq, gk of positions `first..first + n` -> q, key; with a transport frame, also its contractions
    pub(super) fn phasors<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        first: usize,
        layer: &mut Layer<F>,
        scratch: &mut Scratch<F>,
    ) {
        let n = pass.tokens.len();
        let (k, heads) = (self.config.width, self.heads());
        let Scratch { q, key, ones, .. } = scratch;
        let (gq, gk) = self.gates_or(ones, layer);
        let (cos, sin) = pass.tables.drift(index);
        let (cos, sin) = (&cos[first * k..], &sin[first * k..]);
        let c = self.score_scale(pass.parameters);
        let (q, key) = (&mut q[..n * heads.row()], &mut key[..n * heads.row()]);
        drift::forward(heads, &layer.psi, gq, gk, cos, sin, c, q, key);
        if let Some(first) = self.slots.sections.frame {
            self.contract_frames(first, n, c, layer, q, key);
        }
    }

    /// The gates of a layer, or ones in their place.
    pub(super) fn gates_or<'a, F: Real>(&self, ones: &'a [F], layer: &'a Layer<F>) -> (&'a [F], &'a [F]) {
        if self.slots.sections.q.is_some() { (&layer.gq, &layer.gk) } else { (ones, ones) }
    }

    /// q, key: the contracted drifted phasors F^T z~ after each head's phasors; framed: the contracted values
    /// F^T z
    fn contract_frames<F: Real>(
        &self,
        first: usize,
        n: usize,
        c: F,
        layer: &mut Layer<F>,
        q: &mut [F],
        key: &mut [F],
    ) {
        let (k, heads, rank) = (self.config.width, self.heads(), self.rank());
        let (kh, width, m) = (heads.kh(), heads.width(), self.slots.sections.total);
        for t in 0..n {
            let (cos, sin) = layer.psi[t * 2 * k..][..2 * k].split_at(k);
            for head in 0..heads.heads {
                let frame =
                    Frame { values: &layer.pre[t * m + first + head * kh * rank..][..kh * rank], rank };
                let at = t * heads.row() + head * width;
                let (z, y) = key[at..][..width].split_at_mut(2 * kh);
                y.fill(F::ZERO);
                frame.contract(&z[..kh], &z[kh..], F::ONE, y);
                for (q, &y) in q[at + 2 * kh..][..2 * rank].iter_mut().zip(y.iter()) {
                    *q = c * y;
                }
                let framed = &mut layer.framed[(t * heads.heads + head) * 2 * rank..][..2 * rank];
                framed.fill(F::ZERO);
                frame.contract(&cos[head * kh..][..kh], &sin[head * kh..][..kh], F::ONE, framed);
            }
        }
    }

    /// q, key, values -> a, u
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
        let (k, heads, sections) = (self.config.width, self.heads(), self.slots.sections);
        let (kh, width, row, m) = (heads.kh(), heads.width(), heads.row(), sections.total);
        let stride = self.attention_stride();
        let attention = Head { n, stride };
        let dropout = pass.dropout.mask(Purpose::Attention, index);
        for head in 0..heads.heads {
            let a = &mut layer.a[head * self.context * stride..][..self.context * stride];
            let q = Columns::new(&scratch.q, row, head * width, width);
            let key = Columns::new(&scratch.key, row, head * width, width);
            attention.couple(q, key, a, packed);
            hooks.attention(index, head, stride, a);
            let coupled: &[F] = if dropout.is_active() {
                couple::drop(n, a, stride, &dropout, (head * n * n) as u32, &mut scratch.coupled);
                &scratch.coupled
            } else {
                a
            };
            if let (false, Some(first)) = (self.circular(), sections.value) {
                let values = Columns::new(&layer.pre, m, first + head * kh, kh);
                attention.mix(coupled, values, ColumnsMut::new(&mut layer.u, k, head * kh), packed);
                continue;
            }
            for (first, width) in self.value_columns(head) {
                let values = Columns::new(&layer.psi, 2 * k, first, width);
                attention.mix(coupled, values, ColumnsMut::new(&mut layer.g, 2 * k, first), packed);
            }
            if heads.extra > 0 {
                let (frames, first) = (heads.heads * heads.extra, head * heads.extra);
                let values = Columns::new(&layer.framed, frames, first, heads.extra);
                attention.mix(
                    coupled,
                    values,
                    ColumnsMut::new(&mut layer.framed_mean, frames, first),
                    packed,
                );
            }
        }
        self.direction(n, &scratch.ones, layer);
    }

    /// g -> u: transport, tangent and value gate; projected values are u already
    pub(super) fn direction<F: Real>(&self, n: usize, ones: &[F], layer: &mut Layer<F>) {
        if !self.circular() {
            return;
        }
        let (k, sections) = (self.config.width, self.slots.sections);
        if let Some(first) = sections.frame {
            self.expand_frames(first, n, layer);
        }
        let (v, stride) = match sections.value {
            Some(first) => (&layer.pre[first..], sections.total),
            None => (ones, k),
        };
        tangent::forward(k, &layer.psi, &layer.g, v, stride, &mut layer.u[..n * k]);
    }

    /// Columns of psi and G that belong to a head: cosines and sines, adjacent if there is one head.
    pub(super) fn value_columns(&self, head: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (k, kh) = (self.config.width, self.heads().kh());
        let (parts, width) = if self.config.heads == 1 { (1, 2 * k) } else { (2, kh) };
        (0..parts).map(move |part| (part * k + head * kh, width))
    }

    /// g += F framed_mean
    fn expand_frames<F: Real>(&self, first: usize, n: usize, layer: &mut Layer<F>) {
        let (k, kh, rank, m) = (self.config.width, self.heads().kh(), self.rank(), self.slots.sections.total);
        for t in 0..n {
            let (re, im) = layer.g[t * 2 * k..][..2 * k].split_at_mut(k);
            for head in 0..self.config.heads {
                let frame =
                    Frame { values: &layer.pre[t * m + first + head * kh * rank..][..kh * rank], rank };
                let mean = &layer.framed_mean[(t * self.config.heads + head) * 2 * rank..][..2 * rank];
                frame.expand(mean, &mut re[head * kh..][..kh], &mut im[head * kh..][..kh]);
            }
        }
    }

    /// mid -> y
    fn feed_forward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        layer: &mut Layer<F>,
        scratch: &mut Scratch<F>,
    ) {
        let Pass { parameters, tables, tokens, .. } = *pass;
        let n = tokens.len();
        let Some(set) = self.slots.layers[index].feed_forward else { return };
        let (k, packed) = (self.config.width, &tables.feed_forward[set]);
        let mid = View::rows(&layer.mid, k);
        let (bias, input, map) = match (self.slots.feed_forward[set], &packed.down) {
            (FeedForwardSlots::Swiglu { bias, .. }, Some(down)) => {
                product(&mut layer.wide, 4 * k, n, mid, &packed.first.forward, false, Causal::Full);
                swiglu::forward(2 * k, &layer.wide[..n * 4 * k], &mut scratch.hidden);
                (bias, View::rows(&scratch.hidden, 2 * k), down)
            }
            (FeedForwardSlots::Swiglu { bias, .. } | FeedForwardSlots::Linear { bias, .. }, _) => {
                (bias, mid, &packed.first)
            }
        };
        linear::fill_bias(bias.slice(parameters), &mut layer.y[..n * k]);
        product(&mut layer.y, k, n, input, &map.forward, true, Causal::Full);
    }
}

/// r of its stored logarithm.
pub(super) fn radius<F: Real>(parameters: &[F], log_radius: Option<usize>) -> Option<f64> {
    log_radius.map(|at| parameters[at].to_f64().exp())
}
