//! One sequence, from its loss back to every parameter. The doc line of a stage says what it reads -> what it
//! writes, and each is the derivative of the stage of the same name in `forward.rs`. Gradients are added to,
//! except where the doc line says that they are written.

use super::attention_backward::CouplingScratch;
use super::forward::radius;
use super::groups::{Means, QueryKey, Values};
use super::slots::{FeedForwardSlots, ReadoutSlots};
use super::workspace::{Layer, Scratch};
use super::{Kuramoto, Pass, Workspace};
use crate::network::Purpose;
use kuramoto_kernels::product::product;
use kuramoto_kernels::{Causal, Packed, Real, View, bound, cross_entropy, gate, lift, linear, swiglu};

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
    middle_psi: &'a [F],
    gate_up: &'a [F],
    hidden: &'a mut [F],
    dhidden: &'a mut [F],
    dgate_up: &'a mut [F],
    dpsi: &'a mut [F],
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
        let Scratch { ones, query, key, turned, final_psi, kept_coupling, hidden, logit_row, .. } = scratch;
        let Scratch { dhidden, dgate_up, dtheta, dincrement, dpsi, dresultant, .. } = scratch;
        let Scratch { dcontracted_values, dcontracted_mean, dquery, dkey, .. } = scratch;
        let Scratch { dquery_gate, dkey_gate, dpreactivations, dcoupling, fixed_domega, .. } = scratch;

        self.cross_entropy(pass, targets, weight, logits, losses, logit_row, gradient);
        self.read_out_backward(pass, logits, final_psi, dpsi, dtheta, packed, gradient);
        for (index, layer) in layers.iter().enumerate().rev() {
            let Layer { psi, preactivations, query_gate, key_gate, coupling, resultant, .. } = layer;
            let Layer { inverse_mean_query, inverse_mean_key, contracted_values, .. } = layer;
            let Layer { contracted_mean, update, update_rms, middle, middle_psi, .. } = layer;
            let Layer { gate_up, feed_forward, feed_forward_rms, .. } = layer;
            let own_gates = QueryKey { query: &query_gate[..], key: &key_gate[..] };
            let gates = self.gates_or(ones, own_gates);
            self.phasors(pass, index, 0, psi, preactivations, gates, QueryKey { query, key });
            let phasors = QueryKey { query: &query[..], key: &key[..] };

            if self.slots.layers[index].feed_forward.is_some() {
                let saved =
                    Increment { of: Purpose::SecondIncrement, value: feed_forward, rms: feed_forward_rms };
                self.bound_backward(pass, index, saved, dtheta, dincrement, gradient);
                let saved = Swiglu { middle_psi, gate_up, hidden, dhidden, dgate_up, dpsi };
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
            self.turn_means_back_backward(pass, index, resultant, dresultant, turned, gradient, fixed_domega);
            let dmeans =
                Means { resultant: &dresultant[..], update: dincrement, contracted: dcontracted_mean };
            let values = Values { psi: self.turn_values(pass, index, 0, psi, turned), ..values };
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

            self.turn_values_backward(pass, index, turned, dpsi, gradient, fixed_domega);
            let scale = self.score_scale(pass.parameters);
            let dscale =
                self.contract_phasors_backward(n, scale, preactivations, key, dquery, dkey, dpreactivations);
            let dphasors = QueryKey { query: &dquery[..], key: dkey };
            let dgates = QueryKey { query: &mut dquery_gate[..], key: dkey_gate };
            self.phasors_backward(
                pass,
                index,
                psi,
                gates,
                dphasors,
                dscale,
                dgates,
                dtheta,
                gradient,
                fixed_domega,
            );
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
                linear::bias_backward(dlogits, vocab, bias.slice_mut(gradient));
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

    /// Section 2.0.3: dincrement, middle, middle_psi, gate_up -> dtheta (of the middle), the block's maps; with
    /// lifted phases also dpsi (of the middle; written)
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
                let Swiglu { middle_psi, gate_up, hidden, dhidden, dgate_up, dpsi } = swiglu;
                let kind = self.config.feed_forward;
                let (features, inputs) =
                    (if kind.reads_lift() { middle_psi } else { middle }, kind.inputs(k));
                let (gate_up, dgate_up) = (&gate_up[..n * 4 * k], &mut dgate_up[..n * 4 * k]);
                linear::bias_backward(dincrement, k, bias.slice_mut(gradient));
                product(dhidden, 2 * k, n, by_token, &down_map.backward, false, Causal::Full);
                swiglu::backward(2 * k, gate_up, dhidden, dgate_up, hidden);
                packed.pack(hidden, 2 * k, n, 2 * k);
                product(down.slice_mut(gradient), 2 * k, k, by_output, packed, true, Causal::Full);
                packed.pack(features, inputs, n, inputs);
                let by_gate_up = View::transposed(dgate_up, 4 * k);
                product(first.slice_mut(gradient), inputs, 4 * k, by_gate_up, packed, true, Causal::Full);
                let (by_token, map) = (View::rows(dgate_up, 4 * k), &maps.first.backward);
                if kind.reads_lift() {
                    product(dpsi, 2 * k, n, by_token, map, false, Causal::Full);
                    lift::backward(k, &middle_psi[..n * 2 * k], &dpsi[..n * 2 * k], dtheta);
                } else {
                    product(dtheta, k, n, by_token, map, true, Causal::Full);
                }
            }
            (FeedForwardSlots::Linear { weight, bias }, _) => {
                linear::bias_backward(dincrement, k, bias.slice_mut(gradient));
                packed.pack(middle, k, n, k);
                product(weight.slice_mut(gradient), k, k, by_output, packed, true, Causal::Full);
                product(dtheta, k, n, by_token, &maps.first.backward, true, Causal::Full);
            }
            (FeedForwardSlots::Swiglu { .. }, None) => unreachable!("a SwiGLU has a down map"),
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
            packed.pack(psi, 2 * k, n, 2 * k);
            for (set, slots) in self.gate_sets(index) {
                let doutputs = &dpreactivations[slots.first..];
                linear::bias_backward(doutputs, m, slots.bias.slice_mut(gradient));
                let (dweight, by_output) = (slots.weight.slice_mut(gradient), View::transposed(doutputs, m));
                product(dweight, 2 * k, slots.columns, by_output, packed, true, Causal::Full);
                let (by_token, map) = (View::rows(doutputs, m), &pass.tables.gates[set].backward);
                product(dpsi, 2 * k, n, by_token, map, true, Causal::Full);
            }
        }
        lift::backward(k, &psi[..n * 2 * k], &dpsi[..n * 2 * k], dtheta);
    }
}
