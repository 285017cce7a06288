//! Statistics on the circle. Angles have no mean and no variance of the usual kind: 359 and 1 degrees average
//! to 0, not to 180. Everything here goes through the resultant, the mean of e^{i theta}.

/// The mean of unit phasors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Resultant {
    /// Summed cosines.
    cosines: f64,
    /// Summed sines.
    sines: f64,
    /// Angles added.
    count: usize,
}

impl Resultant {
    /// Of these angles.
    pub fn of(angles: impl IntoIterator<Item = f64>) -> Resultant {
        let mut resultant = Resultant::default();
        angles.into_iter().for_each(|angle| resultant.add(angle));
        resultant
    }

    /// Of all angles that were added to these.
    pub fn of_all<'a>(parts: impl IntoIterator<Item = &'a Resultant>) -> Resultant {
        parts.into_iter().fold(Resultant::default(), |all, part| Resultant {
            cosines: all.cosines + part.cosines,
            sines: all.sines + part.sines,
            count: all.count + part.count,
        })
    }

    /// Adds an angle.
    pub fn add(&mut self, angle: f64) {
        let (sine, cosine) = angle.sin_cos();
        self.add_phasor(cosine, sine);
    }

    /// Adds an angle by its cosine and sine.
    pub fn add_phasor(&mut self, cosine: f64, sine: f64) {
        self.cosines += cosine;
        self.sines += sine;
        self.count += 1;
    }

    /// Angles added.
    pub fn count(&self) -> usize {
        self.count
    }

    /// R = |mean e^{i theta}|: 1 if all angles are equal, near 0 if they are spread; NaN of none.
    pub fn length(&self) -> f64 {
        self.cosines.hypot(self.sines) / self.count as f64
    }

    /// Circular mean, in (-pi, pi]. Meaningless where the length is near 0.
    pub fn mean(&self) -> f64 {
        self.sines.atan2(self.cosines)
    }

    /// Circular variance, 1 - R.
    pub fn variance(&self) -> f64 {
        1.0 - self.length()
    }

    /// Circular standard deviation, sqrt(-2 ln R), radians.
    pub fn deviation(&self) -> f64 {
        (-2.0 * self.length().ln()).max(0.0).sqrt()
    }

    /// Rayleigh's test that the angles are uniform: its z = N R^2, and the p-value by Zar's approximation,
    /// which holds from about ten angles on.
    pub fn rayleigh(&self) -> (f64, f64) {
        let n = self.count as f64;
        let length = n * self.length();
        let p = ((1.0 + 4.0 * n + 4.0 * (n * n - length * length)).sqrt() - (1.0 + 2.0 * n)).exp();
        (length * length / n, p.clamp(0.0, 1.0))
    }
}

/// Difference of two angles, in (-pi, pi].
pub fn difference(a: f64, b: f64) -> f64 {
    let (sine, cosine) = (a - b).sin_cos();
    sine.atan2(cosine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::f64::consts::{PI, TAU};

    #[test]
    fn closed_forms() {
        assert!((Resultant::of([0.7; 9]).length() - 1.0).abs() < 1e-12);
        assert!(Resultant::of((0..12).map(|i| TAU * f64::from(i) / 12.0)).length() < 1e-12);
        assert!(Resultant::of([0.3, 0.3 + PI]).length() < 1e-12, "two opposed");
        let around_zero = Resultant::of([-0.1, 0.1, TAU - 0.2, TAU + 0.2]);
        assert!(around_zero.mean().abs() < 1e-12);
        assert!((difference(0.1, TAU - 0.1) - 0.2).abs() < 1e-12);
        assert!(Resultant::default().length().is_nan());
    }

    /// The resultant of N independent uniform angles is about sqrt(pi / 4N) on average.
    #[test]
    fn uniform_angles_tend_to_nothing() {
        use rand_chacha::ChaCha8Rng;
        use rand_chacha::rand_core::{Rng, SeedableRng};
        let mut random = ChaCha8Rng::seed_from_u64(3);
        for n in [16, 64, 256, 1024] {
            let mut uniform = || TAU * f64::from(random.next_u32()) / 2f64.powi(32);
            let mean =
                (0..400).map(|_| Resultant::of((0..n).map(|_| uniform())).length()).sum::<f64>() / 400.0;
            let expected = (PI / 4.0 / f64::from(n)).sqrt();
            assert!((mean / expected - 1.0).abs() < 0.1, "{n}: {mean} against {expected}");
        }
    }

    /// Uniform angles are called uniform, concentrated ones are not.
    #[test]
    fn rayleigh_tells_them_apart() {
        let spread = Resultant::of((0..40).map(|i| TAU * f64::from(i) / 40.0));
        let tight = Resultant::of((0..40).map(|i| 0.02 * f64::from(i)));
        assert!(spread.rayleigh().1 > 0.99 && tight.rayleigh().1 < 1e-9);
        // Eight angles with R = 0.825: tables of the test give p between 0.001 and 0.005.
        let spread = 0.825f64.acos();
        let (_, p) = Resultant::of((0..8).map(|i| if i % 2 == 0 { spread } else { -spread })).rayleigh();
        assert!((0.001..0.005).contains(&p), "{p}");
    }

    proptest! {
        #[test]
        fn a_rotation_changes_the_mean_only(
            angles in proptest::collection::vec(-10.0f64..10.0, 2..40), by in -10.0f64..10.0
        ) {
            let before = Resultant::of(angles.clone());
            let after = Resultant::of(angles.iter().map(|x| x + by));
            prop_assert!((before.length() - after.length()).abs() < 1e-9);
            prop_assume!(before.length() > 0.01);
            prop_assert!(difference(after.mean(), before.mean() + by).abs() < 1e-9);
        }
    }
}
