//! Arrays for other programs, written piece by piece: memory holds one window, however long the text.
//!
//! | array | dimensions | what |
//! |---|---|---|
//! | `phase` | layer, position, oscillator | phases entering each layer; radians, not wrapped |
//! | `phase_mid` | layer, position, oscillator | phases after each layer's attention increment |
//! | `phase_last` | position, oscillator | phases after the last layer |
//! | `local_order` | layer, position | R_t |
//! | `alignment` | layer, position | mean_j cos(theta_tj - arg G_tj) |
//! | `query_gate`, `key_gate` | layer, position, oscillator | g^q, g^k; 1 in a model without them |
//! | `metric` | layer, position, oscillator | tau / sqrt(k/h) g^q g^k, the diagonal metric of Appendix A |
//! | `value_gate` | layer, position, oscillator | v |
//! | `coupling` | layer, head, position, back | A_{t, t - back}; 0 before the window begins |
//! | `token_locking` | layer, position, back | locking of tokens t and t - back; 0 before the window begins |
//! | `byte` | position | the text |
//! | `bits` | position | of the byte after each; NaN at the end of the text |
//!
//! `layer` and `oscillator` are arrays too: the numbers of those that were selected. Positions count the
//! bytes of the text; every window of `context` bytes is read for itself.

mod npz;
mod zarr;

pub use npz::Npz;
pub use zarr::Zarr;

use crate::KuramotoWeights;
use crate::error::{Error, Result};
use crate::locking;
use crate::metric;
use crate::order::Attended;
use crate::trace::Trace;
use kuramoto_model::Network;
use kuramoto_model::config::Value;
use kuramoto_report::cannot_write;
use std::f64::consts::LN_2;
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// An array that can be exported.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
    strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
pub enum Array {
    /// Phases entering each layer.
    Phase,
    /// Phases after each layer's attention increment.
    PhaseMid,
    /// Phases after the last layer.
    PhaseLast,
    /// Local order.
    LocalOrder,
    /// Alignment with the attended mean.
    Alignment,
    /// Query gates.
    QueryGate,
    /// Key gates.
    KeyGate,
    /// The diagonal metric of the score.
    Metric,
    /// Value gates.
    ValueGate,
    /// Coupling by distance.
    Coupling,
    /// Phase locking between tokens by distance.
    TokenLocking,
    /// The text.
    Byte,
    /// Bits of the byte after each.
    Bits,
}

impl Array {
    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Its dimensions in order.
    pub fn dimensions(self) -> &'static [&'static str] {
        match self {
            Array::Phase
            | Array::PhaseMid
            | Array::QueryGate
            | Array::KeyGate
            | Array::Metric
            | Array::ValueGate => &["layer", "position", "oscillator"],
            Array::PhaseLast => &["position", "oscillator"],
            Array::LocalOrder | Array::Alignment => &["layer", "position"],
            Array::Coupling => &["layer", "head", "position", "back"],
            Array::TokenLocking => &["layer", "position", "back"],
            Array::Byte | Array::Bits => &["position"],
        }
    }

    /// True if it is part of the diagonal metric.
    fn is_of_metric(self) -> bool {
        matches!(self, Array::QueryGate | Array::KeyGate | Array::Metric)
    }

    /// True if it is derived from the attended resultant.
    fn is_of_attended(self) -> bool {
        matches!(self, Array::LocalOrder | Array::Alignment)
    }

    fn units(self) -> &'static str {
        match self {
            Array::Phase | Array::PhaseMid | Array::PhaseLast => "radians",
            Array::Bits => "bits",
            _ => "1",
        }
    }
}

/// An array of known shape. All are 32-bit floats, but the text, which is bytes.
pub struct Described<'a> {
    /// Which.
    pub array: Array,
    /// Its shape.
    pub shape: &'a [usize],
    /// The longest stretch along `position` that is written at a time; pieces begin at its multiples.
    pub stretch: usize,
}

impl Described<'_> {
    /// Bytes of an element.
    pub fn element(&self) -> usize {
        if self.array == Array::Byte { 1 } else { 4 }
    }

    /// Name, units and dimensions, as attributes.
    fn attributes(&self) -> serde_json::Value {
        serde_json::json!({
            "_ARRAY_DIMENSIONS": self.array.dimensions(),
            "units": self.array.units(),
        })
    }
}

