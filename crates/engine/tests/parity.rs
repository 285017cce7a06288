//! The engine against float64 fixtures of a second implementation of the same reconstruction, and against a
//! naive evaluation where there is no fixture.

#[path = "../examples/parity/fixture.rs"]
mod fixture;
#[path = "../examples/parity/naive.rs"]
mod naive;

use fixture::{Errors, Fixture, Model, Worst};
use kuramoto_model::ablation::{self, VARIANTS};
use kuramoto_model::{Kuramoto, KuramotoConfig, NoHooks, SequenceDropout, Weights, random};
use naive::Order;
use std::path::Path;

fn fixtures() -> Vec<(String, Fixture)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/fixtures");
    let names = fixture::names(&folder).unwrap();
    assert_eq!(names.len(), 21, "the fixtures of every row and both models are here");
    names.into_iter().map(|name| (name.clone(), Fixture::read(&folder, &name).unwrap())).collect()
}

#[test]
fn f64_matches_to_1e_9() {
    for (name, fixture) in fixtures() {
        let Worst { error, tensor } = fixture.compare::<f64>().unwrap().worst;
        assert!(error <= 1e-9, "{name}: {error:e} in {tensor}");
    }
}

#[test]
fn f32_is_within_twice_the_naive_error() {
    for (name, fixture) in fixtures() {
        let Worst { error, tensor } = fixture.compare::<f32>().unwrap().worst_norm();
        let naive = fixture.naive_f32_error().unwrap().expect("fixtures are small");
        assert!(error <= fixture::allowed_f32(naive), "{name}: {error:e} in {tensor}, naive {naive:e}");
    }
}

/// The yardstick itself is right: in f64 it agrees with the fixtures too.
#[test]
fn naive_evaluation_matches() {
    for (name, fixture) in fixtures() {
        let Worst { error, tensor } = fixture.naive_errors::<f64>(Order::First).unwrap().worst;
        assert!(error <= 1e-9, "{name}: {error:e} in {tensor}");
    }
}

/// Random weights and text of a configuration; the weights are far from any initialization.
fn random_fixture(config: KuramotoConfig, seed: u64) -> Fixture {
    let (batch, length) = (2, 7);
    let mut stream = random::stream(seed, 0);
    let network = Kuramoto::new(config.clone(), length).unwrap();
    let mut values = |n: usize| (0..n).map(|_| random::uniform_signed(&mut stream)).collect::<Vec<f64>>();
    let tensors = network.layout().tensors().iter();
    // Angles beyond a turn, so that wrapping them does something.
    let spread = |name: &str| if name == "emb" { 6.0 } else { 0.5 };
    let parameter = |name: &str, values: Vec<f64>| values.iter().map(|x| spread(name) * x).collect();
    let tensors =
        tensors.map(|t| (format!("param.{}", t.name), parameter(&t.name, values(t.slot.len)))).collect();
    let mut bytes =
        || values(batch * length).iter().map(|x| ((x + 1.0) / 2.0 * config.vocab as f64) as u8).collect();
    let (tokens, targets) = (bytes(), bytes());
    Fixture { model: Model::Kuramoto(config), batch, length, tokens, targets, tensors }
}

/// Logits and every gradient of the variants beyond the paper's table, alone and combined.
#[test]
fn variants_match_the_naive_evaluation() {
    let combined = [
        &["shared-drift", "drift-in-values", "wrapped-angles", "unshared-metric-gates"][..],
        &["fixed-drift", "drift-in-values", "score-transport"],
        &["no-drift", "low-rank-transport", "wrapped-angles"],
        &["score-transport", "value-projection", "per-layer-gates"],
        &["unshared-metric-gates", "no-value-gate", "sigmoid-gates"],
        &["phase-feed-forward", "shared-feed-forward", "wrapped-angles", "linear-readout"],
        &["phase-feed-forward", "low-rank-transport", "no-value-gate"],
        &["phase-feed-forward", "value-projection", "fixed-drift", "no-metric-gates"],
    ];
    let alone = VARIANTS.map(|variant| vec![variant.name]);
    for names in alone.into_iter().chain(combined.map(|names| names.to_vec())) {
        for heads in [1, 2] {
            let sizes = KuramotoConfig { vocab: 7, width: 8, layers: 3, heads, ..Default::default() };
            let mut config = KuramotoConfig { dropout: 0.0, transport_rank: 2, ..sizes };
            ablation::apply(&mut config, &names).unwrap();
            let fixture = random_fixture(config.clone(), heads as u64);
            let naive = naive::evaluate::<f64>(&fixture, Order::First);
            let network = Kuramoto::new(config, fixture.length).unwrap();
            let tensors = network.layout().tensors().to_vec();
            let parameters: Vec<f64> =
                tensors.iter().flat_map(|t| fixture.tensors[&format!("param.{}", t.name)].clone()).collect();
            let mut weights = Weights::new(network, &parameters).unwrap();
            let mut gradient = vec![0.0; kuramoto_model::Network::<f64>::gradient_len(weights.network())];
            let (mut work, mut logits, mut errors) = (weights.workspace(), Vec::new(), Errors::default());
            let rows = fixture.tokens.chunks(fixture.length).zip(fixture.targets.chunks(fixture.length));
            for (i, (tokens, targets)) in rows.enumerate() {
                weights.forward(tokens, &mut work, &mut NoHooks).unwrap();
                logits.extend(weights.logits(tokens.len(), &work));
                let dropout = SequenceDropout { rate: 0.0, seed: 0, step: 0, sequence: i as u64 };
                let weight = 1.0 / fixture.tokens.len() as f64;
                weights.add_gradient(tokens, targets, dropout, weight, &mut work, &mut gradient);
            }
            weights.finish_gradient(&mut gradient);
            errors.take("logits", &logits, &naive.logits).unwrap();
            for tensor in tensors {
                errors
                    .take(&tensor.name, tensor.slot.slice(&gradient), &naive.gradients[&tensor.name])
                    .unwrap();
            }
            let Worst { error, tensor } = errors.worst;
            assert!(error <= 1e-9, "{names:?} with {heads} heads: {error:e} in {tensor}");
        }
    }
}
