//! One sequence, from tokens to raw logits. The doc line of a stage says what it reads -> what it writes.

use super::groups::{Block, Means, QueryKey, Values};
use super::slots::{FeedForwardSlots, ReadoutSlots};
use super::workspace::{Layer, Scratch};
use super::{Kuramoto, Pass, Workspace};
use crate::attention::{Columns, ColumnsMut, Head};
use crate::hooks::{Gates, Hooks};
use crate::network::Purpose;
use kuramoto_kernels::frame::Frame;
use kuramoto_kernels::product::product;
use kuramoto_kernels::{
    Causal, Packed, Real, View, bound, couple, drift, gate, lift, linear, swiglu, tangent, turn, wrap,
};
use std::borrow::Cow;

impl Kuramoto {
    pub(super) fn run_forward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        work: &mut Workspace<F>,
        hooks: &mut dyn Hooks<F>,
    ) {
        let Pass { parameters, tables, tokens, .. } = *pass;
        let (n, k, m) = (tokens.len(), self.config.width, self.slots.sections.total);
        let Workspace { layers, scratch, logits, packed, .. } = work;
        let Scratch { ones, theta, query, key, turned, final_psi, kept_coupling, hidden, .. } = scratch;
        linear::gather(k, self.slots.emb.slice(parameters), tokens, &mut theta[..n * k]);
        for (index, layer) in layers.iter_mut().enumerate() {
            let Layer { psi, preactivations, query_gate, key_gate, .. } = layer;
            let Layer { inverse_mean_query, inverse_mean_key, coupling, resultant, .. } = layer;
            let Layer { contracted_values, contracted_mean, update, update_rms, middle, .. } = layer;
            let Layer { middle_psi, gate_up, feed_forward, feed_forward_rms, .. } = layer;
            self.wrap(&mut theta[..n * k]);
            hooks.state(index, &mut theta[..n * k]);
            if index == 0 && !hooks.changes_input() {
                linear::gather(2 * k, &tables.emb_psi, tokens, &mut psi[..n * 2 * k]);
                linear::gather(m, &tables.emb_preactivations, tokens, &mut preactivations[..n * m]);
            } else {
                self.lift_and_map(pass, index, theta, psi, preactivations);
            }

            let inverse_means = QueryKey { query: &mut inverse_mean_query[..], key: inverse_mean_key };
            self.gates(n, preactivations, QueryKey { query: query_gate, key: key_gate }, inverse_means);
            let drift = self.value_drift(parameters, index);
            let gates = QueryKey { query: &mut query_gate[..], key: &mut key_gate[..] };
            hooks.gates(index, &mut self.gates_to_hook(n, gates, preactivations, &drift));

            let gates = self.gates_or(ones, QueryKey { query: &query_gate[..], key: &key_gate[..] });
            self.phasors(pass, index, 0, psi, preactivations, gates, QueryKey { query, key });
            self.contract_values(n, psi, preactivations, contracted_values);

            let value_psi = self.turn_values(pass, index, 0, psi, turned);
            let values = Values { psi: value_psi, preactivations, contracted: contracted_values };
            let means = Means { resultant: &mut resultant[..], update, contracted: contracted_mean };
            let phasors = QueryKey { query: &query[..], key: &key[..] };
            self.attend(pass, index, phasors, values, coupling, kept_coupling, means, packed, hooks);
            self.turn_means_back(pass, index, 0, resultant);
            self.direction(n, ones, psi, preactivations, contracted_mean, resultant, update);

            self.synchronize(pass, index, theta, update, update_rms, middle);
            hooks.middle(index, &mut middle[..n * k]);
            let block = Block { middle_psi: &mut middle_psi[..], gate_up, hidden };
            self.feed_forward(pass, index, middle, block, feed_forward, feed_forward_rms, theta);
        }
        hooks.state(self.config.layers, &mut theta[..n * k]);
        self.read_out(pass, theta, final_psi, logits);
    }

    /// With wrapped angles: theta -> theta in (-pi, pi]
    pub(super) fn wrap<F: Real>(&self, theta: &mut [F]) {
        if self.config.wrapped_angles {
            wrap::forward(theta);
        }
    }

    /// With drift in values: psi of positions `first..first + n` -> turned. Returns the values to average.
    pub(super) fn turn_values<'a, F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        first: usize,
        psi: &'a [F],
        turned: &'a mut [F],
    ) -> &'a [F] {
        if !self.config.drift_in_values {
            return psi;
        }
        let (n, k, (cos, sin)) = (pass.tokens.len(), self.config.width, pass.tables.drift(index));
        turn::forward(k, psi, &cos[first * k..], &sin[first * k..], &mut turned[..n * 2 * k]);
        turned
    }

    /// With drift in values: resultant of positions `first..first + n` -> resultant in each token's own frame
    pub(super) fn turn_means_back<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        first: usize,
        resultant: &mut [F],
    ) {
        if self.config.drift_in_values {
            let (n, k, (cos, sin)) = (pass.tokens.len(), self.config.width, pass.tables.drift(index));
            turn::back(k, &mut resultant[..n * 2 * k], &cos[first * k..], &sin[first * k..]);
        }
    }

    /// Equation (1), the arguments of the gates: theta -> psi, preactivations
    pub(super) fn lift_and_map<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        theta: &[F],
        psi: &mut [F],
        preactivations: &mut [F],
    ) {
        let Pass { parameters, tables, tokens, .. } = *pass;
        let (n, k, m) = (tokens.len(), self.config.width, self.slots.sections.total);
        lift::forward(k, &theta[..n * k], psi);
        for (set, slots) in self.gate_sets(index) {
            let outputs = &mut preactivations[slots.first..n * m];
            linear::fill_bias(slots.bias.slice(parameters), outputs, m);
            let (psi, maps) = (View::rows(psi, 2 * k), &tables.gates[set].forward);
            product(outputs, m, n, psi, maps, true, Causal::Full);
        }
    }

    /// Equation (1), g^q and g^k; Section 2.0.1: preactivations -> gates, inverse means; the query and key
    /// sections of the preactivations become slopes
    pub(super) fn gates<F: Real>(
        &self,
        n: usize,
        preactivations: &mut [F],
        gates: QueryKey<&mut [F]>,
        inverse_means: QueryKey<&mut [F]>,
    ) {
        let (k, h, sections) = (self.config.width, self.config.heads, self.slots.sections);
        let (activation, normalize) = (self.activation(), self.config.gate_normalization);
        for (section, gates, inverse_mean) in
            [(sections.query, gates.query, inverse_means.query), (sections.key, gates.key, inverse_means.key)]
        {
            let Some(first) = section else { continue };
            let (gates, inverse_mean) = (&mut gates[..n * k], &mut inverse_mean[..n * h]);
            let preactivations = &mut preactivations[first..];
            gate::forward(activation, normalize, h, k, preactivations, sections.total, gates, inverse_mean);
        }
    }

    /// The gates that the configuration has, for hooks.
    pub(super) fn gates_to_hook<'a, F: Real>(
        &self,
        n: usize,
        gates: QueryKey<&'a mut [F]>,
        preactivations: &'a mut [F],
        value_drift: &'a [F],
    ) -> Gates<'a, F> {
        let (k, sections) = (self.config.width, self.slots.sections);
        let metric = if sections.query.is_some() { n * k } else { 0 };
        let value = sections.value.filter(|_| self.circular());
        Gates {
            width: k,
            query: &mut gates.query[..metric],
            key: &mut gates.key[..metric],
            value: value.map_or(&mut [][..], |first| &mut preactivations[first..]),
            value_stride: sections.total,
            value_drift,
        }
    }

    /// The rates by which a layer's values drift; empty if they do not.
    pub(super) fn value_drift<'a, F: Real>(&self, parameters: &'a [F], index: usize) -> Cow<'a, [F]> {
        if self.config.drift_in_values { self.omega(parameters, index) } else { Cow::default() }
    }

    /// The metric gates, or ones where the configuration has none.
    pub(super) fn gates_or<'a, F>(&self, ones: &'a [F], gates: QueryKey<&'a [F]>) -> QueryKey<&'a [F]> {
        if self.slots.sections.query.is_some() { gates } else { QueryKey { query: ones, key: ones } }
    }

    /// Equation (1), the factors of the score; Section 3.5: psi, gates of positions `first..first + n` ->
    /// query, key; with a transport frame, also psi's contractions by the preactivations' frames
    pub(super) fn phasors<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        first: usize,
        psi: &[F],
        preactivations: &[F],
        gates: QueryKey<&[F]>,
        phasors: QueryKey<&mut [F]>,
    ) {
        let (n, k, heads) = (pass.tokens.len(), self.config.width, self.heads());
        let (cos, sin) = pass.tables.drift(index);
        let (cos, sin) = (&cos[first * k..], &sin[first * k..]);
        let scale = self.score_scale(pass.parameters);
        let (query, key) = (&mut phasors.query[..n * heads.row()], &mut phasors.key[..n * heads.row()]);
        drift::forward(heads, psi, gates.query, gates.key, cos, sin, scale, query, key);
        self.contract_phasors(n, scale, preactivations, query, key);
    }

    /// Table 3, low-rank value transport: the key's phasors z~, frames -> F^T z~ after each head's phasors of
    /// both query and key
    fn contract_phasors<F: Real>(
        &self,
        n: usize,
        scale: F,
        preactivations: &[F],
        query: &mut [F],
        key: &mut [F],
    ) {
        if self.slots.sections.frame.is_none() {
            return;
        }
        let (heads, rank) = (self.heads(), self.rank());
        let (kh, width) = (heads.kh(), heads.width());
        for (t, head) in self.tokens_and_heads(n) {
            let frame = self.frame(preactivations, t, head);
            let at = t * heads.row() + head * width;
            let (z, contracted) = key[at..][..width].split_at_mut(2 * kh);
            contracted.fill(F::ZERO);
            frame.contract(&z[..kh], &z[kh..], F::ONE, contracted);
            for (query, &key) in query[at + 2 * kh..][..2 * rank].iter_mut().zip(contracted.iter()) {
                *query = scale * key;
            }
        }
    }

    /// Table 3, low-rank value transport: psi, frames -> contracted values F^T psi
    pub(super) fn contract_values<F: Real>(
        &self,
        n: usize,
        psi: &[F],
        preactivations: &[F],
        contracted_values: &mut [F],
    ) {
        if !self.transports_values() {
            return;
        }
        let (k, kh, rank) = (self.config.width, self.heads().kh(), self.rank());
        for (t, head) in self.tokens_and_heads(n) {
            let (cos, sin) = psi[t * 2 * k..][..2 * k].split_at(k);
            let contracted = &mut contracted_values[(t * self.config.heads + head) * 2 * rank..][..2 * rank];
            contracted.fill(F::ZERO);
            let frame = self.frame(preactivations, t, head);
            frame.contract(&cos[head * kh..][..kh], &sin[head * kh..][..kh], F::ONE, contracted);
        }
    }

    /// Every head of every token.
    pub(super) fn tokens_and_heads(&self, n: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let heads = self.config.heads;
        (0..n).flat_map(move |t| (0..heads).map(move |head| (t, head)))
    }

    /// Where the frame of a token's head starts in the preactivations, and its length.
    pub(super) fn frame_at(&self, t: usize, head: usize) -> (usize, usize) {
        let (sections, len) = (self.slots.sections, self.heads().kh() * self.rank());
        (t * sections.total + sections.frame.unwrap_or_default() + head * len, len)
    }

    pub(super) fn frame<'a, F>(&self, preactivations: &'a [F], t: usize, head: usize) -> Frame<'a, F> {
        let (at, len) = self.frame_at(t, head);
        Frame { values: &preactivations[at..][..len], rank: self.rank() }
    }

    /// Equation (1), A and G: phasors, values -> coupling, means; `kept_coupling` is scratch
    fn attend<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        phasors: QueryKey<&[F]>,
        values: Values<&[F]>,
        coupling: &mut [F],
        kept_coupling: &mut [F],
        means: Means<&mut [F]>,
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
            let coupling = &mut coupling[head * self.context * stride..][..self.context * stride];
            let query = Columns::new(phasors.query, row, head * width, width);
            let key = Columns::new(phasors.key, row, head * width, width);
            attention.couple(query, key, coupling, packed);
            hooks.attention(index, head, stride, coupling);
            let kept: &[F] = if dropout.is_active() {
                couple::drop(n, coupling, stride, &dropout, (head * n * n) as u32, kept_coupling);
                kept_coupling
            } else {
                coupling
            };
            if let (false, Some(first)) = (self.circular(), sections.value) {
                let values = Columns::new(values.preactivations, m, first + head * kh, kh);
                attention.mix(kept, values, ColumnsMut::new(means.update, k, head * kh), packed);
                continue;
            }
            for (first, width) in self.value_columns(head) {
                let values = Columns::new(values.psi, 2 * k, first, width);
                attention.mix(kept, values, ColumnsMut::new(means.resultant, 2 * k, first), packed);
            }
            if self.transports_values() {
                let (frames, first) = (self.value_frames(), head * heads.extra);
                let values = Columns::new(values.contracted, frames, first, heads.extra);
                attention.mix(kept, values, ColumnsMut::new(means.contracted, frames, first), packed);
            }
        }
    }

    /// Columns of psi and of the resultant that belong to a head: cosines and sines,
    /// adjacent if there is one head.
    pub(super) fn value_columns(&self, head: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (k, kh) = (self.config.width, self.heads().kh());
        let (parts, width) = if self.config.heads == 1 { (1, 2 * k) } else { (2, kh) };
        (0..parts).map(move |part| (part * k + head * kh, width))
    }

    /// Equation (1), v . a; Lemma 2: psi, resultant, value gates within the preactivations -> update; with a
    /// transport frame, the resultant is completed first. Projected values are the update already.
    pub(super) fn direction<F: Real>(
        &self,
        n: usize,
        ones: &[F],
        psi: &[F],
        preactivations: &[F],
        contracted_mean: &[F],
        resultant: &mut [F],
        update: &mut [F],
    ) {
        if !self.circular() {
            return;
        }
        self.expand_frames(n, preactivations, contracted_mean, resultant);
        let (value_gate, stride) = self.value_gate_or(ones, preactivations);
        let k = self.config.width;
        tangent::forward(k, psi, resultant, value_gate, stride, &mut update[..n * k]);
    }

    /// The value gates and the distance between their rows, or ones where the configuration has none.
    pub(super) fn value_gate_or<'a, F>(&self, ones: &'a [F], preactivations: &'a [F]) -> (&'a [F], usize) {
        match self.slots.sections.value {
            Some(first) => (&preactivations[first..], self.slots.sections.total),
            None => (ones, self.config.width),
        }
    }

    /// Table 3, low-rank value transport: contracted mean, frames -> resultant += F contracted mean
    fn expand_frames<F: Real>(
        &self,
        n: usize,
        preactivations: &[F],
        contracted_mean: &[F],
        resultant: &mut [F],
    ) {
        if !self.transports_values() {
            return;
        }
        let (k, kh, rank) = (self.config.width, self.heads().kh(), self.rank());
        for (t, head) in self.tokens_and_heads(n) {
            let (re, im) = resultant[t * 2 * k..][..2 * k].split_at_mut(k);
            let mean = &contracted_mean[(t * self.config.heads + head) * 2 * rank..][..2 * rank];
            let frame = self.frame(preactivations, t, head);
            frame.expand(mean, &mut re[head * kh..][..kh], &mut im[head * kh..][..kh]);
        }
    }

    /// Equation (1), the first residual update; Section 2.0.2: theta, update -> its rms, middle
    pub(super) fn synchronize<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        theta: &[F],
        update: &[F],
        update_rms: &mut [F],
        middle: &mut [F],
    ) {
        let (n, k) = (pass.tokens.len(), self.config.width);
        let radius = radius(pass.parameters, self.slots.layers[index].log_r1);
        let dropout = pass.dropout.mask(Purpose::FirstIncrement, index);
        bound::forward(k, &theta[..n * k], update, radius, &dropout, update_rms, &mut middle[..n * k]);
    }

    /// Equation (1), the second residual update; Section 2.0.3: middle -> middle_psi, gate_up, hidden,
    /// feed_forward (the increment before its bound), its rms, theta
    pub(super) fn feed_forward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        middle: &[F],
        block: Block<&mut [F]>,
        feed_forward: &mut [F],
        feed_forward_rms: &mut [F],
        theta: &mut [F],
    ) {
        let Pass { parameters, tables, tokens, .. } = *pass;
        let (n, k, slots) = (tokens.len(), self.config.width, &self.slots.layers[index]);
        let (middle, theta) = (&middle[..n * k], &mut theta[..n * k]);
        let Some(set) = slots.feed_forward else { return theta.copy_from_slice(middle) };
        let Block { middle_psi, gate_up, hidden } = block;
        let features = View::rows(self.lift_middle(middle, middle_psi), self.config.feed_forward.inputs(k));
        let packed = &tables.feed_forward[set];
        let (bias, input, map) = match (self.slots.feed_forward[set], &packed.down) {
            (FeedForwardSlots::Swiglu { bias, .. }, Some(down)) => {
                product(gate_up, 4 * k, n, features, &packed.first.forward, false, Causal::Full);
                swiglu::forward(2 * k, &gate_up[..n * 4 * k], hidden);
                (bias, View::rows(hidden, 2 * k), down)
            }
            (FeedForwardSlots::Swiglu { bias, .. } | FeedForwardSlots::Linear { bias, .. }, _) => {
                (bias, features, &packed.first)
            }
        };
        linear::fill_bias(bias.slice(parameters), &mut feed_forward[..n * k], k);
        product(feed_forward, k, n, input, &map.forward, true, Causal::Full);
        let radius = radius(parameters, slots.log_r2);
        let dropout = pass.dropout.mask(Purpose::SecondIncrement, index);
        bound::forward(k, middle, feed_forward, radius, &dropout, feed_forward_rms, theta);
    }

    /// With a feed-forward block on the lifted phases: middle -> middle_psi. Returns what the block reads.
    fn lift_middle<'a, F: Real>(&self, middle: &'a [F], middle_psi: &'a mut [F]) -> &'a [F] {
        if !self.config.feed_forward.reads_lift() {
            return middle;
        }
        lift::forward(self.config.width, middle, middle_psi);
        middle_psi
    }

    /// Section 2.0.4, phase-alignment readout: theta -> psi of the last state, raw logits
    pub(super) fn read_out<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        theta: &[F],
        final_psi: &mut [F],
        logits: &mut [F],
    ) {
        let Pass { parameters, tables, tokens, .. } = *pass;
        let (n, vocab, k) = (tokens.len(), self.config.vocab, self.config.width);
        lift::forward(k, &theta[..n * k], final_psi);
        let linear_readout = match self.slots.readout {
            ReadoutSlots::Phase { .. } => false,
            ReadoutSlots::Linear { bias, .. } => {
                linear::fill_bias(bias.slice(parameters), &mut logits[..n * vocab], vocab);
                true
            }
        };
        let psi = View::rows(final_psi, 2 * k);
        product(logits, vocab, n, psi, &tables.readout.forward, linear_readout, Causal::Full);
    }
}

/// The radius of a bound, which is stored as a logarithm.
pub(super) fn radius<F: Real>(parameters: &[F], log_radius: Option<usize>) -> Option<f64> {
    log_radius.map(|at| parameters[at].to_f64().exp())
}
