//! Changing a model while it runs, at named points.
//!
//! | point | what is there | what can be done |
//! |---|---|---|
//! | `layer.L.phase` | phases entering layer L; with L the number of layers, the last | clamp, rotate, fade |
//! | `layer.L.phase.mid` | phases after the attention increment of layer L | clamp, rotate, fade |
//! | `layer.L.attention` | coupling of layer L | flatten |
//!
//! Fading takes back part of the step that led to a point: at `phase.mid` the synchronization step, at
//! `phase` the feed-forward step before it. Parameters (tau, omega) are changed with [`Change`], before the
//! model runs.

use kuramoto_kernels::Real;
use kuramoto_model::random::below_u32;
use kuramoto_model::{Gates, Hooks, Kuramoto, Network, Tensor, Weights};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Where a pass is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Point {
    /// Phases entering a layer; with the number of layers, the last.
    Phase(usize),
    /// Phases after a layer's attention increment.
    Middle(usize),
    /// A layer's coupling.
    Attention(usize),
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Point::Phase(layer) => write!(f, "layer.{layer}.phase"),
            Point::Middle(layer) => write!(f, "layer.{layer}.phase.mid"),
            Point::Attention(layer) => write!(f, "layer.{layer}.attention"),
        }
    }
}

impl From<Point> for String {
    fn from(point: Point) -> String {
        point.to_string()
    }
}

impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> Result<Point, String> {
        let parts: Vec<&str> = text.split('.').collect();
        let layer = |text: &str| text.parse().map_err(|_| format!("{text:?} is not the number of a layer"));
        match parts[..] {
            ["layer", number, "phase"] => Ok(Point::Phase(layer(number)?)),
            ["layer", number, "phase", "mid"] => Ok(Point::Middle(layer(number)?)),
            ["layer", number, "attention"] => Ok(Point::Attention(layer(number)?)),
            _ => Err(format!(
                "{text:?} is not a hook point: write layer.L.phase, layer.L.phase.mid or layer.L.attention"
            )),
        }
    }
}

impl TryFrom<String> for Point {
    type Error = String;

    fn try_from(text: String) -> Result<Point, String> {
        text.parse()
    }
}

/// What is done there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Sets phases to these, one for each chosen oscillator; one alone is for all.
    Clamp(Vec<f64>),
    /// Turns phases by an angle.
    Rotate(f64),
    /// Takes back this share of the step that led here: 1 takes it back whole.
    Fade(f64),
    /// Replaces this share of the coupling by 1/(t + 1): 1 couples uniformly.
    Flatten(f64),
}

/// One change at one point. Oscillators and tokens that are not chosen stay as they are; none named are all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Intervention {
    /// Where.
    pub at: Point,
    /// What.
    pub action: Action,
    /// Oscillators; a head is its oscillators. Attention is flattened in the heads that hold one of them.
    #[serde(default)]
    pub oscillators: Option<Vec<usize>>,
    /// Tokens.
    #[serde(default)]
    pub tokens: Option<Vec<usize>>,
}

impl Intervention {
    /// Everywhere at a point.
    pub fn new(at: Point, action: Action) -> Intervention {
        Intervention { at, action, oscillators: None, tokens: None }
    }

    /// Says what is wrong, if anything, for a model.
    pub fn check(&self, network: &Kuramoto) -> Result<(), String> {
        let (layers, k) = (network.config().layers, network.config().width);
        let (layer, most) = match self.at {
            Point::Phase(layer) => (layer, layers),
            Point::Middle(layer) | Point::Attention(layer) => (layer, layers - 1),
        };
        if layer > most {
            return Err(format!("{} does not exist: the model has layers 0 to {}", self.at, layers - 1));
        }
        if let Some(j) = self.oscillators.iter().flatten().find(|&&j| j >= k) {
            return Err(format!("oscillator {j} does not exist: the model has oscillators 0 to {}", k - 1));
        }
        match (&self.action, self.at) {
            (Action::Flatten(_), Point::Attention(_)) => {}
            (Action::Flatten(_), _) => {
                return Err(format!("only attention can be flattened, not {}", self.at));
            }
            (_, Point::Attention(_)) => return Err(format!("{} can only be flattened", self.at)),
            (Action::Fade(_), Point::Phase(0)) => {
                return Err("no step leads to layer.0.phase: it cannot be faded".into());
            }
            _ => {}
        }
        let chosen = self.oscillators.as_ref().map_or(k, Vec::len);
        let numbers: &[f64] = match &self.action {
            Action::Clamp(phases) if phases.len() != 1 && phases.len() != chosen => {
                return Err(format!(
                    "{} phases are given for {chosen} oscillators: give one, or one for each",
                    phases.len()
                ));
            }
            Action::Clamp(phases) => phases,
            Action::Rotate(x) | Action::Fade(x) | Action::Flatten(x) => std::slice::from_ref(x),
        };
        // In the precision of most models.
        match numbers.iter().find(|x| !(**x as f32).is_finite()) {
            Some(x) => Err(format!("{x} is not a finite number")),
            None => Ok(()),
        }
    }

