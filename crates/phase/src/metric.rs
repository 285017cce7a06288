//! The score as a metric on the torus (Appendix A of the paper).
//!
//! At equal position the score of a token with one whose phases differ by delta falls off by
//! 1/2 sum_j M_j delta_j^2, with the diagonal M(theta) = tau / sqrt(k/h) diag(g^q(theta) g^k(theta)). The paper
//! has one head and writes tau / sqrt(k); with h heads each scores k/h oscillators by itself.
//!
//! Without query and key gates g^q = g^k = 1, and the metric is flat. A model whose score has a low-rank frame
//! has no metric in this sense: its score changes with delta to first order.

use crate::trace::Trace;
use kuramoto_kernels::Real;
use kuramoto_model::config::Metric;
use kuramoto_model::{Kuramoto, Network, Weights};
use kuramoto_report::statistics::{mean, standard_deviation};

/// tau, the learned scale of the score. Proposition 1 and Appendix A assume that it is positive; nothing in
/// training forces it to be.
pub fn tau<F: Real>(weights: &Weights<F, Kuramoto>) -> f64
where
    Kuramoto: Network<F>,
{
    weights.parameter("tau").map_or(f64::NAN, |tau| tau[0].to_f64())
}

/// tau / sqrt(k/h), the factor of the metric; None if the model has no diagonal metric.
pub fn scale<F: Real>(weights: &Weights<F, Kuramoto>) -> Option<f64>
where
    Kuramoto: Network<F>,
{
    let config = weights.network().config();
    let diagonal = matches!(config.metric, Metric::Gates | Metric::None);
    diagonal.then(|| tau(weights) / ((config.width / config.heads) as f64).sqrt())
}

/// The diagonal M (n x k) at every token of a layer, for a model of this [`scale`].
pub fn diagonal<F: Real>(trace: &Trace<F>, layer: usize, scale: f64) -> Vec<f64> {
    let (query, key) = (&trace.query[layer], &trace.key[layer]);
    if query.is_empty() {
        return vec![scale; trace.n * trace.k];
    }
    query.iter().zip(key).map(|(q, k)| scale * q.to_f64() * k.to_f64()).collect()
}

/// How far a metric is from flat, over the tokens of a window; of a single token or oscillator its spread is
/// NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// mean_tj M_tj.
    pub size: f64,
    /// mean_t sd_j(M_tj) / mean_tj |M_tj|: how differently it weighs the oscillators of a token.
    pub anisotropy: f64,
    /// mean_j sd_t(M_tj) / mean_tj |M_tj|: how much it changes from token to token; 0 if it is flat.
    pub variation: f64,
    /// Share of M_tj > 0; below 1 it is not a metric.
    pub positive: f64,
}

impl Shape {
    /// Of a diagonal (n x k).
    pub fn of(diagonal: &[f64], k: usize) -> Shape {
        let absolute: Vec<f64> = diagonal.iter().map(|m| m.abs()).collect();
        let size = mean(&absolute);
        let relative = |deviations: Vec<f64>| if size > 0.0 { mean(&deviations) / size } else { 0.0 };
        let column = |j: usize| -> Vec<f64> { diagonal.iter().skip(j).step_by(k).copied().collect() };
        Shape {
            size: mean(diagonal),
            anisotropy: relative(diagonal.chunks_exact(k).map(standard_deviation).collect()),
            variation: relative((0..k).map(|j| standard_deviation(&column(j))).collect()),
            positive: diagonal.iter().filter(|&&m| m > 0.0).count() as f64 / diagonal.len() as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flat_metric_has_no_spread() {
        let flat = Shape::of(&[0.5; 12], 4);
        assert_eq!(flat, Shape { size: 0.5, anisotropy: 0.0, variation: 0.0, positive: 1.0 });
    }

    /// Oscillators that count differently, alike in every token: anisotropic, and still flat.
    #[test]
    fn spread_over_oscillators_is_not_spread_over_tokens() {
        let constant = Shape::of(&[1.0, 3.0, 1.0, 3.0, 1.0, 3.0], 2);
        assert!((constant.anisotropy - 2f64.sqrt() / 2.0).abs() < 1e-12 && constant.variation == 0.0);
        let changing = Shape::of(&[1.0, 1.0, 3.0, 3.0], 2);
        assert!((changing.variation - 2f64.sqrt() / 2.0).abs() < 1e-12 && changing.anisotropy == 0.0);
    }

    #[test]
    fn negative_entries_are_counted() {
        let signed = Shape::of(&[-1.0, 1.0, 1.0, 1.0], 2);
        assert_eq!((signed.positive, signed.size), (0.75, 0.5));
        assert_eq!(Shape::of(&[0.0; 4], 2).variation, 0.0);
    }
}
