//! Comparing two samples, or one with published numbers: Welch's test, equivalence, medians, separated values.
//!
//! These stand beside the paired tests of [`crate::statistics`], which need more pairs than most papers have.

use crate::statistics::{Interval, RESAMPLES, below, mean, median, quantile, standard_deviation};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// What a publication gives of a sample.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Moments {
    /// Mean.
    pub mean: f64,
    /// Standard deviation of the sample.
    pub sd: f64,
    /// Size.
    pub n: usize,
}

impl Moments {
    /// Of values.
    pub fn of(values: &[f64]) -> Moments {
        Moments { mean: mean(values), sd: standard_deviation(values), n: values.len() }
    }
}

/// A difference of two means, by Welch.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Welch {
    /// The first mean less the second.
    pub difference: f64,
    /// Its 95% interval.
    pub interval: Interval,
    /// Degrees of freedom.
    pub degrees: f64,
    /// Two-sided p-value of no difference.
    pub p: f64,
}

/// Welch's test from summaries; None if a sample has fewer than two values, or neither has any spread.
pub fn welch(a: Moments, b: Moments) -> Option<Welch> {
    let [va, vb] = [a, b].map(|sample| sample.sd * sample.sd / sample.n as f64);
    let error = (va + vb).sqrt();
    if a.n < 2 || b.n < 2 || !error.is_finite() || error == 0.0 {
        return None;
    }
    let degrees = (va + vb).powi(2) / (va * va / (a.n as f64 - 1.0) + vb * vb / (b.n as f64 - 1.0));
    let t = StudentsT::new(0.0, 1.0, degrees).ok()?;
    let difference = a.mean - b.mean;
    let reach = t.inverse_cdf(0.975) * error;
    Some(Welch {
        difference,
        interval: Interval { low: difference - reach, high: difference + reach },
        degrees,
        p: (2.0 * t.sf((difference / error).abs())).min(1.0),
    })
}

/// p-value of the sign-flip permutation test that paired differences are symmetric around `centre`, against
/// their being larger.
fn above(differences: &[f64], centre: f64) -> f64 {
    let shifted: Vec<f64> = differences.iter().map(|difference| difference - centre).collect();
    let p = crate::statistics::sign_flip(&shifted);
    // The distribution of sums under sign flips is symmetric, so a side has half of the two-sided p.
    if shifted.iter().sum::<f64>() > 0.0 { p / 2.0 } else { 1.0 - p / 2.0 }
}

fn below_centre(differences: &[f64], centre: f64) -> f64 {
    let turned: Vec<f64> = differences.iter().map(|difference| -difference).collect();
    above(&turned, -centre)
}

/// Whether a mean of paired differences lies within a range, by two one-sided sign-flip tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equivalence {
    /// p-value of its lying within: the larger of the two one-sided ones.
    pub within: f64,
    /// p-value of its lying outside: twice the smaller of the other two.
    pub outside: f64,
}

/// Two one-sided tests of `low < mean < high`.
pub fn equivalence(differences: &[f64], low: f64, high: f64) -> Equivalence {
    let within = above(differences, low).max(below_centre(differences, high));
    let outside = 2.0 * below_centre(differences, low).min(above(differences, high));
    Equivalence { within, outside: outside.min(1.0) }
}

/// The least p-value that [`equivalence`] can give for so many pairs.
pub fn least_one_sided_p(pairs: usize) -> f64 {
    crate::statistics::smallest_p(pairs) / 2.0
}

/// Whether a difference of two means lies within a range, by two one-sided Welch tests; None where [`welch`]
/// gives none. All values count, in pairs or not.
pub fn equivalence_of_means(a: Moments, b: Moments, low: f64, high: f64) -> Option<(Welch, Equivalence)> {
    let found = welch(a, b)?;
    let t = StudentsT::new(0.0, 1.0, found.degrees).ok()?;
    let error = ((a.sd * a.sd) / a.n as f64 + (b.sd * b.sd) / b.n as f64).sqrt();
    let above = |centre: f64| t.sf((found.difference - centre) / error);
    let below = |centre: f64| t.cdf((found.difference - centre) / error);
    let within = above(low).max(below(high));
    let outside = (2.0 * below(low).min(above(high))).min(1.0);
    Some((found, Equivalence { within, outside }))
}

/// The median of one sample less that of another, with its permutation test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Medians {
    /// The first median less the second.
    pub difference: f64,
    /// 95% percentile bootstrap interval, both samples resampled.
    pub interval: Interval,
    /// Two-sided p-value of the permutation of labels.
    pub p: f64,
    /// The least p-value that samples of these sizes could show.
    pub least_p: f64,
}

