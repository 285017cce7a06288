//! Learned drift rates, beside the schedule they started from.

use kuramoto_kernels::Real;
use kuramoto_model::config;
use kuramoto_model::{Kuramoto, Network, Weights};
use kuramoto_report::statistics::mean;
use serde::Serialize;

/// Learned drift rates.
#[derive(Clone, Debug, Serialize)]
pub struct Drift {
    /// |omega_j| by layer.
    pub rates: Vec<Vec<f64>>,
    /// The rotary schedule they started from.
    pub initial: Vec<f64>,
    /// Which of them are learned.
    pub how: config::Drift,
}

impl Drift {
    /// Of a model.
    pub fn of<F: Real>(weights: &Weights<F, Kuramoto>) -> Drift
    where
        Kuramoto: Network<F>,
    {
        let network = weights.network();
        let mut start = vec![F::ZERO; network.layout().count()];
        // Rates start from a schedule, not from the seed.
        network.initialize(0, &mut start);
        let sizes = |arena: &[F], layer: usize| -> Vec<f64> {
            network.omega(arena, layer).iter().map(|x| x.to_f64().abs()).collect()
        };
        let layers = network.config().layers;
        Drift {
            rates: (0..layers).map(|layer| sizes(weights.parameters(), layer)).collect(),
            initial: sizes(&start, 0),
            how: network.config().drift,
        }
    }

    /// Those of the same model before training: every layer has the schedule.
    pub fn at_start(&self) -> Drift {
        Drift { rates: vec![self.initial.clone(); self.rates.len()], ..self.clone() }
    }

    /// Mean rate of every layer.
    pub fn means(&self) -> Vec<f64> {
        self.rates.iter().map(|rates| mean(rates)).collect()
    }

    /// Mean rate that every layer started with.
    pub fn initial_mean(&self) -> f64 {
        mean(&self.initial)
    }

    /// How far the spectrum of each layer moved: mean_j | |omega|_(j) - its start_(j) | of the sorted rates, as
    /// a share of the mean rate at the start.
    ///
    /// On this linear scale slow rates count little. In decades they would decide: the slowest start at 1e-4
    /// radians a byte, and the first step of the optimizer already moves them by more than that.
    pub fn departures(&self) -> Vec<f64> {
        let start = sorted(&self.initial);
        let moved = |rates: &Vec<f64>| {
            let apart: Vec<f64> = sorted(rates).iter().zip(&start).map(|(x, y)| (x - y).abs()).collect();
            if self.initial_mean() > 0.0 { mean(&apart) / self.initial_mean() } else { 0.0 }
        };
        self.rates.iter().map(moved).collect()
    }
}

/// From the fastest to the slowest.
pub(super) fn sorted(rates: &[f64]) -> Vec<f64> {
    let mut rates = rates.to_vec();
    rates.sort_by(|a, b| b.total_cmp(a));
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_departure_is_one_of_the_spectrum() {
        let initial = vec![1.0, 0.1, 0.0001];
        let drift = |rates: [f64; 3]| Drift {
            rates: vec![rates.to_vec()],
            initial: initial.clone(),
            how: config::Drift::Learned,
        };
        assert_eq!(drift([1.0, 0.1, 0.0001]).departures(), [0.0]);
        // Other oscillators with the same rates are the same spectrum.
        assert_eq!(drift([0.0001, 1.0, 0.1]).departures(), [0.0]);
        // One decade at the slow end is next to nothing; half of the fastest rate is much.
        assert!(drift([1.0, 0.1, 0.001]).departures()[0] < 0.001);
        assert!(drift([0.5, 0.1, 0.0001]).departures()[0] > 0.4);
    }

    #[test]
    fn without_drift_nothing_departs() {
        let none = Drift { rates: vec![vec![0.0; 3]], initial: vec![0.0; 3], how: config::Drift::None };
        assert_eq!(none.departures(), [0.0]);
    }
}
