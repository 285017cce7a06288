//! This machine's multiply-add peak: what utilisation is measured against.

use crate::Real;
use crate::arch::Arch;
use macro_rules_attribute::apply;
use std::hint::black_box;
use std::time::Instant;

/// Independent accumulators: enough vectors in flight to hide a multiply-add's latency on two ports, few
/// enough to stay in 16 registers.
const LANES: usize = 96;

#[apply(vectorised)]
fn chains<A: Arch, F: Real>(rounds: usize, x: F, y: F, out: &mut [F; LANES]) {
    let mut lanes = *out;
    for _ in 0..rounds {
        for lane in &mut lanes {
            *lane = lane.mul_add::<A>(x, y);
        }
    }
    *out = lanes;
}

/// Best `f32` FLOP/s of one core over about `seconds`, from a loop of multiply-adds that
/// never leaves the registers.
pub fn measure(seconds: f64) -> f64 {
    let rounds = 100_000;
    let mut lanes = [0.5f32; LANES];
    let mut best = 0.0f64;
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < seconds {
        let round = Instant::now();
        chains(rounds, black_box(0.999), black_box(0.001), &mut lanes);
        black_box(&lanes);
        best = best.max((2 * LANES * rounds) as f64 / round.elapsed().as_secs_f64());
    }
    best
}
