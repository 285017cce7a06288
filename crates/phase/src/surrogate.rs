//! Surrogates: data of the same shape in which what a measure is meant to detect cannot be.

use crate::trace::Trace;
use kuramoto_model::random::shuffle_u32;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::Serialize;

/// What a measure is compared with.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
    strum::VariantNames,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Surrogate {
    /// The same model before training.
    Untrained,
    /// The bytes of each window in another order.
    Shuffled,
    /// Phases of each token permuted among its oscillators; couplings stay.
    Permuted,
    /// Couplings replaced by 1/(t + 1); phases stay.
    Uniform,
}

impl Surrogate {
    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The generator of window `index`: every surrogate draws from its beginning.
pub(crate) fn draws(seed: u64, index: usize) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed ^ (index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// The tokens of a window in another order.
pub(crate) fn shuffled(tokens: &[u8], mut random: ChaCha8Rng) -> Vec<u8> {
    let mut tokens = tokens.to_vec();
    shuffle_u32(&mut random, &mut tokens);
    tokens
}

/// The trace with the phases of each token permuted among its oscillators.
pub(crate) fn permuted(trace: &Trace<f32>, mut random: ChaCha8Rng) -> Trace<f32> {
    let mut trace = trace.clone();
    let mut order: Vec<usize> = (0..trace.k).collect();
    for t in 0..trace.n {
        // The same permutation in every layer, so that steps stay what they were.
        shuffle_u32(&mut random, &mut order);
        for state in trace.states.iter_mut().chain(&mut trace.middles) {
            let row = &mut state[t * trace.k..][..trace.k];
            let before = row.to_vec();
            row.iter_mut().zip(&order).for_each(|(x, &j)| *x = before[j]);
        }
    }
    trace
}

/// The trace with uniform couplings.
pub(crate) fn uniform(trace: &Trace<f32>) -> Trace<f32> {
    let mut trace = trace.clone();
    let n = trace.n;
    for head in trace.attention.iter_mut().flat_map(|all| all.chunks_exact_mut(n * n)) {
        for (t, row) in head.chunks_exact_mut(n).enumerate() {
            row[..=t].fill(1.0 / (t + 1) as f32);
        }
    }
    trace
}

#[cfg(test)]
mod tests {
    use super::*;
    use strum::{VariantArray, VariantNames};

    #[test]
    fn names_are_read_as_they_are_written() {
        assert_eq!(<Surrogate as VariantNames>::VARIANTS, ["untrained", "shuffled", "permuted", "uniform"]);
        for surrogate in <Surrogate as VariantArray>::VARIANTS {
            assert_eq!(surrogate.name().parse(), Ok(*surrogate));
        }
    }

    #[test]
    fn draws_depend_on_the_seed_and_the_window_only() {
        assert_eq!(shuffled(b"abcdefgh", draws(7, 3)), shuffled(b"abcdefgh", draws(7, 3)));
        assert_ne!(shuffled(b"abcdefgh", draws(7, 3)), shuffled(b"abcdefgh", draws(7, 4)));
        let mut sorted = shuffled(b"hgfedcba", draws(0, 0));
        sorted.sort_unstable();
        assert_eq!(sorted, b"abcdefgh");
    }

    fn trace() -> Trace<f32> {
        let (n, k) = (3, 4);
        let states: Vec<Vec<f32>> =
            (0..2).map(|layer| (0..n * k).map(|i| (100 * layer + i) as f32).collect()).collect();
        let attention = vec![vec![1.0, 0.0, 0.0, 0.2, 0.8, 0.0, 0.1, 0.1, 0.8]];
        let middles = vec![states[0].clone()];
        Trace { n, k, heads: 1, states, middles, attention, ..Trace::default() }
    }

    #[test]
    fn permuting_keeps_the_phases_of_a_token_and_its_steps() {
        let (before, after) = (trace(), permuted(&trace(), draws(1, 0)));
        assert_ne!(before.states, after.states);
        assert_eq!(before.attention, after.attention);
        for (t, row) in after.states[0].chunks(4).enumerate() {
            let mut row = row.to_vec();
            row.sort_by(f32::total_cmp);
            assert_eq!(row, before.states[0][t * 4..][..4]);
        }
        assert!(after.states[1].iter().zip(&after.states[0]).all(|(b, a)| b - a == 100.0));
    }

    #[test]
    fn uniform_couplings_are_causal() {
        let after = uniform(&trace());
        let third = 1.0 / 3.0;
        assert_eq!(after.attention[0], [1.0, 0.0, 0.0, 0.5, 0.5, 0.0, third, third, third]);
        assert_eq!(after.states, trace().states);
    }
}
