//! What must hold for every model, whatever its weights.

mod common;

use common::{COMBINATIONS, Recorder, combination, noise, random_weights, small, text};
use kuramoto_kernels::{Dropout, bound};
use kuramoto_model::config::{Drift, FeedForward, Metric};
use kuramoto_model::{
    Gates, Hooks, Kuramoto, KuramotoConfig, Network, Transformer, TransformerConfig, Weights,
};
use proptest::prelude::*;

const LENGTH: usize = 20;

fn weights(config: KuramotoConfig, seed: u64) -> Weights<f64, Kuramoto> {
    random_weights(Kuramoto::new(config, LENGTH).unwrap(), seed)
}

fn record<N: Network<f64>>(weights: &Weights<f64, N>, tokens: &[u8]) -> (Recorder, Vec<f64>) {
    let mut recorder = Recorder::default();
    let mut work = weights.workspace();
    weights.forward(tokens, &mut work, &mut recorder).unwrap();
    let logits = weights.logits(tokens.len(), &work);
    (recorder, logits)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Lemma 2: without gate and bound the attention increment is sum_u A sin(theta_u - theta_t), which is
    /// minus the gradient of the coherence energy E_t = - sum_u A sum_j cos(theta_t - theta_u); and |a| <=
    /// |G| <= 1.
    #[test]
    fn the_value_update_is_the_kuramoto_coupling(seed in 0u64..1000, heads in 1usize..=3) {
        let config = KuramotoConfig { heads, layers: 1, value_gate: false, value_bound: false, ..small() };
        let (k, kh) = (config.width, config.width / heads);
        let weights = weights(config, seed);
        let (seen, _) = record(&weights, &text(LENGTH, 7, seed));
        let (theta, mid) = (&seen.states[0], &seen.middles[0]);
        for t in 0..LENGTH {
            for j in 0..k {
                let a = |u: usize| seen.attention[j / kh][t * seen.stride + u];
                let at = |u: usize| theta[u * k + j];
                let coupling: f64 = (0..=t).map(|u| a(u) * (at(u) - at(t)).sin()).sum();
                let update = mid[t * k + j] - theta[t * k + j];
                prop_assert!((update - coupling).abs() < 1e-12, "{update} is not {coupling}");
                let energy = |x: f64| -(0..=t).map(|u| a(u) * (x - at(u)).cos()).sum::<f64>();
                let slope = (energy(at(t) + 1e-5) - energy(at(t) - 1e-5)) / 2e-5;
                prop_assert!((update + slope).abs() < 1e-9, "{update} is not minus the slope {slope}");
                let re: f64 = (0..=t).map(|u| a(u) * at(u).cos()).sum();
                let im: f64 = (0..=t).map(|u| a(u) * at(u).sin()).sum();
                let resultant = re.hypot(im);
                prop_assert!(update.abs() <= resultant + 1e-12 && resultant <= 1.0 + 1e-12);
            }
        }
    }

    /// With drift in values a token whose phase the score matches best pulls by nothing, whatever its
    /// distance: the direction is sum_u A sin(theta_u - theta_t - omega (t - u)).
    #[test]
    fn drift_in_values_is_read_in_the_receivers_frame(seed in 0u64..1000, heads in 1usize..=3) {
        let config = KuramotoConfig {
            heads, layers: 1, value_gate: false, value_bound: false, drift_in_values: true, ..small()
        };
        let (k, kh) = (config.width, config.width / heads);
        let weights = weights(config, seed);
        let omega = weights.network().omega(weights.parameters(), 0);
        let (seen, _) = record(&weights, &text(LENGTH, 7, seed));
        let (theta, mid) = (&seen.states[0], &seen.middles[0]);
        for t in 0..LENGTH {
            for j in 0..k {
                let pull = |u: usize| {
                    let apart = theta[u * k + j] - theta[t * k + j] - omega[j] * (t - u) as f64;
                    seen.attention[j / kh][t * seen.stride + u] * apart.sin()
                };
                let (update, pulls) = (mid[t * k + j] - theta[t * k + j], (0..=t).map(pull).sum::<f64>());
                prop_assert!((update - pulls).abs() < 1e-12, "{update} is not {pulls}");
            }
        }
    }

    /// With wrapped angles the model lives on the torus: whole turns of the embedding change nothing at all.
    #[test]
    fn wrapped_angles_forget_turns(pick in 0..COMBINATIONS, seed in 0u64..1000) {
        let config = KuramotoConfig { wrapped_angles: true, ..combination(pick) };
        let mut weights = weights(config, seed);
        let tokens = text(LENGTH, 7, seed);
        let (_, before) = record(&weights, &tokens);
        let turns = noise(weights.parameters().len(), seed + 1);
        weights.edit(|network, parameters| {
            let emb = network.layout().find("emb").unwrap().slot;
            for (phase, turns) in emb.slice_mut(parameters).iter_mut().zip(turns) {
                *phase += std::f64::consts::TAU * (4.0 * turns).round();
            }
        });
        let (_, after) = record(&weights, &tokens);
        for (before, after) in before.iter().zip(&after) {
            prop_assert!((before - after).abs() < 1e-9, "{before} became {after}");
        }
    }

    /// Without drift a layer does not know the order of the past.
    #[test]
    fn without_drift_the_past_has_no_order(seed in 0u64..1000) {
        let config = |drift| KuramotoConfig { layers: 1, drift, ..small() };
        let tokens = text(LENGTH, 7, seed);
        let mut reversed = tokens.clone();
        reversed[..LENGTH - 1].reverse();
        prop_assume!(tokens != reversed);
        let last = |drift, tokens: &[u8]| {
            record(&weights(config(drift), seed), tokens).1[(LENGTH - 1) * 7..].to_vec()
        };
        let difference = |drift| -> f64 {
            last(drift, &tokens).iter().zip(last(drift, &reversed)).map(|(a, b)| (a - b).abs()).sum()
        };
        prop_assert!(difference(Drift::None) < 1e-12);
        prop_assert!(difference(Drift::Fixed) > 1e-6);
    }

    /// Rows of A are distributions over the past.
    #[test]
    fn attention_rows_sum_to_one(pick in 0..COMBINATIONS, seed in 0u64..1000) {
        let weights = weights(combination(pick), seed);
        let (seen, _) = record(&weights, &text(LENGTH, 7, seed));
        for a in &seen.attention {
            for (t, row) in a.chunks(seen.stride).take(LENGTH).enumerate() {
                prop_assert!((row[..=t].iter().sum::<f64>() - 1.0).abs() < 1e-12);
                prop_assert!(row[..=t].iter().all(|&a| a >= 0.0));
                prop_assert!(row[t + 1..LENGTH].iter().all(|&a| a == 0.0));
            }
        }
    }

    /// Changing byte u changes no bit before u, in either model.
    #[test]
    fn nothing_looks_ahead(pick in 0..COMBINATIONS, seed in 0u64..1000, u in 1..LENGTH) {
        let tokens = text(LENGTH, 7, seed);
        let mut changed = tokens.clone();
        changed[u] = (changed[u] + 1) % 7;
        let kuramoto = weights(combination(pick), seed);
        let (before, after) = (record(&kuramoto, &tokens).1, record(&kuramoto, &changed).1);
        prop_assert_eq!(&before[..u * 7], &after[..u * 7]);
        let config = TransformerConfig { vocab: 7, width: 12, layers: 2, heads: 3, ..Default::default() };
        let transformer = random_weights(Transformer::new(config, LENGTH).unwrap(), seed);
        let (before, after) = (record(&transformer, &tokens).1, record(&transformer, &changed).1);
        prop_assert_eq!(&before[..u * 7], &after[..u * 7]);
        prop_assert_ne!(&before[u * 7..], &after[u * 7..]);
    }

    /// The bound keeps direction and stays under its radius; small steps pass almost unchanged.
    #[test]
    fn bound_keeps_direction_and_radius(seed in 0u64..1000, radius in 0.01f64..3.0, size in 1e-6f64..100.0) {
        let k = 9;
        let x: Vec<f64> = noise(k, seed).iter().map(|x| size * x).collect();
        let (mut rms, mut y) = ([0.0], vec![0.0; k]);
        bound::forward(k, &vec![0.0; k], &x, Some(radius), &Dropout::NONE, &mut rms, &mut y);
        let ratio = y[0] / x[0];
        prop_assert!(ratio > 0.0 && ratio <= 1.0 + 1e-12);
        prop_assert!(x.iter().zip(&y).all(|(x, y)| (y - ratio * x).abs() <= 1e-12 * x.abs()));
        let size = (y.iter().map(|y| y * y).sum::<f64>() / k as f64).sqrt();
        prop_assert!(size <= radius * (1.0 + 1e-12), "{size} exceeds {radius}");
        if rms[0] < 0.01 * radius {
            prop_assert!(ratio > 0.9999);
        }
    }

    /// tau = 0: every token attends to its whole past alike.
    #[test]
    fn without_scale_attention_is_uniform(pick in 0..COMBINATIONS, seed in 0u64..1000) {
        let mut weights = weights(combination(pick), seed);
        weights.edit(|network, parameters| {
            network.layout().find("tau").unwrap().slot.slice_mut(parameters)[0] = 0.0;
        });
        let (seen, _) = record(&weights, &text(LENGTH, 7, seed));
        for a in &seen.attention {
            for t in 0..LENGTH {
                let row = &a[t * seen.stride..][..=t];
                prop_assert!(row.iter().all(|a| (a - 1.0 / (t + 1) as f64).abs() < 1e-14));
            }
        }
    }

    /// Turning every phase by one angle leaves the first layer's attention of an ungated model alone.
    #[test]
    fn ungated_attention_ignores_a_common_turn(
        seed in 0u64..1000,
        angle in -10.0f64..10.0,
        heads in prop_oneof![Just(1usize), Just(4)],
    ) {
        let config = KuramotoConfig { heads, metric: Metric::None, ..small() };
        let mut weights = weights(config.clone(), seed);
        let tokens = text(LENGTH, 7, seed);
        let (before, _) = record(&weights, &tokens);
        weights.edit(|_, parameters| {
            parameters[..config.vocab * config.width].iter_mut().for_each(|x| *x += angle);
        });
        let (after, _) = record(&weights, &tokens);
        for (a, b) in before.attention[..heads].iter().zip(&after.attention[..heads]) {
            prop_assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-11));
        }
    }

    /// Phases live on a circle up to the first SwiGLU: a full turn of an embedding phase
    /// changes nothing before it.
    #[test]
    fn a_full_turn_changes_nothing_before_the_feed_forward(
        pick in 0..COMBINATIONS,
        seed in 0u64..1000,
        at in 0usize..7 * 12,
    ) {
        let config = KuramotoConfig { wrapped_angles: false, ..combination(pick) };
        let (k, heads) = (config.width, config.heads);
        let mut weights = weights(config, seed);
        let tokens = text(LENGTH, 7, seed);
        let (before, _) = record(&weights, &tokens);
        weights.edit(|_, parameters| parameters[at] += std::f64::consts::TAU);
        let (after, _) = record(&weights, &tokens);
        for (a, b) in before.attention[..heads].iter().zip(&after.attention[..heads]) {
            prop_assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-11));
        }
        for (i, (a, b)) in before.middles[0].iter().zip(&after.middles[0]).enumerate() {
            let turned = usize::from(tokens[i / k]) * k + i % k == at;
            let turn = if turned { std::f64::consts::TAU } else { 0.0 };
            prop_assert!((a + turn - b).abs() < 1e-11);
        }
    }

    /// Where the feed-forward block reads lifted phases, or there is none, phases live on a circle throughout:
    /// a full turn of an embedding phase changes no logit.
    #[test]
    fn a_full_turn_changes_nothing_where_all_that_reads_phases_lifts_them(
        pick in 0..COMBINATIONS,
        seed in 0u64..1000,
        at in 0usize..7 * 12,
        lifted in proptest::bool::ANY,
    ) {
        let feed_forward = if lifted { FeedForward::PhaseSwiglu } else { FeedForward::None };
        let config = combination(pick);
        let shared_feed_forward = config.shared_feed_forward && lifted;
        let mut weights = weights(KuramotoConfig { feed_forward, shared_feed_forward, ..config }, seed);
        let tokens = text(LENGTH, 7, seed);
        let (_, before) = record(&weights, &tokens);
        weights.edit(|_, parameters| parameters[at] += std::f64::consts::TAU);
        let (_, after) = record(&weights, &tokens);
        prop_assert!(before.iter().zip(&after).all(|(a, b)| (a - b).abs() < 1e-9));
    }
}

