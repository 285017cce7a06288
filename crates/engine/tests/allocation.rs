//! Nothing is allocated inside a training step or while decoding a byte.

mod common;

use common::{batch, small, text};
use kuramoto_engine::cpu::CpuEngine;
use kuramoto_engine::{Cpu, Shape, SingleProcess, Update};
use kuramoto_model::{Kuramoto, KuramotoConfig, Network, Transformer, TransformerConfig, ablation};
use rayon::ThreadPool;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const LENGTH: usize = 40;
const SEQUENCES: usize = 12;

/// Returns its threads: leaving allocates, and must not fall into the next check.
fn check<N: Network<f32>>(what: &str, network: N, threads: usize) -> Arc<ThreadPool> {
    let vocab = network.vocab();
    let text = text(LENGTH * SEQUENCES + 1, vocab, 1);
    let batch = batch(&text, LENGTH);
    let planned = CpuEngine::<f32, N>::planned_bytes(&network, 8, threads, &SingleProcess);
    let region = Region::new(ALLOCATOR);
    let shape = Shape { sequences: SEQUENCES, context: LENGTH, lanes: 8 };
    let mut engine = CpuEngine::new(network, &shape, &Cpu::new(threads)).unwrap();
    let allocated = region.change().bytes_allocated;
    // Threads, lists of buffers and rounding to cache lines come on top.
    assert!(
        (planned..planned + 200_000).contains(&allocated),
        "{what}: planned {planned}, allocated {allocated}"
    );
    engine.initialize(1);
    let pool = engine.pool();
    let allocations = pool.install(|| {
        let mut run = |steps: std::ops::Range<u64>| {
            for step in steps {
                engine.mean_gradient(&batch, 1, step).unwrap();
                let norm = engine.gradient_norm();
                engine.apply(&Update { step, ..Update::default() }, norm);
            }
        };
        run(1..4);
        let region = Region::new(ALLOCATOR);
        run(4..24);
        region.change().allocations
    });
    assert_eq!(allocations, 0, "{what}: allocations in 20 steps with {threads} threads");
    let mut decoder = engine.weights().decoder();
    decoder.push(0).unwrap();
    let region = Region::new(ALLOCATOR);
    text[..LENGTH - 1].iter().for_each(|&token| assert!(decoder.push(token).is_ok()));
    assert_eq!(region.change().allocations, 0, "{what}: allocations while decoding");
    pool
}

/// One test, so that nothing else of this process allocates meanwhile.
#[test]
fn steps_and_decoding_allocate_nothing() {
    let mut kept = Vec::new();
    for threads in [1, 2, 3] {
        let config = KuramotoConfig { dropout: 0.1, heads: 2, ..small() };
        kept.push(check("kuramoto", Kuramoto::new(config.clone(), LENGTH).unwrap(), threads));
        let pairs = [
            ["low-rank-transport", "linear-readout"],
            ["value-projection", "shared-feed-forward"],
            ["drift-in-values", "phase-feed-forward"],
        ];
        for names in pairs {
            let mut config = config.clone();
            ablation::apply(&mut config, &names).unwrap();
            kept.push(check(&names.join(" + "), Kuramoto::new(config, LENGTH).unwrap(), threads));
        }
        let config = TransformerConfig { vocab: 7, width: 12, layers: 2, heads: 2, ..Default::default() };
        kept.push(check("transformer", Transformer::new(config, LENGTH).unwrap(), threads));
    }
}
