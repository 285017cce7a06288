//! The score as a metric (Appendix A) and as the cost of entropy-regularized retrieval (Proposition 1), on the
//! code that trains.

mod common;

use common::{Recorder, noise, random_weights, small, text};
use kuramoto_model::config::{Drift, GateActivation, Metric};
use kuramoto_model::{Kuramoto, KuramotoConfig, Weights};
use proptest::prelude::*;

const LENGTH: usize = 12;

type Model = Weights<f64, Kuramoto>;

/// A random model with this tau.
fn model(config: KuramotoConfig, seed: u64, tau: f64) -> Model {
    let mut weights = random_weights(Kuramoto::new(config, LENGTH).unwrap(), seed);
    set(&mut weights, "tau", |x| x.fill(tau));
    weights
}

fn set(weights: &mut Model, name: &str, change: impl FnOnce(&mut [f64])) {
    weights.edit(|network, parameters| {
        change(network.layout().find(name).unwrap().slot.slice_mut(parameters));
    });
}

fn seen(weights: &Model, tokens: &[u8]) -> Recorder {
    let mut recorder = Recorder::default();
    weights.forward(tokens, &mut weights.workspace(), &mut recorder).unwrap();
    recorder
}

/// tau / sqrt(k/h): the paper's tau / sqrt(k) in each head.
fn scale(weights: &Model) -> f64 {
    let config = weights.network().config();
    weights.parameter("tau").unwrap()[0] / ((config.width / config.heads) as f64).sqrt()
}

/// The metric's diagonal at token `t` in the first layer.
fn metric(weights: &Model, seen: &Recorder, t: usize) -> Vec<f64> {
    let k = weights.network().config().width;
    let gates = seen.query[0][t * k..][..k].iter().zip(&seen.key[0][t * k..][..k]);
    gates.map(|(query, key)| scale(weights) * query * key).collect()
}

