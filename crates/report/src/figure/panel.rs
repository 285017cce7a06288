//! One pair of axes and what is drawn in it.

use kuva::plot::legend::LegendPosition;
use kuva::prelude::{
    BandPlot, ForestPlot, Layout, LegendEntry, LegendShape, LinePlot, MarkerShape, Plot, ScatterPlot,
};

/// Width of lines and whiskers.
const STROKE: f64 = 1.6;
/// Opacity of bands, which lie behind lines of the same colour.
const BAND: f64 = 0.18;

/// Largest value that is drawn as it is. Beyond, ticks and lines would not fit into the arithmetic of the
/// drawing.
const LARGEST: f64 = 1e12;

/// A value that can be drawn: what is not finite has no place, what is too large lies at the edge.
fn drawable(value: f64) -> Option<f64> {
    value.is_finite().then(|| value.clamp(-LARGEST, LARGEST))
}

fn drawable_points(points: impl IntoIterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    points.into_iter().filter_map(|(x, y)| Some((drawable(x)?, drawable(y)?))).collect()
}

/// Ends of an axis that can be drawn.
fn drawable_range((low, high): (f64, f64)) -> Option<(f64, f64)> {
    Some((drawable(low)?, drawable(high)?)).filter(|(low, high)| low < high)
}

/// A corner of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corner {
    /// Upper left.
    TopLeft,
    /// Upper right.
    TopRight,
    /// Lower left.
    BottomLeft,
    /// Lower right.
    BottomRight,
}

impl Corner {
    fn position(self) -> LegendPosition {
        match self {
            Corner::TopLeft => LegendPosition::InsideTopLeft,
            Corner::TopRight => LegendPosition::InsideTopRight,
            Corner::BottomLeft => LegendPosition::InsideBottomLeft,
            Corner::BottomRight => LegendPosition::InsideBottomRight,
        }
    }
}

/// The shape of a marked point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A disc.
    Circle,
    /// A square.
    Square,
    /// A square that stands on a corner.
    Diamond,
}

impl Marker {
    fn shape(self) -> MarkerShape {
        match self {
            Marker::Circle => MarkerShape::Circle,
            Marker::Square => MarkerShape::Square,
            Marker::Diamond => MarkerShape::Diamond,
        }
    }
}

/// A line through points.
#[derive(Clone, Debug)]
pub struct Line {
    plot: LinePlot,
}

impl Line {
    /// A solid line without an entry in the legend.
    pub fn new(points: impl IntoIterator<Item = (f64, f64)>, colour: &str) -> Line {
        let points = drawable_points(points);
        Line { plot: LinePlot::new().with_data(points).with_color(colour).with_stroke_width(STROKE) }
    }

    /// Dashed, for references and recipes that are not the main one.
    pub fn dashed(self) -> Line {
        Line { plot: self.plot.with_dashed() }
    }

    /// The width of the stroke.
    pub fn width(self, width: f64) -> Line {
        Line { plot: self.plot.with_stroke_width(width) }
    }

    /// Its entry in the legend.
    pub fn legend(self, label: impl Into<String>) -> Line {
        Line { plot: self.plot.with_legend(label) }
    }
}

/// Marked points.
#[derive(Clone, Debug)]
pub struct Points {
    plot: ScatterPlot,
}

impl Points {
    /// Discs without an entry in the legend.
    pub fn new(points: impl IntoIterator<Item = (f64, f64)>, colour: &str) -> Points {
        let points = drawable_points(points);
        Points { plot: ScatterPlot::new().with_data(points).with_color(colour).with_size(4.0) }
    }

    /// Their shape.
    pub fn marker(self, marker: Marker) -> Points {
        Points { plot: self.plot.with_marker(marker.shape()) }
    }

    /// Their radius.
    pub fn size(self, radius: f64) -> Points {
        Points { plot: self.plot.with_size(radius) }
    }

    /// Their entry in the legend.
    pub fn legend(self, label: impl Into<String>) -> Points {
        Points { plot: self.plot.with_legend(label) }
    }
}

/// An effect with its interval, as a row of a forest plot.
#[derive(Clone, Debug)]
pub struct ForestRow<'a> {
    /// Written beside it.
    pub label: String,
    /// The estimate.
    pub mean: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
    /// Of its mark and whiskers.
    pub colour: &'a str,
}

/// An entry of a legend that is written by hand.
#[derive(Clone, Debug)]
pub struct Key<'a> {
    /// What it says.
    pub label: String,
    /// What it explains.
    pub colour: &'a str,
    /// The marker it explains; a filled rectangle if there is none.
    pub marker: Option<Marker>,
}

/// One pair of axes. Later marks are drawn over earlier ones.
pub struct Panel {
    plots: Vec<Plot>,
    title: String,
    x_label: Option<String>,
    y_label: Option<String>,
    x_range: Option<(f64, f64)>,
    y_range: Option<(f64, f64)>,
    x_step: Option<f64>,
    log_y: bool,
    legend: Option<Corner>,
    keys: Vec<LegendEntry>,
    compact: bool,
}

