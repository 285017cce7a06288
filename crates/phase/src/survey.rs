//! Measures over many windows of text, and over their surrogates.

use crate::circular::Resultant;
use crate::error::Result;
use crate::measure::{MEASURES, Measure, MeasuredWindow, Scales};
use crate::metric;
use crate::order::over_tokens;
use crate::radius::radii;
use crate::surrogate::{self, Surrogate};
use crate::trace::Trace;
use crate::windows::{Text, Workers, over_windows};
use crate::{KuramotoWeights, KuramotoWorkspace};
use kuramoto_model::{Kuramoto, Weights};
use kuramoto_report::statistics::{Interval, mean, mean_interval, standard_deviation};
use serde::Serialize;

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

fn by_name<S: serde::Serializer>(
    values: &[Vec<Vec<f64>>],
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
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

    /// Mean of a measure over the windows that have it; NaN if none does.
    pub fn mean_of(&self, name: &str, layer: usize) -> f64 {
        let windows = self.named(name, layer).iter().copied();
        mean(&windows.filter(|value| value.is_finite()).collect::<Vec<f64>>())
    }

    /// Bits per byte of the text.
    pub fn bits_per_byte(&self) -> f64 {
        self.nats / std::f64::consts::LN_2 / self.bytes as f64
    }

    /// How far a measure lies from a null survey: (mean - mean of the null) / sd of the null over windows.
    /// NaN where the null does not vary.
    pub fn z(&self, null: &Survey, measure: usize, layer: usize) -> f64 {
        let (ours, theirs) = (self.values(measure, layer), null.values(measure, layer));
        let sd = standard_deviation(theirs);
        if sd > 1e-9 { (mean(ours) - mean(theirs)) / sd } else { f64::NAN }
    }
}

/// What is surveyed, and against what.
pub struct SurveyRequest<'a> {
    /// The model.
    pub weights: &'a KuramotoWeights,
    /// The text.
    pub windows: &'a [Text<'a>],
    /// Surrogates to measure as well.
    pub against: &'a [Surrogate],
    /// Seed of what surrogates draw.
    pub seed: u64,
    /// Seed of the model's initialization, for [`Surrogate::Untrained`].
    pub initial_seed: u64,
    /// Who reads the windows.
    pub workers: Workers<'a>,
}

/// What a model shows on a text, and what its surrogates show.
pub struct Surveys {
    /// The model on the text.
    pub trained: Survey,
    /// Surrogates, as they were requested.
    pub against: Vec<(Surrogate, Survey)>,
    /// Phase locking between oscillators (k x k) by layer: mean over windows, of which at most 64 are read,
    /// spread evenly.
    pub locking: Vec<Vec<f64>>,
    /// Resultants over all tokens of every oscillator entering each layer, and after the last (L + 1 x k).
    pub oscillators: Vec<Vec<Resultant>>,
}

/// Windows that matrices are averaged over at most: they take room.
const MATRICES: usize = 64;

/// Measures a model and its surrogates: one forward pass a window, and one more for each surrogate with other
/// parameters or other bytes.
pub fn survey(request: &SurveyRequest<'_>) -> Result<Surveys> {
    let SurveyRequest { weights, windows, against, seed, .. } = *request;
    let network = weights.network();
    let every = windows.len().div_ceil(MATRICES).max(1);
    let untrained = against.contains(&Surrogate::Untrained);
    let initial = untrained.then(|| Weights::initialized(network.clone(), request.initial_seed));
    let begin = || {
        (Reader::new(weights), initial.as_ref().map(Reader::new), Trace::new(network), Trace::new(network))
    };
    let seen = over_windows(windows, request.workers, begin, |state, index, (tokens, targets)| {
        let (trained, untrained, trace, other) = state;
        let nats = trained.read(tokens, Some(targets), trace)?;
        let mut measured = MeasuredWindow::new(trace, &trained.scales);
        let values = Values::of(&measured, nats);
        let locking = index.is_multiple_of(every).then(|| std::mem::take(&mut measured.oscillator_locking));
        let resultants = measured.resultants;
        let mut measure = |surrogate: &Surrogate| match surrogate {
            Surrogate::Untrained => {
                let reader = untrained.as_mut().expect("initialized above if it is requested");
                reader.measure(tokens, Some(targets), other)
            }
            Surrogate::Shuffled => {
                let tokens = surrogate::shuffled(tokens, surrogate::draws(seed, index));
                // In another order the bytes are not followed by their targets.
                trained.measure(&tokens, None, other)
            }
            Surrogate::Permuted => {
                let permuted = surrogate::permuted(trace, surrogate::draws(seed, index));
                Ok(Values::of(&MeasuredWindow::new(&permuted, &trained.scales), nats))
            }
            Surrogate::Uniform => {
                let uniform = surrogate::uniform(trace);
                Ok(Values::of(&MeasuredWindow::new(&uniform, &trained.scales), nats))
            }
        };
        let surrogates = against.iter().map(&mut measure).collect::<Result<Vec<Values>>>()?;
        Ok(Seen { values, surrogates, locking, resultants })
    })?;
    Ok(gather(network, against, seen))
}

