//! Measures over many windows of text, and over their surrogates.

use crate::error::Result;
use crate::locking;
use crate::measure::{MEASURES, Window};
use crate::order::global_order;
use crate::statistics::{Interval, mean, mean_interval, standard_deviation};
use crate::trace::{Probe, Trace};
use crate::windows::{Text, over_windows};
use kuramoto_model::{Kuramoto, Network};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Serialize;

/// What a statistic is set against: something with the same shape in which what it measures cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Surrogate {
    /// The same model before training.
    Untrained,
    /// The bytes of each window in another order.
    Shuffled,
    /// Phases of each token dealt anew to its oscillators; couplings stay.
    Permuted,
    /// Couplings replaced by 1/(t + 1); phases stay.
    Uniform,
}

impl Surrogate {
    /// All of them.
    pub const ALL: [Surrogate; 4] =
        [Surrogate::Untrained, Surrogate::Shuffled, Surrogate::Permuted, Surrogate::Uniform];

    /// On the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Surrogate::Untrained => "untrained",
            Surrogate::Shuffled => "shuffled",
            Surrogate::Permuted => "permuted",
            Surrogate::Uniform => "uniform",
        }
    }
}

/// The values of every measure in every layer and window.
#[derive(Clone, Debug, Serialize)]
pub struct Survey {
    /// Layers.
    pub layers: usize,
    /// By measure, layer, window.
    values: Vec<Vec<Vec<f64>>>,
    /// Mean local order by layer and position.
    pub local_by_position: Vec<Vec<f64>>,
    /// Global order of the last state, by window.
    pub last_global_order: Vec<f64>,
    /// Phase locking between oscillators (k x k) by layer, mean over windows.
    #[serde(skip)]
    pub oscillator_locking: Vec<Vec<f64>>,
    /// Nats of every window, where it had targets.
    nats: f64,
    bytes: usize,
}

/// Mean of a measure over windows.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Estimate {
    /// Over windows.
    pub mean: f64,
    /// Over windows.
    pub sd: f64,
    /// 95% bootstrap interval of the mean over windows.
    pub interval: Interval,
}

impl Estimate {
    /// Of values of windows.
    pub fn of(values: &[f64]) -> Estimate {
        Estimate { mean: mean(values), sd: standard_deviation(values), interval: mean_interval(values) }
    }
}

impl Survey {
    /// Values of a measure (by its place in [`MEASURES`]) in a layer, one a window.
    pub fn values(&self, measure: usize, layer: usize) -> &[f64] {
        &self.values[measure][layer]
    }

    /// Values of a measure by its name.
    pub fn named(&self, name: &str, layer: usize) -> &[f64] {
        let place = MEASURES.iter().position(|measure| measure.name == name);
        place.map_or(&[], |place| self.values(place, layer))
    }

    /// Bits per byte of the text.
    pub fn bits_per_byte(&self) -> f64 {
        self.nats / std::f64::consts::LN_2 / self.bytes as f64
    }

    /// How far a measure lies from a null survey: (mean - mean of the null) / sd of the null over windows. NaN where the
    /// null does not vary.
    pub fn z(&self, null: &Survey, measure: usize, layer: usize) -> f64 {
        let (ours, theirs) = (self.values(measure, layer), null.values(measure, layer));
        let sd = standard_deviation(theirs);
        if sd > 1e-9 { (mean(ours) - mean(theirs)) / sd } else { f64::NAN }
    }
}

/// Radii of every layer's two bounds.
pub fn radii(probe: &Probe<f32>) -> Vec<(Option<f64>, Option<f64>)> {
    let radius = |layer: usize, name: &str| {
        let logarithm = probe.parameter(&format!("layers.{layer}.{name}"))?;
        Some(f64::from(logarithm[0]).exp())
    };
    (0..probe.network().config().layers).map(|layer| (radius(layer, "log_r1"), radius(layer, "log_r2"))).collect()
}

