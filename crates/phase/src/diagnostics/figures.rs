//! The paper's Figures 1 and 2 of a model, beside the same model before training (dashed). Panels (c) are not in
//! the paper: they draw what its text says.

use super::Drift;
use super::drift::sorted;
use crate::survey::{Estimate, Survey};
use kuramoto_report::figure::{Corner, Figure, Line, Marker, Panel, Points, colour};

/// Width and height of a panel.
const PANEL: (f64, f64) = (460.0, 340.0);

/// The paper's Figures 1 and 2 of this model.
pub fn figures(trained: &Survey, untrained: &Survey, drift: &Drift) -> Vec<Figure> {
    let models = Models { trained, untrained };
    vec![models.order_figure(), models.drift_figure(drift)]
}

/// A measure as it is drawn over layers.
struct Series {
    measure: &'static str,
    colour: &'static str,
    marker: Marker,
    legend: &'static str,
}

const LOCAL: Series =
    Series { measure: "local-order", colour: colour::BLUE, marker: Marker::Circle, legend: "local" };
const NEIGHBOURS: Series = Series {
    measure: "neighbour-order",
    colour: colour::GREEN,
    marker: Marker::Diamond,
    legend: "local, without itself",
};
const GLOBAL: Series =
    Series { measure: "global-order", colour: colour::ORANGE, marker: Marker::Square, legend: "global" };
const ALIGNMENT: Series =
    Series { measure: "alignment", colour: colour::BLUE, marker: Marker::Circle, legend: "all attended" };
const NEIGHBOUR_ALIGNMENT: Series = Series {
    measure: "neighbour-alignment",
    colour: colour::GREEN,
    marker: Marker::Diamond,
    legend: "without itself",
};
const RANGE: Series = Series {
    measure: "coupling-range",
    colour: colour::BLUE,
    marker: Marker::Circle,
    legend: "all attended",
};
const NEIGHBOUR_RANGE: Series = Series {
    measure: "neighbour-range",
    colour: colour::GREEN,
    marker: Marker::Diamond,
    legend: "without itself",
};

/// Axis and legend of panels over layers.
struct Depth {
    title: &'static str,
    /// Of the horizontal axis.
    x: String,
    /// Of the vertical axis.
    y: &'static str,
    /// The last number on the horizontal axis.
    last: usize,
    corner: Corner,
}

impl Depth {
    /// Layers are counted from 0, as in the names of parameters and hook points.
    fn panel(&self) -> Panel {
        let (low, high) = ends(self.last);
        Panel::new(self.title).labels(&self.x, self.y).x_range(low, high).x_tick_step(1.0).legend(self.corner)
    }
}

/// Ends of an axis over layers 0 to `last`, with room for their marks.
fn ends(last: usize) -> (f64, f64) {
    (-0.2, last as f64 + 0.2)
}

/// Adds a line through points that are marked.
fn with_marked(panel: Panel, points: &[(f64, f64)], colour: &str, marker: Marker, legend: &str) -> Panel {
    let line = Line::new(points.iter().copied(), colour).legend(legend);
    panel.line(line).points(Points::new(points.iter().copied(), colour).marker(marker))
}

/// A line of one of so many layers.
fn layer_line(layer: usize, layers: usize, points: impl IntoIterator<Item = (f64, f64)>) -> Line {
    Line::new(points, &colour::scale(layer, layers))
}

/// What the untrained model has.
fn reference(points: impl IntoIterator<Item = (f64, f64)>, colour: &str) -> Line {
    Line::new(points, colour).dashed().width(1.2)
}

/// Nothing to draw, for the legend: what dashes mean.
fn with_key(panel: Panel, legend: &str) -> Panel {
    panel.line(Line::new([], colour::GREY).dashed().legend(legend))
}

/// A model and its start.
struct Models<'a> {
    trained: &'a Survey,
    untrained: &'a Survey,
}

