//! One sequence, from its loss back to every parameter. The doc line of a stage says what it reads -> what it
//! writes, and each is the derivative of the stage of the same name in `forward.rs`. Gradients are added to,
//! except where the doc line says that they are written.

use super::forward::radius;
use super::groups::{Means, QueryKey, Values};
use super::slots::{FeedForwardSlots, ReadoutSlots};
use super::workspace::{Layer, Scratch};
use super::{Kuramoto, Pass, Workspace};
use crate::attention::{Columns, ColumnsMut, Head};
use crate::network::Purpose;
use kuramoto_kernels::product::product;
use kuramoto_kernels::{
    Causal, Packed, Real, View, bound, couple, cross_entropy, drift, frame, gate, lift, linear, reduce,
    swiglu, tangent,
};

/// What a bounded step saved.
#[derive(Clone, Copy)]
struct Increment<'a, F> {
    /// Which of the layer's two.
    of: Purpose,
    /// Before its bound (n x k).
    value: &'a [F],
    /// Its root mean square (n).
    rms: &'a [F],
}

/// What a SwiGLU saved, and room for its gradients.
struct Swiglu<'a, F> {
    gate_up: &'a [F],
    hidden: &'a mut [F],
    dhidden: &'a mut [F],
    dgate_up: &'a mut [F],
}

/// Room for one head's coupling after dropout, and for its gradient (n rows of the attention stride each).
struct CouplingScratch<'a, F> {
    kept: &'a mut [F],
    gradient: &'a mut [F],
}