    /// Says so if it names a token that a text of `n` does not have.
    pub fn check_tokens(&self, n: usize) -> Result<(), String> {
        match self.tokens.iter().flatten().find(|&&token| token >= n) {
            Some(token) => Err(format!("token {token} does not exist: the text has tokens 0 to {}", n - 1)),
            None => Ok(()),
        }
    }

    fn acts_on(&self, token: usize) -> bool {
        self.tokens.as_ref().is_none_or(|tokens| tokens.contains(&token))
    }
}

/// Changes a pass, then shows it to other hooks.
pub struct Intervening<'a, F, H> {
    interventions: &'a [Intervention],
    width: usize,
    heads: usize,
    /// The token of the first row.
    first: usize,
    /// The state at the point before, which fading goes back to.
    before: Vec<F>,
    then: H,
}

impl<'a, F: Real, H: Hooks<F>> Intervening<'a, F, H> {
    /// Interventions that were checked against this model.
    pub fn new(network: &Kuramoto, interventions: &'a [Intervention], then: H) -> Self {
        let config = network.config();
        let (width, heads) = (config.width, config.heads);
        Intervening { interventions, width, heads, first: 0, before: Vec::new(), then }
    }

    /// In a pass over the tokens from `first` on; see [`Weights::extend`].
    pub fn starting_at(self, first: usize) -> Self {
        Intervening { first, ..self }
    }

    fn phases(&mut self, at: Point, state: &mut [F]) {
        for change in self.interventions.iter().filter(|change| change.at == at) {
            let all: Vec<usize>;
            let oscillators = match &change.oscillators {
                Some(chosen) => chosen,
                None => {
                    all = (0..self.width).collect();
                    &all
                }
            };
            let rows = state.chunks_exact_mut(self.width).enumerate();
            for (t, row) in rows.filter(|(t, _)| change.acts_on(self.first + t)) {
                for (place, &j) in oscillators.iter().enumerate() {
                    let x = row[j].to_f64();
                    row[j] = F::from_f64(match &change.action {
                        Action::Clamp(phases) => phases[place.min(phases.len() - 1)],
                        Action::Rotate(by) => x + by,
                        Action::Fade(share) => x + share * (self.before[t * self.width + j].to_f64() - x),
                        Action::Flatten(_) => x,
                    });
                }
            }
        }
        self.before.clear();
        self.before.extend_from_slice(state);
    }
}

impl<F: Real, H: Hooks<F>> Hooks<F> for Intervening<'_, F, H> {
    fn changes_input(&self) -> bool {
        self.interventions.iter().any(|change| change.at == Point::Phase(0)) || self.then.changes_input()
    }

    fn state(&mut self, layer: usize, state: &mut [F]) {
        self.phases(Point::Phase(layer), state);
        self.then.state(layer, state);
    }

    fn gates(&mut self, layer: usize, gates: &mut Gates<'_, F>) {
        self.then.gates(layer, gates);
    }

    fn attention(&mut self, layer: usize, head: usize, stride: usize, attention: &mut [F]) {
        let n = self.before.len() / self.width;
        let own = head * self.width / self.heads..(head + 1) * self.width / self.heads;
        let changes = self.interventions.iter().filter(|change| change.at == Point::Attention(layer));
        for change in changes.filter(|change| {
            change.oscillators.as_ref().is_none_or(|chosen| chosen.iter().any(|j| own.contains(j)))
        }) {
            let Action::Flatten(share) = change.action else { continue };
            let rows = (self.first..).zip(attention.chunks_mut(stride).take(n));
            for (t, row) in rows.filter(|(t, _)| change.acts_on(*t)) {
                let flat = 1.0 / (t + 1) as f64;
                row[..=t].iter_mut().for_each(|a| *a = F::from_f64(a.to_f64() + share * (flat - a.to_f64())));
            }
        }
        self.then.attention(layer, head, stride, attention);
    }

    fn middle(&mut self, layer: usize, state: &mut [F]) {
        self.phases(Point::Middle(layer), state);
        self.then.middle(layer, state);
    }
}

