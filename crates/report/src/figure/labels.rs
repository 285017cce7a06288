//! Upright labels for pixels.
//!
//! The drawing library's PNG side loses the smooth edges of text that is turned, so that names of vertical
//! axes come out smeared. Here such text is drawn level on a sheet of its own, which is then turned by
//! exchanging rows and columns of pixels.

use kuva::backend::png::PngBackend;
use kuva::render::render::{Primitive, Scene};
use std::io::{self, Cursor};

/// The angle of text that reads upwards.
const UPWARDS: f64 = -90.0;

/// A scene as PNG with so many pixels for one unit of the drawing.
pub fn png(scene: &Scene, scale: f32) -> io::Result<Vec<u8>> {
    let (level, upright) = split(scene);
    let mut picture = Picture::of(&level, scale)?;
    picture.darken_with_turned(&Picture::of(&upright, scale)?);
    picture.encode()
}

/// What is level, and what reads upwards as a level scene of its own, as wide as the drawing is high.
fn split(scene: &Scene) -> (Scene, Scene) {
    let (mut level, mut upright) = (sheet(scene), sheet(scene));
    (upright.width, upright.height) = (scene.height, scene.width);
    let mut shifts = vec![(0.0, 0.0)];
    for element in &scene.elements {
        let (right, down) = shifts.last().copied().unwrap_or_default();
        match element {
            Primitive::Text { x, y, content, size, anchor, rotate: Some(UPWARDS), bold, color } => {
                upright.elements.push(Primitive::Text {
                    x: scene.height - (y + down),
                    y: x + right,
                    content: content.clone(),
                    size: *size,
                    anchor: *anchor,
                    rotate: None,
                    bold: *bold,
                    color: color.clone(),
                });
                continue;
            }
            Primitive::GroupStart { transform, .. } => {
                let (x, y) = transform.as_deref().and_then(translation).unwrap_or_default();
                shifts.push((right + x, down + y));
            }
            Primitive::GroupEnd => {
                shifts.pop();
            }
            _ => {}
        }
        level.elements.push(element.clone());
    }
    (level, upright)
}

/// An empty scene in the style of another.
fn sheet(scene: &Scene) -> Scene {
    let mut sheet = Scene::new(scene.width, scene.height);
    sheet.background_color.clone_from(&scene.background_color);
    sheet.text_color.clone_from(&scene.text_color);
    sheet.font_family.clone_from(&scene.font_family);
    sheet
}

/// The shift of `translate(x,y)`.
fn translation(transform: &str) -> Option<(f64, f64)> {
    let (x, y) = transform.strip_prefix("translate(")?.strip_suffix(')')?.split_once(',')?;
    Some((x.trim().parse().ok()?, y.trim().parse().ok()?))
}

/// Pixels of eight-bit channels, row by row.
struct Picture {
    width: usize,
    height: usize,
    channels: usize,
    pixels: Vec<u8>,
    colour: png::ColorType,
}

impl Picture {
    fn of(scene: &Scene, scale: f32) -> io::Result<Picture> {
        let bytes = PngBackend::new().with_scale(scale).render_scene(scene).map_err(io::Error::other)?;
        let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info()?;
        let mut pixels = vec![0; reader.output_buffer_size().unwrap_or(0)];
        let found = reader.next_frame(&mut pixels)?;
        Ok(Picture {
            width: found.width as usize,
            height: found.height as usize,
            channels: found.color_type.samples(),
            pixels,
            colour: found.color_type,
        })
    }

    /// Lays another picture over this one, turned to read upwards; the darker of both is seen.
    fn darken_with_turned(&mut self, other: &Picture) {
        for y in 0..self.height.min(other.width) {
            for x in 0..self.width.min(other.height) {
                let from = (x * other.width + other.width - 1 - y) * other.channels;
                let to = (y * self.width + x) * self.channels;
                for c in 0..self.channels.min(other.channels) {
                    self.pixels[to + c] = self.pixels[to + c].min(other.pixels[from + c]);
                }
            }
        }
    }

    fn encode(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(self.colour);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.write_header()?.write_image_data(&self.pixels)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kuva::render::render::TextAnchor;

    /// Ink of a label that reads upwards: where it is, and how many shades of grey it has.
    #[test]
    fn upright_text_has_smooth_edges_and_is_in_its_place() {
        let mut scene = Scene::new(100.0, 200.0);
        scene.background_color = Some("white".into());
        let group = |shift: &str| Primitive::GroupStart {
            transform: Some(shift.into()),
            title: None,
            extra_attrs: None,
        };
        scene.elements = vec![
            group("translate(10,20)"),
            Primitive::Text {
                x: 40.0,
                y: 80.0,
                content: "order ω".into(),
                size: 12,
                anchor: TextAnchor::Middle,
                rotate: Some(UPWARDS),
                bold: false,
                color: None,
            },
            Primitive::GroupEnd,
        ];
        let bytes = png(&scene, 2.0).unwrap();
        let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let found = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((found.width, found.height), (200, 400));
        let channels = found.color_type.samples();
        let shade = |x: usize, y: usize| pixels[(y * 200 + x) * channels];
        let ink: Vec<(usize, usize)> = (0..400)
            .flat_map(|y| (0..200).map(move |x| (x, y)))
            .filter(|&(x, y)| shade(x, y) < 128)
            .collect();
        let ends = |of: fn(&(usize, usize)) -> usize| {
            (ink.iter().map(of).min().unwrap(), ink.iter().map(of).max().unwrap())
        };
        // Around (50, 100) in units of the drawing, twice that in pixels; letters stand left of the base line.
        let ((left, right), (top, bottom)) = (ends(|p| p.0), ends(|p| p.1));
        assert!((75..100).contains(&left) && (90..=102).contains(&right), "{left} to {right}");
        assert!((140..180).contains(&top) && (220..260).contains(&bottom), "{top} to {bottom}");
        let shades: std::collections::BTreeSet<u8> =
            (0..400).flat_map(|y| (0..200).map(move |x| (x, y))).map(|(x, y)| shade(x, y)).collect();
        assert!(shades.len() > 20, "{shades:?}");
    }
}
