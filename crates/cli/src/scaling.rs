//! From the parts of a measured step to what more cores and machines would do. The model is described in
//! `docs/scaling.md`.

use crate::table::{Table, thousands};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// What a step is made of; seconds on one thread.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Costs {
    /// Forward and backward of one sequence.
    pub sequence: f64,
    /// Adding one lane's gradient to another's.
    pub addition: f64,
    /// Global norm and AdamW.
    pub update: f64,
    /// Packing parameters and finishing the gradient; counted as if it could not be shared out, which is partly so.
    pub rest: f64,
    /// Bytes of a gradient.
    pub gradient_bytes: f64,
    /// Pieces into which additions and updates are cut.
    pub pieces: usize,
}

/// What connects machines.
pub struct Link {
    pub bytes_per_second: f64,
    pub latency: f64,
}

/// Ethernet of 10 Gbit/s, at nine tenths of it.
pub const ETHERNET: Link = Link { bytes_per_second: 1.125e9, latency: 50e-6 };

/// Additions and updates stream through memory: more threads than this many at a time find it busy.
const STREAMS: usize = 8;

/// Bytes that one run of the paper's protocol reads: 50 epochs of nine tenths of enwik8.
const PROTOCOL_BYTES: f64 = 50.0 * 9e7;

impl Costs {
    /// Seconds of a step of `sequences` on `machines` x `cores`, each core with a lane.
    pub fn step(&self, sequences: usize, machines: usize, cores: usize, link: &Link) -> f64 {
        let lanes = (machines * cores).min(sequences);
        let streams = cores.min(self.pieces).min(STREAMS) as f64;
        // A machine adds its own lanes, then its share of what is left; all of them update everything.
        let additions = (lanes.div_ceil(machines) - 1) as f64 + (machines - 1) as f64 / machines as f64;
        let exchange = if machines == 1 {
            0.0
        } else {
            let share = (machines - 1) as f64 / machines as f64;
            // Losses, shares, sums and the word to go on: four rounds of messages.
            2.0 * share * self.gradient_bytes / link.bytes_per_second + 4.0 * (machines - 1) as f64 * link.latency
        };
        self.rest
            + sequences.div_ceil(lanes) as f64 * self.sequence
            + (additions * self.addition + self.update) / streams
            + exchange
    }
}

/// One measured number of threads.
pub struct Point {
    pub threads: usize,
    pub tokens_per_s: f64,
    pub costs: Costs,
}

/// The scaling table of one configuration, and predictions from its first point, which has one thread.
pub fn report(name: &str, sequences: usize, context: usize, lanes: usize, points: &[Point]) -> String {
    let tokens = (sequences * context) as f64;
    let (one, costs) = (points[0].tokens_per_s, points[0].costs);
    let mut text = format!(
        "\n{name}: a sequence takes {:.1} ms on one thread, an addition of two gradients {:.2} ms, norm and update {:.2} ms, \
         the rest {:.2} ms; a gradient has {:.2} MB\n\n",
        1e3 * costs.sequence,
        1e3 * costs.addition,
        1e3 * costs.update,
        1e3 * costs.rest,
        costs.gradient_bytes / 1e6
    );
    let mut table = Table::new(&["threads", "tokens/s", "speed-up", "efficiency", "predicted", "reduction ms"]);
    for point in points {
        let speed = point.tokens_per_s / one;
        // With fewer threads than lanes, a thread runs several.
        let predicted = costs.rest
            + sequences.div_ceil(point.threads) as f64 * costs.sequence
            + ((lanes - 1) as f64 * costs.addition + costs.update) / point.threads.min(STREAMS) as f64;
        table.row([
            point.threads.to_string(),
            thousands(point.tokens_per_s as usize),
            format!("{speed:.2}"),
            format!("{:.0}%", 100.0 * speed / point.threads as f64),
            thousands((tokens / predicted) as usize),
            format!("{:.2}", 1e3 * point.costs.addition * (lanes - 1) as f64),
        ]);
    }
    write!(text, "{table}").ok();
    let places = [(1, 8), (1, 16), (1, 32), (1, 64), (1, 128), (2, 32), (4, 16), (2, 64), (4, 64)];
    for batch in [sequences, 4 * sequences] {
        let mut table = Table::new(&["machines x cores", "step ms", "tokens/s", "efficiency", "50 epochs of enwik8"]);
        let single = costs.step(batch, 1, 1, &ETHERNET);
        for (machines, cores) in places {
            let step = costs.step(batch, machines, cores, &ETHERNET);
            let rate = (batch * context) as f64 / step;
            table.row([
                format!("{machines} x {cores}"),
                format!("{:.1}", 1e3 * step),
                thousands(rate as usize),
                format!("{:.0}%", 100.0 * single / (step * (machines * cores) as f64)),
                format!("{:.1} h", PROTOCOL_BYTES / rate / 3600.0),
            ]);
        }
        write!(text, "\npredicted, batches of {batch} x {context}, a lane a core:\n\n{table}").ok();
    }
    text + "\ncores like these, each as fast beside the others as alone; machines joined by 10 Gbit/s and 50 us; a batch keeps \
            as many cores busy as it has sequences\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs =
        Costs { sequence: 0.04, addition: 0.001, update: 0.002, rest: 0.003, gradient_bytes: 4e6, pieces: 31 };

    #[test]
    fn a_step_is_the_sum_of_its_parts() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        near(COSTS.step(64, 1, 1, &ETHERNET), 0.003 + 64.0 * 0.04 + 0.002);
        near(COSTS.step(64, 1, 8, &ETHERNET), 0.003 + 8.0 * 0.04 + (7.0 * 0.001 + 0.002) / 8.0);
        let exchange = 2.0 * 0.75 * 4e6 / 1.125e9 + 4.0 * 3.0 * 50e-6;
        near(COSTS.step(64, 4, 16, &ETHERNET), 0.003 + 0.04 + (15.75 * 0.001 + 0.002) / 8.0 + exchange);
    }

    #[test]
    fn cores_beyond_the_sequences_are_idle() {
        assert_eq!(COSTS.step(64, 1, 64, &ETHERNET), COSTS.step(64, 1, 128, &ETHERNET));
    }
}