/// Where arrays go.
pub trait Store {
    /// What it will be.
    fn path(&self) -> &Path;
    /// Makes room for an array.
    fn create(&mut self, described: &Described<'_>) -> io::Result<()>;
    /// Writes positions `first..` of an array; `leading` are the indices of the dimensions before `position`.
    /// The elements of a position follow each other.
    fn write(&mut self, array: Array, leading: &[usize], first: usize, bytes: &[u8]) -> io::Result<()>;
    /// Writes the numbers that a dimension counts by.
    fn coordinate(&mut self, dimension: &str, values: &[i32]) -> io::Result<()>;
    /// Makes everything final; before, nothing is there under its name. `attributes` describe the whole.
    fn finish(self: Box<Self>, attributes: &serde_json::Value) -> io::Result<()>;
}

/// What is recorded.
pub struct Selection {
    /// Which arrays.
    pub arrays: Vec<Array>,
    /// Which layers.
    pub layers: Vec<usize>,
    /// Which oscillators.
    pub oscillators: Vec<usize>,
}

fn bytes_of(values: impl Iterator<Item = f32>) -> Vec<u8> {
    values.flat_map(f32::to_le_bytes).collect()
}

/// Runs the model over a text and records what was selected. `text` are tokens, `bytes` what they stand for.
pub fn record(
    weights: &KuramotoWeights,
    (tokens, bytes): (&[u8], &[u8]),
    selection: &Selection,
    store: &mut dyn Store,
) -> Result<()> {
    let path = store.path().to_path_buf();
    let failed = |error: io::Error| cannot_write(&path, &error);
    let network = weights.network();
    let (context, config) = (Network::<f32>::context(network), network.config());
    if config.value != Value::Circular && selection.arrays.contains(&Array::ValueGate) {
        return Err(Error::NoValueGate);
    }
    let metric_scale = metric::scale(weights);
    if metric_scale.is_none() && selection.arrays.iter().any(|array| array.is_of_metric()) {
        return Err(Error::NoMetric);
    }
    for &array in &selection.arrays {
        let size = |dimension: &&str| match *dimension {
            "layer" => selection.layers.len(),
            "position" => tokens.len(),
            "oscillator" => selection.oscillators.len(),
            "head" => config.heads,
            _ => context,
        };
        let shape: Vec<usize> = array.dimensions().iter().map(size).collect();
        store.create(&Described { array, shape: &shape, stretch: context }).map_err(failed)?;
    }
    let numbers = |values: &[usize]| values.iter().map(|&value| value as i32).collect::<Vec<i32>>();
    let counted =
        |dimension: &str| selection.arrays.iter().any(|array| array.dimensions().contains(&dimension));
    for (dimension, values) in [("layer", &selection.layers), ("oscillator", &selection.oscillators)] {
        if counted(dimension) {
            store.coordinate(dimension, &numbers(values)).map_err(failed)?;
        }
    }
    let (mut work, mut trace) = (weights.workspace(), Trace::new(network));
    for first in (0..tokens.len()).step_by(context) {
        let window = &tokens[first..(first + context).min(tokens.len())];
        weights.forward(window, &mut work, &mut trace)?;
        let ahead = &tokens[(first + 1).min(tokens.len())..(first + window.len() + 1).min(tokens.len())];
        let attended = match selection.arrays.iter().any(|array| array.is_of_attended()) {
            true => selection.layers.iter().map(|&layer| Attended::of(&trace, layer)).collect(),
            false => Vec::new(),
        };
        let piece = Piece { trace: &trace, attended: &attended, metric_scale, first, context, selection };
        for &array in &selection.arrays {
            let written = match array {
                Array::Byte => store.write(array, &[], first, &bytes[first..][..window.len()]),
                Array::PhaseLast => {
                    let last = &trace.states[config.layers];
                    store.write(array, &[], first, &chosen(last, trace.k, &selection.oscillators))
                }
                Array::Bits => {
                    store.write(array, &[], first, &bits(weights.losses(ahead, &mut work)?, window.len()))
                }
                _ => (0..selection.layers.len()).try_for_each(|place| piece.write_layer(array, place, store)),
            };
            written.map_err(failed)?;
        }
    }
    Ok(())
}

/// The last position of a text has no byte after it.
fn bits(nats: &[f64], n: usize) -> Vec<u8> {
    bytes_of(nats.iter().map(|nats| (nats / LN_2) as f32).chain(std::iter::repeat(f32::NAN)).take(n))
}

/// Of rows of k values, those of the chosen oscillators.
fn chosen(values: &[f32], k: usize, oscillators: &[usize]) -> Vec<u8> {
    bytes_of(values.chunks_exact(k).flat_map(|row| oscillators.iter().map(move |&j| row[j])))
}

/// Of a matrix (n x n) over tokens, each token's entries from itself back to `context` - 1 tokens before it.
fn by_distance(matrix: &[f32], n: usize, context: usize) -> Vec<u8> {
    let entry = |t: usize, back: usize| if back <= t { matrix[t * n + t - back] } else { 0.0 };
    bytes_of((0..n).flat_map(|t| (0..context).map(move |back| entry(t, back))))
}

/// What a window adds to the arrays.
struct Piece<'a> {
    trace: &'a Trace<f32>,
    /// G of the selected layers, if an array needs it.
    attended: &'a [Attended<f32>],
    /// The factor of the diagonal metric, if there is one.
    metric_scale: Option<f64>,
    /// The position in the text of its first byte.
    first: usize,
    context: usize,
    selection: &'a Selection,
}

