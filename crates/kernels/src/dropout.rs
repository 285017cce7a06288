//! Dropout (Appendix B, training) as a pure function of a key and an element's index: nothing to store,
//! nothing to save. It acts on the coupling A and on both increments of Equation (1).

/// Which elements are dropped. The mask of element `i` is a keyed hash of `i`, the
/// same in forward and backward.
#[derive(Clone, Copy, Debug)]
pub struct Dropout {
    /// An element is dropped if its hash is below this.
    threshold: u32,
    key: [u32; 2],
    rate: f64,
}

impl Dropout {
    /// Nothing is dropped.
    pub const NONE: Dropout = Dropout { threshold: 0, key: [0; 2], rate: 0.0 };

    /// Drops each element with probability `rate` (0 <= rate < 1).
    pub fn new(rate: f64, key: u64) -> Self {
        debug_assert!((0.0..1.0).contains(&rate));
        let threshold = (rate * 4_294_967_296.0).round() as u32;
        Dropout {
            threshold,
            key: [key as u32, (key >> 32) as u32],
            rate: f64::from(threshold) / 4_294_967_296.0,
        }
    }

    /// False if nothing is ever dropped.
    #[inline(always)]
    pub fn is_active(&self) -> bool {
        self.threshold > 0
    }

    /// An element is dropped if its hash is below this; for devices that hash by themselves.
    pub fn threshold(&self) -> u32 {
        self.threshold
    }

    /// What kept elements are multiplied by, so that the mean stays: 1 / (1 - rate).
    #[inline(always)]
    pub fn scale(&self) -> f64 {
        1.0 / (1.0 - self.rate)
    }

    /// False if element `index` is dropped.
    #[inline(always)]
    pub fn keeps(&self, index: u32) -> bool {
        hash(index, self.key) >= self.threshold
    }
}

/// Three rounds of multiply and xor-shift, every one a bijection, keyed before the first and second.
#[inline(always)]
fn hash(index: u32, key: [u32; 2]) -> u32 {
    let mut x = index.wrapping_add(key[0]);
    x = (x ^ (x >> 17)).wrapping_mul(0xED5A_D4BB);
    x ^= key[1];
    x = (x ^ (x >> 11)).wrapping_mul(0xAC4C_1B51);
    x = (x ^ (x >> 15)).wrapping_mul(0x3184_8BAB);
    x ^ (x >> 14)
}

/// A 64-bit key from the numbers that name a draw, such as (seed, purpose, step, sequence, layer).
pub fn key(parts: &[u64]) -> u64 {
    parts.iter().fold(0x9E37_79B9_7F4A_7C15, |state, &part| {
        // The finalizer of splitmix64 after each part.
        let mut z = (state ^ part).wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_at_the_rate_without_correlation() {
        let n = 1 << 20;
        for rate in [0.05, 0.1, 0.5] {
            let dropout = Dropout::new(rate, key(&[1, 2, 3]));
            let other = Dropout::new(rate, key(&[1, 2, 4]));
            let dropped = |d: &Dropout, i: u32| f64::from(u8::from(!d.keeps(i)));
            let count: f64 = (0..n).map(|i| dropped(&dropout, i)).sum();
            let next: f64 = (0..n).map(|i| dropped(&dropout, i) * dropped(&dropout, i + 1)).sum();
            let row: f64 = (0..n).map(|i| dropped(&dropout, i) * dropped(&dropout, i + 256)).sum();
            let across: f64 = (0..n).map(|i| dropped(&dropout, i) * dropped(&other, i)).sum();
            let within = |observed: f64, p: f64| {
                let sd = (p * (1.0 - p) * f64::from(n)).sqrt();
                assert!(
                    (observed - p * f64::from(n)).abs() < 5.0 * sd,
                    "rate {rate}: {observed}, expected {p} of {n}"
                );
            };
            within(count, rate);
            within(next, rate * rate);
            within(row, rate * rate);
            within(across, rate * rate);
        }
    }

    #[test]
    fn rate_zero_keeps_everything() {
        assert!((0..1000).all(|i| Dropout::new(0.0, 7).keeps(i)));
        assert!(!Dropout::NONE.is_active());
    }
}
