//! Random draws, each a pure function of a generator's bits: uniform, normal, an index, an order.
//!
//! Generators are [`ChaCha8Rng`]s, seeded by a run and with a stream for each purpose, so that no
//! draw moves another. The bits of every function here are part of the results of a run: a change
//! starts every model elsewhere.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The generator of one stream of a seed.
pub fn stream(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream);
    random
}

/// The stream that belongs to a name: its FNV-1a hash.
pub fn stream_of_name(name: &str) -> u64 {
    name.bytes().fold(0xCBF2_9CE4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01B3))
}

/// Uniform in the open interval (0, 1), from one `next_u64`.
pub fn uniform(random: &mut impl Rng) -> f64 {
    ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// Uniform in the half-open interval [0, 1), from one `next_u64`.
pub fn fraction(random: &mut impl Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Uniform in the open interval (-1, 1), from one `next_u64`.
pub fn uniform_signed(random: &mut impl Rng) -> f64 {
    2.0 * uniform(random) - 1.0
}

/// Standard normal, by Box and Muller from two `next_u64`; the second value of the pair is not used.
pub fn normal(random: &mut impl Rng) -> f64 {
    let radius = (-2.0 * uniform(random).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(random)).cos()
}

/// Uniform in `0..end` by multiply and shift of one `next_u64`; no value is more likely than another by more
/// than 2^-64. `end` must not be zero.
pub fn below_u64(random: &mut impl Rng, end: u64) -> u64 {
    debug_assert!(end > 0);
    ((u128::from(random.next_u64()) * u128::from(end)) >> 64) as u64
}

/// Uniform in `0..end` by multiply and shift of one `next_u32`; no value is more likely than another by more
/// than 2^-32. `end` must not be zero.
pub fn below_u32(random: &mut impl Rng, end: u32) -> u32 {
    debug_assert!(end > 0);
    ((u64::from(random.next_u32()) * u64::from(end)) >> 32) as u32
}

/// A uniformly random order, by Fisher and Yates from the end, with one [`below_u64`]
/// for each item but the first.
pub fn shuffle_u64<T>(random: &mut impl Rng, items: &mut [T]) {
    for last in (1..items.len()).rev() {
        items.swap(last, below_u64(random, last as u64 + 1) as usize);
    }
}

/// As [`shuffle_u64`], with [`below_u32`]: half the bits of the generator, for fewer than 2^32 items.
pub fn shuffle_u32<T>(random: &mut impl Rng, items: &mut [T]) {
    debug_assert!(u32::try_from(items.len()).is_ok());
    for last in (1..items.len()).rev() {
        items.swap(last, below_u32(random, last as u32 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first<T>(mut draw: impl FnMut(&mut ChaCha8Rng) -> T) -> [T; 3] {
        let mut random = stream(7, stream_of_name("emb"));
        std::array::from_fn(|_| draw(&mut random))
    }

    #[test]
    fn draws_have_the_bits_of_every_run_so_far() {
        assert_eq!(stream_of_name("emb"), 0xC2EC_1718_F04F_892F);
        let bits = [0x3FD4_5B3C_D4DF_5371, 0x3FD4_3D51_406E_7CFB, 0x3FC9_96AD_E65C_3DFA];
        assert_eq!(first(|random| uniform(random).to_bits()), bits);
        assert_eq!(first(uniform_signed), bits.map(|bits| 2.0 * f64::from_bits(bits) - 1.0));
        assert_eq!(first(|random| below_u64(random, 1_000_000_007)), [318_068_704, 316_242_518, 199_910_868]);
        assert_eq!(first(|random| below_u32(random, 1_000_003)), [489_469, 318_069, 726_380]);
        // The logarithm and the cosine are the system's: their last bits are not ours to promise.
        let normals =
            [0xBFE3_9514_4533_3B96, 0x3FF1_8E96_34EB_60E0, 0xBFFA_C278_764E_B19D].map(f64::from_bits);
        for (drawn, expected) in first(normal).into_iter().zip(normals) {
            assert!((drawn - expected).abs() < 1e-14, "{drawn} and {expected}");
        }
    }

    #[test]
    fn shuffles_have_the_bits_of_every_run_so_far() {
        let shuffled = |shuffle: fn(&mut ChaCha8Rng, &mut [u8])| {
            let mut order: [u8; 12] = std::array::from_fn(|i| i as u8);
            shuffle(&mut stream(7, stream_of_name("emb")), &mut order);
            order
        };
        assert_eq!(shuffled(shuffle_u64), [4, 5, 2, 0, 6, 8, 10, 9, 7, 1, 11, 3]);
        assert_eq!(shuffled(shuffle_u32), [10, 8, 0, 6, 4, 9, 1, 11, 2, 7, 3, 5]);
    }

    #[test]
    fn numbers_below_an_end_reach_all_of_it() {
        let mut random = stream(1, 2);
        let mut seen = [[0; 5]; 2];
        for _ in 0..1000 {
            seen[0][below_u64(&mut random, 5) as usize] += 1;
            seen[1][below_u32(&mut random, 5) as usize] += 1;
        }
        assert!(seen.as_flattened().iter().all(|&count| (140..260).contains(&count)), "{seen:?}");
    }
}