/// Compares medians. All values count, in pairs or not.
pub fn medians(a: &[f64], b: &[f64]) -> Medians {
    let apart: Vec<f64> = (0..a.len() + b.len()).map(|i| i as f64).collect();
    let (low, high) = apart.split_at(a.len());
    // Of samples of unequal size, the other tail need not be as extreme.
    let tails = if a.len() == b.len() { 1.0 } else { 2.0 };
    Medians {
        difference: median(a) - median(b),
        interval: bootstrap_medians(a, b),
        p: label_p(a, b),
        least_p: label_p(low, high) / tails,
    }
}

/// Percentile bootstrap of a difference of medians; NaN where a sample has fewer than two values.
fn bootstrap_medians(a: &[f64], b: &[f64]) -> Interval {
    if a.len() < 2 || b.len() < 2 {
        return Interval { low: f64::NAN, high: f64::NAN };
    }
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let mut drawn = |values: &[f64]| {
        median(&values.iter().map(|_| values[below(&mut random, values.len())]).collect::<Vec<_>>())
    };
    let differences: Vec<f64> = (0..RESAMPLES).map(|_| drawn(a) - drawn(b)).collect();
    Interval { low: quantile(&differences, 0.025), high: quantile(&differences, 0.975) }
}

/// Ways to choose so many labels that are all tried; beyond, as many are drawn as a bootstrap draws.
const EXACT_CHOICES: u128 = 20_000;

fn label_p(a: &[f64], b: &[f64]) -> f64 {
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let observed = (median(a) - median(b)).abs();
    if observed.is_nan() {
        return f64::NAN;
    }
    let extreme = |is_first: &dyn Fn(usize) -> bool| {
        let part = |first: bool| -> Vec<f64> {
            (0..all.len()).filter(|&i| is_first(i) == first).map(|i| all[i]).collect()
        };
        (median(&part(true)) - median(&part(false))).abs() >= observed * (1.0 - 1e-12)
    };
    if choices(all.len(), a.len()) <= EXACT_CHOICES {
        let mut tried = 0u32;
        let mut hits = 0u32;
        let mut indices: Vec<usize> = (0..a.len()).collect();
        loop {
            tried += 1;
            hits += u32::from(extreme(&|i| indices.contains(&i)));
            if !next_choice(&mut indices, all.len()) {
                return f64::from(hits) / f64::from(tried);
            }
        }
    }
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut order: Vec<usize> = (0..all.len()).collect();
    let mut place = vec![0; all.len()];
    let mut drawn = |_: &usize| {
        for i in (1..order.len()).rev() {
            order.swap(i, below(&mut random, i + 1));
        }
        for (position, &i) in order.iter().enumerate() {
            place[i] = position;
        }
        extreme(&|i| place[i] < a.len())
    };
    let hits = (0..RESAMPLES).filter(&mut drawn).count();
    // The observed labels are one choice.
    (hits + 1) as f64 / (RESAMPLES + 1) as f64
}

/// Ways to choose `k` of `n`; saturating.
fn choices(n: usize, k: usize) -> u128 {
    (0..k.min(n - k)).fold(1u128, |product, i| product.saturating_mul((n - i) as u128) / (i as u128 + 1))
}

/// The next ascending choice of indices below `n`; false after the last.
fn next_choice(indices: &mut [usize], n: usize) -> bool {
    let k = indices.len();
    let Some(i) = (0..k).rev().find(|&i| indices[i] < n - k + i) else { return false };
    indices[i] += 1;
    for j in i + 1..k {
        indices[j] = indices[j - 1] + 1;
    }
    true
}

/// Chance that a sample without any separated value has one called so.
const SEPARATED: f64 = 0.001;

/// Fewest values among which one can be separated from a cluster.
const CLUSTER: usize = 4;

