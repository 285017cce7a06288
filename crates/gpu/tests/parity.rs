//! Both models and every ablation against the processor's engine in f64.
#![cfg(feature = "wgpu")]
#![allow(clippy::print_stdout)] // measured errors, for whoever runs it with --nocapture

mod common;

use common::{
    Text, distance, double, engine, parameters, reference, small, small_transformer, with_and_without_units,
    worst_tensor,
};
use kuramoto_engine::{Engine, Shape};
use kuramoto_gpu::Gpu;
use kuramoto_model::{Ablation, KuramotoConfig, ModelConfig, TransformerConfig, ablation};

/// What a gradient may be wrong by: so many times the error of the processor in f32.
const TIMES: f64 = 3.0;
/// Errors of the processor are not taken to be smaller than this: some of its sums are in f64.
const FLOOR: f64 = 2e-7;
/// What any one tensor may be wrong by, where the processor in f32 is not worse.
const TENSOR: f64 = 2e-5;

/// The gradient of one batch.
fn compare(gpus: &[Gpu], what: &str, model: &ModelConfig, sequences: usize, context: usize) {
    for gpu in gpus {
        let units = if gpu.limits().matrix_units.is_some() { " on matrix units" } else { "" };
        compare_one(gpu, &format!("{what}{units}"), model, sequences, context);
    }
}

fn compare_one(gpu: &Gpu, what: &str, model: &ModelConfig, sequences: usize, context: usize) {
    let shape = Shape { sequences, context, lanes: 1 };
    let start = parameters(model, 5);
    let text = Text::new(sequences, context, model.vocab(), 1);
    let mut engine = engine(gpu, model, &shape, &start);
    let found_loss = engine.gradient(&text.batch(), 3, 1).unwrap();
    let found = double(&engine.last_gradient().unwrap());
    let (loss, expected) = reference::<f64>(model, &shape, &start).gradient(&text.batch(), 1);
    let (_, single) = reference::<f32>(model, &shape, &start).gradient(&text.batch(), 1);
    let (worst, tensor) = worst_tensor(engine.layout(), &found, &expected);
    let (own_worst, own_tensor) = worst_tensor(engine.layout(), &single, &expected);
    let (error, own) = (distance(&found, &expected), distance(&single, &expected));
    println!(
        "{what}: {error:.1e}, worst {worst:.1e} in {tensor}; the processor in f32 {own:.1e}, {own_worst:.1e}"
    );
    assert!((found_loss - loss).abs() < 2e-6 * loss, "{what}: loss {found_loss}, not {loss}");
    assert!(error <= TIMES * own.max(FLOOR), "{what}: {error:e}, the processor in f32 {own:e}");
    let allowed = TENSOR.max(TIMES * own_worst);
    assert!(
        worst <= allowed,
        "{what}: {worst:e} in {tensor}, the processor in f32 {own_worst:e} in {own_tensor}"
    );
}

#[test]
fn reference_model() {
    let (gpus, _alone) = with_and_without_units();
    compare(&gpus, "reference", &small().into(), 3, 33);
}

#[test]
fn transformer() {
    let (gpus, _alone) = with_and_without_units();
    compare(&gpus, "transformer", &small_transformer().into(), 3, 33);
}

#[test]
fn every_ablation() {
    let (gpus, _alone) = with_and_without_units();
    for row in Ablation::all() {
        let mut config = small();
        ablation::apply(&mut config, &[row.name]).unwrap();
        compare(&gpus, row.name, &config.into(), 3, 33);
    }
}

/// Switches that meet in a kernel, with one head and with several.
#[test]
fn combinations() {
    let (gpus, _alone) = with_and_without_units();
    let combined: [&[&str]; 9] = [
        &["shared-drift", "drift-in-values", "wrapped-angles", "unshared-metric-gates"],
        &["fixed-drift", "drift-in-values", "score-transport"],
        &["no-drift", "low-rank-transport", "wrapped-angles"],
        &["score-transport", "value-projection", "per-layer-gates"],
        &["unshared-metric-gates", "no-value-gate", "sigmoid-gates"],
        &["no-metric-gates", "no-value-gate", "no-feed-forward", "no-value-bound", "linear-readout"],
        &["low-rank-transport", "no-value-gate", "shared-feed-forward", "linear-feed-forward"],
        &["phase-feed-forward", "shared-feed-forward", "wrapped-angles", "linear-readout"],
        &["phase-feed-forward", "low-rank-transport", "value-projection", "fixed-drift"],
    ];
    for names in combined {
        for heads in [1, 4] {
            let mut config = KuramotoConfig { heads, ..small() };
            ablation::apply(&mut config, names).unwrap();
            compare(&gpus, &format!("{} with {heads} heads", names.join(", ")), &config.into(), 2, 18);
        }
    }
}

/// The models of the paper at one million parameters.
#[test]
#[ignore = "it takes minutes on a software device"]
fn sizes_of_the_paper() {
    let (gpus, _alone) = with_and_without_units();
    compare(&gpus, "kuramoto at 1M", &KuramotoConfig::default().into(), 2, 256);
    compare(&gpus, "transformer at 1M", &TransformerConfig::default().into(), 2, 256);
}
