//! One sequence, from its loss back to every parameter.

use super::forward::radius;
use super::slots::{FeedForwardSlots, LayerSlots, ReadoutSlots};
use super::workspace::{Layer, Scratch};
use super::{Kuramoto, Pass, Workspace};
use crate::attention::{Columns, ColumnsMut, Head};
use crate::network::Purpose;
use kuramoto_kernels::frame::{self, Frame};
use kuramoto_kernels::product::product;
use kuramoto_kernels::{
    Causal, Packed, Real, View, bound, couple, cross_entropy, drift, gate, lift, linear, reduce, swiglu,
    tangent,
};

impl Kuramoto {
    pub(super) fn run_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        work: &mut Workspace<F>,
        targets: &[u8],
        weight: f64,
        gradient: &mut [F],
    ) {
        let Pass { parameters, tokens, .. } = *pass;
        let (n, k) = (tokens.len(), self.config.width);
        let Workspace { layers, scratch, logits, packed, losses } = work;
        self.readout_backward(pass, targets, weight, losses, logits, scratch, packed, gradient);
        for index in (0..self.config.layers).rev() {
            let (layer, slots) = (&mut layers[index], &self.slots.layers[index]);
            self.phasors(pass, index, 0, layer, scratch);
            let layer = &*layer;
            self.feed_forward_backward(pass, index, layer, scratch, packed, gradient);
            let dropout = pass.dropout.mask(Purpose::FirstIncrement, index);
            let r1 = radius(parameters, slots.log_r1);
            let (dtheta, du) = (&scratch.dtheta[..n * k], &mut scratch.dx);
            let dlog_r1 = bound::backward(k, &layer.u[..n * k], r1, &dropout, &layer.rms1, dtheta, du);
            if let Some(at) = slots.log_r1 {
                gradient[at] += F::from_f64(dlog_r1);
            }
            self.attend_backward(pass, index, layer, scratch, packed);
            self.phasors_backward(pass, index, layer, scratch, gradient);
            self.map_backward(pass, index, layer, scratch, packed, gradient);
            lift::backward(k, &layer.psi[..n * 2 * k], &scratch.dpsi[..n * 2 * k], &mut scratch.dtheta);
        }
        linear::scatter(k, &scratch.dtheta[..n * k], tokens, self.slots.emb.slice_mut(gradient));
    }

    /// logits -> losses, dtheta
    fn readout_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        targets: &[u8],
        weight: f64,
        losses: &mut [f64],
        logits: &mut [F],
        scratch: &mut Scratch<F>,
        packed: &mut Packed<F>,
        gradient: &mut [F],
    ) {
        let Pass { parameters, tables, tokens, .. } = *pass;
        let (n, vocab, k) = (tokens.len(), self.config.vocab, self.config.width);
        let (scale, weight) = (self.logit_scale(parameters), F::from_f64(weight));
        let raw = &mut logits[..n * vocab];
        let dscale =
            cross_entropy::forward_backward(vocab, scale, weight, targets, raw, losses, &mut scratch.spare);
        let dlogits = &*raw;
        packed.pack(&scratch.psi, 2 * k, n, 2 * k);
        let map = match self.slots.readout {
            ReadoutSlots::Phase { .. } => {
                gradient[self.slots.logit_scale.start] += F::from_f64(dscale / (k as f64).sqrt());
                self.slots.table_proto
            }
            ReadoutSlots::Linear { weight, bias } => {
                linear::bias_backward(dlogits, bias.slice_mut(gradient));
                weight
            }
        };
        product(
            map.slice_mut(gradient),
            2 * k,
            vocab,
            View::transposed(dlogits, vocab),
            packed,
            true,
            Causal::Full,
        );
        let dpsi = &mut scratch.dpsi;
        product(dpsi, 2 * k, n, View::rows(dlogits, vocab), &tables.readout.backward, false, Causal::Full);
        scratch.dtheta[..n * k].fill(F::ZERO);
        lift::backward(k, &scratch.psi[..n * 2 * k], &dpsi[..n * 2 * k], &mut scratch.dtheta);
    }

    /// dtheta of the layer's output -> dtheta of its middle
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
        let (n, k, slots) = (tokens.len(), self.config.width, &self.slots.layers[index]);
        let Some(set) = slots.feed_forward else { return };
        let dropout = pass.dropout.mask(Purpose::SecondIncrement, index);
        let Scratch { dx: dy, dtheta, hidden, dhidden, dwide, .. } = scratch;
        let (dtheta, dy) = (&mut dtheta[..n * k], &mut dy[..n * k]);
        let r2 = radius(parameters, slots.log_r2);
        let dlog_r2 = bound::backward(k, &layer.y[..n * k], r2, &dropout, &layer.rms2, dtheta, dy);
        if let Some(at) = slots.log_r2 {
            gradient[at] += F::from_f64(dlog_r2);
        }
        let maps = &tables.feed_forward[set];
        match (self.slots.feed_forward[set], &maps.down) {
            (FeedForwardSlots::Swiglu { gate_up, down, bias }, Some(down_map)) => {
                linear::bias_backward(dy, bias.slice_mut(gradient));
                product(dhidden, 2 * k, n, View::rows(dy, k), &down_map.backward, false, Causal::Full);
                let (wide, dwide) = (&layer.wide[..n * 4 * k], &mut dwide[..n * 4 * k]);
                swiglu::backward(2 * k, wide, dhidden, dwide, hidden);
                packed.pack(hidden, 2 * k, n, 2 * k);
                product(
                    down.slice_mut(gradient),
                    2 * k,
                    k,
                    View::transposed(dy, k),
                    packed,
                    true,
                    Causal::Full,
                );
                packed.pack(&layer.mid, k, n, k);
                let by_wide = View::transposed(dwide, 4 * k);
                product(gate_up.slice_mut(gradient), k, 4 * k, by_wide, packed, true, Causal::Full);
                product(dtheta, k, n, View::rows(dwide, 4 * k), &maps.first.backward, true, Causal::Full);
            }
            (FeedForwardSlots::Linear { weight, bias }, _) => {
                linear::bias_backward(dy, bias.slice_mut(gradient));
                packed.pack(&layer.mid, k, n, k);
                product(
                    weight.slice_mut(gradient),
                    k,
                    k,
                    View::transposed(dy, k),
                    packed,
                    true,
                    Causal::Full,
                );
                product(dtheta, k, n, View::rows(dy, k), &maps.first.backward, true, Causal::Full);
            }
            (FeedForwardSlots::Swiglu { .. }, None) => unreachable!("a SwiGLU has a down map"),
        }
    }

    /// du (in `dx`) -> dq, dkey, dpsi (written: what values received), the value and frame sections of dpre,
    /// dtheta
    fn attend_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        layer: &Layer<F>,
        scratch: &mut Scratch<F>,
        packed: &mut Packed<F>,
    ) {
        let n = pass.tokens.len();
        let (k, heads, sections) = (self.config.width, self.heads(), self.slots.sections);
        let (kh, width, row, m) = (heads.kh(), heads.width(), heads.row(), sections.total);
        let stride = self.attention_stride();
        let attention = Head { n, stride };
        let dropout = pass.dropout.mask(Purpose::Attention, index);
        if self.circular() {
            let Scratch { dx: du, dg, dtheta, dpre, dgq, ones, .. } = scratch;
            // Without a value gate its gradient goes to a buffer that is overwritten later.
            let (v, dv, value_stride) = match sections.value {
                Some(first) => (&layer.pre[first..], &mut dpre[first..], m),
                None => (&ones[..], &mut dgq[..], k),
            };
            tangent::backward(k, &layer.psi, &layer.g, v, value_stride, &du[..n * k], dv, dg, dtheta);
        } else {
            scratch.dpsi[..n * 2 * k].fill(F::ZERO);
        }
        if let Some(first) = sections.frame {
            self.expand_frames_backward(first, n, layer, scratch);
        }
        let Scratch { dx: du, dg, dpsi, dpre, da, coupled, q, key, dq, dkey, dframed, dframed_mean, .. } =
            scratch;
        for head in 0..heads.heads {
            let a = &layer.a[head * self.context * stride..][..self.context * stride];
            let coupled: &[F] = if dropout.is_active() {
                couple::coupled(n, a, stride, &dropout, coupled);
                coupled
            } else {
                a
            };
            if let (false, Some(first)) = (self.circular(), sections.value) {
                let dout = Columns::new(du, k, head * kh, kh);
                let values = Columns::new(&layer.pre, m, first + head * kh, kh);
                attention.dot(dout, values, da, packed, false);
                attention.mix_back(coupled, dout, ColumnsMut::new(dpre, m, first + head * kh), packed);
            } else {
                for (part, (first, width)) in self.value_columns(head).enumerate() {
                    let dout = Columns::new(dg, 2 * k, first, width);
                    let values = Columns::new(&layer.psi, 2 * k, first, width);
                    attention.dot(dout, values, da, packed, part > 0);
                    attention.mix_back(coupled, dout, ColumnsMut::new(dpsi, 2 * k, first), packed);
                }
                if heads.extra > 0 {
                    let (frames, first) = (heads.heads * heads.extra, head * heads.extra);
                    let dout = Columns::new(dframed_mean, frames, first, heads.extra);
                    let values = Columns::new(&layer.framed, frames, first, heads.extra);
                    attention.dot(dout, values, da, packed, true);
                    attention.mix_back(coupled, dout, ColumnsMut::new(dframed, frames, first), packed);
                }
            }
            couple::backward(n, a, stride, &dropout, da);
            let key = Columns::new(key, row, head * width, width);
            attention.mix(da, key, ColumnsMut::new(dq, row, head * width), packed);
            let q = Columns::new(q, row, head * width, width);
            attention.mix_back(da, q, ColumnsMut::new(dkey, row, head * width), packed);
        }
    }

    /// dg -> dframed_mean (written), the frame section of dpre (written)
    fn expand_frames_backward<F: Real>(
        &self,
        first: usize,
        n: usize,
        layer: &Layer<F>,
        scratch: &mut Scratch<F>,
    ) {
        let (k, kh, rank, m) = (self.config.width, self.heads().kh(), self.rank(), self.slots.sections.total);
        let Scratch { dg, dpre, dframed_mean, .. } = scratch;
        for t in 0..n {
            dpre[t * m + first..][..k * rank].fill(F::ZERO);
            if !self.circular() {
                continue;
            }
            let (dre, dim) = dg[t * 2 * k..][..2 * k].split_at(k);
            for head in 0..self.config.heads {
                let at = t * m + first + head * kh * rank;
                let token = (t * self.config.heads + head) * 2 * rank;
                let (dre, dim) = (&dre[head * kh..][..kh], &dim[head * kh..][..kh]);
                frame::backward(
                    rank,
                    dre,
                    dim,
                    &layer.framed_mean[token..][..2 * rank],
                    &mut dpre[at..][..kh * rank],
                );
                let dmean = &mut dframed_mean[token..][..2 * rank];
                dmean.fill(F::ZERO);
                Frame { values: &layer.pre[at..][..kh * rank], rank }.contract(dre, dim, F::ONE, dmean);
            }
        }
    }

    /// dq, dkey -> dtheta, domega, dtau, the gate sections of dpre (written)
    fn phasors_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        layer: &Layer<F>,
        scratch: &mut Scratch<F>,
        gradient: &mut [F],
    ) {
        let Pass { parameters, tables, tokens, .. } = *pass;
        let n = tokens.len();
        let (k, h, heads, sections) =
            (self.config.width, self.config.heads, self.heads(), self.slots.sections);
        let m = sections.total;
        let c = self.score_scale(parameters);
        let mut dc = 0.0;
        if let Some(first) = sections.frame {
            dc += self.contract_frames_backward(first, n, c, layer, scratch);
        }
        let Scratch { dq, dkey, dgq, dgk, dtheta, dpre, ones, .. } = scratch;
        let (gq, gk) = self.gates_or(ones, layer);
        let (cos, sin) = tables.drift(index);
        let (dq, dkey) = (&dq[..n * heads.row()], &dkey[..n * heads.row()]);
        let domega = self.slots.layers[index].omega.slice_mut(gradient);
        dc += drift::backward(heads, 0, &layer.psi, gq, gk, cos, sin, c, dq, dkey, dgq, dgk, dtheta, domega);
        gradient[self.slots.tau.start] += F::from_f64(dc / self.root_of_head());
        let gates = [
            (sections.q, &layer.gq, &layer.inverse_mean_q, dgq),
            (sections.key, &layer.gk, &layer.inverse_mean_k, dgk),
        ];
        for (section, gates, inverse, dgates) in gates {
            let Some(first) = section else { continue };
            let (slope, dgates, dpre) = (&layer.pre[first..], &dgates[..n * k], &mut dpre[first..]);
            gate::backward(self.config.gate_normalization, h, k, slope, m, gates, inverse, dgates, dpre);
        }
    }

    /// The frame's share: dq, dkey after the phasors -> dkey's phasors, dframed -> dpsi, both -> dpre;
    /// returns dc
    fn contract_frames_backward<F: Real>(
        &self,
        first: usize,
        n: usize,
        c: F,
        layer: &Layer<F>,
        scratch: &mut Scratch<F>,
    ) -> f64 {
        let (k, heads, rank) = (self.config.width, self.heads(), self.rank());
        let (kh, width, m) = (heads.kh(), heads.width(), self.slots.sections.total);
        let Scratch { key, dq, dkey, dpre, dpsi, dframed, .. } = scratch;
        let mut dc = 0.0;
        for t in 0..n {
            for head in 0..heads.heads {
                let at = t * m + first + head * kh * rank;
                let frame = Frame { values: &layer.pre[at..][..kh * rank], rank };
                let dframe = &mut dpre[at..][..kh * rank];
                let row = t * heads.row() + head * width;
                let (z, y) = key[row..][..width].split_at(2 * kh);
                let dy_q = &dq[row + 2 * kh..][..2 * rank];
                let (dz, dy) = dkey[row..][..width].split_at_mut(2 * kh);
                dc += reduce::inner_product(dy_q, y).to_f64();
                for (dy, &dy_q) in dy.iter_mut().zip(dy_q) {
                    *dy += c * dy_q;
                }
                frame::backward(rank, &z[..kh], &z[kh..], dy, dframe);
                let (dre, dim) = dz.split_at_mut(kh);
                frame.expand(dy, dre, dim);
                if self.circular() {
                    let dy = &dframed[(t * heads.heads + head) * 2 * rank..][..2 * rank];
                    let (cos, sin) = layer.psi[t * 2 * k..][..2 * k].split_at(k);
                    frame::backward(rank, &cos[head * kh..][..kh], &sin[head * kh..][..kh], dy, dframe);
                    let (dcos, dsin) = dpsi[t * 2 * k..][..2 * k].split_at_mut(k);
                    frame.expand(dy, &mut dcos[head * kh..][..kh], &mut dsin[head * kh..][..kh]);
                }
            }
        }
        dc
    }

    /// dpre -> dpsi and the gate maps; in layer 0, the table by byte
    fn map_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        layer: &Layer<F>,
        scratch: &mut Scratch<F>,
        packed: &mut Packed<F>,
        gradient: &mut [F],
    ) {
        let Pass { tables, tokens, .. } = *pass;
        let (n, k, m) = (tokens.len(), self.config.width, self.slots.sections.total);
        let dpre = &scratch.dpre[..n * m];
        if index == 0 {
            linear::scatter(m, dpre, tokens, self.slots.table_pre.slice_mut(gradient));
            return;
        }
        if m == 0 {
            return;
        }
        let LayerSlots { gates, .. } = self.slots.layers[index];
        let slots = self.slots.gates[gates];
        linear::bias_backward(dpre, slots.bias.slice_mut(gradient));
        packed.pack(&layer.psi, 2 * k, n, 2 * k);
        product(
            slots.weight.slice_mut(gradient),
            2 * k,
            m,
            View::transposed(dpre, m),
            packed,
            true,
            Causal::Full,
        );
        let dpsi = &mut scratch.dpsi;
        product(dpsi, 2 * k, n, View::rows(dpre, m), &tables.gates[gates].backward, true, Causal::Full);
    }
}
