//! Small models with generic weights, for tests.

#![allow(dead_code)]

use kuramoto_kernels::Real;
use kuramoto_model::config::{Drift, FeedForward, GateActivation, Metric, Readout, Value};
use kuramoto_model::{Gates, Hooks, KuramotoConfig, Network, Weights};

/// Uniform in -1..1, a pure function of the seed.
pub fn noise(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// Weights far from any initialization, so that a wrong sign, transpose or permutation shows.
pub fn random_weights<F: Real, N: Network<F>>(network: N, seed: u64) -> Weights<F, N> {
    let values = noise(network.layout().count(), seed);
    let values: Vec<F> = values.into_iter().map(|value| F::from_f64(0.5 * value)).collect();
    Weights::new(network, &values).unwrap()
}

/// `n` tokens below `vocab`.
pub fn text(n: usize, vocab: usize, seed: u64) -> Vec<u8> {
    noise(n, seed).iter().map(|x| ((x + 1.0) / 2.0 * vocab as f64) as u8 % vocab as u8).collect()
}

/// A small reference configuration.
pub fn small() -> KuramotoConfig {
    KuramotoConfig {
        vocab: 7,
        width: 12,
        layers: 2,
        heads: 1,
        dropout: 0.0,
        transport_rank: 2,
        ..Default::default()
    }
}

/// The configuration that a number picks among all combinations of switches.
pub fn combination(mut pick: usize) -> KuramotoConfig {
    let mut choose = |n: usize| {
        let choice = pick % n;
        pick /= n;
        choice
    };
    let feed_forward =
        [FeedForward::Swiglu, FeedForward::Linear, FeedForward::None, FeedForward::PhaseSwiglu][choose(4)];
    let metric = [Metric::Gates, Metric::None, Metric::Transport, Metric::ScoreTransport][choose(4)];
    let value = [Value::Circular, Value::Projection][choose(2)];
    let drift = [Drift::Learned, Drift::Shared, Drift::Fixed, Drift::None][choose(4)];
    let can_drift = value == Value::Circular && metric != Metric::Transport && drift != Drift::None;
    let sharing = choose(3);
    KuramotoConfig {
        heads: [1, 2, 3, 4][choose(4)],
        metric,
        drift,
        drift_in_values: choose(2) == 1 && can_drift,
        wrapped_angles: choose(2) == 1,
        gate_activation: [GateActivation::Softplus, GateActivation::Sigmoid, GateActivation::Linear]
            [choose(3)],
        gate_normalization: choose(2) == 0,
        per_layer_gates: sharing == 1,
        per_layer_metric_gates: sharing == 2 && metric == Metric::Gates,
        value,
        value_gate: choose(2) == 0,
        value_bound: choose(2) == 0,
        shared_feed_forward: choose(2) == 1 && feed_forward != FeedForward::None,
        feed_forward,
        readout: [Readout::Phase, Readout::Linear][choose(2)],
        ..small()
    }
}

/// How many combinations there are.
pub const COMBINATIONS: usize = 4 * 4 * 2 * 4 * 3 * 4 * 2 * 2 * 3 * 2 * 2 * 2 * 2 * 2;

/// Everything a forward pass shows.
#[derive(Default)]
pub struct Recorder {
    pub states: Vec<Vec<f64>>,
    pub middles: Vec<Vec<f64>>,
    /// Layer by layer, head by head: rows of `stride`.
    pub attention: Vec<Vec<f64>>,
    pub stride: usize,
    /// Query gates (n x k) of each layer; empty without them.
    pub query: Vec<Vec<f64>>,
    /// Key gates (n x k) of each layer; empty without them.
    pub key: Vec<Vec<f64>>,
}

impl<F: Real> Hooks<F> for Recorder {
    fn state(&mut self, _layer: usize, state: &mut [F]) {
        self.states.push(state.iter().map(|x| x.to_f64()).collect());
    }
    fn gates(&mut self, _layer: usize, gates: &mut Gates<'_, F>) {
        self.query.push(gates.query.iter().map(|x| x.to_f64()).collect());
        self.key.push(gates.key.iter().map(|x| x.to_f64()).collect());
    }
    fn middle(&mut self, _layer: usize, state: &mut [F]) {
        self.middles.push(state.iter().map(|x| x.to_f64()).collect());
    }
    fn attention(&mut self, _layer: usize, _head: usize, stride: usize, attention: &mut [F]) {
        self.stride = stride;
        self.attention.push(attention.iter().map(|x| x.to_f64()).collect());
    }
}