impl Piece<'_> {
    /// Writes the part of an array that belongs to a layer, which is given by its place in the selection.
    fn write_layer(&self, array: Array, place: usize, store: &mut dyn Store) -> io::Result<()> {
        let Piece { trace, first, context, .. } = *self;
        let (n, layer, oscillators) = (trace.n, self.selection.layers[place], &self.selection.oscillators);
        let chosen = |values: &[f32]| chosen(values, trace.k, oscillators);
        let ones = || bytes_of(std::iter::repeat_n(1.0, n * oscillators.len()));
        let gate = |gates: &[f32]| if gates.is_empty() { ones() } else { chosen(gates) };
        let by_position = |of: &dyn Fn(usize) -> f64| bytes_of((0..n).map(|t| of(t) as f32));
        let bytes = match array {
            Array::Phase => chosen(&trace.states[layer]),
            Array::PhaseMid => chosen(&trace.middles[layer]),
            Array::QueryGate => gate(&trace.query[layer]),
            Array::KeyGate => gate(&trace.key[layer]),
            Array::ValueGate => gate(&trace.value[layer]),
            Array::Metric => {
                let diagonal = metric::diagonal(trace, layer, self.metric_scale.unwrap_or(f64::NAN));
                chosen(&diagonal.into_iter().map(|m| m as f32).collect::<Vec<f32>>())
            }
            Array::LocalOrder => by_position(&|t| self.attended[place].local_order(t)),
            Array::Alignment => by_position(&|t| self.attended[place].alignment(t)),
            Array::Coupling => {
                for head in 0..trace.heads {
                    let coupling = by_distance(trace.coupling(layer, head), n, context);
                    store.write(array, &[place, head], first, &coupling)?;
                }
                return Ok(());
            }
            Array::TokenLocking => by_distance(&locking::tokens(trace, layer), n, context),
            Array::Byte | Array::Bits | Array::PhaseLast => return Ok(()),
        };
        store.write(array, &[place], first, &bytes)
    }
}

/// A folder to work in beside `path`: what is made in it is renamed once it is whole, and the folder goes. The
/// system unlocks it when the process dies, so that the next export can remove what is left.
struct Workplace {
    folder: tempfile::TempDir,
    _lock: File,
}

const PREFIX: &str = ".export-";
const LOCK: &str = "lock";

impl Workplace {
    /// Beside `path`, which must not be there yet.
    fn beside(path: &Path) -> io::Result<Workplace> {
        if path.exists() {
            let why = "it is there already: choose another name";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        remove_abandoned(parent);
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let lock = File::create_new(folder.path().join(LOCK))?;
        // Where the system cannot lock, what is left of a killed export stays.
        lock.try_lock().ok();
        Ok(Workplace { folder, _lock: lock })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the folders of exports that were killed. What cannot be removed is not in the way.
fn remove_abandoned(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        let lock = entry.path().join(LOCK);
        if ours
            && fs::symlink_metadata(&lock).is_ok_and(|lock| lock.is_file())
            && File::options().write(true).open(&lock).is_ok_and(|lock| lock.try_lock().is_ok())
        {
            fs::remove_dir_all(entry.path()).ok();
        }
    }
}

/// Elements of one index of the leading dimensions, and of one position.
fn strides(shape: &[usize], dimensions: &[&str]) -> (Vec<usize>, usize) {
    let at = dimensions.iter().position(|dimension| *dimension == "position").unwrap_or(0);
    let within: usize = shape[at + 1..].iter().product();
    let mut leading = Vec::new();
    for i in 0..at {
        leading.push(shape[i + 1..].iter().product());
    }
    (leading, within)
}

#[cfg(test)]
mod tests {
    use super::*;
    use strum::{VariantArray, VariantNames};

    #[test]
    fn names_are_read_as_they_are_written() {
        for array in <Array as VariantArray>::VARIANTS {
            assert_eq!(array.name().parse(), Ok(*array));
        }
        assert_eq!(<Array as VariantNames>::VARIANTS[1], "phase_mid");
    }
}
