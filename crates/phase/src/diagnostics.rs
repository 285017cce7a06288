//! The paper's diagnostics of a trained model: its Figures 1 and 2, and what they are said to show.

use crate::figure::kuva::plot::legend::LegendPosition;
use crate::figure::kuva::prelude::*;
use crate::figure::kuva::render::figure::Figure as Panels;
use crate::figure::{Figure, colour, style};
use crate::statistics::{kendall, mean, mean_interval};
use crate::survey::Survey;
use crate::trace::Probe;
use kuramoto_kernels::Real;
use kuramoto_model::Network;
use serde::Serialize;

/// Learned drift rates.
#[derive(Clone, Debug, Serialize)]
pub struct Drift {
    /// |omega_j| by layer.
    pub rates: Vec<Vec<f64>>,
    /// The rotary schedule they started from.
    pub initial: Vec<f64>,
}

impl Drift {
    /// Of a model.
    pub fn of<F: Real>(probe: &Probe<F>) -> Drift {
        let network = probe.network();
        let mut start = vec![F::ZERO; network.layout().count()];
        // Rates start from a schedule, not from the seed.
        network.initialize(0, &mut start);
        let sizes = |arena: &[F], layer: usize| -> Vec<f64> {
            let tensor = network.layout().find(&format!("layers.{layer}.omega"));
            tensor.map_or_else(Vec::new, |tensor| tensor.slot.slice(arena).iter().map(|x| x.to_f64().abs()).collect())
        };
        let layers = network.config().layers;
        Drift { rates: (0..layers).map(|layer| sizes(probe.parameters(), layer)).collect(), initial: sizes(&start, 0) }
    }

    /// Mean rate of every layer.
    pub fn means(&self) -> Vec<f64> {
        self.rates.iter().map(|rates| mean(rates)).collect()
    }

    /// How far each layer's rates moved: mean_j |log10(|omega_j| / its start)|, in decades.
    pub fn departures(&self) -> Vec<f64> {
        let moved = |rates: &Vec<f64>| {
            let decades: Vec<f64> =
                rates.iter().zip(&self.initial).map(|(x, start)| (x.max(1e-12) / start).log10().abs()).collect();
            mean(&decades)
        };
        self.rates.iter().map(moved).collect()
    }
}

/// Whether a model shows what the paper says of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// As stated.
    Yes,
    /// The trend, but not throughout.
    InPart,
    /// No.
    No,
}

impl Shown {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Shown::Yes => "shown",
            Shown::InPart => "shown in part",
            Shown::No => "not here",
        }
    }

    fn of(all: bool, part: bool) -> Shown {
        match (all, part) {
            (true, _) => Shown::Yes,
            (false, true) => Shown::InPart,
            (false, false) => Shown::No,
        }
    }
}

/// One of the paper's statements about its trained model.
#[derive(Clone, Debug, Serialize)]
pub struct Statement {
    /// Where the paper makes it.
    pub place: &'static str,
    /// What it states.
    pub text: &'static str,
    /// Whether this model shows it.
    pub shown: Shown,
    /// The numbers.
    pub because: String,
}

/// What "near one" means here.
pub const NEAR_ONE: f64 = 0.9;
/// Decades by which rates must have moved on average to have departed from their start; a tenth is about a quarter.
pub const DEPARTED: f64 = 0.1;

fn list(values: &[f64]) -> String {
    values.iter().map(|x| format!("{x:.3}")).collect::<Vec<_>>().join(", ")
}