impl Models<'_> {
    /// Draws measures over layers: means with bands, and those of the untrained model dashed.
    fn over_layers(&self, mut panel: Panel, series: &[Series]) -> Panel {
        for Series { measure, colour, marker, legend } in series {
            let found = by_state(self.trained, measure);
            panel = panel.band(found.iter().map(|(x, e)| (*x, e.interval.low, e.interval.high)), colour);
            let start = by_state(self.untrained, measure);
            panel = panel.line(reference(means(&start), colour));
            panel = with_marked(panel, &means(&found), colour, *marker, legend);
        }
        with_key(panel, "untrained")
    }

    fn order_figure(&self) -> Figure {
        let layers = self.trained.layers;
        let mut by_position = Panel::new("(a) local order")
            .labels("position t (bytes)", "local order R")
            .y_range(0.0, 1.05)
            .legend(Corner::Outside);
        let along = |orders: &[f64]| -> Vec<(f64, f64)> {
            orders.iter().enumerate().map(|(t, &order)| (t as f64, order)).collect()
        };
        for (layer, orders) in self.untrained.local_by_position.iter().enumerate() {
            by_position = by_position.line(reference(along(orders), &colour::scale(layer, layers)));
        }
        for (layer, orders) in self.trained.local_by_position.iter().enumerate() {
            let line = layer_line(layer, layers, along(orders)).legend(format!("layer {layer}"));
            by_position = by_position.line(line);
        }
        let depth = Depth {
            title: "(b) local and global order",
            x: format!("layer ({layers}: after the last)"),
            y: "order parameter R",
            last: layers,
            corner: Corner::BottomLeft,
        };
        let by_depth = self.over_layers(depth.panel().y_range(0.0, 1.05), &[LOCAL, NEIGHBOURS, GLOBAL]);
        let depth = Depth {
            title: "(c) alignment with the attended mean",
            x: "layer".into(),
            y: "mean cosine",
            last: layers - 1,
            corner: Corner::BottomLeft,
        };
        let alignment = self.over_layers(depth.panel().y_range(0.0, 1.05), &[ALIGNMENT, NEIGHBOUR_ALIGNMENT]);
        let caption = format!(
            "Local synchronization and global order; dashed, the same model before training. (a) Local order of \
             each position, by layer: coherence of the phases a token attends to. (b) The same averaged over \
             positions, with and without the token itself, beside the coherence of all tokens of the window; at \
             {layers}, after the last layer, there is no coupling. Bands are 95% bootstrap intervals over windows, \
             often thinner than the line. (c) Alignment of each token's phase with the mean it attends to."
        );
        Figure::row(
            "figure-1-order",
            &caption,
            vec![with_key(by_position, "untrained"), by_depth, alignment],
            PANEL,
        )
    }

    fn drift_figure(&self, drift: &Drift) -> Figure {
        let layers = drift.rates.len();
        let spectrum = |rates: &[f64]| -> Vec<(f64, f64)> {
            // A logarithmic axis has no zero.
            sorted(rates).into_iter().enumerate().map(|(j, rate)| ((j + 1) as f64, rate.max(1e-6))).collect()
        };
        let initial =
            |points: Vec<(f64, f64)>| Line::new(points, colour::GREY).legend("rotary start").dashed();
        let mut spectra = Panel::new("(a) spectrum of rates")
            .labels("oscillator, by rate", "|ω| (radians a byte)")
            .log_y()
            .legend(Corner::Outside)
            .line(initial(spectrum(&drift.initial)));
        for (layer, rates) in drift.rates.iter().enumerate() {
            let line = layer_line(layer, layers, spectrum(rates)).legend(format!("layer {layer}"));
            spectra = spectra.line(line);
        }
        let means: Vec<(f64, f64)> =
            drift.means().iter().enumerate().map(|(layer, &m)| (layer as f64, m)).collect();
        let start = drift.initial_mean();
        let top = means.iter().map(|point| point.1).fold(start, f64::max);
        let depth = Depth {
            title: "(b) mean rate",
            x: "layer".into(),
            y: "mean |ω| (radians a byte)",
            last: layers - 1,
            corner: Corner::BottomRight,
        };
        let (low, high) = ends(layers - 1);
        let by_depth = with_marked(
            depth.panel().y_range(0.0, 1.15 * top),
            &means,
            colour::BLUE,
            Marker::Circle,
            "learned",
        )
        .line(initial(vec![(low, start), (high, start)]));
        let depth = Depth {
            title: "(c) coupling range",
            x: "layer".into(),
            y: "bytes back",
            last: layers - 1,
            corner: Corner::Outside,
        };
        let range = self.over_layers(depth.panel().log_y(), &[RANGE, NEIGHBOUR_RANGE]);
        let caption = "Learned drift rates. (a) The rates of each layer in order of size, beside the rotary \
                       schedule they started from (dashed). (b) Their mean by layer. (c) How far back a token \
                       couples by layer, with and without itself; dashed, the same model before training.";
        Figure::row("figure-2-drift", caption, vec![spectra, by_depth, range], PANEL)
    }
}

/// A measure over layers; global order also of the last state.
fn by_state(survey: &Survey, measure: &str) -> Vec<(f64, Estimate)> {
    let layers = (0..survey.layers).map(|layer| survey.named(measure, layer));
    let last = (measure == GLOBAL.measure).then_some(&survey.last_global_order[..]);
    layers.chain(last).enumerate().map(|(state, values)| (state as f64, Estimate::of(values))).collect()
}

fn means(found: &[(f64, Estimate)]) -> Vec<(f64, f64)> {
    found.iter().map(|(x, estimate)| (*x, estimate.mean)).collect()
}
