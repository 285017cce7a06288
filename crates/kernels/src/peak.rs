//! This machine's multiply-add peak: what utilisation is measured against.

use crate::Real;
use crate::arch::Arch;
use macro_rules_attribute::apply;
use std::hint::black_box;
use std::time::Instant;

/// Multiply-adds of so many independent numbers, over and over.
macro_rules! chains {
    ($name:ident, $lanes:literal) => {
        #[apply(vectorised)]
        fn $name<A: Arch, F: Real>(rounds: usize, x: F, y: F, out: &mut [F; $lanes]) {
            let mut lanes = *out;
            for _ in 0..rounds {
                for lane in &mut lanes {
                    *lane = lane.mul_add::<A>(x, y);
                }
            }
            *out = lanes;
        }
    };
}

// A multiply-add takes four or five cycles and a core begins two in each (four on some), so 8 to 16 vectors
// must be in flight, and all must stay in registers: 16 of 4 numbers, 16 of 8, or 32 of 16. Which count is
// best differs between instruction sets and processors, so each is tried.
chains!(chains_48, 48);
chains!(chains_80, 80);
chains!(chains_96, 96);
chains!(chains_192, 192);
chains!(chains_320, 320);

/// Multiply-adds of a burst: some tenths of a millisecond, so that one is seldom interrupted.
const BURST: usize = 10_000_000;

/// FLOP/s of one burst.
fn burst<const LANES: usize>(chains: impl Fn(usize, f32, f32, &mut [f32; LANES])) -> f64 {
    let (rounds, mut lanes) = (BURST / LANES, [0.5f32; LANES]);
    let start = Instant::now();
    chains(rounds, black_box(0.999), black_box(0.001), &mut lanes);
    black_box(&lanes);
    (2 * LANES * rounds) as f64 / start.elapsed().as_secs_f64()
}

/// Best `f32` FLOP/s of one core over about `seconds`, from loops of multiply-adds that never leave the
/// registers. The best of many short bursts: a core that has not reached its frequency yet, or that another
/// process uses meanwhile, only lowers the others.
pub fn measure(seconds: f64) -> f64 {
    let mut best = 0.0f64;
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < seconds {
        let bursts =
            [burst(chains_48), burst(chains_80), burst(chains_96), burst(chains_192), burst(chains_320)];
        best = bursts.into_iter().fold(best, f64::max);
    }
    best
}