impl Panel {
    /// An empty panel; axes fit what is drawn.
    pub fn new(title: impl Into<String>) -> Panel {
        Panel {
            plots: Vec::new(),
            title: title.into(),
            x_label: None,
            y_label: None,
            x_range: None,
            y_range: None,
            x_step: None,
            log_y: false,
            legend: None,
            keys: Vec::new(),
            compact: false,
        }
    }

    /// Names of both axes.
    pub fn labels(mut self, x: &str, y: &str) -> Panel {
        self.y_label = Some(y.into());
        self.x_label(x)
    }

    /// Name of the horizontal axis.
    pub fn x_label(mut self, x: &str) -> Panel {
        self.x_label = Some(x.into());
        self
    }

    /// Ends of the horizontal axis.
    pub fn x_range(mut self, low: f64, high: f64) -> Panel {
        self.x_range = Some((low, high));
        self
    }

    /// Ends of the vertical axis.
    pub fn y_range(mut self, low: f64, high: f64) -> Panel {
        self.y_range = Some((low, high));
        self
    }

    /// Distance between ticks of the horizontal axis.
    pub fn x_tick_step(mut self, step: f64) -> Panel {
        self.x_step = Some(step);
        self
    }

    /// Logarithmic vertical axis.
    pub fn log_y(mut self) -> Panel {
        self.log_y = true;
        self
    }

    /// Where the legend of lines and points with an entry goes.
    pub fn legend(mut self, corner: Corner) -> Panel {
        self.legend = Some(corner);
        self
    }

    /// A legend written by hand, and where it goes.
    pub fn keys<'a>(mut self, keys: impl IntoIterator<Item = Key<'a>>, corner: Corner) -> Panel {
        let entry = |key: Key<'a>| LegendEntry {
            label: key.label,
            color: key.colour.into(),
            shape: key.marker.map_or(LegendShape::Rect, |marker| LegendShape::Marker(marker.shape())),
            dasharray: None,
        };
        self.keys = keys.into_iter().map(entry).collect();
        self.legend(corner)
    }

    /// Smaller type and fewer ticks, for one of many small panels.
    pub fn compact(mut self) -> Panel {
        self.compact = true;
        self
    }

    /// Draws a line.
    pub fn line(mut self, line: Line) -> Panel {
        self.plots.push(line.plot.into());
        self
    }

    /// Draws points.
    pub fn points(mut self, points: Points) -> Panel {
        self.plots.push(points.plot.into());
        self
    }

    /// Draws a band through (x, low, high).
    pub fn band(mut self, points: impl IntoIterator<Item = (f64, f64, f64)>, colour: &str) -> Panel {
        let (mut x, mut low, mut high) = (Vec::new(), Vec::new(), Vec::new());
        let drawable = |(x, low, high)| Some((drawable(x)?, drawable(low)?, drawable(high)?));
        for point in points.into_iter().filter_map(drawable) {
            x.push(point.0);
            low.push(point.1);
            high.push(point.2);
        }
        self.plots.push(BandPlot::new(x, low, high).with_color(colour).with_opacity(BAND).into());
        self
    }

    /// Draws effects around zero, from the top down; row `i` of `n` lies at height `n - i`.
    pub fn forest<'a>(mut self, rows: impl IntoIterator<Item = ForestRow<'a>>) -> Panel {
        let empty = ForestPlot::new().with_null_value(0.0).with_marker_size(4.0).with_whisker_width(STROKE);
        let add = |plot: ForestPlot, row: ForestRow<'a>| {
            let [mean, low, high] = [row.mean, row.low, row.high].map(|x| drawable(x).unwrap_or(0.0));
            plot.with_colored_row(row.label, mean, low, high, row.colour)
        };
        self.plots.push(Plot::Forest(rows.into_iter().fold(empty, add)));
        self
    }

    /// What the drawing library needs.
    pub(super) fn into_parts(self) -> (Vec<Plot>, Layout) {
        let mut layout = Layout::auto_from_plots(&self.plots).with_title(self.title);
        if let Some(label) = self.x_label {
            layout = layout.with_x_label(label);
        }
        if let Some(label) = self.y_label {
            layout = layout.with_y_label(label);
        }
        if let Some((low, high)) = self.x_range.and_then(drawable_range) {
            layout = layout.with_x_axis_min(low).with_x_axis_max(high);
        }
        if let Some((low, high)) = self.y_range.and_then(drawable_range) {
            layout = layout.with_y_axis_min(low).with_y_axis_max(high);
        }
        if let Some(step) = self.x_step {
            layout = layout.with_x_tick_step(step);
        }
        if self.log_y {
            layout = layout.with_log_y();
        }
        if !self.keys.is_empty() {
            layout = layout.with_legend_entries(self.keys);
        }
        if let Some(corner) = self.legend {
            layout = layout.with_legend_position(corner.position());
        }
        layout = style(layout);
        if self.compact {
            layout = layout.with_title_size(12).with_label_size(10).with_tick_size(9).with_ticks(4);
        }
        (self.plots, layout)
    }
}

/// The style of all figures: small type, a thin grid, nothing that is not data.
fn style(layout: Layout) -> Layout {
    layout
        .with_title_size(15)
        .with_label_size(13)
        .with_tick_size(11)
        .with_body_size(11)
        .with_grid_line_width(0.4)
}
