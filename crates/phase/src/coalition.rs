//! Coalitions: groups of tokens whose phases lock, followed through the layers.

use crate::locking;
use crate::trace::Trace;
use kuramoto_kernels::Real;
use serde::Serialize;

/// A group of tokens in one layer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Coalition {
    /// Its tokens, in order.
    pub tokens: Vec<usize>,
    /// Mean locking between them; 1 for a token alone.
    pub locking: f64,
    /// The coalition of the layer before that shares most tokens with it, by its place there.
    pub from: Option<usize>,
}

/// The coalitions of every state, from the embedding to the last, largest first. Groups are merged while the
/// mean locking between two of them is at least `threshold` (average linkage).
pub fn coalitions<F: Real>(trace: &Trace<F>, threshold: f64) -> Vec<Vec<Coalition>> {
    let mut found: Vec<Vec<Coalition>> = Vec::new();
    for layer in 0..trace.states.len() {
        let mut groups = merge(&locking::tokens(trace, layer), trace.n, threshold);
        for group in &mut groups {
            group.from = found.last().and_then(|before| most_shared(&group.tokens, before));
        }
        found.push(groups);
    }
    found
}

fn most_shared(tokens: &[usize], before: &[Coalition]) -> Option<usize> {
    let shared = |other: &Coalition| tokens.iter().filter(|token| other.tokens.contains(token)).count();
    let counts = before.iter().map(shared).enumerate();
    // Of equals the first, which is the larger.
    counts
        .filter(|&(_, count)| count > 0)
        .max_by_key(|&(place, count)| (count, usize::MAX - place))
        .map(|(place, _)| place)
}

/// Of the groups before `a`, the one with the largest mean, the last of equals.
fn nearest(a: usize, mean: impl Fn(usize) -> Option<f64>) -> Option<(f64, usize)> {
    (0..a).filter_map(|b| mean(b).map(|mean| (mean, b))).max_by(|x, y| x.0.total_cmp(&y.0))
}

fn by_mean(x: &(f64, usize, usize), y: &(f64, usize, usize)) -> std::cmp::Ordering {
    x.0.total_cmp(&y.0)
}

fn merge<F: Real>(locking: &[F], n: usize, threshold: f64) -> Vec<Coalition> {
    // A group keeps the place of its first token; one that joined another is empty.
    let mut groups: Vec<Vec<usize>> = (0..n).map(|t| vec![t]).collect();
    // Summed locking between groups (n x n); a merge adds rows and columns.
    let mut sums: Vec<f64> = locking.iter().map(|x| x.to_f64()).collect();
    // The group before each one that it locks with most, so that a merge looks at few pairs again.
    let mut best: Vec<Option<(f64, usize)>> = (0..n).map(|a| nearest(a, |b| Some(sums[a * n + b]))).collect();
    while let Some((mean, a, b)) =
        (0..n).filter_map(|a| best[a].map(|(mean, b)| (mean, a, b))).max_by(by_mean)
    {
        if mean < threshold {
            break;
        }
        let joined = std::mem::take(&mut groups[a]);
        groups[b].extend(joined);
        for c in 0..n {
            sums[b * n + c] += sums[a * n + c];
        }
        for c in 0..n {
            sums[c * n + b] += sums[c * n + a];
        }
        best[a] = None;
        let between = |c: usize, d: usize| {
            let pairs = groups[c].len() * groups[d].len();
            (pairs > 0).then(|| sums[c * n + d] / pairs as f64)
        };
        for c in b..n {
            let Some((mean, with)) = best[c] else { continue };
            let joins = c > b && between(c, b).is_some_and(|own| (own, b) > (mean, with));
            if c == b || with == a || with == b {
                best[c] = nearest(c, |d| between(c, d));
            } else if joins {
                best[c] = between(c, b).map(|mean| (mean, b));
            }
        }
    }
    let groups = groups.into_iter().filter(|tokens| !tokens.is_empty());
    let coalition = |mut tokens: Vec<usize>| {
        tokens.sort_unstable();
        let pairs = tokens
            .iter()
            .flat_map(|&t| tokens.iter().filter(move |&&u| u < t).map(move |&u| locking[t * n + u].to_f64()));
        let (sum, count) = pairs.fold((0.0, 0), |(sum, count), x| (sum + x, count + 1));
        let locking = if count > 0 { sum / f64::from(count) } else { 1.0 };
        Coalition { tokens, locking, from: None }
    };
    let mut found: Vec<Coalition> = groups.map(coalition).collect();
    found.sort_by_key(|group| (usize::MAX - group.tokens.len(), group.tokens[0]));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two groups of tokens with patterns of their own; in the next layer one token has changed sides.
    #[test]
    fn groups_are_found_and_followed() {
        let k = 16;
        let pattern = |group: usize, j: usize| if group == 0 { j as f64 } else { (j * j) as f64 };
        let state = |sides: [usize; 6]| {
            sides.iter().flat_map(|&side| (0..k).map(move |j| pattern(side, j))).collect()
        };
        let states: Vec<Vec<f64>> = vec![state([0, 0, 0, 0, 1, 1]), state([0, 0, 1, 0, 1, 1])];
        let trace = Trace { n: 6, k, heads: 1, states, ..Trace::default() };
        let found = coalitions(&trace, 0.9);
        let tokens = |layer: usize| found[layer].iter().map(|group| group.tokens.clone()).collect::<Vec<_>>();
        assert_eq!(tokens(0), [vec![0, 1, 2, 3], vec![4, 5]]);
        assert_eq!(tokens(1), [vec![0, 1, 3], vec![2, 4, 5]]);
        assert_eq!((found[1][0].from, found[1][1].from), (Some(0), Some(1)));
        assert!(found[0].iter().all(|group| (group.locking - 1.0).abs() < 1e-9));
    }

    /// Every pair is compared again after every merge.
    fn plainly(locking: &[f64], n: usize, threshold: f64) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = (0..n).map(|t| vec![t]).collect();
        loop {
            let mean = |a: usize, b: usize| {
                let pairs =
                    groups[a].iter().flat_map(|&t| groups[b].iter().map(move |&u| locking[t * n + u]));
                pairs.sum::<f64>() / (groups[a].len() * groups[b].len()) as f64
            };
            let pairs = (0..groups.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
            let best = pairs.max_by(|&(a, b), &(c, d)| mean(a, b).total_cmp(&mean(c, d)));
            let Some((a, b)) = best.filter(|&(a, b)| mean(a, b) >= threshold) else { break };
            let joined = groups.remove(a);
            groups[b].extend(joined);
        }
        groups.iter_mut().for_each(|group| group.sort_unstable());
        groups.sort_by_key(|group| (usize::MAX - group.len(), group[0]));
        groups
    }

    #[test]
    fn few_comparisons_find_the_same_groups() {
        let mut state = 1u64;
        let mut draw = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 40) as f64 / (1u64 << 24) as f64
        };
        for n in [1, 2, 3, 8, 20, 33] {
            for threshold in [0.0, 0.4, 0.6, 0.9] {
                let mut locking = vec![1.0; n * n];
                for (t, u) in (0..n).flat_map(|t| (0..t).map(move |u| (t, u))) {
                    let x = draw();
                    (locking[t * n + u], locking[u * n + t]) = (x, x);
                }
                let found: Vec<_> =
                    merge(&locking, n, threshold).into_iter().map(|group| group.tokens).collect();
                assert_eq!(found, plainly(&locking, n, threshold), "{n} tokens, {threshold}");
            }
        }
    }
}
