//! Statistics of few samples: moments, intervals, tests, ranks.
//!
//! The unit is whatever was drawn independently: a seed of paired runs, a window of text. With few units
//! little can be said, and these functions say how little: [`smallest_p`] is the least p-value that so many
//! pairs could ever show.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Mean; NaN of nothing.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Standard deviation of a sample; NaN of fewer than two.
pub fn standard_deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return f64::NAN;
    }
    let middle = mean(values);
    let squares: f64 = values.iter().map(|x| (x - middle).powi(2)).sum();
    (squares / (values.len() as f64 - 1.0)).sqrt()
}

/// Median; NaN of nothing.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// Quantile, linear between order statistics; NaN of nothing.
pub fn quantile(values: &[f64], p: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let at = p.clamp(0.0, 1.0) * last as f64;
    let (low, high) = (at.floor() as usize, at.ceil() as usize);
    sorted[low] + (at - low as f64) * (sorted[high] - sorted[low])
}

/// An interval.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl std::fmt::Display for Interval {
    /// `+0.0100 to +0.0200`, or `-` where there is none.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.low.is_nan() {
            true => f.pad("-"),
            false => f.pad(&format!("{:+.4} to {:+.4}", self.low, self.high)),
        }
    }
}

impl Interval {
    /// True if `x` lies within.
    pub fn contains(&self, x: f64) -> bool {
        self.low <= x && x <= self.high
    }
}

/// Draws of a bootstrap; its seed is fixed, so a report is the same every time.
pub(crate) const RESAMPLES: usize = 10_000;

/// 95% percentile bootstrap interval of a statistic over resampled units; NaN of fewer than two, which show
/// no spread.
pub fn bootstrap(units: usize, statistic: impl Fn(&[usize]) -> f64) -> Interval {
    if units < 2 {
        return Interval { low: f64::NAN, high: f64::NAN };
    }
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let mut chosen = vec![0; units];
    let draw = |_| {
        for index in &mut chosen {
            *index = below(&mut random, units);
        }
        statistic(&chosen)
    };
    let values: Vec<f64> = (0..RESAMPLES).map(draw).collect();
    Interval { low: quantile(&values, 0.025), high: quantile(&values, 0.975) }
}

/// 95% bootstrap interval of the mean of paired differences.
pub fn mean_interval(differences: &[f64]) -> Interval {
    bootstrap(differences.len(), |chosen| {
        chosen.iter().map(|&i| differences[i]).sum::<f64>() / chosen.len() as f64
    })
}

/// Pairs up to which every assignment of signs is tried; beyond, as many are drawn as a bootstrap draws.
const EXACT: usize = 20;

/// Two-sided p-value of the sign-flip permutation test that paired differences are symmetric around zero.
pub fn sign_flip(differences: &[f64]) -> f64 {
    let n = differences.len();
    let observed = differences.iter().sum::<f64>().abs();
    if observed.is_nan() {
        return f64::NAN;
    }
    // As extreme as what was observed, up to rounding of the sums.
    let extreme = |flip: &mut dyn FnMut(usize) -> bool| {
        let sum: f64 = differences.iter().enumerate().map(|(i, d)| if flip(i) { -d } else { *d }).sum();
        sum.abs() >= observed * (1.0 - 1e-12)
    };
    if n <= EXACT {
        let all = 1u64 << n;
        return (0..all).filter(|flips| extreme(&mut |i| flips >> i & 1 == 1)).count() as f64 / all as f64;
    }
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let hits = (0..RESAMPLES).filter(|_| extreme(&mut |_| random.next_u32() & 1 == 1)).count();
    // The observed assignment is one of them.
    (hits + 1) as f64 / (RESAMPLES + 1) as f64
}

/// The least p-value that [`sign_flip`] can give for so many pairs.
pub fn smallest_p(pairs: usize) -> f64 {
    if pairs <= EXACT { 2.0 / (1u64 << pairs) as f64 } else { 1.0 / (RESAMPLES + 1) as f64 }.min(1.0)
}

/// Holm's correction: p-values adjusted for their number, in the order given.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut highest: f64 = 0.0;
    for (rank, &i) in order.iter().enumerate() {
        highest = highest.max(((p_values.len() - rank) as f64 * p_values[i]).min(1.0));
        adjusted[i] = highest;
    }
    adjusted
}