#[test]
fn initialization_is_a_pure_function_of_seed_and_configuration() {
    let start = |config: &KuramotoConfig, seed: u64| {
        let network = Kuramoto::new(config.clone(), LENGTH).unwrap();
        Weights::<f32, _>::initialized(network, seed).parameters().to_vec()
    };
    let config = KuramotoConfig { width: 32, ..small() };
    assert_eq!(start(&config, 1), start(&config, 1));
    assert_ne!(start(&config, 1), start(&config, 2));
    // An ablation starts what it shares with the reference alike.
    let ablated = KuramotoConfig { value_gate: false, ..config.clone() };
    let find = |config: &KuramotoConfig, name: &str| {
        let model = Kuramoto::new(config.clone(), LENGTH).unwrap();
        let slot = model.layout().find(name).unwrap().slot;
        slot.slice(&start(config, 1)).to_vec()
    };
    for name in ["emb", "gates.wq.weight", "layers.1.ffn.down.weight", "proto"] {
        assert_eq!(find(&config, name), find(&ablated, name), "{name}");
    }
    assert_eq!(find(&config, "tau"), [2.0 / 32f32.sqrt()]);
}

/// Sets all query and key gates to one, or all value gates to zero.
struct ChangeGates {
    metric: bool,
    middles: Vec<Vec<f64>>,
    states: Vec<Vec<f64>>,
}

