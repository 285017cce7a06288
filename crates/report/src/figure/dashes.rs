//! Dashes for pixels.
//!
//! The drawing library's PNG side restarts the pattern at every point of a line, does not scale it, and
//! rounds its ends, so that dashed curves come out solid. Here every dash becomes a line of its own
//! beforehand.

use kuva::render::render::{Primitive, Scene};

/// Longest stretch that is cut up, in units of the drawing.
const LONGEST: f64 = 1e5;

/// The same scene with dashed lines cut up.
pub fn cut(mut scene: Scene) -> Scene {
    scene.elements = scene.elements.into_iter().flat_map(pieces).collect();
    scene
}

fn pieces(element: Primitive) -> Vec<Primitive> {
    let (points, stroke, stroke_width, pattern) = match element {
        Primitive::PolyLine { points, stroke, stroke_width, stroke_dasharray: Some(pattern) } => {
            (points, stroke, stroke_width, pattern)
        }
        Primitive::Line { x1, y1, x2, y2, stroke, stroke_width, stroke_dasharray: Some(pattern) } => {
            (vec![(x1, y1), (x2, y2)], stroke, stroke_width, pattern)
        }
        other => return vec![other],
    };
    let (dash, gap) = lengths(&pattern);
    // Round ends reach half a width into the gap from both sides.
    let dashes = dashes(&points, (dash - stroke_width).max(0.1), gap + stroke_width);
    let line =
        |points| Primitive::PolyLine { points, stroke: stroke.clone(), stroke_width, stroke_dasharray: None };
    dashes.into_iter().map(line).collect()
}

/// Lengths of a dash and of the gap after it, in units of the drawing, as SVG writes them.
fn lengths(pattern: &str) -> (f64, f64) {
    let mut lengths = pattern.split([' ', ',']).filter_map(|length| length.parse().ok());
    let dash = lengths.next().unwrap_or(8.0);
    (dash, lengths.next().unwrap_or(dash))
}

/// Cuts a line into dashes of a length with gaps between them, measured along the line.
fn dashes(points: &[(f64, f64)], dash: f64, gap: f64) -> Vec<Vec<(f64, f64)>> {
    let mut found = Vec::new();
    let (mut drawing, mut left) = (true, dash);
    let mut current: Vec<(f64, f64)> = points.first().copied().into_iter().collect();
    for pair in points.windows(2) {
        let ((mut x, mut y), (to_x, to_y)) = (pair[0], pair[1]);
        // Far outside the drawing, where dashes would have no end.
        let length = (to_x - x).hypot(to_y - y);
        if length.is_nan() || length > LONGEST {
            current = vec![(to_x, to_y)];
            continue;
        }
        loop {
            let rest = (to_x - x).hypot(to_y - y);
            if rest <= left {
                left -= rest;
                current.extend(drawing.then_some((to_x, to_y)));
                break;
            }
            (x, y) = (x + (to_x - x) * left / rest, y + (to_y - y) * left / rest);
            if drawing {
                current.push((x, y));
                found.push(std::mem::take(&mut current));
            } else {
                current = vec![(x, y)];
            }
            drawing = !drawing;
            left = if drawing { dash } else { gap };
        }
    }
    found.extend((current.len() > 1).then_some(current));
    found
}

#[cfg(test)]
mod tests {
    use super::{dashes, lengths};

    #[test]
    fn patterns_are_read_as_svg_has_them() {
        assert_eq!([lengths("5 3"), lengths("8,4"), lengths("6")], [(5.0, 3.0), (8.0, 4.0), (6.0, 6.0)]);
    }

    /// The pattern runs on over the points of a line, however close they are.
    #[test]
    fn dashes_do_not_restart() {
        let straight = dashes(&[(0.0, 0.0), (30.0, 0.0)], 8.0, 4.0);
        let ends: Vec<(f64, f64)> = straight.iter().map(|dash| (dash[0].0, dash[dash.len() - 1].0)).collect();
        assert_eq!(ends, [(0.0, 8.0), (12.0, 20.0), (24.0, 30.0)]);
        let fine: Vec<(f64, f64)> = (0..=60).map(|i| (f64::from(i) / 2.0, 0.0)).collect();
        let ends: Vec<(f64, f64)> =
            dashes(&fine, 8.0, 4.0).iter().map(|dash| (dash[0].0, dash[dash.len() - 1].0)).collect();
        assert_eq!(ends, [(0.0, 8.0), (12.0, 20.0), (24.0, 30.0)]);
    }
}
