//! How figures look, and how they are saved: SVG and PNG of the same drawing.

mod dashes;

use kuva::backend::png::PngBackend;
use kuva::backend::svg::SvgBackend;
use kuva::prelude::{Layout, Plot};
use kuva::render::figure::Figure as Panels;
use kuva::render::render::{Scene, render_multiple};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use kuva;

/// Colours that stay apart for every kind of colour vision, and in print (Okabe and Ito).
pub mod colour {
    /// The Kuramoto model.
    pub const BLUE: &str = "#0072B2";
    /// The transformer.
    pub const ORANGE: &str = "#D55E00";
    /// A third thing.
    pub const GREEN: &str = "#009E73";
    /// A fourth.
    pub const PURPLE: &str = "#CC79A7";
    /// A fifth.
    pub const SKY: &str = "#56B4E9";
    /// A sixth.
    pub const YELLOW: &str = "#E69F00";
    /// What others are compared with, and what no test tells apart from it.
    pub const GREY: &str = "#767676";
    /// All of them, in the order of use.
    pub const ALL: [&str; 7] = [BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW, GREY];
}

/// A drawing.
pub struct Figure {
    /// Its name, which its files take.
    pub name: String,
    /// What it shows, in a sentence or two.
    pub caption: String,
    svg: String,
    /// What the PNG is drawn from.
    scene: Scene,
}

/// Pixels of the PNG for one unit of the drawing.
const PNG_SCALE: f32 = 3.0;

impl Figure {
    /// One panel.
    pub fn single(name: &str, caption: &str, plots: Vec<Plot>, layout: Layout) -> Figure {
        Figure::of(name, caption, render_multiple(plots, style(layout)))
    }

    /// Several panels.
    pub fn panels(name: &str, caption: &str, panels: Panels) -> Figure {
        Figure::of(name, caption, panels.render())
    }

    fn of(name: &str, caption: &str, scene: Scene) -> Figure {
        let svg = SvgBackend::new().render_scene(&scene);
        Figure { name: name.into(), caption: caption.into(), svg, scene: dashes::cut(scene) }
    }

    /// As SVG.
    pub fn svg(&self) -> &str {
        &self.svg
    }

    /// Writes `NAME.svg` and `NAME.png` into a folder.
    pub fn save(&self, folder: &Path) -> io::Result<[PathBuf; 2]> {
        let [svg, png] = ["svg", "png"].map(|ending| folder.join(format!("{}.{ending}", self.name)));
        fs::write(&svg, &self.svg)?;
        let pixels = PngBackend::new().with_scale(PNG_SCALE).render_scene(&self.scene);
        fs::write(&png, pixels.map_err(io::Error::other)?)?;
        Ok([svg, png])
    }
}

/// The range that holds all values with a little room, so that panels can share an axis.
pub fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.filter(|x| x.is_finite()).fold((f64::MAX, f64::MIN), |(l, h), x| (l.min(x), h.max(x)));
    let room = 0.04 * (high - low).max(1e-6);
    (low - room, high + room)
}

/// The house style: small type, thin grid, nothing that is not data.
pub fn style(layout: Layout) -> Layout {
    layout.with_title_size(15).with_label_size(13).with_tick_size(11).with_body_size(11).with_grid_line_width(0.4)
}
