//! The measured peak bounds what the products reach, or utilisation would be more than all of it.

use kuramoto_kernels::arch::{Level, limit};
use kuramoto_kernels::product::product;
use kuramoto_kernels::{Causal, Packed, View, peak};
use std::time::Instant;

/// FLOP/s of products of matrices that stay in the cache.
fn products() -> f64 {
    const N: usize = 96;
    const TIMES: usize = 40;
    let (a, mut c) = ([0.5f32; N * N], [0.0f32; N * N]);
    let mut packed = Packed::with_capacity(N, N);
    packed.pack(&a, N, N, N);
    let start = Instant::now();
    for _ in 0..TIMES {
        product(&mut c, N, N, View::rows(&a, N), &packed, false, Causal::Full);
    }
    assert!(c.iter().all(|x| *x > 0.0));
    (2 * N * N * N * TIMES) as f64 / start.elapsed().as_secs_f64()
}

#[test]
fn products_do_not_exceed_the_peak() {
    for level in [Level::Portable, Level::Avx2, Level::Avx512] {
        if limit(level) != level {
            continue;
        }
        // In turns, so that both see the same machine; the best counts, as others may use the core.
        let (mut peak, mut reached) = (0.0f64, 0.0f64);
        for _ in 0..10 {
            peak = peak.max(peak::measure(0.02));
            reached = (0..20).map(|_| products()).fold(reached, f64::max);
        }
        // The clock is not exact to the last percent.
        assert!(reached <= 1.02 * peak, "{level:?}: {reached:.3e} of {peak:.3e}");
    }
}