/// Places of values that are separated from the cluster of the others: by the t-test of each value against all
/// others, corrected for their number. None of fewer than four values.
pub fn separated(values: &[f64]) -> Vec<usize> {
    if values.len() < CLUSTER || values.iter().any(|value| value.is_nan()) {
        return Vec::new();
    }
    let count = values.len() as f64;
    let is_separated = |&i: &usize| {
        let others: Vec<f64> = (0..values.len()).filter(|&j| j != i).map(|j| values[j]).collect();
        // Of one value less the mean of the others.
        let error = standard_deviation(&others) * (1.0 + 1.0 / (count - 1.0)).sqrt();
        let t = (values[i] - mean(&others)).abs() / error;
        // Without any spread there is nothing to compare with.
        let Some(student) = StudentsT::new(0.0, 1.0, count - 2.0).ok().filter(|_| t.is_finite()) else {
            return false;
        };
        2.0 * student.sf(t) * count <= SEPARATED
    };
    (0..values.len()).filter(is_separated).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() < tolerance, "{a} against {b}");
    }

    /// scipy.stats.ttest_ind_from_stats(1.637, 0.011, 5, 1.616, 0.004, 5, equal_var=False).
    #[test]
    fn welch_from_summaries() {
        let [a, b] = [(1.637, 0.011), (1.616, 0.004)].map(|(mean, sd)| Moments { mean, sd, n: 5 });
        let found = welch(a, b).unwrap();
        near(found.degrees, 5.039_672_417_265, 1e-9);
        near(found.p, 0.010_040_076_222_7, 1e-9);
        near(found.difference, 0.021, 1e-12);
        near(found.interval.low, 0.007_576_084_092, 1e-7);
        near(found.interval.high, 0.034_423_915_908, 1e-7);
        assert!(welch(Moments { n: 1, ..a }, b).is_none(), "one value has no spread");
        assert!(welch(Moments { sd: 0.0, ..a }, Moments { sd: 0.0, ..b }).is_none());
        assert!(welch(Moments { sd: 0.0, ..a }, b).is_some(), "a deviation that was rounded away");
    }

    #[test]
    fn equivalence_is_two_one_sided_tests() {
        let near_zero = [0.001, -0.002, 0.003, -0.001, 0.002, 0.0];
        let found = equivalence(&near_zero, -0.01, 0.01);
        near(found.within, 1.0 / 64.0, 1e-12);
        near(found.within, least_one_sided_p(6), 1e-12);
        assert_eq!(found.outside, 1.0);
        let far: Vec<f64> = near_zero.iter().map(|x| x + 0.05).collect();
        let found = equivalence(&far, -0.01, 0.01);
        assert!(found.within > 0.9, "{found:?}");
        near(found.outside, 2.0 / 64.0, 1e-12);
        // Wide differences are neither.
        let wide = equivalence(&[0.05, -0.05, 0.04, -0.04, 0.02, -0.03], -0.01, 0.01);
        assert!(wide.within > 0.2 && wide.outside > 0.2, "{wide:?}");
    }

    #[test]
    fn closeness_of_means_counts_every_value() {
        let ours = Moments::of(&[1.448, 1.447, 1.4485, 1.452, 1.4495, 1.546]);
        let theirs = Moments::of(&[1.452, 1.450, 1.455, 1.473, 1.451]);
        let (found, close) = equivalence_of_means(ours, theirs, -0.01, 0.01).unwrap();
        assert!((found.difference - 0.0090).abs() < 1e-3, "{found:?}");
        assert!(close.within > 0.3 && close.outside > 0.5, "one run is far off: {close:?}");
        let near = Moments { mean: 1.4555, sd: 0.002, n: 6 };
        let (_, close) = equivalence_of_means(near, Moments { mean: 1.456, ..near }, -0.01, 0.01).unwrap();
        assert!(close.within < 1e-3, "{close:?}");
    }

    #[test]
    fn medians_use_every_value_and_know_their_power() {
        let ours = [1.448, 1.447, 1.449, 1.452, 1.449, 1.546];
        let theirs = [1.452, 1.450, 1.455, 1.473, 1.451];
        let found = medians(&ours, &theirs);
        near(found.difference, 1.449 - 1.452, 1e-12);
        assert!(found.p >= found.least_p && found.interval.contains(found.difference), "{found:?}");
        // Five against five, counted by hand: 12 of 252 choices of labels set the medians as far apart.
        near(medians(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0]).p, 12.0 / 252.0, 1e-12);
        let many = |from: u32| (from..from + 30).map(f64::from).collect::<Vec<_>>();
        assert!(medians(&many(0), &many(30)).p < 1e-2, "many values: drawn");
        assert!(medians(&[], &[1.0]).p.is_nan());
    }

    #[test]
    fn a_run_that_left_its_cluster_is_found_and_none_else() {
        // Six values with the paper's summaries at 5M: a cluster of 1.449 +- 0.002, and 1.546.
        assert_eq!(separated(&[1.448, 1.447, 1.449, 1.452, 1.449, 1.546]), [5]);
        assert_eq!(separated(&[1.448, 1.447, 1.449, 1.452, 1.449]), []);
        assert_eq!(separated(&[1.0, 1.0, 9.0]), [], "three values are no cluster");
        assert_eq!(separated(&[1.0, 1.0, 1.0, 1.1]), [], "no spread to compare with");
        // Of normal values, as sums of uniform ones, hardly any is called separated.
        let mut random = ChaCha8Rng::seed_from_u64(5);
        let mut normal = || (0..12).map(|_| f64::from(below(&mut random, 1 << 20) as u32)).sum::<f64>();
        let called =
            (0..2000).filter(|_| !separated(&(0..6).map(|_| normal()).collect::<Vec<_>>()).is_empty());
        assert!(called.count() < 10);
    }
}
