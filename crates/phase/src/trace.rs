//! Running a model over text, and what it leaves at its hook points.

use crate::error::{Error, Result};
use kuramoto_kernels::Real;
use kuramoto_model::{Draw, Gates, Hooks, Kuramoto, Network, Pass};

/// A trained Kuramoto model that can be looked into, one window of text at a time.
pub struct Probe<F: Real> {
    network: Kuramoto,
    parameters: Vec<F>,
    tables: <Kuramoto as Network<F>>::Tables,
    work: <Kuramoto as Network<F>>::Workspace,
}

impl<F: Real> Probe<F> {
    /// Of a model and its parameters.
    pub fn new(network: Kuramoto, parameters: Vec<F>) -> Probe<F> {
        let (mut tables, work) = (Network::<F>::tables(&network), Network::<F>::workspace(&network));
        network.prepare(&parameters, &mut tables);
        Probe { network, parameters, tables, work }
    }

    /// The model.
    pub fn network(&self) -> &Kuramoto {
        &self.network
    }

    /// The parameter arena.
    pub fn parameters(&self) -> &[F] {
        &self.parameters
    }

    /// Changes parameters, such as tau or omega, and derives from them what a pass needs.
    pub fn change(&mut self, change: impl FnOnce(&Kuramoto, &mut [F])) {
        change(&self.network, &mut self.parameters);
        self.network.prepare(&self.parameters, &mut self.tables);
    }

    /// A parameter by its name.
    pub fn parameter(&self, name: &str) -> Option<&[F]> {
        self.network.layout().find(name).map(|tensor| tensor.slot.slice(&self.parameters))
    }

    /// Runs a window; `hooks` read and change it.
    pub fn run(&mut self, tokens: &[u8], hooks: &mut impl Hooks<F>) -> Result<()> {
        if tokens.is_empty() {
            return Err(Error::Empty);
        }
        Network::<F>::check(&self.network, tokens)?;
        let pass = Pass { parameters: &self.parameters, tables: &self.tables, tokens, draw: Draw::EVALUATION };
        self.network.forward(&pass, &mut self.work, hooks);
        Ok(())
    }

    /// Logits (n x vocab) of the last window.
    pub fn logits(&self, n: usize) -> Vec<F> {
        Network::<F>::logits(&self.network, &self.parameters, &self.work, n)
    }

    /// Nats of every target of the last window; uses up its logits.
    pub fn losses(&mut self, targets: &[u8]) -> Result<&[f64]> {
        Network::<F>::check(&self.network, targets)?;
        Ok(self.network.losses(&self.parameters, &mut self.work, targets))
    }
}

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
}

impl<F: Real> Trace<F> {
    /// Room for the traces of a model.
    pub fn of(network: &Kuramoto) -> Trace<F> {
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
        }
    }

    /// Layers.
    pub fn layers(&self) -> usize {
        self.middles.len()
    }

    /// Oscillators of a head.
    pub fn head_width(&self) -> usize {
        self.k / self.heads
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

    fn gates(&mut self, layer: usize, gates: Gates<'_, F>) {
        keep(gates.query, &mut self.query[layer]);
        keep(gates.key, &mut self.key[layer]);
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
