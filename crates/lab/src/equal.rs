//! Both models at equal bytes, equal operations and equal seconds, read off their learning curves.

use crate::results::{ArmResults, Finished, pairs};
use crate::statistics::{Interval, mean, mean_interval};
use kuramoto_train::presets::Protocol;
use kuramoto_train::run::Ended;
use serde::Serialize;

/// What two runs are given equal amounts of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// Bytes of text.
    Bytes,
    /// Floating-point operations.
    Operations,
    /// Seconds of training.
    Seconds,
}

/// Both models at the same point of an axis: where the one that gets there first ends.
#[derive(Clone, Debug, Serialize)]
pub struct Equal {
    /// Its recipe.
    pub protocol: Protocol,
    /// The corpus.
    pub corpus: String,
    /// Parameter budget.
    pub budget: usize,
    /// What is equal.
    pub axis: Axis,
    /// How much of it, the mean over seeds.
    pub amount: f64,
    /// Mean validation of the Kuramoto model there.
    pub kuramoto: f64,
    /// Mean validation of the transformer there.
    pub transformer: f64,
    /// Kuramoto less transformer, within seeds.
    pub differences: Vec<f64>,
    /// 95% bootstrap interval of their mean.
    pub interval: Interval,
}

/// Every pair of models on every axis; runs that are not finite have no end to compare at.
pub(crate) fn equals(arms: &[ArmResults]) -> Vec<Equal> {
    let axes = [Axis::Bytes, Axis::Operations, Axis::Seconds];
    pairs(arms).flat_map(|pair| axes.map(|axis| equal(pair, axis))).flatten().collect()
}

fn equal((protocol, ours, theirs): (Protocol, &ArmResults, &ArmResults), axis: Axis) -> Option<Equal> {
    let at = |(seed, a): (&u64, &Finished)| {
        let b = theirs.runs.get(seed)?;
        if [a, b].iter().any(|run| run.summary.ended == Ended::NonFinite) {
            return None;
        }
        let end = |run: &Finished| run.curve.last().map(|&(bytes, _)| run.at(axis, bytes));
        let amount = end(a)?.min(end(b)?);
        Some((amount, at(a, axis, amount)?, at(b, axis, amount)?))
    };
    let points: Vec<(f64, f64, f64)> = ours.runs.iter().filter_map(at).collect();
    if points.is_empty() {
        return None;
    }
    let mean_of = |of: &dyn Fn(&(f64, f64, f64)) -> f64| mean(&points.iter().map(of).collect::<Vec<_>>());
    let differences: Vec<f64> = points.iter().map(|point| point.1 - point.2).collect();
    Some(Equal {
        protocol,
        corpus: ours.corpus.clone(),
        budget: ours.budget,
        axis,
        amount: mean_of(&|point| point.0),
        kuramoto: mean_of(&|point| point.1),
        transformer: mean_of(&|point| point.2),
        interval: mean_interval(&differences),
        differences,
    })
}

/// Validation of a run at a point of an axis, linear between the validations around it; None before the first.
fn at(run: &Finished, axis: Axis, amount: f64) -> Option<f64> {
    let curve = run.curve.iter().map(|&(bytes, bits)| (run.at(axis, bytes), bits));
    interpolated(&curve.collect::<Vec<_>>(), amount)
}

fn interpolated(curve: &[(f64, f64)], x: f64) -> Option<f64> {
    let after = curve.iter().position(|&(end, _)| end >= x * (1.0 - 1e-9))?;
    let (x1, y1) = curve[after];
    if x1 <= x * (1.0 + 1e-9) {
        return Some(y1).filter(|y| y.is_finite());
    }
    let (x0, y0) = *curve.get(after.checked_sub(1)?)?;
    Some(y0 + (y1 - y0) * (x - x0) / (x1 - x0)).filter(|y| y.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_read_between_its_validations() {
        let curve = [(10.0, 3.0), (20.0, 2.0), (40.0, 1.5)];
        for (x, expected) in [(10.0, Some(3.0)), (15.0, Some(2.5)), (30.0, Some(1.75)), (40.0, Some(1.5))] {
            assert_eq!(interpolated(&curve, x), expected, "{x}");
        }
        assert_eq!(interpolated(&curve, 5.0), None, "before the first validation");
        assert_eq!(interpolated(&curve, 41.0), None, "after the last");
        assert_eq!(interpolated(&[(10.0, f64::NAN)], 10.0), None);
        assert_eq!(interpolated(&[], 1.0), None);
    }
}