/// Surveys a model over windows of text, or a surrogate of it, on so many threads.
pub fn survey(
    network: &Kuramoto,
    parameters: &[f32],
    windows: &[Text<'_>],
    surrogate: Option<Surrogate>,
    seed: u64,
    threads: usize,
) -> Result<Survey> {
    let mut start = parameters.to_vec();
    if surrogate == Some(Surrogate::Untrained) {
        Network::<f32>::initialize(network, seed, &mut start);
    }
    let begin = || {
        let probe = Probe::new(network.clone(), start.clone());
        let radii = radii(&probe);
        (probe, radii, Trace::of(network))
    };
    let seen = over_windows(windows, threads, begin, |(probe, radii, trace), index, text| {
        let mut random = ChaCha8Rng::seed_from_u64(seed ^ (index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        one(probe, trace, radii, text, surrogate, &mut random)
    })?;
    Ok(gather(network.config().layers, seen))
}

/// What one window gave.
struct One {
    /// By measure, layer.
    values: Vec<Vec<f64>>,
    /// By layer, position.
    local: Vec<Vec<f64>>,
    last: f64,
    /// By layer.
    locking: Vec<Vec<f32>>,
    nats: f64,
    bytes: usize,
}

fn one(
    probe: &mut Probe<f32>,
    trace: &mut Trace<f32>,
    radii: &[(Option<f64>, Option<f64>)],
    (tokens, targets): Text<'_>,
    surrogate: Option<Surrogate>,
    random: &mut ChaCha8Rng,
) -> Result<One> {
    let mut tokens = tokens.to_vec();
    if surrogate == Some(Surrogate::Shuffled) {
        shuffle(&mut tokens, random);
    }
    probe.run(&tokens, trace)?;
    let nats = if surrogate == Some(Surrogate::Shuffled) { f64::NAN } else { probe.losses(targets)?.iter().sum() };
    match surrogate {
        Some(Surrogate::Permuted) => {
            let k = trace.k;
            let states = trace.states.iter_mut().chain(&mut trace.middles);
            states.flat_map(|state| state.chunks_exact_mut(k)).for_each(|row| shuffle(row, random));
        }
        Some(Surrogate::Uniform) => {
            let n = trace.n;
            for row in trace.attention.iter_mut().flat_map(|all| all.chunks_exact_mut(n * n)) {
                for (t, row) in row.chunks_exact_mut(n).enumerate() {
                    row[..=t].fill(1.0 / (t + 1) as f32);
                }
            }
        }
        None | Some(Surrogate::Untrained | Surrogate::Shuffled) => {}
    }
    let window = Window::new(trace, radii);
    let layers = trace.layers();
    Ok(One {
        values: MEASURES
            .iter()
            .map(|measure| (0..layers).map(|layer| (measure.of)(&window, layer)).collect())
            .collect(),
        local: window.attended.iter().map(|layer| (0..trace.n).map(|t| layer.local_order(t)).collect()).collect(),
        last: global_order(&trace.states[layers], trace.k),
        locking: (0..layers).map(|layer| locking::oscillators(trace, layer)).collect(),
        nats,
        bytes: tokens.len(),
    })
}

/// Fisher and Yates.
fn shuffle<T>(items: &mut [T], random: &mut ChaCha8Rng) {
    for i in (1..items.len()).rev() {
        let j = (u64::from(random.next_u32()) * (i as u64 + 1) >> 32) as usize;
        items.swap(i, j);
    }
}

fn gather(layers: usize, seen: Vec<One>) -> Survey {
    let positions = seen.iter().map(|one| one.local[0].len()).max().unwrap_or(0);
    let at = |layer: usize, t: usize| {
        mean(&seen.iter().filter_map(|one| one.local[layer].get(t).copied()).collect::<Vec<_>>())
    };
    let of = |measure: usize, layer: usize| seen.iter().map(|one| one.values[measure][layer]).collect();
    let mean_locking = |layer: usize| {
        let mut sums = vec![0.0; seen.first().map_or(0, |one| one.locking[layer].len())];
        for one in &seen {
            sums.iter_mut().zip(&one.locking[layer]).for_each(|(sum, x)| *sum += f64::from(*x) / seen.len() as f64);
        }
        sums
    };
    Survey {
        layers,
        values: (0..MEASURES.len()).map(|m| (0..layers).map(|layer| of(m, layer)).collect()).collect(),
        local_by_position: (0..layers).map(|layer| (0..positions).map(|t| at(layer, t)).collect()).collect(),
        last_global_order: seen.iter().map(|one| one.last).collect(),
        oscillator_locking: (0..layers).map(mean_locking).collect(),
        nats: seen.iter().map(|one| one.nats).sum(),
        bytes: seen.iter().map(|one| one.bytes).sum(),
    }
}
