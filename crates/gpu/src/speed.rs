//! How fast a device is, measured, and how fast a training step could be on it: a roofline.

use crate::builder::{Builder, Rows, THREADS, kernel};
use crate::device::Gpu;
use crate::matrix_units::MatrixUnits;
use crate::plan::{Launches, Plan};
use crate::program::{Phase, Program};
use kuramoto_engine::Result;
use std::time::Instant;

/// Workgroups of the multiply-adds and rounds of each thread.
const GROUPS: usize = 2048;
const ROUNDS: usize = 128;
/// Operations of a launch: eight chains of vectors, two operations an element and round.
const OPERATIONS: f64 = (GROUPS * THREADS * ROUNDS * 8 * 4 * 2) as f64;
/// Elements that are copied: more than caches hold, and the largest buffer that every device has.
const COPIED: usize = 32 << 20;
/// Vectors that a thread of the copy takes.
const EACH: usize = 16;
/// Launches that do nothing, one after the other.
const LAUNCHES: usize = 64;
/// A measurement takes at least so long.
const SECONDS: f64 = 0.05;

/// What bounds the time of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speeds {
    /// Multiply-adds a second, counted as two operations each.
    pub flops: f64,
    /// Bytes read and written a second.
    pub bandwidth: f64,
    /// Seconds of a launch that does nothing, after another.
    pub launch: f64,
    /// Seconds from handing over a launch to having read its result.
    pub round_trip: f64,
}

impl Speeds {
    /// Measures a device; takes about a second.
    pub fn measure(gpu: &Gpu) -> Result<Speeds> {
        let mut builder = Builder::new(String::new(), None);
        let sums = builder.buffer("sums", 4 * GROUPS * THREADS);
        let (source, copied) = (builder.buffer("source", COPIED), builder.buffer("copied", COPIED));
        let mut launches = |entry: &str, constants: String, groups: usize| -> Launches {
            let bindings = [("sums", sums), ("source", source), ("copied", copied)];
            let (name, groups) = (entry, [groups, 1, 1]);
            let text = kernel!("speed");
            builder.rows(Rows { name, text, entry, flags: &[entry], constants, bindings: &bindings, groups });
            builder.take()
        };
        let forward = launches("multiply", format!("const ROUNDS: u32 = {ROUNDS}u;"), GROUPS);
        let vectors = COPIED / 4;
        let constants = format!("const COUNT: u32 = {vectors}u;");
        let backward = launches("copy", constants, vectors / (THREADS * EACH));
        let finish = launches("launch", String::new(), 1);
        let plan = Plan { forward, backward, finish, ..builder.plan };
        let program = Program::new(gpu.opened().clone(), &plan, 64)?;
        // The least of several, each of a whole number of repetitions that takes long enough.
        let least = |phase: &Phase, repeated: usize| -> Result<f64> {
            let mut least = f64::INFINITY;
            let (mut count, mut measured) = (1, 0);
            while measured < 3 {
                let phases = vec![phase; repeated * count];
                let began = Instant::now();
                program.run(&[], &phases);
                program.read([sums.at(0, 4)])?;
                let seconds = began.elapsed().as_secs_f64();
                least = least.min(seconds / count as f64);
                if seconds < SECONDS {
                    count *= 2;
                } else {
                    measured += 1;
                }
            }
            Ok(least)
        };
        // The first run of each warms up.
        program.run(&[], &[&program.forward, &program.backward, &program.finish]);
        program.read([sums.at(0, 4)])?;
        let began = Instant::now();
        const TRIPS: usize = 16;
        for _ in 0..TRIPS {
            program.run(&[], &[&program.finish]);
            program.read([sums.at(0, 4)])?;
        }
        let round_trip = began.elapsed().as_secs_f64() / TRIPS as f64;
        Ok(Speeds {
            flops: OPERATIONS / least(&program.forward, 1)?,
            bandwidth: (2 * 4 * COPIED) as f64 / least(&program.backward, 1)?,
            launch: least(&program.finish, LAUNCHES)? / LAUNCHES as f64,
            round_trip,
        })
    }

    /// Seconds of a training step at best: each launch is bound by its products or by what it moves,
    /// whichever takes longer, and no launch is free. The losses of each micro-batch are waited for.
    pub fn step(&self, plan: &Plan, micro_batches: usize) -> f64 {
        let launch = |flops: f64, bytes: f64| (flops / self.flops).max(bytes / self.bandwidth) + self.launch;
        let busy: f64 = plan.batch(micro_batches).map(|own| launch(own.flops, own.bytes)).sum();
        busy + micro_batches as f64 * self.round_trip
    }

    /// How many runs at a time keep a device busy: while the host of one waits for a result and prepares the
    /// next batch, another computes. The launches of several runs share one queue, so that a run whose steps
    /// are mostly launches gains nothing from company.
    pub fn runs_at_a_time(&self, plan: &Plan) -> usize {
        let busy = self.step(plan, 1) - self.round_trip;
        // The losses and the norm are read together, once a step.
        let idle = self.round_trip;
        (1.0 + idle / busy).round().clamp(1.0, MOST_RUNS) as usize
    }
}

/// More runs than this only make each slower.
const MOST_RUNS: f64 = 4.0;

