//! Measures over many windows of text, and over their surrogates.

use crate::circular::Resultant;
use crate::error::Result;
use crate::locking;
use crate::measure::{MEASURES, Window};
use crate::order::{global_order, over_tokens};
use crate::trace::{Probe, Trace};
use crate::windows::{Text, over_windows};
use kuramoto_model::{Kuramoto, Network};
use kuramoto_report::statistics::{Interval, mean, mean_interval, standard_deviation};
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
    #[serde(serialize_with = "by_name")]
    values: Vec<Vec<Vec<f64>>>,
    /// Mean local order by layer and position.
    pub local_by_position: Vec<Vec<f64>>,
    /// Global order of the last state, by window.
    pub last_global_order: Vec<f64>,
    /// Nats of every window, where it had targets.
    nats: f64,
    bytes: usize,
}

fn by_name<S: serde::Serializer>(values: &[Vec<Vec<f64>>], serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_map(MEASURES.iter().map(|measure| measure.name).zip(values))
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

/// Takes something from the trace of every window.
fn over_traces<T: Send>(
    network: &Kuramoto,
    parameters: &[f32],
    windows: &[Text<'_>],
    threads: usize,
    take: impl Fn(&Trace<f32>) -> T + Sync,
) -> Result<Vec<T>> {
    let start = || (Probe::new(network.clone(), parameters.to_vec()), Trace::of(network));
    over_windows(windows, threads, start, |(probe, trace), _, (tokens, _)| {
        probe.run(tokens, trace)?;
        Ok(take(trace))
    })
}

/// Resultants over all tokens of every oscillator entering each layer, and after the last (L + 1 x k).
pub fn oscillators(
    network: &Kuramoto,
    parameters: &[f32],
    windows: &[Text<'_>],
    threads: usize,
) -> Result<Vec<Vec<Resultant>>> {
    let seen = over_traces(network, parameters, windows, threads, |trace| {
        trace.states.iter().map(|state| over_tokens(state, trace.k)).collect::<Vec<_>>()
    })?;
    let all = |layer: usize, j: usize| Resultant::of_all(seen.iter().map(|window| &window[layer][j]));
    let config = network.config();
    Ok((0..=config.layers).map(|layer| (0..config.width).map(|j| all(layer, j)).collect()).collect())
}

/// Windows that matrices are averaged over at most: they take room.
const MATRICES: usize = 64;

/// Phase locking between oscillators (k x k) by layer, mean over windows, of which at most 64 are read, spread evenly.
pub fn oscillator_locking(
    network: &Kuramoto,
    parameters: &[f32],
    windows: &[Text<'_>],
    threads: usize,
) -> Result<Vec<Vec<f64>>> {
    let chosen: Vec<Text<'_>> = windows.iter().step_by(windows.len().div_ceil(MATRICES).max(1)).copied().collect();
    let seen = over_traces(network, parameters, &chosen, threads, |trace| {
        (0..trace.layers()).map(|layer| locking::oscillators(trace, layer)).collect::<Vec<_>>()
    })?;
    let mean = |layer: usize| {
        let mut sums = vec![0.0; seen.first().map_or(0, |window| window[layer].len())];
        for window in &seen {
            sums.iter_mut().zip(&window[layer]).for_each(|(sum, x)| *sum += f64::from(*x) / seen.len() as f64);
        }
        sums
    };
    Ok((0..network.config().layers).map(mean).collect())
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
            let mut order: Vec<usize> = (0..trace.k).collect();
            for t in 0..trace.n {
                // The same deal in every layer, so that steps stay what they were.
                shuffle(&mut order, random);
                for state in trace.states.iter_mut().chain(&mut trace.middles) {
                    let row = &mut state[t * trace.k..][..trace.k];
                    let before = row.to_vec();
                    row.iter_mut().zip(&order).for_each(|(x, &j)| *x = before[j]);
                }
            }
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
        nats,
        bytes: tokens.len(),
    })
}

/// Fisher and Yates.
fn shuffle<T>(items: &mut [T], random: &mut ChaCha8Rng) {
    for i in (1..items.len()).rev() {
        let j = ((u64::from(random.next_u32()) * (i as u64 + 1)) >> 32) as usize;
        items.swap(i, j);
    }
}

fn gather(layers: usize, seen: Vec<One>) -> Survey {
    let positions = seen.iter().map(|one| one.local[0].len()).max().unwrap_or(0);
    let at = |layer: usize, t: usize| {
        mean(&seen.iter().filter_map(|one| one.local[layer].get(t).copied()).collect::<Vec<_>>())
    };
    let of = |measure: usize, layer: usize| seen.iter().map(|one| one.values[measure][layer]).collect();
    Survey {
        layers,
        values: (0..MEASURES.len()).map(|m| (0..layers).map(|layer| of(m, layer)).collect()).collect(),
        local_by_position: (0..layers).map(|layer| (0..positions).map(|t| at(layer, t)).collect()).collect(),
        last_global_order: seen.iter().map(|one| one.last).collect(),
        nats: seen.iter().map(|one| one.nats).sum(),
        bytes: seen.iter().map(|one| one.bytes).sum(),
    }
}