/// The four statements of the paper's Figures 1 and 2, for this model.
pub fn statements(survey: &Survey, drift: &Drift) -> Vec<Statement> {
    let layers = 0..survey.layers;
    let means = |name: &str| layers.clone().map(|layer| mean(survey.named(name, layer))).collect::<Vec<f64>>();
    let (local, global, alone) = (means("local-order"), means("global-order"), means("self-coupling"));
    let least = survey.local_by_position.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    // Per window, the least-squares slope of global order over layers.
    let windows = survey.named("global-order", 0).len();
    let depth: Vec<f64> = layers.clone().map(|layer| layer as f64).collect();
    let slope = |window: usize| {
        let values: Vec<f64> = layers.clone().map(|layer| survey.named("global-order", layer)[window]).collect();
        slope(&depth, &values)
    };
    let slopes: Vec<f64> = (0..windows).map(slope).collect();
    let (fall, interval) = (mean(&slopes), mean_interval(&slopes));
    let apart = local.iter().zip(&global).all(|(local, global)| local > global);
    let high = local.iter().all(|&order| order >= NEAR_ONE);
    let (rates, departures) = (drift.means(), drift.departures());
    let trend = kendall(&depth, &rates);
    vec![
        Statement {
            place: "Figure 1a",
            text: "local order stays near one at every layer and position",
            shown: Shown::of(least >= NEAR_ONE, high),
            because: format!(
                "by layer {}; least over layers and positions {least:.3} (near one: {NEAR_ONE}); share of a token's coupling with \
                 itself, which alone would give 1: {}",
                list(&local),
                list(&alone)
            ),
        },
        Statement {
            place: "Figure 1b",
            text: "global order falls with depth while local order stays high",
            shown: Shown::of(interval.high < 0.0 && apart && high, fall < 0.0 && apart),
            because: format!(
                "by layer {}, after the last {:.3}; slope {fall:+.4} a layer (95% interval {interval}); local order is {} it in \
                 every layer, and {} {NEAR_ONE} throughout",
                list(&global),
                mean(&survey.last_global_order),
                if apart { "above" } else { "not above" },
                if high { "at least" } else { "not" }
            ),
        },
        Statement {
            place: "Figure 2a",
            text: "the spectra of rates depart from their rotary initialization",
            shown: Shown::of(
                departures.iter().all(|&moved| moved > DEPARTED),
                departures.iter().any(|&moved| moved > DEPARTED),
            ),
            because: format!("mean departure by layer, in decades: {} (departed: {DEPARTED})", list(&departures)),
        },
        Statement {
            place: "Figure 2b",
            text: "the mean rate falls with depth",
            shown: Shown::of(trend == -1.0, rates.last() < rates.first()),
            because: format!("by layer {}", list(&rates)),
        },
    ]
}

fn slope(x: &[f64], y: &[f64]) -> f64 {
    let (mx, my) = (mean(x), mean(y));
    let (above, below) =
        x.iter().zip(y).fold((0.0, 0.0), |(a, b), (x, y)| (a + (x - mx) * (y - my), b + (x - mx) * (x - mx)));
    if below > 0.0 { above / below } else { 0.0 }
}

fn line(points: impl Iterator<Item = (f64, f64)>, colour: &str, legend: &str) -> LinePlot {
    LinePlot::new().with_data(points).with_color(colour).with_stroke_width(1.6).with_legend(legend)
}

/// A line through points that are marked.
fn marked(points: &[(f64, f64)], colour: &str, marker: MarkerShape, legend: &str) -> [Plot; 2] {
    let marks =
        ScatterPlot::new().with_data(points.iter().copied()).with_color(colour).with_marker(marker).with_size(4.0);
    [line(points.iter().copied(), colour, legend).into(), marks.into()]
}

/// The paper's Figures 1 and 2 of this model.
pub fn figures(survey: &Survey, drift: &Drift) -> Vec<Figure> {
    vec![order_figure(survey), drift_figure(drift)]
}

const PANEL: (f64, f64) = (460.0, 340.0);

/// Layers are counted from 0, as in the names of parameters and hook points.
fn layer_name(layer: usize) -> String {
    format!("layer {layer}")
}

fn layer_colour(layer: usize) -> &'static str {
    colour::ALL[layer % colour::ALL.len()]
}

