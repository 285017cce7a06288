//! What a model leaves at its hook points while it runs over a window of text.

use kuramoto_kernels::Real;
use kuramoto_model::{Gates, Hooks, Kuramoto, KuramotoConfig};

/// What one window left at the hook points.
#[derive(Clone, Debug, Default)]
pub struct Trace<F> {
    /// Tokens.
    pub n: usize,
    /// Oscillators.
    pub k: usize,
    /// Populations that couple apart from each other.
    pub heads: usize,
    /// Phases (n x k) entering each layer, and the last; L + 1 of them.
    pub states: Vec<Vec<F>>,
    /// Phases (n x k) after each layer's attention increment.
    pub middles: Vec<Vec<F>>,
    /// Coupling A (h x n x n) of each layer; zero above the diagonal.
    pub attention: Vec<Vec<F>>,
    /// Query gates (n x k) of each layer; empty without them.
    pub query: Vec<Vec<F>>,
    /// Key gates (n x k) of each layer; empty without them.
    pub key: Vec<Vec<F>>,
    /// Value gates (n x k) of each layer; empty without them.
    pub value: Vec<Vec<F>>,
    /// Rates (k) by which the values of each layer drift; empty if they do not.
    pub value_drift: Vec<Vec<F>>,
}

impl<F: Real> Trace<F> {
    /// Room for the traces of a model.
    pub fn new(network: &Kuramoto) -> Trace<F> {
        let config = network.config();
        let rooms = |count: usize| vec![Vec::new(); count];
        let layers = config.layers;
        Trace {
            n: 0,
            k: config.width,
            heads: config.heads,
            states: rooms(layers + 1),
            middles: rooms(layers),
            attention: rooms(layers),
            query: rooms(layers),
            key: rooms(layers),
            value: rooms(layers),
            value_drift: rooms(layers),
        }
    }

    /// Bytes that the trace of a window of `n` tokens holds.
    pub fn planned_bytes(config: &KuramotoConfig, n: usize) -> usize {
        // Phases, middles and three gates; couplings.
        let floats = config.layers * (5 * n * config.width + config.heads * n * n) + n * config.width;
        floats * size_of::<F>()
    }

    /// Layers.
    pub fn layers(&self) -> usize {
        self.middles.len()
    }

    /// Oscillators of a head.
    pub fn head_width(&self) -> usize {
        self.k / self.heads
    }

    /// How far the value of oscillator `j` has drifted when it is read `distance` tokens later.
    pub(crate) fn drifted(&self, layer: usize, j: usize, distance: usize) -> f64 {
        let rate = self.value_drift.get(layer).and_then(|rates| rates.get(j));
        rate.map_or(0.0, |rate| rate.to_f64() * distance as f64)
    }

    /// True if token `t` couples with another token in every head; the first cannot.
    pub fn has_neighbours(&self, layer: usize, t: usize) -> bool {
        let others = |head: usize| &self.coupling(layer, head)[t * self.n..][..t];
        (0..self.heads).all(|head| others(head).iter().any(|&a| a > F::ZERO))
    }

    /// Coupling of a head (n x n).
    pub fn coupling(&self, layer: usize, head: usize) -> &[F] {
        &self.attention[layer][head * self.n * self.n..][..self.n * self.n]
    }
}

fn keep<F: Real>(from: &[F], to: &mut Vec<F>) {
    to.clear();
    to.extend_from_slice(from);
}

/// A trace records as it is.
impl<F: Real> Hooks<F> for Trace<F> {
    fn state(&mut self, layer: usize, state: &mut [F]) {
        self.n = state.len() / self.k;
        keep(state, &mut self.states[layer]);
    }

    fn gates(&mut self, layer: usize, gates: &mut Gates<'_, F>) {
        keep(gates.query, &mut self.query[layer]);
        keep(gates.key, &mut self.key[layer]);
        keep(gates.value_drift, &mut self.value_drift[layer]);
        let value = &mut self.value[layer];
        value.clear();
        if !gates.value.is_empty() {
            let rows = (0..self.n).map(|t| &gates.value[t * gates.value_stride..][..self.k]);
            rows.for_each(|row| value.extend_from_slice(row));
        }
    }

    fn attention(&mut self, layer: usize, head: usize, stride: usize, attention: &mut [F]) {
        let (n, all) = (self.n, &mut self.attention[layer]);
        all.resize(self.heads * n * n, F::ZERO);
        for (t, row) in all[head * n * n..][..n * n].chunks_mut(n).enumerate() {
            row[..=t].copy_from_slice(&attention[t * stride..][..=t]);
            row[t + 1..].fill(F::ZERO);
        }
    }

    fn middle(&mut self, layer: usize, state: &mut [F]) {
        keep(state, &mut self.middles[layer]);
    }
}