/// A card whose step times are predicted.
#[derive(Clone, Copy, Debug)]
pub struct Card {
    /// Its name.
    pub name: &'static str,
    /// f32 multiply-adds a second as its maker states them, counted as two operations each.
    pub flops: f64,
    /// The same of matrix units that take f16 and sum in f32; None where there are none for f32 sums.
    pub matrix_flops: Option<f64>,
    /// Bytes a second as its maker states them.
    pub bandwidth: f64,
}

/// What is predicted for. Apple states no operations: 1,280 lanes at 1.4 GHz.
pub const CARDS: [Card; 4] = [
    Card { name: "A100 80 GB", flops: 19.5e12, matrix_flops: Some(312e12), bandwidth: 2039e9 },
    Card { name: "RTX 4090", flops: 82.6e12, matrix_flops: Some(165e12), bandwidth: 1008e9 },
    Card { name: "RX 7900 XTX", flops: 61.4e12, matrix_flops: Some(123e12), bandwidth: 960e9 },
    Card { name: "M3, 10 cores", flops: 3.6e12, matrix_flops: None, bandwidth: 100e9 },
];

/// Shares of the stated peaks that tiled products in WGSL and streaming kernels usually reach, and seconds of
/// a launch and of a round trip on a desktop driver: assumptions, not measurements.
pub const ASSUMED_SHARE_OF_FLOPS: f64 = 0.5;
/// See [`ASSUMED_SHARE_OF_FLOPS`].
pub const ASSUMED_SHARE_OF_BANDWIDTH: f64 = 0.8;
/// See [`ASSUMED_SHARE_OF_FLOPS`].
pub const ASSUMED_LAUNCH: f64 = 5e-6;
/// See [`ASSUMED_SHARE_OF_FLOPS`].
pub const ASSUMED_ROUND_TRIP: f64 = 50e-6;

/// Instructions of ordinary units for each element of a tile that matrix units multiply: to find, read, scale
/// and split it, and to add up what was multiplied. Counted in what the compiler of Mesa 25.0 makes for RDNA
/// 3.
pub const INSTRUCTIONS_TO_SPLIT: f64 = 40.0;

impl Card {
    /// What its products could run at on matrix units: three products of f16 for each of f32, or, where that
    /// takes longer, splitting what they multiply by ordinary units, which do a multiply-add an instruction
    /// otherwise.
    pub fn speeds_with_matrix_units(&self) -> Option<Speeds> {
        let split = 2.0 * INSTRUCTIONS_TO_SPLIT * MatrixUnits::elements_per_operation();
        let own = self.speeds();
        let flops = (ASSUMED_SHARE_OF_FLOPS * self.matrix_flops? / 3.0).min(own.flops / split);
        Some(Speeds { flops, ..own })
    }

    /// What its products could run at in f32.
    pub fn speeds(&self) -> Speeds {
        Speeds {
            flops: ASSUMED_SHARE_OF_FLOPS * self.flops,
            bandwidth: ASSUMED_SHARE_OF_BANDWIDTH * self.bandwidth,
            launch: ASSUMED_LAUNCH,
            round_trip: ASSUMED_ROUND_TRIP,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DEFAULT_LIMITS, plan};
    use kuramoto_model::KuramotoConfig;

    const SPEEDS: Speeds = Speeds { flops: 1e13, bandwidth: 1e12, launch: 5e-6, round_trip: 1e-4 };

    fn planned(width: usize) -> Plan {
        plan(&KuramotoConfig { width, ..Default::default() }.into(), 64, 256, &DEFAULT_LIMITS).unwrap().1
    }

    /// A step takes no less than its operations or its bytes alone would.
    #[test]
    fn a_step_is_no_faster_than_its_parts() {
        let plan = planned(176);
        let flops: f64 = plan.step().map(|launch| launch.flops).sum();
        let bytes: f64 = plan.step().map(|launch| launch.bytes).sum();
        let step = SPEEDS.step(&plan, 1);
        assert!(step > flops / SPEEDS.flops && step > bytes / SPEEDS.bandwidth);
        assert!(step < flops / SPEEDS.flops + bytes / SPEEDS.bandwidth + 1e-3);
        assert!(SPEEDS.step(&planned(400), 1) > 2.0 * step);
        // The gradient's sum and the optimizer run once, however many micro-batches there are.
        let twice = SPEEDS.step(&plan, 2);
        assert!(twice > 1.9 * step && twice < 2.0 * step, "{twice} against {step}");
    }

    /// Three products for one are worth it where matrix units are more than three times as fast.
    #[test]
    fn matrix_units_must_be_fast() {
        let plan = planned(176);
        let moved: f64 = plan.step().map(|launch| launch.bytes).sum();
        for card in CARDS {
            let Some(with) = card.speeds_with_matrix_units() else { continue };
            let (own, step) = (card.speeds().step(&plan, 1), with.step(&plan, 1));
            assert_eq!(step < own, card.matrix_flops.unwrap() > 3.0 * card.flops, "{}", card.name);
            assert!(step > moved / with.bandwidth, "{}", card.name);
        }
    }

    /// Only runs so small that the device waits for the host are worth doing side by side.
    #[test]
    fn small_runs_go_side_by_side() {
        assert_eq!(SPEEDS.runs_at_a_time(&planned(400)), 1);
        let slow_host = Speeds { round_trip: 10.0, ..SPEEDS };
        assert_eq!(slow_host.runs_at_a_time(&planned(176)), 4);
    }
}
