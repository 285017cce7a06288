//! The rest of a sequence whose beginning is still in the workspace: what a changed text computes anew.

use super::groups::{Block, Means, QueryKey, Rows, Values};
use super::workspace::{Layer, Scratch};
use super::{Kuramoto, Pass, Workspace};
use crate::hooks::Hooks;
use kuramoto_kernels::{Real, linear};

impl Kuramoto {
    /// Positions `first..` of a sequence, without dropout. The workspace holds those before from the last
    /// pass, over a sequence that began with the same tokens; hooks get the rows of the new positions alone.
    pub(crate) fn run_extension<F: Real>(
        &self,
        pass: &Pass<'_, F>,
        first: usize,
        work: &mut Workspace<F>,
        hooks: &mut dyn Hooks<F>,
    ) {
        let Pass { parameters, tables, tokens, dropout } = *pass;
        let rest = Pass { parameters, tables, tokens: &tokens[first..], dropout };
        let (n, count) = (tokens.len(), tokens.len() - first);
        let (k, m, h) = (self.config.width, self.slots.sections.total, self.config.heads);
        let frames = self.value_frames();
        let Workspace { layers, scratch, logits, .. } = work;
        let Scratch { ones, theta, query, key, turned, final_psi, hidden, .. } = scratch;
        let theta = &mut theta[..count * k];
        linear::gather(k, self.slots.emb.slice(parameters), rest.tokens, theta);
        for (index, layer) in layers.iter_mut().enumerate() {
            let Layer { psi, preactivations, query_gate, key_gate, .. } = layer;
            let Layer { inverse_mean_query, inverse_mean_key, coupling, resultant, .. } = layer;
            let Layer { contracted_values, contracted_mean, update, update_rms, middle, .. } = layer;
            let Layer { middle_psi, gate_up, feed_forward, feed_forward_rms, .. } = layer;
            self.wrap(theta);
            hooks.state(index, theta);
            let own_psi = &mut psi[first * 2 * k..n * 2 * k];
            let own_preactivations = &mut preactivations[first * m..n * m];
            if index == 0 && !hooks.changes_input() {
                linear::gather(2 * k, &tables.emb_psi, rest.tokens, own_psi);
                linear::gather(m, &tables.emb_preactivations, rest.tokens, own_preactivations);
            } else {
                self.lift_and_map(&rest, index, theta, own_psi, own_preactivations);
            }

            let own_means = QueryKey {
                query: &mut inverse_mean_query[first * h..],
                key: &mut inverse_mean_key[first * h..],
            };
            let own_gates = QueryKey { query: &mut query_gate[first * k..], key: &mut key_gate[first * k..] };
            self.gates(count, own_preactivations, own_gates, own_means);
            let drift = self.value_drift(parameters, index);
            let own_gates = QueryKey { query: &mut query_gate[first * k..], key: &mut key_gate[first * k..] };
            hooks.gates(index, &mut self.gates_to_hook(count, own_gates, own_preactivations, &drift));

            // Phasors are not kept by layer; computing them again costs less than keeping them would.
            let gates = self.gates_or(ones, QueryKey { query: &query_gate[..], key: &key_gate[..] });
            self.phasors(pass, index, 0, psi, preactivations, gates, QueryKey { query, key });
            let own_contracted = &mut contracted_values[first * frames..n * frames];
            self.contract_values(count, &psi[first * 2 * k..], &preactivations[first * m..], own_contracted);
            let value_psi = self.turn_values(pass, index, 0, psi, turned);

            let values = Values { psi: value_psi, preactivations, contracted: contracted_values };
            let phasors = QueryKey { query: &query[..], key: &key[..] };
            let means = Means {
                resultant: &mut resultant[first * 2 * k..n * 2 * k],
                update: &mut update[first * k..n * k],
                contracted: &mut contracted_mean[first * frames..n * frames],
            };
            self.attend_rest(index, first, phasors, values, coupling, means, hooks);
            let own_resultant = &mut resultant[first * 2 * k..n * 2 * k];
            let own_update = &mut update[first * k..n * k];
            self.turn_means_back(&rest, index, first, own_resultant);
            let (own_psi, own_preactivations) =
                (&psi[first * 2 * k..n * 2 * k], &preactivations[first * m..]);
            let own_mean = &contracted_mean[first * frames..];
            self.direction(count, ones, own_psi, own_preactivations, own_mean, own_resultant, own_update);

            let own_middle = &mut middle[first * k..n * k];
            self.synchronize(&rest, index, theta, own_update, &mut update_rms[first..], own_middle);
            hooks.middle(index, own_middle);
            // There are none without a block that has them.
            let block = Block {
                middle_psi: middle_psi.get_mut(first * 2 * k..).unwrap_or_default(),
                gate_up: gate_up.get_mut(first * 4 * k..).unwrap_or_default(),
                hidden: &mut hidden[..],
            };
            let (own_increment, own_rms) = (&mut feed_forward[first * k..], &mut feed_forward_rms[first..]);
            self.feed_forward(&rest, index, own_middle, block, own_increment, own_rms, theta);
        }
        hooks.state(self.config.layers, theta);
        self.read_out(&rest, theta, final_psi, &mut logits[first * self.config.vocab..]);
    }

    /// Equation (1), A and G of positions `first..`: phasors and values of all -> their rows of the coupling,
    /// their means
    fn attend_rest<F: Real>(
        &self,
        index: usize,
        first: usize,
        phasors: QueryKey<&[F]>,
        values: Values<&[F]>,
        coupling: &mut [F],
        mut means: Means<&mut [F]>,
        hooks: &mut dyn Hooks<F>,
    ) {
        let (k, row, stride) = (self.config.width, self.heads().row(), self.attention_stride());
        let (frames, count) = (self.value_frames(), means.update.len() / k);
        let rows = match self.slots.sections.value.filter(|_| !self.circular()) {
            Some(first) => (&values.preactivations[first..], self.slots.sections.total),
            None => (values.psi, 2 * k),
        };
        let rows = Rows { values: rows.0, stride: rows.1, contracted: values.contracted };
        means.clear();
        for head in 0..self.config.heads {
            let coupling = &mut coupling[head * self.context * stride..][first * stride..];
            for (t, coupling) in coupling.chunks_mut(stride).take(count).enumerate() {
                let query = &phasors.query[(first + t) * row..][..row];
                self.couple_row(head, query, phasors.key, &mut coupling[..=first + t]);
            }
            hooks.attention(index, head, stride, &mut coupling[..count * stride]);
            for (t, coupling) in coupling.chunks(stride).take(count).enumerate() {
                let mut mean = Means {
                    resultant: &mut means.resultant[t * 2 * k..][..2 * k],
                    update: &mut means.update[t * k..][..k],
                    contracted: &mut means.contracted[t * frames..][..frames],
                };
                self.mix_row(head, &coupling[..=first + t], rows, &mut mean);
            }
        }
    }
}