/// Two bytes that differ by delta: byte 1 at random phases theta, byte 0 at theta + delta. Without drift, the
/// score of token 1 with token 0 is the one at equal position. Returns what it differs by from the score of
/// token 1 with itself in each head, and the pass.
fn falls_off(weights: &mut Model, delta: &[f64]) -> (Vec<f64>, Recorder) {
    let (k, heads) = (delta.len(), weights.network().config().heads);
    set(weights, "emb", |phases| {
        for j in 0..k {
            phases[j] = phases[k + j] + delta[j];
        }
    });
    let seen = seen(weights, &[0, 1]);
    // Both are in one row of the softmax, so their scores differ as their logarithms do.
    let row = |head: usize| &seen.attention[head][seen.stride..][..2];
    ((0..heads).map(|head| (row(head)[0] / row(head)[1]).ln()).collect(), seen)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// With gates held constant (key maps without weights) the score falls off as -1/2 sum_j M_jj delta_j^2,
    /// with an error of at most sum_j |M_jj| delta_j^4 / 24, which is that of the cosine.
    #[test]
    fn the_score_falls_off_by_the_metric(seed in 0u64..1000, heads in 1usize..=3, size in 0.01f64..0.5) {
        let config = KuramotoConfig { heads, layers: 1, drift: Drift::None, ..small() };
        let (k, kh) = (config.width, config.width / heads);
        let mut weights = model(config, seed, 1.7);
        set(&mut weights, "gates.wk.weight", |x| x.fill(0.0));
        let direction = noise(k, seed + 1);
        let error = |weights: &mut Model, size: f64| {
            let delta: Vec<f64> = direction.iter().map(|x| size * x).collect();
            let (differences, seen) = falls_off(weights, &delta);
            let metric = metric(weights, &seen, 1);
            let of_head = |head: usize| {
                let coordinates = head * kh..(head + 1) * kh;
                let expansion: f64 = coordinates.clone().map(|j| -0.5 * metric[j] * delta[j].powi(2)).sum();
                let bound: f64 = coordinates.map(|j| metric[j].abs() * delta[j].powi(4) / 24.0).sum();
                ((differences[head] - expansion).abs(), bound)
            };
            (0..heads).map(of_head).collect::<Vec<_>>()
        };
        let (coarse, fine) = (error(&mut weights, size), error(&mut weights, size / 2.0));
        for ((far, bound), (near, _)) in coarse.into_iter().zip(fine) {
            prop_assert!(far <= bound + 1e-13, "{far} exceeds {bound}");
            // Of fourth order: half the distance, a sixteenth of the error.
            if bound > 1e-9 {
                prop_assert!((far / near - 16.0).abs() < 1.0, "{far} became {near}");
            }
        }
    }

    /// With gates that vary the score adds what the key gates change: the expansion's error O(delta grad g).
    #[test]
    fn the_rest_is_the_change_of_the_gates(seed in 0u64..1000, heads in 1usize..=3) {
        let config = KuramotoConfig { heads, layers: 1, drift: Drift::None, ..small() };
        let (k, kh) = (config.width, config.width / heads);
        let mut weights = model(config, seed, 0.9);
        let delta: Vec<f64> = noise(k, seed + 1).iter().map(|x| 0.3 * x).collect();
        let (differences, seen) = falls_off(&mut weights, &delta);
        let (scale, query, key) = (scale(&weights), &seen.query[0], &seen.key[0]);
        for (head, difference) in differences.into_iter().enumerate() {
            let change = |j: usize| scale * query[k + j] * (key[j] * delta[j].cos() - key[k + j]);
            let expected: f64 = (head * kh..(head + 1) * kh).map(change).sum();
            prop_assert!((difference - expected).abs() < 1e-12, "{difference} is not {expected}");
        }
    }

    /// Softplus and sigmoid gates are positive, so with tau > 0 the metric is positive-definite.
    #[test]
    fn positive_gates_make_a_metric(
        seed in 0u64..1000,
        heads in 1usize..=3,
        tau in 0.01f64..10.0,
        sigmoid: bool,
        gate_normalization: bool,
    ) {
        let gate_activation = if sigmoid { GateActivation::Sigmoid } else { GateActivation::Softplus };
        let config = KuramotoConfig { heads, gate_activation, gate_normalization, ..small() };
        let weights = model(config, seed, tau);
        let seen = seen(&weights, &text(LENGTH, 7, seed));
        for t in 0..LENGTH {
            prop_assert!(metric(&weights, &seen, t).iter().all(|&m| m > 0.0));
        }
    }

    /// The metric is not flat, and diagonal at each point only: every entry depends on every phase, also on
    /// those of other coordinates and heads.
    #[test]
    fn every_entry_depends_on_every_phase(seed in 0u64..1000, heads in 1usize..=3) {
        let config = KuramotoConfig { heads, layers: 1, ..small() };
        let k = config.width;
        let mut weights = model(config, seed, 1.0);
        let step = 1e-5;
        for i in 0..k {
            let mut at = |phase: f64| {
                set(&mut weights, "emb", |phases| phases[i] += phase);
                metric(&weights, &seen(&weights, &[0]), 0)
            };
            let (above, below) = (at(step), at(-2.0 * step));
            at(step);
            for j in (0..k).filter(|&j| j != i) {
                let slope = (above[j] - below[j]) / (2.0 * step);
                prop_assert!(slope.abs() > 1e-9, "dM_{j}{j} / dtheta_{i} = {slope}");
            }
        }
    }

    /// Proposition 1: of all distributions over the past, A_t minimizes sum_u pi_u c_u + KL(pi || uniform) / tau,
    /// c_u = -s_tu / tau. The excess of any other is KL(pi || A_t) / tau, so the minimum is unique. With tau < 0
    /// it is the maximum: the paper's reading needs tau > 0.
    #[test]
    fn attention_minimizes_cost_and_divergence(
        seed in 0u64..1000,
        heads in 1usize..=3,
        size in 0.1f64..5.0,
        negative: bool,
    ) {
        let tau = if negative { -size } else { size };
        let config = KuramotoConfig { heads, layers: 1, ..small() };
        let (k, kh) = (config.width, config.width / heads);
        let weights = model(config, seed, tau);
        let seen = seen(&weights, &text(LENGTH, 7, seed));
        let omega = weights.network().omega(weights.parameters(), 0);
        let affinity = |head: usize, t: usize, u: usize| -> f64 {
            let one = |j: usize| {
                let (query, key) = (seen.query[0][t * k + j], seen.key[0][u * k + j]);
                let apart = seen.states[0][t * k + j] - seen.states[0][u * k + j];
                query * key * (apart + omega[j] * (t - u) as f64).cos()
            };
            (head * kh..(head + 1) * kh).map(one).sum::<f64>() / (kh as f64).sqrt()
        };
        for head in 0..heads {
            for t in 1..LENGTH {
                let cost: Vec<f64> = (0..=t).map(|u| -affinity(head, t, u)).collect();
                let uniform = vec![1.0 / (t + 1) as f64; t + 1];
                let objective = |pi: &[f64]| {
                    let mean: f64 = pi.iter().zip(&cost).map(|(p, c)| p * c).sum();
                    mean + divergence(pi, &uniform) / tau
                };
                let attention = &seen.attention[head][t * seen.stride..][..=t];
                for draw in 0..4 {
                    let other = distribution(t + 1, seed + 100 * draw + t as u64);
                    let excess = objective(&other) - objective(attention);
                    let expected = divergence(&other, attention) / tau;
                    prop_assert!((excess - expected).abs() < 1e-9 * (1.0 + expected.abs()), "{excess}, {expected}");
                    prop_assert!(if negative { excess < 0.0 } else { excess > 0.0 }, "{excess}");
                }
            }
        }
    }
}