/// A change of parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Change {
    /// Multiplies tau, the score scale of all layers.
    ScaleTau(f64),
    /// Takes the rates of a layer this share of the way back to their start: 1 is frozen at the rotary
    /// schedule.
    FreezeOmega {
        /// Which layer.
        layer: usize,
        /// How far.
        share: f64,
    },
    /// Deals this share of the rates of a layer anew to its oscillators.
    PermuteOmega {
        /// Which layer.
        layer: usize,
        /// How many of them.
        share: f64,
        /// Of the deal.
        seed: u64,
    },
}

impl Change {
    /// Says what is wrong, if anything, for a model.
    pub fn check(&self, network: &Kuramoto) -> Result<(), String> {
        let (layer, number) = match *self {
            Change::ScaleTau(by) => (0, by),
            Change::FreezeOmega { layer, share } | Change::PermuteOmega { layer, share, .. } => {
                (layer, share)
            }
        };
        let layers = network.config().layers;
        if layer >= layers {
            return Err(format!("layer {layer} does not exist: the model has layers 0 to {}", layers - 1));
        }
        // In the precision of most models.
        if !(number as f32).is_finite() {
            return Err(format!("{number} is not a finite number"));
        }
        if !matches!(self, Change::ScaleTau(_)) && rates(network, layer).is_none() {
            return Err("this model does not learn its rates (an ablation), so they cannot be changed".into());
        }
        Ok(())
    }

    /// Changes a model.
    pub fn apply<F: Real>(&self, weights: &mut Weights<F, Kuramoto>)
    where
        Kuramoto: Network<F>,
    {
        weights.edit(|network, parameters| match *self {
            Change::ScaleTau(by) => {
                if let Some(tau) = network.layout().find("tau") {
                    tau.slot.slice_mut(parameters).iter_mut().for_each(|x| *x = F::from_f64(x.to_f64() * by));
                }
            }
            Change::FreezeOmega { layer, share } => {
                let mut start = vec![F::ZERO; parameters.len()];
                network.initialize(0, &mut start);
                if let Some(omega) = rates(network, layer) {
                    for (x, start) in
                        omega.slot.slice_mut(parameters).iter_mut().zip(omega.slot.slice(&start))
                    {
                        *x = F::from_f64(x.to_f64() + share * (start.to_f64() - x.to_f64()));
                    }
                }
            }
            Change::PermuteOmega { layer, share, seed } => {
                if let Some(omega) = rates(network, layer) {
                    let rates = omega.slot.slice_mut(parameters);
                    let chosen = choose(rates.len(), share, seed);
                    let values: Vec<F> = chosen.iter().map(|&j| rates[j]).collect();
                    let mut order = chosen.clone();
                    order.rotate_left(chosen.len().min(1));
                    order.iter().zip(values).for_each(|(&j, value)| rates[j] = value);
                }
            }
        });
    }
}

/// The learned rates of a layer, which it may share with all others.
fn rates(network: &Kuramoto, layer: usize) -> Option<&Tensor> {
    network.layout().find(&format!("layers.{layer}.omega")).or_else(|| network.layout().find("omega"))
}

/// A share of the numbers below `count`, drawn without repetition, in the order they were drawn.
pub fn choose(count: usize, share: f64, seed: u64) -> Vec<usize> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut numbers: Vec<usize> = (0..count).collect();
    let wanted = ((share.clamp(0.0, 1.0) * count as f64).round() as usize).min(count);
    for i in 0..wanted {
        let j = i + below_u32(&mut random, (count - i) as u32) as usize;
        numbers.swap(i, j);
    }
    numbers.truncate(wanted);
    numbers
}