fn order_figure(survey: &Survey) -> Figure {
    let by_position: Vec<Plot> = survey
        .local_by_position
        .iter()
        .enumerate()
        .map(|(layer, orders)| {
            let points = orders.iter().enumerate().map(|(t, &order)| (t as f64, order));
            line(points, layer_colour(layer), &layer_name(layer)).into()
        })
        .collect();
    let by_layer = |name: &str| -> Vec<(f64, f64)> {
        (0..survey.layers).map(|layer| (layer as f64, mean(survey.named(name, layer)))).collect()
    };
    let by_depth: Vec<Plot> = [
        marked(&by_layer("local-order"), colour::BLUE, MarkerShape::Circle, "local"),
        marked(&by_layer("global-order"), colour::ORANGE, MarkerShape::Square, "global"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let positions = Layout::auto_from_plots(&by_position)
        .with_title("(a) local order")
        .with_x_label("position t (bytes)")
        .with_y_label("local order R_t")
        .with_y_axis_min(0.0)
        .with_y_axis_max(1.05)
        .with_legend_position(LegendPosition::InsideBottomRight);
    let depth = Layout::auto_from_plots(&by_depth)
        .with_title("(b) local and global order")
        .with_x_label("layer")
        .with_y_label("order parameter R")
        .with_y_axis_min(0.0)
        .with_y_axis_max(1.05)
        .with_x_axis_min(-0.2)
        .with_x_axis_max(survey.layers as f64 - 0.8)
        .with_x_tick_step(1.0)
        .with_legend_position(LegendPosition::InsideBottomLeft);
    let panels = Panels::new(1, 2)
        .with_plots(vec![by_position, by_depth])
        .with_layouts(vec![style(positions), style(depth)])
        .with_cell_size(PANEL.0, PANEL.1);
    let caption = "Local synchronization and global order. (a) Local order of each position, by layer: coherence of the phases a \
                   token attends to. (b) The same averaged over positions, beside the coherence of all tokens of the window.";
    Figure::panels("figure-1-order", caption, panels)
}

fn drift_figure(drift: &Drift) -> Figure {
    let sorted = |rates: &[f64]| {
        let mut rates = rates.to_vec();
        rates.sort_by(|a, b| b.total_cmp(a));
        // A logarithmic axis has no zero.
        rates.into_iter().enumerate().map(|(j, rate)| ((j + 1) as f64, rate.max(1e-6))).collect::<Vec<_>>()
    };
    let start = line(sorted(&drift.initial).into_iter(), colour::GREY, "rotary start").with_dashed();
    let spectra = drift
        .rates
        .iter()
        .enumerate()
        .map(|(layer, rates)| line(sorted(rates).into_iter(), layer_colour(layer), &layer_name(layer)).into());
    let spectra: Vec<Plot> = [start.into()].into_iter().chain(spectra).collect();
    let means: Vec<(f64, f64)> = drift.means().iter().enumerate().map(|(layer, &m)| (layer as f64, m)).collect();
    let start = mean(&drift.initial);
    let ends = [(-0.2, start), (drift.rates.len() as f64 - 0.8, start)];
    let mut by_depth: Vec<Plot> = marked(&means, colour::BLUE, MarkerShape::Circle, "learned").into();
    by_depth.push(line(ends.into_iter(), colour::GREY, "rotary start").with_dashed().into());
    let spectrum = Layout::auto_from_plots(&spectra)
        .with_title("(a) spectrum of rates")
        .with_x_label("oscillator, by rate")
        .with_y_label("|omega_j| (radians a byte)")
        .with_log_y()
        .with_legend_position(LegendPosition::InsideBottomLeft);
    let top = means.iter().map(|point| point.1).fold(start, f64::max);
    let depth = Layout::auto_from_plots(&by_depth)
        .with_title("(b) mean rate")
        .with_x_label("layer")
        .with_y_label("mean |omega_j| (radians a byte)")
        .with_x_axis_min(-0.2)
        .with_x_axis_max(drift.rates.len() as f64 - 0.8)
        .with_x_tick_step(1.0)
        .with_y_axis_min(0.0)
        .with_y_axis_max(1.15 * top)
        .with_legend_position(LegendPosition::InsideBottomRight);
    let panels = Panels::new(1, 2)
        .with_plots(vec![spectra, by_depth])
        .with_layouts(vec![style(spectrum), style(depth)])
        .with_cell_size(PANEL.0, PANEL.1);
    let caption = "Learned drift rates. (a) The rates of each layer in order of size, beside the rotary schedule they started from \
                   (dashed). (b) Their mean by layer.";
    Figure::panels("figure-2-drift", caption, panels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes() {
        assert!((slope(&[0.0, 1.0, 2.0], &[3.0, 1.0, -1.0]) + 2.0).abs() < 1e-12);
        assert_eq!(slope(&[0.0], &[3.0]), 0.0);
    }
}