/// Ranks from the highest, which is 1; ties share their mean rank.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |x: &f64| {
        let above = values.iter().filter(|y| *y > x).count() as f64;
        let tied = values.iter().filter(|y| *y == x).count() as f64;
        above + (tied + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

/// Kendall's tau-b of two rankings of the same things; NaN if one of them ranks nothing.
pub fn kendall(a: &[f64], b: &[f64]) -> f64 {
    let (mut agree, mut tied_a, mut tied_b, mut pairs) = (0.0, 0.0, 0.0, 0.0);
    for i in 0..a.len() {
        for j in 0..i {
            let (x, y) = (compare(a[i], a[j]), compare(b[i], b[j]));
            agree += x * y;
            tied_a += f64::from(u8::from(x == 0.0));
            tied_b += f64::from(u8::from(y == 0.0));
            pairs += 1.0;
        }
    }
    agree / ((pairs - tied_a) * (pairs - tied_b)).sqrt()
}

/// Two-sided p-value of the permutation test that two orders have nothing to do with each other, by Kendall's
/// tau; NaN if one of them ranks nothing.
pub fn order_p(a: &[f64], b: &[f64]) -> f64 {
    let observed = kendall(a, b).abs();
    if observed.is_nan() {
        return f64::NAN;
    }
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let mut shuffled = a.to_vec();
    let mut as_extreme = |_: &usize| {
        for i in (1..shuffled.len()).rev() {
            shuffled.swap(i, below(&mut random, i + 1));
        }
        kendall(&shuffled, b).abs() >= observed * (1.0 - 1e-12)
    };
    let hits = (0..RESAMPLES).filter(&mut as_extreme).count();
    // The observed order is one of them.
    (hits + 1) as f64 / (RESAMPLES + 1) as f64
}

pub(crate) fn below(random: &mut ChaCha8Rng, end: usize) -> usize {
    ((u64::from(random.next_u32()) * end as u64) >> 32) as usize
}

fn compare(x: f64, y: f64) -> f64 {
    f64::from(i8::from(x > y) - i8::from(x < y))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} against {b}");
    }

    #[test]
    fn moments_and_quantiles() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        near(mean(&values), 5.0);
        near(standard_deviation(&values), (32.0f64 / 7.0).sqrt());
        near(median(&values), 4.5);
        near(quantile(&values, 0.25), 4.0);
        assert!(
            median(&[]).is_nan() && standard_deviation(&[1.0]).is_nan() && standard_deviation(&[]).is_nan()
        );
        assert_eq!(mean_interval(&[1.0]).to_string(), "-", "one value shows no spread");
    }

    #[test]
    fn sign_flips_are_counted_exactly() {
        near(sign_flip(&[1.0, 2.0, 3.0]), 2.0 / 8.0);
        near(sign_flip(&[1.0, 2.0, -3.0]), 1.0);
        near(sign_flip(&[0.3; 10]), 2.0 / 1024.0);
        near(sign_flip(&[1.0, 1.0, 1.0, -1.0]), 10.0 / 16.0);
        near(smallest_p(3), 0.25);
        near(smallest_p(10), 2.0 / 1024.0);
        near(smallest_p(1), 1.0);
        // Many pairs: drawn, not counted.
        assert!(
            sign_flip(&[0.1; 40]) < 1e-3
                && sign_flip(&(0..40).map(|i| f64::from(i % 2) - 0.5).collect::<Vec<_>>()) > 0.5
        );
    }

    /// Worked example of Holm (1979) as textbooks give it.
    #[test]
    fn holm_steps_down() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            near(*found, expected);
        }
        assert_eq!(holm(&[0.6, 0.7]), [1.0, 1.0]);
    }

    #[test]
    fn ties_share_their_rank() {
        assert_eq!(ranks(&[0.3, 0.1, 0.3, 0.2]), [1.5, 4.0, 1.5, 3.0]);
    }

    #[test]
    fn kendall_counts_pairs() {
        near(kendall(&[1.0, 2.0, 3.0, 4.0], &[1.0, 2.0, 3.0, 4.0]), 1.0);
        near(kendall(&[1.0, 2.0, 3.0, 4.0], &[4.0, 3.0, 2.0, 1.0]), -1.0);
        near(kendall(&[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 2.0, 4.0]), 4.0 / 6.0);
        // scipy.stats.kendalltau([1, 2, 2, 4], [1, 3, 2, 4])
        near(kendall(&[1.0, 2.0, 2.0, 4.0], &[1.0, 3.0, 2.0, 4.0]), 5.0 / 30f64.sqrt());
    }

    #[test]
    fn orders_are_tested_against_chance() {
        let ascending: Vec<f64> = (0..8).map(f64::from).collect();
        let descending: Vec<f64> = ascending.iter().rev().copied().collect();
        // Two of 8! orders are as extreme.
        assert!(order_p(&ascending, &ascending) < 1e-3 && order_p(&ascending, &descending) < 1e-3);
        near(order_p(&[1.0, 2.0], &[5.0, 6.0]), 1.0);
        // Of the 24 orders of four, those with a tau of +-1 or +-2/3: 1 + 3 + 3 + 1.
        let p = order_p(&[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 2.0, 4.0]);
        assert!((p - 8.0 / 24.0).abs() < 0.02, "{p}");
        assert!(order_p(&[1.0, 1.0], &[1.0, 2.0]).is_nan() && sign_flip(&[f64::NAN, 1.0]).is_nan());
    }

    /// A bootstrap interval of a mean covers it about as often as it says, for samples that are not tiny.
    #[test]
    fn intervals_cover() {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let mut uniform = || f64::from(random.next_u32()) / f64::from(u32::MAX) - 0.5;
        let covered = (0..200)
            .filter(|_| {
                let sample: Vec<f64> = (0..30).map(|_| uniform()).collect();
                mean_interval(&sample).contains(0.0)
            })
            .count();
        assert!((175..=199).contains(&covered), "{covered} of 200");
    }
}
