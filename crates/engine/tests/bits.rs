//! The same bits for any number of threads and processes, and batches that are refused.

mod common;

use common::thread_group::ThreadGroup;
use common::{batch, small, text};
use kuramoto_engine::cpu::{CpuEngine, CpuEvaluator};
use kuramoto_engine::{Batch, Cpu, Evaluator, Group, Shape, SingleProcess, Update};
use kuramoto_model::{Kuramoto, KuramotoConfig, Network, Transformer, TransformerConfig, Weights};
use std::sync::Arc;

const LENGTH: usize = 20;

/// The gradient, loss and norm of one batch in f32 for a number of threads, as bits.
fn bits<N: Network<f32>>(network: N, threads: usize, batch: &Batch<'_>, sequences: usize) -> Vec<u64> {
    bits_in_group(network, 8, threads, batch, sequences, Arc::new(SingleProcess))
}

fn bits_in_group<N: Network<f32>>(
    network: N,
    lanes: usize,
    threads: usize,
    batch: &Batch<'_>,
    sequences: usize,
    group: Arc<dyn Group>,
) -> Vec<u64> {
    let (shape, cpu) = (Shape { sequences, context: LENGTH, lanes }, Cpu { threads, pin: false, group });
    let mut engine = CpuEngine::new(network, &shape, &cpu).unwrap();
    engine.initialize(3);
    let mut bits = Vec::new();
    for step in 1..=3 {
        let loss = engine.mean_gradient(batch, 11, step).unwrap();
        let norm = engine.gradient_norm();
        engine.apply(&Update { step, ..Default::default() }, norm);
        bits.extend([loss.to_bits(), norm.to_bits()]);
        bits.extend(engine.weights().parameters().iter().map(|x| u64::from(x.to_bits())));
    }
    bits
}

#[test]
fn thread_count_changes_no_bit() {
    let sequences = 19;
    let text = text(LENGTH * sequences + 1, 7, 1);
    let batch = batch(&text, LENGTH);
    let kuramoto = || Kuramoto::new(KuramotoConfig { heads: 2, dropout: 0.1, ..small() }, LENGTH).unwrap();
    let config = TransformerConfig { vocab: 7, width: 12, layers: 2, heads: 2, ..Default::default() };
    let transformer = || Transformer::new(config.clone(), LENGTH).unwrap();
    let (one, other) = (bits(kuramoto(), 1, &batch, sequences), bits(transformer(), 1, &batch, sequences));
    for threads in [2, 3, 7, 8, 16] {
        assert!(
            one == bits(kuramoto(), threads, &batch, sequences),
            "Kuramoto differs with {threads} threads"
        );
        assert!(
            other == bits(transformer(), threads, &batch, sequences),
            "transformer differs with {threads} threads"
        );
    }
}

/// What each of the process processes gets.
fn bits_of_all<N: Network<f32>>(
    network: impl Fn() -> N + Sync,
    lanes: usize,
    batch: &Batch<'_>,
    sequences: usize,
    group: Vec<ThreadGroup>,
) -> Vec<Vec<u64>> {
    let run = |process: ThreadGroup| bits_in_group(network(), lanes, 2, batch, sequences, Arc::new(process));
    std::thread::scope(|scope| {
        let started: Vec<_> = group.into_iter().map(|process| scope.spawn(|| run(process))).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn process_count_changes_no_bit() {
    let sequences = 19;
    let text = text(LENGTH * sequences + 1, 7, 1);
    let batch = batch(&text, LENGTH);
    let network = || Kuramoto::new(KuramotoConfig { heads: 2, dropout: 0.1, ..small() }, LENGTH).unwrap();
    // Lanes that are no power of two, and more lanes than sequences.
    for lanes in [5, 8, 21] {
        let alone = bits_in_group(network(), lanes, 2, &batch, sequences, Arc::new(SingleProcess));
        for processes in [2, 3, 4, 5] {
            let all = bits_of_all(network, lanes, &batch, sequences, ThreadGroup::new_group(processes));
            assert!(all.iter().all(|bits| *bits == alone), "{processes} processes differ with {lanes} lanes");
        }
    }
    let group = ThreadGroup::new_group(3).pop().unwrap();
    let cpu = Cpu { group: Arc::new(group), ..Cpu::new(1) };
    let shape = Shape { sequences, context: LENGTH, lanes: 2 };
    let refused = CpuEngine::<f32, _>::new(network(), &shape, &cpu).err().unwrap();
    assert!(refused.to_string().contains("fewer"), "{refused}");
}

#[test]
fn batch_order_changes_no_bit_of_a_sequence() {
    let sequences = 9;
    let text = text(LENGTH * sequences, 7, 2);
    let reversed: Vec<u8> = text.chunks(LENGTH).rev().flatten().copied().collect();
    let network = Kuramoto::new(small(), LENGTH).unwrap();
    let weights = Weights::<f32, _>::initialized(network.clone(), 3);
    let mut evaluator = CpuEvaluator::new(network, weights.parameters(), 3, &Cpu::new(3)).unwrap();
    let mut sums = |tokens: &[u8]| {
        let mut sums = vec![0.0; sequences];
        evaluator.evaluate(&Batch { tokens, targets: tokens, length: LENGTH }, &mut sums).unwrap();
        sums
    };
    let (forward, mut backward) = (sums(&text), sums(&reversed));
    backward.reverse();
    assert_eq!(forward, backward);
}

#[test]
fn sequences_that_do_not_fit_are_refused() {
    let engine = |lanes, threads| {
        let shape = Shape { sequences: 4, context: 8, lanes };
        CpuEngine::<f32, _>::new(Kuramoto::new(small(), 8).unwrap(), &shape, &Cpu::new(threads))
    };
    let mut good = engine(2, 1).unwrap();
    let mut run = |tokens: &[u8], targets: &[u8], length| {
        good.mean_gradient(&Batch { tokens, targets, length }, 0, 0).unwrap_err().to_string()
    };
    assert!(run(&[0; 9], &[0; 9], 9).contains("9 bytes is longer than the planned context of 8"));
    assert!(run(&[7; 8], &[0; 8], 8).contains("token 7 at position 0 is outside the vocabulary of 7"));
    assert!(run(&[0; 8], &[0; 7], 8).contains("differ in length"));
    assert!(run(&[0; 7], &[0; 7], 4).contains("differ in length"));
    assert!(run(&[], &[], 4).contains("differ in length"));
    assert!(run(&[0; 40], &[0; 40], 8).contains("room for them"));
    assert!(engine(0, 1).is_err() && engine(1, 0).is_err());
}
