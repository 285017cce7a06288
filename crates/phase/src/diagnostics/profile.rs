//! What verdicts rest on: the means of a model by layer.

use super::Drift;
use crate::survey::Survey;
use kuramoto_report::statistics::{Interval, mean, mean_interval};
use serde::Serialize;

/// Means over windows, by layer unless it says otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct Profile {
    /// Local order.
    pub local: Vec<f64>,
    /// Least local order over layers and positions.
    pub least: f64,
    /// Local order without the token itself.
    pub neighbours: Vec<f64>,
    /// Alignment with the attended mean.
    pub alignment: Vec<f64>,
    /// Alignment with the attended mean of other tokens.
    pub neighbour_alignment: Vec<f64>,
    /// Global order of the state entering each layer, and of the last: one more than layers.
    pub global: Vec<f64>,
    /// 95% interval over windows of the slope of global order over these states.
    pub slope: Interval,
    /// Share of a token's coupling with itself.
    pub self_coupling: Vec<f64>,
    /// Coupling range, bytes.
    pub range: Vec<f64>,
    /// Coupling range of other tokens, bytes.
    pub neighbour_range: Vec<f64>,
    /// Mean rate.
    pub rates: Vec<f64>,
    /// Departure of the spectrum of rates from its start, as a share of the mean rate at the start.
    pub departures: Vec<f64>,
    /// Mean rate at the start, the same in every layer.
    pub initial_rate: f64,
}

impl Profile {
    /// Of what was measured.
    pub fn of(survey: &Survey, drift: &Drift) -> Profile {
        let by_layer = |name: &str| -> Vec<f64> {
            (0..survey.layers).map(|layer| survey.mean_of(name, layer)).collect()
        };
        let mut global = by_layer("global-order");
        global.push(mean(&survey.last_global_order));
        let slopes: Vec<f64> = (0..survey.last_global_order.len()).map(|w| global_slope(survey, w)).collect();
        Profile {
            local: by_layer("local-order"),
            least: survey.local_by_position.iter().flatten().copied().fold(f64::INFINITY, f64::min),
            neighbours: by_layer("neighbour-order"),
            alignment: by_layer("alignment"),
            neighbour_alignment: by_layer("neighbour-alignment"),
            global,
            slope: mean_interval(&slopes),
            self_coupling: by_layer("self-coupling"),
            range: by_layer("coupling-range"),
            neighbour_range: by_layer("neighbour-range"),
            rates: drift.means(),
            departures: drift.departures(),
            initial_rate: drift.initial_mean(),
        }
    }

    /// How far global order falls from the first state to the last.
    pub fn fall(&self) -> f64 {
        match self.global[..] {
            [first, .., last] => first - last,
            _ => 0.0,
        }
    }
}

/// Slope of global order over the states of a window.
fn global_slope(survey: &Survey, window: usize) -> f64 {
    let layers = (0..survey.layers).map(|layer| survey.named("global-order", layer)[window]);
    let orders: Vec<f64> = layers.chain([survey.last_global_order[window]]).collect();
    slope(&orders)
}

/// The least-squares slope of values at 0, 1, 2, ..
fn slope(values: &[f64]) -> f64 {
    let (mx, my) = ((values.len() as f64 - 1.0) / 2.0, mean(values));
    let (above, below) = values.iter().enumerate().fold((0.0, 0.0), |(above, below), (x, y)| {
        let x = x as f64 - mx;
        (above + x * (y - my), below + x * x)
    });
    if below > 0.0 { above / below } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes() {
        assert!((slope(&[3.0, 1.0, -1.0]) + 2.0).abs() < 1e-12);
        assert_eq!(slope(&[3.0]), 0.0);
    }
}
