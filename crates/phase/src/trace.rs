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

/// Records what [`Weights::extend`](kuramoto_model::Weights::extend) adds to a trace of the beginning.
#[derive(Debug)]
pub struct Extending<'t, F> {
    trace: &'t mut Trace<F>,
    kept: usize,
}

impl<F: Real> Trace<F> {
    /// Forgets all but the first `kept` of its tokens and takes rows up to the `n`-th.
    pub fn extending(&mut self, kept: usize, n: usize) -> Extending<'_, F> {
        let (before, heads) = (self.n, self.heads);
        for coupling in &mut self.attention {
            let mut wider = vec![F::ZERO; heads * n * n];
            for (head, t) in (0..heads).flat_map(|head| (0..kept).map(move |t| (head, t))) {
                wider[(head * n + t) * n..][..=t]
                    .copy_from_slice(&coupling[(head * before + t) * before..][..=t]);
            }
            *coupling = wider;
        }
        self.n = n;
        Extending { trace: self, kept }
    }
}

impl<F: Real> Extending<'_, F> {
    fn add<'r>(kept: usize, k: usize, to: &mut Vec<F>, rows: impl IntoIterator<Item = &'r [F]>)
    where
        F: 'r,
    {
        to.truncate(kept * k);
        rows.into_iter().for_each(|row| to.extend_from_slice(row));
    }
}

impl<F: Real> Hooks<F> for Extending<'_, F> {
    fn state(&mut self, layer: usize, state: &mut [F]) {
        Self::add(self.kept, self.trace.k, &mut self.trace.states[layer], [&*state]);
    }

    fn gates(&mut self, layer: usize, gates: &mut Gates<'_, F>) {
        let Extending { trace, kept } = self;
        let (k, count) = (trace.k, trace.n - *kept);
        Self::add(*kept, k, &mut trace.query[layer], [&*gates.query]);
        Self::add(*kept, k, &mut trace.key[layer], [&*gates.key]);
        if !gates.value.is_empty() {
            let rows = (0..count).map(|t| &gates.value[t * gates.value_stride..][..k]);
            Self::add(*kept, k, &mut trace.value[layer], rows);
        }
        keep(gates.value_drift, &mut trace.value_drift[layer]);
    }

    fn attention(&mut self, layer: usize, head: usize, stride: usize, attention: &mut [F]) {
        let n = self.trace.n;
        let all = &mut self.trace.attention[layer][head * n * n..][..n * n];
        for (t, row) in (self.kept..n).zip(attention.chunks(stride)) {
            all[t * n..][..=t].copy_from_slice(&row[..=t]);
        }
    }

    fn middle(&mut self, layer: usize, state: &mut [F]) {
        Self::add(self.kept, self.trace.k, &mut self.trace.middles[layer], [&*state]);
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use kuramoto_model::{Network, Weights};

    #[test]
    fn an_extended_trace_is_the_trace_of_the_whole() {
        let config = KuramotoConfig { vocab: 7, width: 8, heads: 2, layers: 2, ..Default::default() };
        let weights = Weights::<f64, _>::initialized(Kuramoto::new(config, 12).unwrap(), 3);
        let tokens = [1, 5, 2, 0, 6, 3, 3, 1, 4];
        let mut whole = Trace::new(weights.network());
        weights.forward(&tokens, &mut weights.workspace(), &mut whole).unwrap();
        for (before, kept) in
            [(&[1, 5, 2, 0, 6, 3, 3, 1][..], 8), (&[1, 5, 2, 4, 4, 4, 4, 4, 4, 4, 4, 4], 3), (&[2], 0)]
        {
            let (mut work, mut trace) = (weights.workspace(), Trace::new(weights.network()));
            weights.forward(before, &mut work, &mut trace).unwrap();
            weights.extend(&tokens, kept, &mut work, &mut trace.extending(kept, tokens.len())).unwrap();
            assert_eq!((trace.n, Network::<f64>::context(weights.network())), (9, 12));
            let parts = |trace: &Trace<f64>| {
                [&trace.states, &trace.middles, &trace.attention, &trace.query, &trace.key, &trace.value]
                    .map(|part| part.concat())
            };
            for (own, all) in parts(&trace).iter().zip(&parts(&whole)) {
                assert_eq!(own.len(), all.len());
                assert!(own.iter().zip(all).all(|(a, b)| (a - b).abs() < 1e-12), "from {kept}");
            }
        }
    }
}
