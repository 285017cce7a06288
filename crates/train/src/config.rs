//! The configuration of a run: everything that decides its numbers.
//!
//! A configuration starts from a preset under a protocol ([`crate::presets`]); the tables of a TOML file and
//! of the command line are laid over it key by key; at last the corpus fixes the vocabulary and the budget
//! the width. What results is saved in the run as `config.toml` and can be given back with `--config`.

mod optimizer;

pub use optimizer::{Decay, Optimizer, Schedule, Warmup, WarmupShare};

use crate::data::{Identity, Source, Split};
use crate::error::{Error, Result};
use crate::overlay::Overlay;
use crate::presets;
use crate::warm_start;
use crate::windows::{self, Sampler, Window};
use kuramoto_engine::Shape;
use kuramoto_model::{ModelConfig, matching};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Everything that decides the numbers of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// `quick`, `1m` or `5m`.
    pub preset: presets::Preset,
    /// `tuned` or `paper`.
    pub protocol: presets::Protocol,
    /// Of the parameters, the order of windows and dropout.
    pub seed: u64,
    /// Parameters the width is matched to, where `model.width` is 0.
    pub budget: usize,
    /// How long to train.
    pub length: Length,
    /// What to train on.
    pub data: Data,
    /// What a step reads.
    pub batch: BatchConfig,
    /// How a step changes the parameters.
    pub optimizer: Optimizer,
    /// How training is judged on the way.
    pub validation: Validation,
    /// When the state is saved.
    pub checkpoints: Checkpoints,
    /// What to do about steps that would spoil the parameters.
    pub bad_steps: BadSteps,
    /// The model; `kind` is `kuramoto` or `transformer`.
    pub model: ModelConfig,
    /// The run whose parameters it starts from; without, the seed decides where it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init_from: Option<InitFrom>,
}

/// The run whose parameters a run starts from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct InitFrom {
    /// Its folder.
    pub run: String,
    /// `best`, `last` or `step-N`; filled in as `step-N` when the run starts.
    #[serde(default = "best")]
    pub checkpoint: String,
    /// The step of that checkpoint; filled in when the run starts.
    #[serde(default)]
    pub step: u64,
    /// Hash of its weights; filled in when the run starts.
    #[serde(default)]
    pub sha256: String,
    /// How many bytes of the vocabulary it knows; filled in when the run starts.
    #[serde(default)]
    pub known_bytes: usize,
}

fn best() -> String {
    "best".into()
}

/// How long to train.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Length {
    /// Passes over the training split.
    Epochs(u64),
    /// Optimizer steps.
    Steps(u64),
    /// Bytes read, rounded up to whole steps.
    Tokens(u64),
}

/// What to train on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Data {
    /// `tales`, `enwik8`, `codeparrot`, or a file or folder.
    pub corpus: String,
    /// Where a named corpus lies, if it is not generated or prepared already.
    pub path: String,
    /// Cut the corpus after this many bytes; 0 for its usual length.
    pub bytes: usize,
    /// Hash of the corpus; filled in when the run starts, and checked when it is resumed.
    pub sha256: String,
}

/// What a step reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BatchConfig {
    /// Windows in a batch. They run one after the other on each core, so memory does not grow with it.
    pub sequences: usize,
    /// Bytes in a window.
    pub context: usize,
    /// Sums that are kept apart and then added in a fixed tree; threads beyond this have nothing to do.
    pub lanes: usize,
}

impl BatchConfig {
    /// Bytes in a step.
    pub fn tokens(&self) -> u64 {
        (self.sequences * self.context) as u64
    }
}

/// How training is judged on the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Validation {
    /// Steps between validations; 0 for the end of every epoch. The last step is always validated.
    pub every: u64,
    /// Windows of the validation split that are read, spread evenly; 0 for the whole split.
    pub windows: usize,
    /// Stop after this many validations without a new best; 0 for never.
    pub patience: u64,
    /// Read the test split with the best parameters at the end.
    pub test: bool,
}

/// Minutes between checkpoints where nothing else is said.
pub const USUAL_MINUTES: f64 = 10.0;

/// When the state is saved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Checkpoints {
    /// Steps between checkpoints; 0 for whenever training is validated. A new best and the last step are
    /// always saved.
    pub every: u64,
    /// Checkpoints that are kept besides the best; 0 for all.
    pub keep: usize,
    /// Minutes after which the state is saved in any case; 0 for never. The usual value is not written, so
    /// that the files and hashes of earlier runs and plans stay what they are.
    #[serde(default = "usual_minutes", skip_serializing_if = "is_usual")]
    pub minutes: f64,
}

fn usual_minutes() -> f64 {
    USUAL_MINUTES
}

fn is_usual(minutes: &f64) -> bool {
    *minutes == USUAL_MINUTES
}

/// What to do about a step whose loss or gradient is not finite, or whose loss spikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Policy {
    /// Save and stop.
    Stop,
    /// Leave the parameters as they are and go on with the next batch.
    Skip,
    /// Train through spikes. A step that is not finite ends the run: every later one would be NaN.
    Continue,
}

/// What to do about steps that would spoil the parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BadSteps {
    /// Stop, skip or continue.
    pub policy: Policy,
    /// A loss this many times the recent mean is a spike; 0 for never. `continue` does not look at it.
    pub spike: f64,
}

impl Config {
    /// A whole configuration, as it is saved in a run.
    pub fn parse(origin: &str, text: &str) -> Result<Config> {
        Overlay::parse(origin, text)?.to_config()
    }

