//! Figures: panels of lines, bands, points and forest rows in one style, saved as SVG and PNG of the same
//! drawing.
//!
//! The drawing library is private to this module; what figures are made of is in [`Panel`].

mod dashes;
mod labels;
mod panel;

pub use panel::{Corner, ForestRow, Key, Line, Marker, Panel, Points};

use kuva::backend::svg::SvgBackend;
use kuva::render::figure::Figure as Cells;
use kuva::render::render::{Scene, render_multiple};
use std::io;
use std::path::{Path, PathBuf};

/// Colours that stay apart for every kind of colour vision, and in print (Okabe and Ito).
pub mod colour {
    /// The Kuramoto model.
    pub const BLUE: &str = "#0072B2";
    /// The transformer.
    pub const ORANGE: &str = "#D55E00";
    /// The third series.
    pub const GREEN: &str = "#009E73";
    /// The fourth series.
    pub const PURPLE: &str = "#CC79A7";
    /// The fifth series.
    pub const SKY: &str = "#56B4E9";
    /// The sixth series.
    pub const YELLOW: &str = "#E69F00";
    /// References, and differences that are not significant.
    pub const GREY: &str = "#767676";
    /// Those of series, in the order of use.
    const SERIES: [&str; 6] = [BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW];

    /// The colour of series `i` of `count`, no two of which are the same: few series get colours that differ
    /// as much as possible, many get steps of [`scale`].
    pub fn of(i: usize, count: usize) -> String {
        if count <= SERIES.len() { SERIES[i % SERIES.len()].into() } else { scale(i, count) }
    }

    /// Red, green and blue along the way from dark violet to yellow; lightness grows evenly (after viridis).
    const STOPS: [[f64; 3]; 5] = [
        [68.0, 1.0, 84.0],
        [59.0, 82.0, 139.0],
        [33.0, 145.0, 140.0],
        [94.0, 201.0, 98.0],
        [218.0, 200.0, 32.0],
    ];

    /// The colour of step `i` of `count` that have an order, such as layers, from dark to light.
    pub fn scale(i: usize, count: usize) -> String {
        let last = STOPS.len() - 1;
        let at = (last * i.min(count)) as f64 / count.saturating_sub(1).max(1) as f64;
        let below = (at as usize).min(last - 1);
        let channel = |c: usize| {
            let (from, to) = (STOPS[below][c], STOPS[below + 1][c]);
            (from + (to - from) * (at - below as f64)).round() as u8
        };
        format!("#{:02X}{:02X}{:02X}", channel(0), channel(1), channel(2))
    }
}

/// A drawing with a name and a caption.
pub struct Figure {
    /// Its name, which its files take.
    pub name: String,
    /// What it shows, in a sentence or two.
    pub caption: String,
    svg: String,
    /// What the PNG is drawn from.
    scene: Scene,
}

/// How panels are laid out.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// Panels in a row.
    pub columns: usize,
    /// Width and height of a panel.
    pub cell: (f64, f64),
    /// One legend for all panels, instead of one in each.
    pub shared_legend: bool,
}

/// Pixels of the PNG for one unit of the drawing.
const PNG_SCALE: f32 = 3.0;

impl Figure {
    /// One panel of this width and height.
    pub fn single(name: &str, caption: &str, panel: Panel, (width, height): (f64, f64)) -> Figure {
        let (plots, layout) = panel.into_parts();
        Figure::of(name, caption, render_multiple(plots, layout.with_width(width).with_height(height)))
    }

    /// Several panels, row by row.
    pub fn grid(name: &str, caption: &str, panels: Vec<Panel>, grid: Grid) -> Figure {
        let rows = panels.len().div_ceil(grid.columns);
        let (plots, layouts): (Vec<_>, Vec<_>) = panels.into_iter().map(Panel::into_parts).unzip();
        let mut cells = Cells::new(rows, grid.columns)
            .with_plots(plots)
            .with_layouts(layouts)
            .with_cell_size(grid.cell.0, grid.cell.1);
        if grid.shared_legend {
            cells = cells.with_shared_legend();
        }
        Figure::of(name, caption, cells.render())
    }

    /// Several panels side by side.
    pub fn row(name: &str, caption: &str, panels: Vec<Panel>, cell: (f64, f64)) -> Figure {
        let grid = Grid { columns: panels.len(), cell, shared_legend: false };
        Figure::grid(name, caption, panels, grid)
    }

    fn of(name: &str, caption: &str, scene: Scene) -> Figure {
        let svg = named(scalable(SvgBackend::new().render_scene(&scene), &scene), name);
        Figure { name: name.into(), caption: caption.into(), svg, scene: dashes::cut(scene) }
    }

    /// The drawing as SVG.
    pub fn svg(&self) -> &str {
        &self.svg
    }

    /// Writes `NAME.svg` and `NAME.png` into a folder.
    pub fn save(&self, folder: &Path) -> io::Result<[PathBuf; 2]> {
        let pixels = labels::png(&self.scene, PNG_SCALE)?;
        let svg = crate::write(folder, &format!("{}.svg", self.name), &self.svg)?;
        Ok([svg, crate::write(folder, &format!("{}.png", self.name), pixels)?])
    }
}

/// The drawing library gives a width and a height only: shown smaller, such a drawing would be cropped.
fn scalable(svg: String, scene: &Scene) -> String {
    let view = format!("<svg viewBox=\"0 0 {} {}\" ", scene.width, scene.height);
    svg.replacen("<svg ", &view, 1)
}