impl Kuramoto {
    pub(super) fn run_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        work: &mut Workspace<F>,
        targets: &[u8],
        weight: f64,
        gradient: &mut [F],
    ) {
        let (n, k) = (pass.tokens.len(), self.config.width);
        let Workspace { layers, scratch, logits, packed, losses } = work;
        let Scratch { ones, query, key, final_psi, kept_coupling, hidden, logit_row, .. } = scratch;
        let Scratch { dhidden, dgate_up, dtheta, dincrement, dpsi, dresultant, .. } = scratch;
        let Scratch { dcontracted_values, dcontracted_mean, dquery, dkey, .. } = scratch;
        let Scratch { dquery_gate, dkey_gate, dpreactivations, dcoupling, .. } = scratch;

        self.cross_entropy(pass, targets, weight, logits, losses, logit_row, gradient);
        self.read_out_backward(pass, logits, final_psi, dpsi, dtheta, packed, gradient);
        for (index, layer) in layers.iter().enumerate().rev() {
            let Layer { psi, preactivations, query_gate, key_gate, coupling, resultant, .. } = layer;
            let Layer { inverse_mean_query, inverse_mean_key, contracted_values, .. } = layer;
            let Layer { contracted_mean, update, update_rms, middle, gate_up, .. } = layer;
            let Layer { feed_forward, feed_forward_rms, .. } = layer;
            let own_gates = QueryKey { query: &query_gate[..], key: &key_gate[..] };
            let gates = self.gates_or(ones, own_gates);
            self.phasors(pass, index, 0, psi, preactivations, gates, QueryKey { query, key });
            let phasors = QueryKey { query: &query[..], key: &key[..] };

            if self.slots.layers[index].feed_forward.is_some() {
                let saved =
                    Increment { of: Purpose::SecondIncrement, value: feed_forward, rms: feed_forward_rms };
                self.bound_backward(pass, index, saved, dtheta, dincrement, gradient);
                let saved = Swiglu { gate_up, hidden, dhidden, dgate_up };
                self.feed_forward_backward(pass, index, middle, saved, dincrement, dtheta, packed, gradient);
            }
            let saved = Increment { of: Purpose::FirstIncrement, value: update, rms: update_rms };
            self.bound_backward(pass, index, saved, dtheta, dincrement, gradient);

            let values = Values { psi: &psi[..], preactivations, contracted: contracted_values };
            self.direction_backward(
                n,
                ones,
                values,
                resultant,
                dincrement,
                dpreactivations,
                dresultant,
                dtheta,
                dquery_gate,
            );
            self.expand_frames_backward(
                n,
                preactivations,
                contracted_mean,
                dresultant,
                dcontracted_mean,
                dpreactivations,
            );
            let dmeans =
                Means { resultant: &dresultant[..], update: dincrement, contracted: dcontracted_mean };
            let dvalues = Values {
                psi: &mut dpsi[..],
                preactivations: dpreactivations,
                contracted: dcontracted_values,
            };
            let dphasors = QueryKey { query: &mut dquery[..], key: dkey };
            let scratch = CouplingScratch { kept: kept_coupling, gradient: dcoupling };
            self.attend_backward(
                pass, index, phasors, values, coupling, dmeans, dphasors, dvalues, scratch, packed,
            );

            let scale = self.score_scale(pass.parameters);
            let dscale =
                self.contract_phasors_backward(n, scale, preactivations, key, dquery, dkey, dpreactivations);
            let dphasors = QueryKey { query: &dquery[..], key: dkey };
            let dgates = QueryKey { query: &mut dquery_gate[..], key: dkey_gate };
            self.phasors_backward(pass, index, psi, gates, dphasors, dscale, dgates, dtheta, gradient);
            self.contract_values_backward(n, psi, preactivations, dcontracted_values, dpreactivations, dpsi);

            let inverse_means = QueryKey { query: &inverse_mean_query[..], key: inverse_mean_key };
            let dgates = QueryKey { query: &dquery_gate[..], key: dkey_gate };
            self.gates_backward(n, preactivations, own_gates, inverse_means, dgates, dpreactivations);
            self.lift_and_map_backward(pass, index, psi, dpreactivations, dpsi, dtheta, packed, gradient);
        }
        linear::scatter(k, &dtheta[..n * k], pass.tokens, self.slots.emb.slice_mut(gradient));
    }

    /// logits -> losses, dlogits in place of the logits, the gradient of the logit scale
    fn cross_entropy<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        targets: &[u8],
        weight: f64,
        logits: &mut [F],
        losses: &mut [f64],
        logit_row: &mut [F],
        gradient: &mut [F],
    ) {
        let (n, vocab, k) = (pass.tokens.len(), self.config.vocab, self.config.width);
        let (scale, weight) = (self.logit_scale(pass.parameters), F::from_f64(weight));
        let logits = &mut logits[..n * vocab];
        let dscale =
            cross_entropy::forward_backward(vocab, scale, weight, targets, logits, losses, logit_row);
        if let ReadoutSlots::Phase { .. } = self.slots.readout {
            gradient[self.slots.logit_scale.start] += F::from_f64(dscale / (k as f64).sqrt());
        }
    }

    /// Section 2.0.4: dlogits, psi of the last state -> dpsi (written), dtheta (written), the readout's map
    fn read_out_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        dlogits: &[F],
        final_psi: &[F],
        dpsi: &mut [F],
        dtheta: &mut [F],
        packed: &mut Packed<F>,
        gradient: &mut [F],
    ) {
        let (n, vocab, k) = (pass.tokens.len(), self.config.vocab, self.config.width);
        let dlogits = &dlogits[..n * vocab];
        packed.pack(final_psi, 2 * k, n, 2 * k);
        let map = match self.slots.readout {
            ReadoutSlots::Phase { .. } => self.slots.table_proto,
            ReadoutSlots::Linear { weight, bias } => {
                linear::bias_backward(dlogits, bias.slice_mut(gradient));
                weight
            }
        };
        let by_logit = View::transposed(dlogits, vocab);
        product(map.slice_mut(gradient), 2 * k, vocab, by_logit, packed, true, Causal::Full);
        let (by_token, map) = (View::rows(dlogits, vocab), &pass.tables.readout.backward);
        product(dpsi, 2 * k, n, by_token, map, false, Causal::Full);
        dtheta[..n * k].fill(F::ZERO);
        lift::backward(k, &final_psi[..n * 2 * k], &dpsi[..n * 2 * k], dtheta);
    }

    /// Equation (1), bound: dtheta of the bounded step's output, the increment and its rms -> dincrement
    /// (written), the gradient of the radius; dtheta of the step's input is that of its output
    fn bound_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        Increment { of, value, rms }: Increment<'_, F>,
        dtheta: &[F],
        dincrement: &mut [F],
        gradient: &mut [F],
    ) {
        let (k, len) = (self.config.width, pass.tokens.len() * self.config.width);
        let slots = &self.slots.layers[index];
        let log_radius = if of == Purpose::SecondIncrement { slots.log_r2 } else { slots.log_r1 };
        let (radius, dropout) = (radius(pass.parameters, log_radius), pass.dropout.mask(of, index));
        let (value, dtheta, dincrement) = (&value[..len], &dtheta[..len], &mut dincrement[..len]);
        let dlog_radius = bound::backward(k, value, radius, &dropout, rms, dtheta, dincrement);
        if let Some(at) = log_radius {
            gradient[at] += F::from_f64(dlog_radius);
        }
    }

    /// Section 2.0.3: dincrement, middle, gate_up -> dtheta (of the middle), the block's maps
    fn feed_forward_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        middle: &[F],
        swiglu: Swiglu<'_, F>,
        dincrement: &[F],
        dtheta: &mut [F],
        packed: &mut Packed<F>,
        gradient: &mut [F],
    ) {
        let Pass { tables, tokens, .. } = *pass;
        let (n, k) = (tokens.len(), self.config.width);
        let Some(set) = self.slots.layers[index].feed_forward else { return };
        let dincrement = &dincrement[..n * k];
        let (by_token, by_output) = (View::rows(dincrement, k), View::transposed(dincrement, k));
        let maps = &tables.feed_forward[set];
        match (self.slots.feed_forward[set], &maps.down) {
            (FeedForwardSlots::Swiglu { gate_up: first, down, bias }, Some(down_map)) => {
                let Swiglu { gate_up, hidden, dhidden, dgate_up } = swiglu;
                let (gate_up, dgate_up) = (&gate_up[..n * 4 * k], &mut dgate_up[..n * 4 * k]);
                linear::bias_backward(dincrement, bias.slice_mut(gradient));
                product(dhidden, 2 * k, n, by_token, &down_map.backward, false, Causal::Full);
                swiglu::backward(2 * k, gate_up, dhidden, dgate_up, hidden);
                packed.pack(hidden, 2 * k, n, 2 * k);
                product(down.slice_mut(gradient), 2 * k, k, by_output, packed, true, Causal::Full);
                packed.pack(middle, k, n, k);
                let by_gate_up = View::transposed(dgate_up, 4 * k);
                product(first.slice_mut(gradient), k, 4 * k, by_gate_up, packed, true, Causal::Full);
                let by_token = View::rows(dgate_up, 4 * k);
                product(dtheta, k, n, by_token, &maps.first.backward, true, Causal::Full);
            }
            (FeedForwardSlots::Linear { weight, bias }, _) => {
                linear::bias_backward(dincrement, bias.slice_mut(gradient));
                packed.pack(middle, k, n, k);
                product(weight.slice_mut(gradient), k, k, by_output, packed, true, Causal::Full);
                product(dtheta, k, n, by_token, &maps.first.backward, true, Causal::Full);
            }
            (FeedForwardSlots::Swiglu { .. }, None) => unreachable!("a SwiGLU has a down map"),
        }
    }

    /// Equation (1), v . a; Lemma 2: dupdate, psi, resultant, value gates -> the value section of
    /// dpreactivations (written), dresultant (written), dtheta; without a value gate, its
    /// gradient goes to `unused`
    fn direction_backward<F: Real>(
        &self,
        n: usize,
        ones: &[F],
        values: Values<&[F]>,
        resultant: &[F],
        dupdate: &[F],
        dpreactivations: &mut [F],
        dresultant: &mut [F],
        dtheta: &mut [F],
        unused: &mut [F],
    ) {
        if !self.circular() {
            return;
        }
        let (k, psi) = (self.config.width, values.psi);
        let dupdate = &dupdate[..n * k];
        let (value_gate, stride) = self.value_gate_or(ones, values.preactivations);
        let dvalue_gate = match self.slots.sections.value {
            Some(first) => &mut dpreactivations[first..],
            None => unused,
        };
        tangent::backward(k, psi, resultant, value_gate, stride, dupdate, dvalue_gate, dresultant, dtheta);
    }

    /// Table 3, low-rank value transport: dresultant, contracted mean, frames -> dcontracted_mean (written),
    /// the frame section of dpreactivations (written)
    fn expand_frames_backward<F: Real>(
        &self,
        n: usize,
        preactivations: &[F],
        contracted_mean: &[F],
        dresultant: &[F],
        dcontracted_mean: &mut [F],
        dpreactivations: &mut [F],
    ) {
        if self.slots.sections.frame.is_none() {
            return;
        }
        let (k, kh, rank) = (self.config.width, self.heads().kh(), self.rank());
        for (t, head) in self.tokens_and_heads(n) {
            let (at, len) = self.frame_at(t, head);
            let dframe = &mut dpreactivations[at..][..len];
            dframe.fill(F::ZERO);
            if !self.circular() {
                continue;
            }
            let (dre, dim) = dresultant[t * 2 * k..][..2 * k].split_at(k);
            let (dre, dim) = (&dre[head * kh..][..kh], &dim[head * kh..][..kh]);
            let token = (t * self.config.heads + head) * 2 * rank;
            frame::backward(rank, dre, dim, &contracted_mean[token..][..2 * rank], dframe);
            let dmean = &mut dcontracted_mean[token..][..2 * rank];
            dmean.fill(F::ZERO);
            self.frame(preactivations, t, head).contract(dre, dim, F::ONE, dmean);
        }
    }

    /// Equation (1), A and G: dmeans, phasors, values, coupling -> dphasors (written), dvalues (written: psi,
    /// contracted, or the value section of projected values)
    fn attend_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        phasors: QueryKey<&[F]>,
        values: Values<&[F]>,
        coupling: &[F],
        dmeans: Means<&[F]>,
        dphasors: QueryKey<&mut [F]>,
        dvalues: Values<&mut [F]>,
        scratch: CouplingScratch<'_, F>,
        packed: &mut Packed<F>,
    ) {
        let n = pass.tokens.len();
        let (k, heads, sections) = (self.config.width, self.heads(), self.slots.sections);
        let (kh, width, row, m) = (heads.kh(), heads.width(), heads.row(), sections.total);
        let stride = self.attention_stride();
        let attention = Head { n, stride };
        let dropout = pass.dropout.mask(Purpose::Attention, index);
        let CouplingScratch { kept: kept_coupling, gradient: dcoupling } = scratch;
        if !self.circular() {
            dvalues.psi[..n * 2 * k].fill(F::ZERO);
        }
        for head in 0..heads.heads {
            let coupling = &coupling[head * self.context * stride..][..self.context * stride];
            let kept: &[F] = if dropout.is_active() {
                couple::kept(n, coupling, stride, &dropout, kept_coupling);
                kept_coupling
            } else {
                coupling
            };
            if let (false, Some(first)) = (self.circular(), sections.value) {
                let first = first + head * kh;
                let dmean = Columns::new(dmeans.update, k, head * kh, kh);
                let values = Columns::new(values.preactivations, m, first, kh);
                attention.dot(dmean, values, dcoupling, packed, false);
                attention.mix_back(kept, dmean, ColumnsMut::new(dvalues.preactivations, m, first), packed);
            } else {
                for (part, (first, width)) in self.value_columns(head).enumerate() {
                    let dmean = Columns::new(dmeans.resultant, 2 * k, first, width);
                    let values = Columns::new(values.psi, 2 * k, first, width);
                    attention.dot(dmean, values, dcoupling, packed, part > 0);
                    attention.mix_back(kept, dmean, ColumnsMut::new(dvalues.psi, 2 * k, first), packed);
                }
                if heads.extra > 0 {
                    let (frames, first) = (heads.heads * heads.extra, head * heads.extra);
                    let dmean = Columns::new(dmeans.contracted, frames, first, heads.extra);
                    let values = Columns::new(values.contracted, frames, first, heads.extra);
                    attention.dot(dmean, values, dcoupling, packed, true);
                    let dvalues = ColumnsMut::new(dvalues.contracted, frames, first);
                    attention.mix_back(kept, dmean, dvalues, packed);
                }
            }
            couple::backward(n, coupling, stride, &dropout, dcoupling);
            let dscores = &*dcoupling;
            let key = Columns::new(phasors.key, row, head * width, width);
            attention.mix(dscores, key, ColumnsMut::new(dphasors.query, row, head * width), packed);
            let query = Columns::new(phasors.query, row, head * width, width);
            attention.mix_back(dscores, query, ColumnsMut::new(dphasors.key, row, head * width), packed);
        }
    }

    /// Equation (1), the factors of the score; Section 3.5: dphasors, psi, gates -> dgates (written), dtheta,
    /// the gradients of omega and tau; `dscale` is the transport frame's share of the score scale's gradient
    fn phasors_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        psi: &[F],
        gates: QueryKey<&[F]>,
        dphasors: QueryKey<&[F]>,
        mut dscale: f64,
        dgates: QueryKey<&mut [F]>,
        dtheta: &mut [F],
        gradient: &mut [F],
    ) {
        let (heads, len) = (self.heads(), pass.tokens.len() * self.heads().row());
        let (dquery, dkey) = (&dphasors.query[..len], &dphasors.key[..len]);
        let QueryKey { query, key } = gates;
        let QueryKey { query: dquery_gate, key: dkey_gate } = dgates;
        let (cos, sin) = pass.tables.drift(index);
        let (c, domega) =
            (self.score_scale(pass.parameters), self.slots.layers[index].omega.slice_mut(gradient));
        dscale += drift::backward(
            heads,
            0,
            psi,
            query,
            key,
            cos,
            sin,
            c,
            dquery,
            dkey,
            dquery_gate,
            dkey_gate,
            dtheta,
            domega,
        );
        gradient[self.slots.tau.start] += F::from_f64(dscale / self.root_of_head());
    }

    /// Table 3, low-rank value transport: dquery, dkey after each head's phasors, the key's
    /// phasors, frames -> dkey of the phasors, the frame section of dpreactivations; returns the
    /// gradient of the score's scale
    fn contract_phasors_backward<F: Real>(
        &self,
        n: usize,
        scale: F,
        preactivations: &[F],
        key: &[F],
        dquery: &[F],
        dkey: &mut [F],
        dpreactivations: &mut [F],
    ) -> f64 {
        let mut dscale = 0.0;
        if self.slots.sections.frame.is_none() {
            return dscale;
        }
        let (heads, rank) = (self.heads(), self.rank());
        let (kh, width) = (heads.kh(), heads.width());
        for (t, head) in self.tokens_and_heads(n) {
            let (at, len) = self.frame_at(t, head);
            let row = t * heads.row() + head * width;
            let (z, contracted) = key[row..][..width].split_at(2 * kh);
            let (dz, dcontracted) = dkey[row..][..width].split_at_mut(2 * kh);
            let by_query = &dquery[row + 2 * kh..][..2 * rank];
            dscale += reduce::inner_product(by_query, contracted).to_f64();
            for (dcontracted, &by_query) in dcontracted.iter_mut().zip(by_query) {
                *dcontracted += scale * by_query;
            }
            frame::backward(rank, &z[..kh], &z[kh..], dcontracted, &mut dpreactivations[at..][..len]);
            let (dre, dim) = dz.split_at_mut(kh);
            self.frame(preactivations, t, head).expand(dcontracted, dre, dim);
        }
        dscale
    }

    /// Table 3, low-rank value transport: dcontracted_values, psi, frames -> the frame section of
    /// dpreactivations, dpsi
    fn contract_values_backward<F: Real>(
        &self,
        n: usize,
        psi: &[F],
        preactivations: &[F],
        dcontracted_values: &[F],
        dpreactivations: &mut [F],
        dpsi: &mut [F],
    ) {
        if self.slots.sections.frame.is_none() || !self.circular() {
            return;
        }
        let (k, kh, rank) = (self.config.width, self.heads().kh(), self.rank());
        for (t, head) in self.tokens_and_heads(n) {
            let (at, len) = self.frame_at(t, head);
            let dcontracted = &dcontracted_values[(t * self.config.heads + head) * 2 * rank..][..2 * rank];
            let (cos, sin) = psi[t * 2 * k..][..2 * k].split_at(k);
            let (cos, sin) = (&cos[head * kh..][..kh], &sin[head * kh..][..kh]);
            frame::backward(rank, cos, sin, dcontracted, &mut dpreactivations[at..][..len]);
            let (dcos, dsin) = dpsi[t * 2 * k..][..2 * k].split_at_mut(k);
            let (dcos, dsin) = (&mut dcos[head * kh..][..kh], &mut dsin[head * kh..][..kh]);
            self.frame(preactivations, t, head).expand(dcontracted, dcos, dsin);
        }
    }

    /// Equation (1), g^q and g^k; Section 2.0.1: dgates, gates, inverse means, slopes -> the query and key
    /// sections of dpreactivations (written)
    fn gates_backward<F: Real>(
        &self,
        n: usize,
        slopes: &[F],
        gates: QueryKey<&[F]>,
        inverse_means: QueryKey<&[F]>,
        dgates: QueryKey<&[F]>,
        dpreactivations: &mut [F],
    ) {
        let (k, h, sections) = (self.config.width, self.config.heads, self.slots.sections);
        let normalize = self.config.gate_normalization;
        for (section, gates, inverse_mean, dgates) in [
            (sections.query, gates.query, inverse_means.query, dgates.query),
            (sections.key, gates.key, inverse_means.key, dgates.key),
        ] {
            let Some(first) = section else { continue };
            let (slope, dgates) = (&slopes[first..], &dgates[..n * k]);
            let dpreactivations = &mut dpreactivations[first..];
            gate::backward(
                normalize,
                h,
                k,
                slope,
                sections.total,
                gates,
                inverse_mean,
                dgates,
                dpreactivations,
            );
        }
    }

    /// Equation (1), the arguments of the gates: dpreactivations, dpsi, psi -> dtheta, the gate maps; in
    /// layer 0, dpreactivations go to the table by byte
    fn lift_and_map_backward<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        index: usize,
        psi: &[F],
        dpreactivations: &[F],
        dpsi: &mut [F],
        dtheta: &mut [F],
        packed: &mut Packed<F>,
        gradient: &mut [F],
    ) {
        let (n, k, m) = (pass.tokens.len(), self.config.width, self.slots.sections.total);
        let dpreactivations = &dpreactivations[..n * m];
        if index == 0 {
            let table = self.slots.table_preactivations.slice_mut(gradient);
            linear::scatter(m, dpreactivations, pass.tokens, table);
        } else if m > 0 {
            let gates = self.slots.layers[index].gates;
            let slots = self.slots.gates[gates];
            linear::bias_backward(dpreactivations, slots.bias.slice_mut(gradient));
            packed.pack(psi, 2 * k, n, 2 * k);
            let by_output = View::transposed(dpreactivations, m);
            product(slots.weight.slice_mut(gradient), 2 * k, m, by_output, packed, true, Causal::Full);
            let (by_token, map) = (View::rows(dpreactivations, m), &pass.tables.gates[gates].backward);
            product(dpsi, 2 * k, n, by_token, map, true, Causal::Full);
        }
        lift::backward(k, &psi[..n * 2 * k], &dpsi[..n * 2 * k], dtheta);
    }
}