/// Resultants over all tokens of every oscillator entering each layer, and after the last (L + 1 x k).
pub fn oscillators(
    weights: &KuramotoWeights,
    windows: &[Text<'_>],
    workers: Workers<'_>,
) -> Result<Vec<Vec<Resultant>>> {
    let network = weights.network();
    let begin = || (weights.workspace(), Trace::new(network));
    let seen = over_windows(windows, workers, begin, |(work, trace), _, (tokens, _)| {
        weights.forward(tokens, work, trace)?;
        Ok(trace.states.iter().map(|state| over_tokens(state, trace.k)).collect::<Vec<_>>())
    })?;
    Ok(over_all_windows(network, &seen.iter().collect::<Vec<_>>()))
}

/// A model that reads windows.
struct Reader<'a> {
    weights: &'a KuramotoWeights,
    work: KuramotoWorkspace,
    scales: Scales,
}

impl<'a> Reader<'a> {
    fn new(weights: &'a KuramotoWeights) -> Reader<'a> {
        Reader {
            weights,
            work: weights.workspace(),
            scales: Scales { radii: radii(weights), metric: metric::scale(weights) },
        }
    }

    /// Runs a window and returns the nats of its targets; NaN without targets.
    fn read(&mut self, tokens: &[u8], targets: Option<&[u8]>, trace: &mut Trace<f32>) -> Result<f64> {
        self.weights.forward(tokens, &mut self.work, trace)?;
        Ok(match targets {
            Some(targets) => self.weights.losses(targets, &mut self.work)?.iter().sum(),
            None => f64::NAN,
        })
    }

    fn measure(&mut self, tokens: &[u8], targets: Option<&[u8]>, trace: &mut Trace<f32>) -> Result<Values> {
        let nats = self.read(tokens, targets, trace)?;
        Ok(Values::of(&MeasuredWindow::new(trace, &self.scales), nats))
    }
}

/// The measures of one window.
struct Values {
    /// By measure, layer.
    values: Vec<Vec<f64>>,
    /// By layer, position.
    local: Vec<Vec<f64>>,
    last: f64,
    nats: f64,
    bytes: usize,
}

impl Values {
    fn of(window: &MeasuredWindow<'_>, nats: f64) -> Values {
        let layers = window.trace.layers();
        let by_layer = |measure: &Measure| (0..layers).map(|layer| (measure.of)(window, layer)).collect();
        Values {
            values: MEASURES.iter().map(by_layer).collect(),
            local: window.local_order.clone(),
            last: mean(&window.lengths(layers)),
            nats,
            bytes: window.trace.n,
        }
    }
}

/// What one window gave.
struct Seen {
    values: Values,
    /// As they were requested.
    surrogates: Vec<Values>,
    /// By layer (k x k), of windows that are chosen for it.
    locking: Option<Vec<Vec<f32>>>,
    /// By state, oscillator.
    resultants: Vec<Vec<Resultant>>,
}

fn gather(network: &Kuramoto, against: &[Surrogate], seen: Vec<Seen>) -> Surveys {
    let layers = network.config().layers;
    let surrogate = |(place, surrogate): (usize, &Surrogate)| {
        let values: Vec<&Values> = seen.iter().map(|window| &window.surrogates[place]).collect();
        (*surrogate, survey_of(layers, &values))
    };
    let matrices: Vec<&Vec<Vec<f32>>> = seen.iter().filter_map(|window| window.locking.as_ref()).collect();
    Surveys {
        trained: survey_of(layers, &seen.iter().map(|window| &window.values).collect::<Vec<_>>()),
        against: against.iter().enumerate().map(surrogate).collect(),
        locking: (0..layers).map(|layer| mean_matrix(layer, &matrices)).collect(),
        oscillators: over_all_windows(
            network,
            &seen.iter().map(|window| &window.resultants).collect::<Vec<_>>(),
        ),
    }
}

fn survey_of(layers: usize, seen: &[&Values]) -> Survey {
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

fn mean_matrix(layer: usize, matrices: &[&Vec<Vec<f32>>]) -> Vec<f64> {
    let mut sums = vec![0.0; matrices.first().map_or(0, |window| window[layer].len())];
    for window in matrices {
        sums.iter_mut()
            .zip(&window[layer])
            .for_each(|(sum, x)| *sum += f64::from(*x) / matrices.len() as f64);
    }
    sums
}

fn over_all_windows(network: &Kuramoto, seen: &[&Vec<Vec<Resultant>>]) -> Vec<Vec<Resultant>> {
    let config = network.config();
    let all = |state: usize, j: usize| Resultant::of_all(seen.iter().map(|window| &window[state][j]));
    (0..=config.layers).map(|state| (0..config.width).map(|j| all(state, j)).collect()).collect()
}
