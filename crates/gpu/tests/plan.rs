//! Plans without a device.
#![cfg(feature = "wgpu")]
#![allow(clippy::print_stdout)] // measured errors, for whoever runs it with --nocapture

use kuramoto_gpu::{DEFAULT_LIMITS, Plan, plan};
use kuramoto_model::{KuramotoConfig, ModelConfig, TransformerConfig};

fn paper(model: impl Into<ModelConfig>) -> Plan {
    plan(&model.into(), 64, 256, &DEFAULT_LIMITS).unwrap().1
}

#[test]
fn few_launches() {
    let (kuramoto, transformer) = (paper(KuramotoConfig::default()), paper(TransformerConfig::default()));
    println!("{kuramoto}\n\n{transformer}");
    assert!(kuramoto.step().count() <= 90, "{}", kuramoto.step().count());
    assert!(transformer.step().count() <= 100, "{}", transformer.step().count());
}

/// A step's products are those of the mathematical model, but for the embedding and what a weight gradient
/// saves.
#[test]
fn products_do_what_the_model_asks_for() {
    for model in [KuramotoConfig::default().into(), ModelConfig::from(TransformerConfig::default())] {
        let expected = model.flops(256).training * (64.0 * 256.0);
        let planned: f64 = paper(model).step().map(|launch| launch.flops).sum();
        assert!((planned / expected - 1.0).abs() < 0.02, "{planned:e}, not {expected:e}");
    }
}

/// Deeper models launch more, but compile no more.
#[test]
fn layers_share_kernels() {
    let layers = |layers: usize| paper(KuramotoConfig { layers, ..Default::default() });
    assert_eq!(layers(3).kernels.len(), layers(4).kernels.len());
}