/// KL(p || q).
fn divergence(p: &[f64], q: &[f64]) -> f64 {
    p.iter().zip(q).filter(|(p, _)| **p > 0.0).map(|(p, q)| p * (p / q).ln()).sum()
}

/// A point drawn uniformly from the simplex.
fn distribution(n: usize, seed: u64) -> Vec<f64> {
    let gaps: Vec<f64> = noise(n, seed).iter().map(|x| -((x + 1.0) / 2.0 + 1e-12).ln().min(-1e-12)).collect();
    let sum: f64 = gaps.iter().sum();
    gaps.iter().map(|gap| gap / sum).collect()
}

/// Linear gates are signed: their product is negative somewhere, and then it is no metric.
#[test]
fn signed_gates_may_violate_positivity() {
    let config = KuramotoConfig { gate_activation: GateActivation::Linear, ..small() };
    let weights = model(config, 1, 1.0);
    let seen = seen(&weights, &text(LENGTH, 7, 1));
    let entries: Vec<f64> = (0..LENGTH).flat_map(|t| metric(&weights, &seen, t)).collect();
    assert!(entries.iter().any(|&m| m < 0.0) && entries.iter().any(|&m| m > 0.0));
}

/// Without gates the metric is flat: no gates are seen, and the score falls off alike from everywhere.
#[test]
fn without_gates_the_metric_is_flat() {
    let config = KuramotoConfig { layers: 1, drift: Drift::None, metric: Metric::None, ..small() };
    let delta: Vec<f64> = noise(config.width, 5).iter().map(|x| 0.2 * x).collect();
    let mut found = [3, 4].map(|seed| {
        let (differences, seen) = falls_off(&mut model(config.clone(), seed, 1.3), &delta);
        assert!(seen.query[0].is_empty() && seen.key[0].is_empty());
        differences[0]
    });
    let flat: f64 = delta.iter().map(|x| 1.3 / 12f64.sqrt() * (x.cos() - 1.0)).sum();
    found.iter_mut().for_each(|difference| *difference -= flat);
    assert!(found.iter().all(|rest| rest.abs() < 1e-12), "{found:?}");
}

/// A frame in place of gates: the score changes to first order in delta, so it is no metric in this sense.
#[test]
fn a_low_rank_frame_has_no_diagonal_metric() {
    let config = KuramotoConfig { layers: 1, drift: Drift::None, metric: Metric::Transport, ..small() };
    let mut weights = model(config.clone(), 2, 1.0);
    // A constant frame, so that nothing but delta changes.
    set(&mut weights, "gates.wf.weight", |x| x.fill(0.0));
    let mut along = |size: f64| {
        let delta: Vec<f64> = noise(config.width, 6).iter().map(|x| size * x).collect();
        falls_off(&mut weights, &delta).0[0]
    };
    let (forth, back) = (along(1e-5), along(-1e-5));
    assert!((forth - back).abs() > 100.0 * (forth + back).abs(), "{forth} and {back}");
}
