//! Matrix products against the textbook loop, for every shape, causal form and instruction set.

use kuramoto_kernels::arch::{self, Level};
use kuramoto_kernels::product::product;
use kuramoto_kernels::{Causal, Packed, Real, View};
use proptest::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The level is one for the whole process: tests take turns.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn values<F: Real>(n: usize, seed: u64) -> Vec<F> {
    let mut state = seed | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        F::from_f64((state >> 40) as f64 / (1u64 << 23) as f64 - 1.0)
    };
    (0..n).map(|_| next()).collect()
}

/// Compares all four forms, both orders of the left operand and both packings with the definition.
fn check<F: Real>(n: usize, k: usize, m: usize, causal: Causal, accumulate: bool, tolerance: f64) {
    // Causal forms are square where they are causal.
    let (m, k) = match causal {
        Causal::Full => (m, k),
        Causal::OutputBelow => (n, k),
        Causal::InnerPast | Causal::InnerFuture => (m, n),
    };
    let mut a = values::<F>(n * k, 1);
    for i in 0..n {
        for p in 0..k {
            let outside = (causal == Causal::InnerPast && p > i) || (causal == Causal::InnerFuture && p < i);
            if outside {
                a[i * k + p] = F::ZERO;
            }
        }
    }
    let transposed: Vec<F> = (0..k * n).map(|at| a[at % n * k + at / n]).collect();
    let b = values::<F>(k * m, 2);
    let b_transposed: Vec<F> = (0..m * k).map(|at| b[at % k * m + at / k]).collect();
    let (mut packed, mut packed_transposed) = (Packed::with_capacity(k, m), Packed::with_capacity(k, m));
    packed.pack(&b, m, k, m);
    packed_transposed.pack_transposed(&b_transposed, k, k, m);
    let stride = m + 3;
    let start = values::<F>(n * stride, 3);
    let mut results = Vec::new();
    for left in [View::rows(&a, k), View::transposed(&transposed, n)] {
        for right in [&packed, &packed_transposed] {
            let mut c = start.clone();
            product(&mut c, stride, n, left, right, accumulate, causal);
            results.push(c);
        }
    }
    for c in &results {
        for i in 0..n {
            for j in 0..m {
                if causal == Causal::OutputBelow && j > i {
                    continue;
                }
                let sum: f64 = (0..k).map(|p| a[i * k + p].to_f64() * b[p * m + j].to_f64()).sum();
                let expected = sum + if accumulate { start[i * stride + j].to_f64() } else { 0.0 };
                let got = c[i * stride + j].to_f64();
                let size = (k as f64).sqrt().max(1.0);
                assert!(
                    (got - expected).abs() <= tolerance * size,
                    "({i}, {j}) of {n} x {k} x {m}: {got}, {expected}"
                );
            }
            // Nothing between rows is touched.
            assert!((m..stride).all(|j| c[i * stride + j].to_f64() == start[i * stride + j].to_f64()));
        }
    }
}

fn causal() -> impl Strategy<Value = Causal> {
    prop_oneof![
        Just(Causal::Full),
        Just(Causal::OutputBelow),
        Just(Causal::InnerPast),
        Just(Causal::InnerFuture)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    #[test]
    fn agrees_with_the_definition(
        n in 1usize..70, k in 1usize..90, m in 1usize..70, causal in causal(), accumulate: bool
    ) {
        let _turn = turn();
        check::<f32>(n, k, m, causal, accumulate, 2e-6);
        check::<f64>(n, k, m, causal, accumulate, 1e-14);
    }
}

#[test]
fn long_inner_dimensions_and_every_level() {
    let _turn = turn();
    for wanted in [Level::Portable, Level::Avx2, Level::Avx512] {
        if arch::limit(wanted) != wanted {
            continue;
        }
        for form in [Causal::Full, Causal::OutputBelow, Causal::InnerPast, Causal::InnerFuture] {
            check::<f32>(61, 1100, 37, form, true, 4e-6);
            check::<f64>(61, 1100, 37, form, false, 1e-14);
            check::<f32>(530, 7, 5, form, false, 4e-6);
            // Whole blocks of the greatest depth fill the gathering buffer to its end.
            check::<f32>(96, 1024, 9, form, false, 4e-6);
        }
    }
    arch::limit(Level::Avx512);
}

/// Tiles differ between levels (8 to 64 outputs): every remainder of every tile is packed once.
#[test]
fn every_width_at_every_level() {
    let _turn = turn();
    for wanted in [Level::Portable, Level::Avx2, Level::Avx512] {
        if arch::limit(wanted) != wanted {
            continue;
        }
        for width in 1..=130 {
            check::<f32>(13, 9, width, Causal::Full, false, 4e-6);
            check::<f64>(13, 9, width, Causal::Full, false, 1e-14);
        }
    }
    arch::limit(Level::Avx512);
}

#[test]
fn empty_dimensions() {
    let _turn = turn();
    let packed = {
        let mut packed = Packed::<f32>::with_capacity(0, 4);
        packed.pack(&[], 4, 0, 4);
        packed
    };
    let mut c = [1.0f32; 8];
    product(&mut c, 4, 2, View::rows(&[], 0), &packed, true, Causal::Full);
    assert_eq!(c, [1.0; 8], "adding an empty sum changes nothing");
    product(&mut c, 4, 2, View::rows(&[], 0), &packed, false, Causal::Full);
    assert_eq!(c, [0.0; 8], "an empty sum is zero");
}

/// Sizes whose product is more than a number can hold must not pass the checks that guard the unsafe code.
#[test]
fn sizes_that_wrap_are_refused() {
    let _turn = turn();
    let refused = |attempt: &dyn Fn()| {
        let attempt = std::panic::AssertUnwindSafe(attempt);
        let panic = std::panic::catch_unwind(attempt).expect_err("it was accepted");
        panic.downcast_ref::<String>().cloned().unwrap_or_default()
    };
    const HALF: usize = 1 << (usize::BITS - 1);
    let a = [1.0f32; 16];
    let mut packed = Packed::with_capacity(1, 1);
    packed.pack(&a, 1, 1, 1);
    // (3 - 1) rows of HALF are 0 modulo the word.
    let output =
        refused(&|| product(&mut [0.0; 16], HALF, 3, View::rows(&a, 1), &packed, false, Causal::Full));
    assert!(output.contains("output 3 x 1 does not fit"), "{output}");
    let left = refused(&|| product(&mut [0.0; 16], 1, 3, View::rows(&a, HALF), &packed, false, Causal::Full));
    assert!(left.contains("left operand is shorter"), "{left}");
    // One more row than the word holds strips of 64, which is a multiple of every tile.
    let depth = (1 << (usize::BITS - 6)) + 1;
    let packing = refused(&|| Packed::with_capacity(1, 64).pack(&a, 0, depth, 64));
    assert!(packing.contains("packing"), "{packing}");
}