/// The drawing library numbers clips through all figures of a process. Here they are numbered within a figure,
/// so that it is the same whenever it is drawn, and named after it, so that a page can hold several.
fn named(mut svg: String, name: &str) -> String {
    const CLIP: &str = "kuva-clip-";
    let mut numbers = Vec::new();
    for rest in svg.split(CLIP).skip(1) {
        let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    }
    for (i, number) in numbers.iter().enumerate() {
        for end in ["\"", ")"] {
            svg = svg.replace(&format!("{CLIP}{number}{end}"), &format!("{name}-clip-{i}{end}"));
        }
    }
    svg
}

/// The range that holds all finite values with a little room, so that panels can share an axis.
pub fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let widen = |(low, high): (f64, f64), x: f64| (low.min(x), high.max(x));
    let (low, high) = values.filter(|x| x.is_finite()).fold((f64::MAX, f64::MIN), widen);
    if low > high {
        return (0.0, 1.0);
    }
    let room = 0.04 * (high - low).max(1e-6);
    (low - room, high + room)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;

    fn panel(title: &str) -> Panel {
        Panel::new(title)
            .labels("time", "order")
            .y_range(0.0, 1.0)
            .legend(Corner::BottomRight)
            .band([(0.0, 0.1, 0.2), (1.0, 0.3, 0.5)], colour::BLUE)
            .line(Line::new([(0.0, 0.15), (1.0, 0.4)], colour::BLUE).legend("learned"))
            .line(Line::new([(0.0, 0.5), (1.0, 0.5)], colour::GREY).dashed().legend("start"))
            .points(Points::new([(0.5, 0.3)], colour::ORANGE).marker(Marker::Diamond))
    }

    #[test]
    fn a_figure_is_saved_as_svg_and_png() {
        let folder = tempfile::tempdir().unwrap();
        let figure = Figure::row("order", "Two panels.", vec![panel("(a)"), panel("(b)")], (300.0, 200.0));
        let [svg, png] = figure.save(folder.path()).unwrap();
        let text = fs::read_to_string(svg).unwrap();
        for part in ["(a)", "(b)", "time", "learned", "start", "stroke-dasharray", "#d55e00"] {
            assert!(text.contains(part), "{part}");
        }
        assert!(fs::read(png).unwrap().starts_with(b"\x89PNG"));
    }

    /// Without a view box a page that shows it smaller would crop it.
    #[test]
    fn a_drawing_can_be_shown_at_any_size() {
        let figure = Figure::row("order", "", vec![panel("(a)"), panel("(b)")], (300.0, 200.0));
        let tag = figure.svg().split('>').next().unwrap();
        let size = |key: &str| tag.split(&format!("{key}=\"")).nth(1).unwrap().split('"').next().unwrap();
        let whole = format!("viewBox=\"0 0 {} {}\"", size(" width"), size(" height"));
        assert!(tag.contains(&whole), "{tag}");
    }

    #[test]
    fn a_drawing_is_the_same_every_time() {
        let draw = || Figure::row("order", "", vec![panel("(a)"), panel("(b)")], (300.0, 200.0));
        assert_eq!(draw().svg(), draw().svg());
        assert!(draw().svg().contains("url(#order-clip-1)"), "{}", draw().svg());
    }

    #[test]
    fn no_two_series_share_a_colour() {
        for count in 1..40 {
            for colours in [colour::of, colour::scale] {
                let distinct: BTreeSet<String> = (0..count).map(|i| colours(i, count)).collect();
                assert_eq!(distinct.len(), count);
            }
        }
    }

    #[test]
    fn a_forest_has_a_row_for_each_effect() {
        let row = |label: &str, x: f64| ForestRow {
            label: label.into(),
            mean: x,
            low: x - 0.1,
            high: x,
            colour: "red",
        };
        let key = Key { label: "here".into(), colour: colour::BLUE, marker: None };
        let panel = Panel::new("effects").x_label("change").forest([row("first", 0.5), row("second", -0.2)]);
        let figure = Figure::row("effects", "", vec![panel.keys([key], Corner::BottomRight)], (400.0, 300.0));
        for part in ["first", "second", "here", "change"] {
            assert!(figure.svg().contains(part), "{part}");
        }
    }

    /// Whatever is drawn, a figure comes to an end.
    #[test]
    fn figures_of_anything_end() {
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308, -1e308, 0.0, 1e-308, 1.0];
        let points = || odd.iter().flat_map(|&x| odd.iter().map(move |&y| (x, y)));
        for (low, high) in [(0.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY), (-1e308, 1e308), (1.0, 1.0)] {
            for only in [&odd[..1], &odd[1..3], &odd[3..5], &odd[..], &[]] {
                let some = || points().filter(|(x, _)| only.iter().any(|y| y.to_bits() == x.to_bits()));
                let row = |x: f64| ForestRow { label: "a".into(), mean: x, low: x, high: x, colour: "red" };
                let panel = Panel::new("odd")
                    .x_range(low, high)
                    .y_range(low, high)
                    .band(some().map(|(x, y)| (x, y, x)), colour::BLUE)
                    .line(Line::new(some(), colour::BLUE).dashed())
                    .points(Points::new(some(), colour::ORANGE));
                assert!(Figure::single("odd", "", panel, (300.0, 200.0)).svg().len() < 1 << 20);
                let forest = Panel::new("odd").forest(only.iter().map(|&x| row(x)));
                assert!(Figure::single("odd", "", forest, (300.0, 200.0)).svg().len() < 1 << 20);
            }
        }
    }

    #[test]
    fn ranges_ignore_what_is_not_finite() {
        let (low, high) = range([1.0, f64::NAN, 2.0, f64::INFINITY].into_iter());
        assert!((low - 0.96).abs() < 1e-12 && (high - 2.04).abs() < 1e-12);
    }
}
