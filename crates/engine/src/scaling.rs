//! From the parts of a measured step to what more cores and machines would do. The model is described in
//! `docs/scaling.md`.

use serde::{Deserialize, Serialize};

/// What a step is made of; seconds on one thread.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Costs {
    /// Forward and backward of one sequence.
    pub sequence: f64,
    /// Adding one lane's gradient to another's.
    pub addition: f64,
    /// Global norm and AdamW.
    pub update: f64,
    /// Packing parameters and finishing the gradient; counted as if it could not be
    /// shared out, which is partly so.
    pub rest: f64,
    /// Bytes of a gradient.
    pub gradient_bytes: f64,
    /// Pieces into which additions and updates are cut.
    pub pieces: usize,
}

/// What connects machines.
pub struct Link {
    /// Each way.
    pub bytes_per_second: f64,
    /// Seconds of a message besides its bytes.
    pub latency: f64,
}

/// Ethernet of 10 Gbit/s, at nine tenths of it.
pub const ETHERNET: Link = Link { bytes_per_second: 1.125e9, latency: 50e-6 };

/// Additions and updates stream through memory: more threads than this many at a time find it busy.
const STREAMS: usize = 8;

impl Costs {
    /// Pieces into which additions and updates of `count` elements are cut.
    pub fn pieces(count: usize) -> usize {
        count.div_ceil(crate::optimizer::CHUNK)
    }

    /// Seconds of a step of `sequences` in `lanes` on `machines` x `cores`.
    pub fn step(&self, sequences: usize, lanes: usize, machines: usize, cores: usize, link: &Link) -> f64 {
        let busy = (machines * cores).min(lanes).min(sequences);
        let streams = cores.min(self.pieces).min(STREAMS) as f64;
        // A machine adds its own lanes, then its share of what is left; all of them update everything.
        let additions = (lanes.div_ceil(machines) - 1) as f64 + (machines - 1) as f64 / machines as f64;
        let others = (machines - 1) as f64;
        let sending = 2.0 * others / machines as f64 * self.gradient_bytes / link.bytes_per_second;
        // Losses, shares, sums and the word to go on are four rounds of messages.
        let exchange = sending + 4.0 * others * link.latency;
        self.rest
            + sequences.div_ceil(busy) as f64 * self.sequence
            + (additions * self.addition + self.update) / streams
            + exchange
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs {
        sequence: 0.04,
        addition: 0.001,
        update: 0.002,
        rest: 0.003,
        gradient_bytes: 4e6,
        pieces: 31,
    };

    #[test]
    fn a_step_is_the_sum_of_its_parts() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        near(COSTS.step(64, 1, 1, 1, &ETHERNET), 0.003 + 64.0 * 0.04 + 0.002);
        near(COSTS.step(64, 8, 1, 8, &ETHERNET), 0.003 + 8.0 * 0.04 + (7.0 * 0.001 + 0.002) / 8.0);
        // With fewer threads than lanes, a thread runs several.
        near(COSTS.step(64, 8, 1, 2, &ETHERNET), 0.003 + 32.0 * 0.04 + (7.0 * 0.001 + 0.002) / 2.0);
        let work = 0.003 + 0.04 + (15.75 * 0.001 + 0.002) / 8.0;
        let (sending, latency) = (2.0 * 0.75 * 4e6 / 1.125e9, 4.0 * 3.0 * 50e-6);
        near(COSTS.step(64, 64, 4, 16, &ETHERNET), work + sending + latency);
    }

    #[test]
    fn cores_beyond_the_sequences_are_idle() {
        assert_eq!(COSTS.step(64, 64, 1, 64, &ETHERNET), COSTS.step(64, 64, 1, 128, &ETHERNET));
    }
}
