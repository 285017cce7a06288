//! Cached decoding: each token leaves its key phasors and its values behind, layer by layer.

use super::groups::{Block, Means, QueryKey, Rows, Values};
use super::workspace::{Layer, Scratch, Sizes};
use super::{Kuramoto, Pass};
use kuramoto_kernels::{AlignedVec, Real, couple, linear};

/// What the past left in one layer.
#[derive(Debug)]
struct Past<F> {
    /// Key phasors (T x row).
    key: AlignedVec<F>,
    /// psi (T x 2k), or projected values (T x k).
    values: AlignedVec<F>,
    /// F^T psi (T x 2rh).
    contracted: AlignedVec<F>,
}

/// What decoding keeps of the bytes so far.
#[derive(Debug)]
pub struct Cache<F> {
    past: Vec<Past<F>>,
    /// The current token's activations, one layer at a time.
    layer: Layer<F>,
    scratch: Scratch<F>,
    /// The current token's row of the coupling (T).
    coupling_row: AlignedVec<F>,
    logits: AlignedVec<F>,
}

impl<F: Real> Cache<F> {
    pub(super) fn new(model: &Kuramoto) -> Self {
        let sizes = Sizes::for_one_token(model);
        let (t, heads, k) = (model.context, model.heads(), model.config.width);
        let mut scratch = Scratch::new(&sizes);
        scratch.ones.fill(F::ONE);
        let values = if model.circular() { 2 * k } else { k };
        let past = || Past {
            key: AlignedVec::zeros(t * heads.row()),
            values: AlignedVec::zeros(t * values),
            contracted: AlignedVec::zeros(t * model.value_frames()),
        };
        Cache {
            past: (0..model.config.layers).map(|_| past()).collect(),
            layer: Layer::new(&sizes),
            scratch,
            coupling_row: AlignedVec::zeros(t),
            logits: AlignedVec::zeros(model.config.vocab),
        }
    }
}

impl Kuramoto {
    pub(super) fn decode_token<'c, F: Real>(
        &self,
        pass: &Pass<'_, F>,
        position: usize,
        cache: &'c mut Cache<F>,
    ) -> &'c [F] {
        let Pass { parameters, tables, tokens, .. } = *pass;
        let (k, m) = (self.config.width, self.slots.sections.total);
        let Cache { past, layer, scratch, coupling_row, logits } = cache;
        let Scratch { ones, theta, query, key, turned, final_psi, hidden, .. } = scratch;
        let Layer { psi, preactivations, query_gate, key_gate, inverse_mean_query, .. } = layer;
        let Layer { inverse_mean_key, resultant, contracted_values, contracted_mean, .. } = layer;
        let Layer { update, update_rms, middle, middle_psi, gate_up, .. } = layer;
        let Layer { feed_forward, feed_forward_rms, .. } = layer;
        linear::gather(k, self.slots.emb.slice(parameters), tokens, theta);
        for (index, past) in past.iter_mut().enumerate() {
            self.wrap(theta);
            if index == 0 {
                linear::gather(2 * k, &tables.emb_psi, tokens, psi);
                linear::gather(m, &tables.emb_preactivations, tokens, preactivations);
            } else {
                self.lift_and_map(pass, index, theta, psi, preactivations);
            }

            let inverse_means = QueryKey { query: &mut inverse_mean_query[..], key: inverse_mean_key };
            self.gates(1, preactivations, QueryKey { query: query_gate, key: key_gate }, inverse_means);
            let gates = self.gates_or(ones, QueryKey { query: query_gate, key: key_gate });
            self.phasors(pass, index, position, psi, preactivations, gates, QueryKey { query, key });
            self.contract_values(1, psi, preactivations, contracted_values);

            let value_psi = self.turn_values(pass, index, position, psi, turned);
            let values = Values { psi: value_psi, preactivations, contracted: contracted_values };
            self.remember(position, key, values, past);
            let means = Means { resultant: &mut resultant[..], update, contracted: contracted_mean };
            self.attend_past(position, query, past, coupling_row, means);
            self.turn_means_back(pass, index, position, resultant);
            self.direction(1, ones, psi, preactivations, contracted_mean, resultant, update);

            self.synchronize(pass, index, theta, update, update_rms, middle);
            let block = Block { middle_psi: &mut middle_psi[..], gate_up, hidden };
            self.feed_forward(pass, index, middle, block, feed_forward, feed_forward_rms, theta);
        }
        self.read_out(pass, theta, final_psi, logits);
        let scale = self.logit_scale(parameters);
        logits.iter_mut().for_each(|x| *x *= scale);
        logits
    }

    /// Values of a past token: how many there are, and where projected ones start in the preactivations.
    fn past_values(&self) -> (usize, Option<usize>) {
        let k = self.config.width;
        match self.slots.sections.value {
            Some(first) if !self.circular() => (k, Some(first)),
            _ => (2 * k, None),
        }
    }

    /// The current token's key and values -> its row of the past
    fn remember<F: Real>(&self, position: usize, key: &[F], values: Values<&[F]>, past: &mut Past<F>) {
        let heads = self.heads();
        let (row, frames, (stride, projected)) = (heads.row(), self.value_frames(), self.past_values());
        let own = projected.map_or(values.psi, |first| &values.preactivations[first..first + stride]);
        past.key[position * row..][..row].copy_from_slice(key);
        past.values[position * stride..][..stride].copy_from_slice(own);
        past.contracted[position * frames..][..frames].copy_from_slice(values.contracted);
    }

    /// Equation (1), A and G of one token: query, the past and itself -> its row of the coupling, means
    fn attend_past<F: Real>(
        &self,
        position: usize,
        query: &[F],
        past: &Past<F>,
        coupling_row: &mut [F],
        mut means: Means<&mut [F]>,
    ) {
        let coupling = &mut coupling_row[..=position];
        let values =
            Rows { values: &past.values, stride: self.past_values().0, contracted: &past.contracted };
        means.clear();
        for head in 0..self.config.heads {
            self.couple_row(head, query, &past.key, coupling);
            self.mix_row(head, coupling, values, &mut means);
        }
    }

    /// Equation (1), A of one token in a head: query (row), keys (positions x row) -> coupling (positions)
    pub(super) fn couple_row<F: Real>(&self, head: usize, query: &[F], keys: &[F], coupling: &mut [F]) {
        let (width, row) = (self.heads().width(), self.heads().row());
        linear::apply_rows(&keys[head * width..], row, &query[head * width..][..width], coupling);
        couple::row(coupling);
    }

    /// Equation (1), G of one token in a head: its coupling (positions), values -> means +=
    pub(super) fn mix_row<F: Real>(
        &self,
        head: usize,
        coupling: &[F],
        rows: Rows<'_, F>,
        means: &mut Means<&mut [F]>,
    ) {
        let Rows { values, stride, contracted } = rows;
        let (kh, extra) = (self.heads().kh(), self.heads().extra);
        if !self.circular() {
            let mean = &mut means.update[head * kh..][..kh];
            return linear::combine_rows(&values[head * kh..], stride, coupling, mean);
        }
        for (first, width) in self.value_columns(head) {
            let mean = &mut means.resultant[first..first + width];
            linear::combine_rows(&values[first..], stride, coupling, mean);
        }
        if self.transports_values() {
            let mean = &mut means.contracted[head * extra..][..extra];
            linear::combine_rows(&contracted[head * extra..], self.value_frames(), coupling, mean);
        }
    }
}