impl Hooks<f64> for ChangeGates {
    fn gates(&mut self, _layer: usize, gates: &mut Gates<'_, f64>) {
        if self.metric {
            gates.query.fill(1.0);
            gates.key.fill(1.0);
            return;
        }
        for row in gates.value.chunks_mut(gates.value_stride) {
            let own = gates.width.min(row.len());
            row[..own].fill(0.0);
        }
    }
    fn state(&mut self, _layer: usize, state: &mut [f64]) {
        self.states.push(state.to_vec());
    }
    fn middle(&mut self, _layer: usize, state: &mut [f64]) {
        self.middles.push(state.to_vec());
    }
}

/// Gates that a hook changes are those that act: with ones, the model is the one without metric gates; without
/// value gates nothing moves.
#[test]
fn hooks_change_gates() {
    let tokens = text(LENGTH, 7, 3);
    for heads in [1, 2] {
        let gated = weights(KuramotoConfig { heads, ..small() }, 1);
        let mut plain = weights(KuramotoConfig { heads, metric: Metric::None, ..small() }, 1);
        plain.edit(|network, parameters| {
            for tensor in network.layout().tensors() {
                let same = gated.parameter(&tensor.name).unwrap();
                tensor.slot.slice_mut(parameters).copy_from_slice(same);
            }
        });
        let run = |metric: bool| {
            let mut hooks = ChangeGates { metric, middles: Vec::new(), states: Vec::new() };
            let mut work = gated.workspace();
            gated.forward(&tokens, &mut work, &mut hooks).unwrap();
            (gated.logits(tokens.len(), &work), hooks)
        };
        let (_, without) = record(&plain, &tokens);
        assert!(run(true).0.iter().zip(&without).all(|(a, b)| (a - b).abs() < 1e-12));
        let (_, still) = run(false);
        assert_eq!(still.middles, still.states[..still.middles.len()]);
    }
}