    /// As it is saved.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a configuration is plain data")
    }

    /// Where the corpus comes from.
    pub fn source(&self) -> Result<Source> {
        Source::find(&self.data.corpus, &self.data.path, self.data.bytes)
    }

    /// Fills in what the corpus, and the run to start from, decide, and checks everything.
    pub fn resolve(&mut self, corpus: &Identity) -> Result<()> {
        if !self.data.sha256.is_empty() && self.data.sha256 != corpus.sha256 {
            let allowed = format!("the corpus {} has sha256 {}; leave it empty", corpus.name, corpus.sha256);
            return Err(Error::setting("data.sha256", format!("{:?}", self.data.sha256), allowed));
        }
        self.data.sha256.clone_from(&corpus.sha256);
        // A run may be resumed from another folder.
        for path in [&mut self.data.corpus, &mut self.data.path] {
            if !Source::is_name(path) && Path::new(path.as_str()).exists() {
                *path = std::path::absolute(&*path)
                    .map_or(path.clone(), |path| path.to_string_lossy().into_owned());
            }
        }
        self.resolve_model(corpus.vocabulary.len())?;
        self.check()?;
        let steps = self.steps(&self.sampler(corpus)?);
        self.optimizer.resolve(steps);
        warm_start::resolve(self, corpus)
    }

    fn resolve_model(&mut self, vocab: usize) -> Result<()> {
        let found = self.model.vocab();
        if found != 0 && found != vocab {
            let allowed = format!("the corpus has {vocab} distinct bytes; leave it at 0");
            return Err(Error::setting("model.vocab", found, allowed));
        }
        *self.model.vocab_mut() = vocab;
        if self.model.width() == 0 {
            *self.model.width_mut() = matching::match_width(&self.model, self.budget)?.width;
        }
        Ok(())
    }

    /// Draws the training batches; says so if the corpus does not fill one.
    pub fn sampler(&self, corpus: &Identity) -> Result<Sampler> {
        let (range, batch) = (Split::Train.range(corpus.bytes), &self.batch);
        Sampler::new(self.seed, range.clone(), batch.context, batch.sequences).ok_or_else(|| {
            Error::corpus(
                &corpus.name,
                format!(
                    "its training split of {} bytes does not fill a batch of {} windows of {} bytes: use a \
                     smaller batch.sequences or batch.context, or more text",
                    range.len(),
                    batch.sequences,
                    batch.context
                ),
            )
        })
    }

    /// What a validation reads; says so if the corpus has nothing to validate on.
    pub fn validation_windows(&self, corpus: &Identity) -> Result<Vec<Window>> {
        let split = Split::Validation.range(corpus.bytes);
        let windows = windows::sample(split, self.batch.context, self.validation.windows);
        match windows.is_empty() {
            true => Err(Error::corpus(&corpus.name, "its validation split has fewer than two bytes")),
            false => Ok(windows),
        }
    }

    /// What a step is made of.
    pub fn shape(&self) -> Shape {
        let BatchConfig { sequences, context, lanes } = self.batch;
        Shape { sequences, context, lanes }
    }

    /// Steps in all.
    pub fn steps(&self, sampler: &Sampler) -> u64 {
        match self.length {
            Length::Steps(steps) => steps,
            Length::Epochs(epochs) => epochs.saturating_mul(sampler.steps_per_epoch()),
            Length::Tokens(tokens) => tokens.div_ceil(self.batch.tokens()),
        }
    }

    /// Says what is wrong, if anything.
    pub fn check(&self) -> Result<()> {
        self.model.validate()?;
        kuramoto_model::config::check_context(self.batch.context)?;
        whole("batch.sequences", self.batch.sequences as u64, 1, 1 << 20)?;
        whole("batch.lanes", self.batch.lanes as u64, 1, kuramoto_engine::MAX_THREADS as u64)?;
        let (key, amount) = match self.length {
            Length::Epochs(amount) => ("length.epochs", amount),
            Length::Steps(amount) => ("length.steps", amount),
            Length::Tokens(amount) => ("length.tokens", amount),
        };
        whole(key, amount, 1, 1 << 50)?;
        let optimizer = &self.optimizer;
        number("optimizer.learning-rate", optimizer.learning_rate, f64::MIN_POSITIVE, f64::MAX)?;
        if let Warmup::Share(share) = &optimizer.warmup {
            number("optimizer.warmup", share.percent, 0.0, 100.0)?;
        }
        number("optimizer.final-fraction", optimizer.final_fraction, 0.0, 1.0)?;
        number("optimizer.beta1", optimizer.beta1, 0.0, 1.0 - 1e-12)?;
        number("optimizer.beta2", optimizer.beta2, 0.0, 1.0 - 1e-12)?;
        number("optimizer.epsilon", optimizer.epsilon, f64::MIN_POSITIVE, f64::MAX)?;
        number("optimizer.weight-decay", optimizer.weight_decay, 0.0, 1e6)?;
        number("optimizer.clip", optimizer.clip, 0.0, f64::MAX)?;
        optimizer.check_multipliers(&self.model.layout()?)?;
        number("checkpoints.minutes", self.checkpoints.minutes, 0.0, 1e6)?;
        match self.bad_steps.spike {
            0.0 => Ok(()),
            spike => number("bad-steps.spike", spike, 1.0, f64::MAX),
        }
    }
}

fn whole(key: &str, value: u64, low: u64, high: u64) -> Result<()> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(Error::setting(key, value, format!("it must be from {low} to {high}")))
}

fn number(key: &str, value: f64, low: f64, high: f64) -> Result<()> {
    if value.is_finite() && (low..=high).contains(&value) {
        return Ok(());
    }
    let allowed = match (low, high) {
        (f64::MIN_POSITIVE, _) => "it must be positive and finite".into(),
        (low, f64::MAX) => format!("it must be finite and at least {low}"),
        (low, high) => format!("it must be from {low} to {high}"),
    };
    Err(Error::setting(key, value, allowed))
}
