//! One benchmark per kernel, at the sizes of the 1M Kuramoto model: `cargo bench -p kuramoto-kernels`.
//!
//! Times are of one core on whatever else the machine is doing; compare them within one run only.

#![allow(missing_docs)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kuramoto_kernels::adamw::{self, AdamW};
use kuramoto_kernels::drift::Heads;
use kuramoto_kernels::gate::Activation;
use kuramoto_kernels::product::product;
use kuramoto_kernels::real::map;
use kuramoto_kernels::{
    AlignedVec, Causal, Dropout, Packed, View, bound, couple, cross_entropy, drift, gate, layer_norm, lift,
    rope, swiglu, tangent,
};

const T: usize = 256;
const K: usize = 176;
const V: usize = 205;

fn values(n: usize) -> AlignedVec<f32> {
    let values: Vec<f32> = (0..n).map(|i| ((i * 7919) % 1000) as f32 / 500.0 - 1.0).collect();
    AlignedVec::from_slice(&values)
}

fn functions(c: &mut Criterion) {
    let x = values(T * K);
    let (mut y, mut z) = (values(T * K), values(T * K));
    let mut group = c.benchmark_group("functions");
    group.throughput(Throughput::Elements((T * K) as u64));
    group.bench_function("sin_cos", |b| b.iter(|| map::sin_cos(&x, &mut y, &mut z)));
    group.bench_function("exp", |b| b.iter(|| map::exp(&x, &mut y)));
    group.bench_function("tanh", |b| b.iter(|| map::tanh(&x, &mut y)));
    group.bench_function("softplus", |b| b.iter(|| map::softplus(&x, &mut y)));
    group.bench_function("sigmoid", |b| b.iter(|| map::sigmoid(&x, &mut y)));
    group.bench_function("silu", |b| b.iter(|| map::silu(&x, &mut y)));
    group.finish();
}

fn layer(c: &mut Criterion) {
    let shape = Heads { k: K, heads: 1, extra: 0 };
    let dropout = Dropout::new(0.1, 1);
    let (theta, psi, preactivations, resultant) =
        (values(T * K), values(T * 2 * K), values(T * 3 * K), values(T * 2 * K));
    let (mut wide, mut wide2, mut out, mut out2) =
        (values(T * 2 * K), values(T * 2 * K), values(T * K), values(T * K));
    let (mut gates, mut inverse) = (values(T * K), values(T));
    let (mut dpreactivations, mut slope, mut domega) = (values(T * 3 * K), values(T * 3 * K), values(K));
    let mut group = c.benchmark_group("layer");
    group.throughput(Throughput::Elements((T * K) as u64));
    group.bench_function("lift forward", |b| b.iter(|| lift::forward(K, &theta, &mut wide)));
    group.bench_function("lift backward", |b| b.iter(|| lift::backward(K, &psi, &resultant, &mut out)));
    group.bench_function("gate forward", |b| {
        b.iter(|| {
            gate::forward(Activation::Softplus, true, 1, K, &mut slope, 3 * K, &mut gates, &mut inverse)
        });
    });
    group.bench_function("gate backward", |b| {
        let dgates = &theta;
        b.iter(|| {
            gate::backward(
                true,
                1,
                K,
                &preactivations,
                3 * K,
                &gates,
                &inverse,
                dgates,
                &mut dpreactivations,
            );
        });
    });
    group.bench_function("drift forward", |b| {
        b.iter(|| drift::forward(shape, &psi, &theta, &theta, &theta, &theta, 0.5, &mut wide, &mut wide2));
    });
    group.bench_function("drift backward", |b| {
        let (mut dgq, mut dgk, mut dtheta) = (values(T * K), values(T * K), values(T * K));
        b.iter(|| {
            drift::backward(
                shape,
                0,
                &psi,
                &theta,
                &theta,
                &theta,
                &theta,
                0.5,
                &resultant,
                &resultant,
                &mut dgq,
                &mut dgk,
                &mut dtheta,
                &mut domega,
            )
        });
    });
    group.bench_function("tangent forward", |b| {
        b.iter(|| tangent::forward(K, &psi, &resultant, &preactivations, 3 * K, &mut out))
    });
    group.bench_function("tangent backward", |b| {
        b.iter(|| {
            tangent::backward(
                K,
                &psi,
                &resultant,
                &preactivations,
                3 * K,
                &theta,
                &mut dpreactivations,
                &mut wide,
                &mut out,
            )
        });
    });
    group.bench_function("bound forward, dropout", |b| {
        b.iter(|| bound::forward(K, &theta, &out, Some(1.0), &dropout, &mut inverse, &mut out2));
    });
    group.bench_function("bound backward, dropout", |b| {
        b.iter(|| bound::backward(K, &theta, Some(1.0), &dropout, &inverse, &out, &mut out2));
    });
    group.bench_function("swiglu forward", |b| b.iter(|| swiglu::forward(K, &psi, &mut out)));
    group.bench_function("swiglu backward", |b| {
        b.iter(|| swiglu::backward(K, &psi, &theta, &mut wide, &mut out))
    });
    group.bench_function("layer_norm forward", |b| {
        b.iter(|| layer_norm::forward(K, &theta, &mut out, &mut inverse))
    });
    group.bench_function("layer_norm backward", |b| {
        b.iter(|| layer_norm::backward(K, &theta, &inverse, &out, &mut out2));
    });
    group
        .bench_function("rope forward", |b| b.iter(|| rope::forward(1, K, &theta, &theta, 0.1, &mut out, K)));
    group.finish();
}

