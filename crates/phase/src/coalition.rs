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

fn merge<F: Real>(locking: &[F], n: usize, threshold: f64) -> Vec<Coalition> {
    let mut groups: Vec<Vec<usize>> = (0..n).map(|t| vec![t]).collect();
    // Summed locking between groups; a merge adds rows.
    let mut sums: Vec<Vec<f64>> =
        locking.chunks_exact(n.max(1)).map(|row| row.iter().map(|x| x.to_f64()).collect()).collect();
    loop {
        let mean = |a: usize, b: usize| sums[a][b] / (groups[a].len() * groups[b].len()) as f64;
        let pairs = (0..groups.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        let Some((a, b)) = pairs.max_by(|&(a, b), &(c, d)| mean(a, b).total_cmp(&mean(c, d))) else { break };
        if mean(a, b) < threshold {
            break;
        }
        // b < a, so removing a leaves b where it is.
        let joined = groups.remove(a);
        groups[b].extend(joined);
        let row = sums.remove(a);
        sums[b].iter_mut().zip(&row).for_each(|(x, y)| *x += y);
        for sums in &mut sums {
            let column = sums.remove(a);
            sums[b] += column;
        }
    }
    let coalition = |mut tokens: Vec<usize>| {
        tokens.sort_unstable();
        let pairs = tokens
            .iter()
            .flat_map(|&t| tokens.iter().filter(move |&&u| u < t).map(move |&u| locking[t * n + u].to_f64()));
        let (sum, count) = pairs.fold((0.0, 0), |(sum, count), x| (sum + x, count + 1));
        let locking = if count > 0 { sum / f64::from(count) } else { 1.0 };
        Coalition { tokens, locking, from: None }
    };
    let mut found: Vec<Coalition> = groups.into_iter().map(coalition).collect();
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
}
