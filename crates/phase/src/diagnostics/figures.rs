//! The paper's Figures 1 and 2 of a model.

use super::Drift;
use crate::survey::{Estimate, Survey};
use kuramoto_report::figure::{Corner, Figure, Line, Marker, Panel, Points, colour};
use kuramoto_report::statistics::mean;

/// Width and height of a panel.
const PANEL: (f64, f64) = (460.0, 340.0);

/// The paper's Figures 1 and 2 of this model.
pub fn figures(survey: &Survey, drift: &Drift) -> Vec<Figure> {
    vec![order_figure(survey), drift_figure(drift)]
}

/// Adds a line through points that are marked.
fn with_marked(panel: Panel, points: &[(f64, f64)], colour: &str, marker: Marker, legend: &str) -> Panel {
    let line = Line::new(points.iter().copied(), colour).legend(legend);
    panel.line(line).points(Points::new(points.iter().copied(), colour).marker(marker))
}

/// A line for one of so many layers; they are counted from 0, as in the names of parameters and hook points.
fn layer_line(layer: usize, layers: usize, points: impl IntoIterator<Item = (f64, f64)>) -> Line {
    Line::new(points, &colour::scale(layer, layers)).legend(format!("layer {layer}"))
}

/// The axis of a panel over layers.
fn over_layers(panel: Panel, layers: usize) -> Panel {
    let (low, high) = ends(layers);
    panel.x_range(low, high).x_tick_step(1.0)
}

/// Ends of an axis over layers, with room for the marks of the first and the last.
fn ends(layers: usize) -> (f64, f64) {
    (-0.2, layers as f64 - 0.8)
}

fn order_figure(survey: &Survey) -> Figure {
    let empty = Panel::new("(a) local order")
        .labels("position t (bytes)", "local order R")
        .y_range(0.0, 1.05)
        .legend(Corner::Outside);
    let by_position = survey.local_by_position.iter().enumerate().fold(empty, |panel, (layer, orders)| {
        panel.line(layer_line(
            layer,
            survey.layers,
            orders.iter().enumerate().map(|(t, &order)| (t as f64, order)),
        ))
    });
    let by_layer = |name: &str| -> Vec<(f64, Estimate)> {
        (0..survey.layers).map(|layer| (layer as f64, Estimate::of(survey.named(name, layer)))).collect()
    };
    let mut by_depth = Panel::new("(b) local and global order")
        .labels("layer", "order parameter R")
        .y_range(0.0, 1.05)
        .legend(Corner::BottomLeft);
    by_depth = over_layers(by_depth, survey.layers);
    for (name, colour, marker, legend) in [
        ("local-order", colour::BLUE, Marker::Circle, "local"),
        ("global-order", colour::ORANGE, Marker::Square, "global"),
    ] {
        let found = by_layer(name);
        by_depth = by_depth.band(found.iter().map(|(x, e)| (*x, e.interval.low, e.interval.high)), colour);
        let means: Vec<(f64, f64)> = found.iter().map(|(x, estimate)| (*x, estimate.mean)).collect();
        by_depth = with_marked(by_depth, &means, colour, marker, legend);
    }
    let caption = "Local synchronization and global order. (a) Local order of each position, by layer: \
                   coherence of the phases a token attends to. (b) The same averaged over positions, beside \
                   the coherence of all tokens of the window; bands are 95% bootstrap intervals over \
                   windows, often thinner than the line.";
    Figure::row("figure-1-order", caption, vec![by_position, by_depth], PANEL)
}

fn drift_figure(drift: &Drift) -> Figure {
    let sorted = |rates: &[f64]| {
        let mut rates = rates.to_vec();
        rates.sort_by(|a, b| b.total_cmp(a));
        // A logarithmic axis has no zero.
        rates.into_iter().enumerate().map(|(j, rate)| ((j + 1) as f64, rate.max(1e-6))).collect::<Vec<_>>()
    };
    let initial = |points: Vec<(f64, f64)>| Line::new(points, colour::GREY).legend("rotary start").dashed();
    let empty = Panel::new("(a) spectrum of rates")
        .labels("oscillator, by rate", "|ω| (radians a byte)")
        .log_y()
        .legend(Corner::Outside)
        .line(initial(sorted(&drift.initial)));
    let spectra = drift.rates.iter().enumerate();
    let spectra = spectra
        .fold(empty, |panel, (layer, rates)| panel.line(layer_line(layer, drift.rates.len(), sorted(rates))));

    let means: Vec<(f64, f64)> =
        drift.means().iter().enumerate().map(|(layer, &m)| (layer as f64, m)).collect();
    let start = mean(&drift.initial);
    let top = means.iter().map(|point| point.1).fold(start, f64::max);
    let (low, high) = ends(drift.rates.len());
    let mut by_depth = Panel::new("(b) mean rate")
        .labels("layer", "mean |ω| (radians a byte)")
        .y_range(0.0, 1.15 * top)
        .legend(Corner::BottomRight);
    by_depth = over_layers(by_depth, drift.rates.len());
    by_depth = with_marked(by_depth, &means, colour::BLUE, Marker::Circle, "learned");
    by_depth = by_depth.line(initial(vec![(low, start), (high, start)]));
    let caption = "Learned drift rates. (a) The rates of each layer in order of size, beside the rotary \
                   schedule they started from (dashed). (b) Their mean by layer.";
    Figure::row("figure-2-drift", caption, vec![spectra, by_depth], PANEL)
}
