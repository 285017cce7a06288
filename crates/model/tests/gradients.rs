//! Gradients of the code that trains against finite differences, in f64: every variant and head count, and
//! random combinations of switches.

mod common;

use common::{COMBINATIONS, combination, noise, random_weights, small, text};
use kuramoto_model::ablation::{self, Ablation};
use kuramoto_model::{
    Kuramoto, KuramotoConfig, Network, SequenceDropout, Transformer, TransformerConfig, Weights,
};
use proptest::prelude::*;

const LENGTH: usize = 6;
const SEQUENCES: usize = 3;

/// Mean loss of all sequences; its gradient is left in the first elements of `gradient`.
fn mean_gradient<N: Network<f64>>(
    weights: &mut Weights<f64, N>,
    text: &[u8],
    work: &mut N::Workspace,
    gradient: &mut [f64],
) -> f64 {
    gradient.fill(0.0);
    let (rate, weight) = (weights.network().dropout(), 1.0 / (LENGTH * SEQUENCES) as f64);
    let of_sequence = |i: usize| {
        let (tokens, targets) = (&text[i * LENGTH..][..LENGTH], &text[i * LENGTH + 1..][..LENGTH]);
        let dropout = SequenceDropout { rate, seed: 5, step: 9, sequence: i as u64 };
        weights.add_gradient(tokens, targets, dropout, weight, work, gradient)
    };
    let loss: f64 = (0..SEQUENCES).map(of_sequence).sum();
    weights.finish_gradient(gradient);
    weight * loss
}

/// Compares `samples` coordinates of every parameter tensor with fourth-order central differences.
fn check<N: Network<f64>>(what: &str, network: N, samples: usize, seed: u64) {
    let text = text(LENGTH * SEQUENCES + 1, network.vocab(), seed);
    let mut weights = random_weights(network, seed);
    let (mut work, mut scratch) = (weights.workspace(), vec![0.0; weights.network().gradient_len()]);
    mean_gradient(&mut weights, &text, &mut work, &mut scratch);
    let gradient = scratch[..weights.parameters().len()].to_vec();
    let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
    let step = 3e-5;
    for tensor in weights.network().layout().tensors().to_vec() {
        let picks = noise(samples, seed + tensor.slot.start as u64);
        for pick in picks {
            let at = tensor.slot.start + ((pick + 1.0) / 2.0 * tensor.slot.len as f64) as usize;
            let center = weights.parameters()[at];
            let mut loss_at = |x: f64| {
                weights.edit(|_, parameters| parameters[at] = x);
                mean_gradient(&mut weights, &text, &mut work, &mut scratch)
            };
            let mut slope_at = |step: f64| {
                let near = loss_at(center + step) - loss_at(center - step);
                let far = loss_at(center + 2.0 * step) - loss_at(center - 2.0 * step);
                (8.0 * near - far) / (12.0 * step)
            };
            // Signed gates are divided by a mean of absolute values: a difference that straddles
            // a zero of a gate sees both sides of a kink, a shorter one does not. A wrong
            // gradient is wrong at every step.
            let slopes = [step, 0.1 * step, 0.01 * step].map(&mut slope_at);
            loss_at(center);
            let off_by = |slope: f64| (slope - gradient[at]).abs();
            let slope = slopes.into_iter().min_by(|a, b| off_by(*a).total_cmp(&off_by(*b))).unwrap();
            let off = off_by(slope);
            let name = &tensor.name;
            assert!(
                off <= 1e-8 * norm.max(1.0),
                "{what}, {name}[{at}]: {} but differences say {slope}",
                gradient[at]
            );
        }
    }
}

fn check_kuramoto(what: &str, config: KuramotoConfig, samples: usize, seed: u64) {
    check(what, Kuramoto::new(config, LENGTH).unwrap(), samples, seed);
}

#[test]
fn every_ablation_variant_and_head_count() {
    for heads in [1, 2, 3] {
        let reference = KuramotoConfig { heads, ..small() };
        check_kuramoto("reference", reference.clone(), 30, 1);
        for row in Ablation::all() {
            let mut config = reference.clone();
            ablation::apply(&mut config, &[row.name]).unwrap();
            check_kuramoto(&format!("{} with {heads} heads", row.name), config, 12, 2);
        }
    }
}

#[test]
fn low_rank_transport_of_every_rank() {
    for rank in 1..=4 {
        let mut config = KuramotoConfig { heads: 2, transport_rank: rank, ..small() };
        ablation::apply(&mut config, &["low-rank-transport"]).unwrap();
        check_kuramoto(&format!("transport of rank {rank}"), config, 30, rank as u64);
    }
}

#[test]
fn with_dropout() {
    for (seed, heads) in [(1, 1), (2, 3)] {
        check_kuramoto("dropout", KuramotoConfig { heads, dropout: 0.3, ..small() }, 20, seed);
        let mut transport = KuramotoConfig { heads, dropout: 0.3, ..small() };
        ablation::apply(&mut transport, &["low-rank-transport"]).unwrap();
        check_kuramoto("dropout with transport", transport, 20, seed);
        let config =
            TransformerConfig { vocab: 7, width: 12, layers: 2, heads, dropout: 0.3, ..Default::default() };
        check("transformer with dropout", Transformer::new(config, LENGTH).unwrap(), 20, seed);
    }
}

#[test]
fn transformer_of_every_head_count() {
    // Widths 12 / heads of 12, 6, 4, 3, 2 and 1: odd ones leave a coordinate unturned, 1 turns nothing.
    for heads in [1, 2, 3, 4, 6, 12] {
        let config =
            TransformerConfig { vocab: 7, width: 12, layers: 3, heads, dropout: 0.0, ..Default::default() };
        check(&format!("transformer with {heads} heads"), Transformer::new(config, LENGTH).unwrap(), 15, 3);
    }
}

#[test]
fn one_layer_one_token_and_odd_widths() {
    for (width, heads, layers) in [(5, 1, 1), (5, 5, 1), (9, 3, 3), (1, 1, 1)] {
        let config = KuramotoConfig { width, heads, layers, ..small() };
        check_kuramoto(&format!("width {width}"), config, 10, 4);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn switches_combine_freely(pick in 0..COMBINATIONS, seed in 0u64..1000) {
        let config = combination(pick);
        let what = format!("{config:?}");
        check_kuramoto(&what, config, 5, seed);
    }
}