fn attention(c: &mut Criterion) {
    let stride = T + 16;
    let dropout = Dropout::new(0.1, 1);
    let scores = values(T * stride);
    let (mut a, mut coupled, mut da) = (scores.clone(), scores.clone(), scores.clone());
    let mut group = c.benchmark_group("attention");
    group.throughput(Throughput::Elements((T * T / 2) as u64));
    group.bench_function("couple forward", |b| b.iter(|| couple::forward(T, &mut a, stride)));
    group.bench_function("couple drop", |b| {
        b.iter(|| couple::drop(T, &mut a, stride, &dropout, 0, &mut coupled))
    });
    group
        .bench_function("couple backward", |b| b.iter(|| couple::backward(T, &a, stride, &dropout, &mut da)));
    group.finish();
}

fn ends(c: &mut Criterion) {
    let targets = vec![7u8; T];
    let (mut raw, mut spare, mut losses) = (values(T * V), values(V), vec![0.0; T]);
    c.bench_function("cross-entropy forward and backward", |b| {
        b.iter(|| cross_entropy::forward_backward(V, 0.3, 1e-3, &targets, &mut raw, &mut losses, &mut spare));
    });
    let n = 1 << 20;
    let (gradient, mut parameters, mut first, mut second) =
        (values(n), values(n), values(n), AlignedVec::zeros(n));
    let how = AdamW {
        learning_rate: 1e-3,
        beta1: 0.9,
        beta2: 0.999,
        epsilon: 1e-8,
        weight_decay: 0.01,
        gradient_scale: 1.0,
        step: 10,
    };
    let mut group = c.benchmark_group("optimizer");
    group.throughput(Throughput::Elements(n as u64));
    group.bench_function("adamw", |b| {
        b.iter(|| adamw::update(&how, &mut parameters, &gradient, &mut first, &mut second));
    });
    group.finish();
}

fn products(c: &mut Criterion) {
    let mut group = c.benchmark_group("product");
    for (name, k, m) in [("gates", 2 * K, 3 * K), ("gate and up", K, 4 * K), ("down", 2 * K, K)] {
        let (a, w, mut y) = (values(T * k), values(k * m), values(T * m));
        let (mut weights, mut inputs) = (Packed::with_capacity(k, m), Packed::with_capacity(T, k));
        weights.pack_transposed(&w, k, k, m);
        group.throughput(Throughput::Elements((T * k * m) as u64));
        group.bench_function(format!("{name}: forward"), |b| {
            b.iter(|| product(&mut y, m, T, View::rows(&a, k), &weights, false, Causal::Full));
        });
        let mut dw = values(m * k);
        group.bench_function(format!("{name}: gradient of weights"), |b| {
            b.iter(|| {
                inputs.pack(&a, k, T, k);
                product(&mut dw, k, m, View::transposed(&y, m), &inputs, true, Causal::Full);
            });
        });
    }
    let stride = T + 16;
    let (q, mut scores, mut out) = (values(T * 2 * K), values(T * stride), values(T * 2 * K));
    let (mut keys, mut inputs) = (Packed::with_capacity(2 * K, T), Packed::with_capacity(T, 2 * K));
    group.throughput(Throughput::Elements((T * (T + 1) / 2 * 2 * K) as u64));
    group.bench_function("scores", |b| {
        b.iter(|| {
            keys.pack_transposed(&q, 2 * K, 2 * K, T);
            product(&mut scores, stride, T, View::rows(&q, 2 * K), &keys, false, Causal::OutputBelow);
        });
    });
    group.bench_function("resultant", |b| {
        b.iter(|| {
            inputs.pack(&q, 2 * K, T, 2 * K);
            product(&mut out, 2 * K, T, View::rows(&scores, stride), &inputs, false, Causal::InnerPast);
        });
    });
    group.finish();
}

criterion_group!(benches, functions, layer, attention, ends, products);
criterion_main!(benches);
