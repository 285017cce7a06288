//! Nothing is allocated inside a training step or while decoding a byte.

mod common;

use common::{batch, small, text};
use kuramoto_model::{
    Decoder, Engine, Kuramoto, KuramotoConfig, Network, Transformer, TransformerConfig, Update, ablation,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const LENGTH: usize = 40;
const SEQUENCES: usize = 12;

fn check<N: Network<f32>>(what: &str, network: N, threads: usize) {
    let vocab = network.vocab();
    let text = text(LENGTH * SEQUENCES + 1, vocab, 1);
    let batch = batch(&text, LENGTH);
    let planned = Engine::<f32, N>::planned_bytes(&network, 8, threads);
    let region = Region::new(ALLOCATOR);
    let mut engine = Engine::new(network, SEQUENCES, 8, threads).unwrap();
    let allocated = region.change().bytes_allocated;
    // Threads, lists of buffers and rounding to cache lines come on top.
    assert!((planned..planned + 200_000).contains(&allocated), "{what}: planned {planned}, allocated {allocated}");
    engine.initialize(1);
    let pool = engine.pool();
    let allocations = pool.install(|| {
        let mut run = |steps: std::ops::Range<u64>| {
            for step in steps {
                engine.gradient(&batch, 1, step).unwrap();
                let norm = engine.gradient_norm();
                engine.update(&Update { step, ..Update::default() }, norm);
            }
        };
        run(1..4);
        // Threads of the engine before this one may still be leaving, which allocates: what every stretch does counts.
        let stretches = [4..24, 24..44, 44..64].map(|steps| {
            let region = Region::new(ALLOCATOR);
            run(steps);
            region.change().allocations
        });
        stretches.into_iter().min()
    });
    assert_eq!(allocations, Some(0), "{what}: allocations in 20 steps with {threads} threads");
    let mut decoder = engine.decoder();
    let decodings = [(); 3].map(|()| {
        decoder.clear();
        let region = Region::new(ALLOCATOR);
        text[..LENGTH - 1].iter().for_each(|&token| assert!(decoder.push(token).is_ok()));
        region.change().allocations
    });
    assert_eq!(decodings.into_iter().min(), Some(0), "{what}: allocations while decoding");
}

/// One test, so that nothing else of this process allocates meanwhile.
#[test]
fn steps_and_decoding_allocate_nothing() {
    for threads in [1, 2, 3] {
        let config = KuramotoConfig { dropout: 0.1, heads: 2, ..small() };
        check("kuramoto", Kuramoto::new(config.clone(), LENGTH).unwrap(), threads);
        for names in [["low-rank-transport", "linear-readout"], ["value-projection", "shared-feed-forward"]] {
            let mut config = config.clone();
            ablation::apply(&mut config, &names).unwrap();
            check(&names.join(" + "), Kuramoto::new(config, LENGTH).unwrap(), threads);
        }
        let config = TransformerConfig { vocab: 7, width: 12, layers: 2, heads: 2, ..Default::default() };
        check("transformer", Transformer::new(config, LENGTH).unwrap(), threads);
    }
}
