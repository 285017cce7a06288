//! One pair of axes and what is drawn in it.

use kuva::plot::legend::LegendPosition;
use kuva::prelude::{
    BandPlot, ColorMap, ForestPlot, Heatmap, Layout, LegendEntry, LegendShape, LinePlot, LineStyle,
    MarkerShape, Plot, ScatterPlot, TickFormat,
};
use std::sync::Arc;

/// Width of lines and whiskers.
const STROKE: f64 = 1.6;
/// Dashes and gaps, short enough that the sample in a legend shows more than one.
const DASHES: &str = "5 3";
/// Opacity of bands, which lie behind lines of the same colour.
const BAND: f64 = 0.18;

/// Room for marks at the ends of an axis, as a share of it; on a logarithmic axis a factor.
const ROOM: f64 = 0.03;
const LOG_ROOM: f64 = 1.3;

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

/// Where a legend goes: into a corner of a panel, or beside it.
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
    /// Right of the panel, where it covers nothing however many entries it has.
    Outside,
}

impl Corner {
    fn position(self) -> LegendPosition {
        match self {
            Corner::TopLeft => LegendPosition::InsideTopLeft,
            Corner::TopRight => LegendPosition::InsideTopRight,
            Corner::BottomLeft => LegendPosition::InsideBottomLeft,
            Corner::BottomRight => LegendPosition::InsideBottomRight,
            Corner::Outside => LegendPosition::OutsideRightTop,
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
        Line { plot: self.plot.with_line_style(LineStyle::Custom(DASHES.into())) }
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

    /// With a whisker of this length up and down from each.
    pub fn whiskers(self, lengths: impl IntoIterator<Item = f64>) -> Points {
        let lengths = lengths.into_iter().map(|length| drawable(length).unwrap_or(0.0));
        Points { plot: self.plot.with_y_err(lengths) }
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
    /// An empty panel; axes end where what is drawn ends.
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

    /// Draws cells of a matrix as colours, from the lowest row up. Cell (i, j) lies around
    /// (`first.0` + j, `first.1` + i). Colours span `range`, from dark to light, so that panels can share them.
    pub fn heat(mut self, rows: &[Vec<f64>], first: (f64, f64), range: (f64, f64)) -> Panel {
        let finite = || rows.iter().flatten().copied().filter(|value| value.is_finite());
        let (low, high) = (finite().fold(f64::MAX, f64::min), finite().fold(f64::MIN, f64::max));
        // The library scales colours to the values of one panel.
        let shared = move |share: f64| {
            let value = low + share * (high - low);
            ColorMap::Viridis.map(((value - range.0) / (range.1 - range.0)).clamp(0.0, 1.0))
        };
        let (height, width) = (rows.len() as f64, rows.first().map_or(0, Vec::len) as f64);
        let plot = Heatmap::new()
            .with_data(rows.iter().map(|row| row.iter().copied()))
            .with_x_range(first.0 - 0.5, first.0 + width - 0.5)
            .with_y_range(first.1 - 0.5, first.1 + height - 0.5)
            .with_color_map(ColorMap::Custom(Arc::new(shared)));
        self.plots.push(Plot::Heatmap(plot));
        self
    }

    /// Where axes end that were given no range: with the data, and with room for marks at the edge. A forest
    /// keeps its rows.
    fn extent(&self) -> Option<((f64, f64), (f64, f64))> {
        let widen = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
        let bounds = self.plots.iter().filter_map(Plot::bounds);
        let ((left, right), (low, high)) = bounds.reduce(|a, b| (widen(a.0, b.0), widen(a.1, b.1)))?;
        let marked = |plot: &Plot| matches!(plot, Plot::Scatter(_) | Plot::Forest(_));
        let x_room = if self.plots.iter().any(marked) { ROOM * (right - left) } else { 0.0 };
        let y = match (self.plots.iter().any(|plot| matches!(plot, Plot::Forest(_))), self.log_y) {
            (true, _) => (low, high),
            (false, true) => (low / LOG_ROOM, high * LOG_ROOM),
            (false, false) => super::range([low, high].into_iter()),
        };
        Some(((left - x_room, right + x_room), y))
    }

    /// What the drawing library needs.
    pub(super) fn into_parts(self) -> (Vec<Plot>, Layout) {
        let (x_data, y_data) = self.extent().unzip();
        let mut layout = Layout::auto_from_plots(&self.plots).with_title(self.title);
        if let Some(label) = self.x_label {
            layout = layout.with_x_label(label);
        }
        if let Some(label) = self.y_label {
            layout = layout.with_y_label(label);
        }
        if let Some((low, high)) = self.x_range.or(x_data).and_then(drawable_range) {
            layout = layout.with_x_axis_min(low).with_x_axis_max(high);
        }
        if let Some((low, high)) = self.y_range.or(y_data).and_then(drawable_range) {
            layout = layout.with_y_axis_min(low).with_y_axis_max(high);
        }
        if let Some(step) = self.x_step {
            layout = layout.with_x_tick_step(step);
        }
        if self.log_y {
            // 0.01, not 1e-2.
            layout = layout.with_log_y().with_y_tick_format(TickFormat::Custom(Arc::new(|y| y.to_string())));
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
