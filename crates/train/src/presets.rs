//! Presets and protocols: where a configuration starts.
//!
//! A preset is a size and a corpus, a protocol a recipe. `paper` is the paper's recipe, the same for both
//! models: what it fixes, and where it is silent the plainest choice. `tuned` is what the study of
//! `docs/recipe.md` chose, for each model its own. Of where parameters start the paper fixes omega alone, so
//! both protocols start them alike. `docs/reconstruction.md` lists every choice.

use crate::config::*;
use kuramoto_engine::Multipliers;
use kuramoto_model::{KuramotoConfig, ModelConfig, ModelKind, TransformerConfig};
use serde::{Deserialize, Serialize};

/// A size and a corpus.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
    strum::VariantNames,
)]
pub enum Preset {
    /// Two minutes on two cores, on the generated tales.
    #[serde(rename = "quick")]
    #[strum(serialize = "quick")]
    Quick,
    /// One million parameters on enwik8.
    #[serde(rename = "1m")]
    #[strum(serialize = "1m")]
    OneMillion,
    /// Five million parameters on enwik8.
    #[serde(rename = "5m")]
    #[strum(serialize = "5m")]
    FiveMillion,
}

/// A recipe.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
    strum::VariantNames,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Protocol {
    /// Each model's own best.
    Tuned,
    /// The paper's.
    Paper,
}

impl Protocol {
    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The configuration of a preset under a protocol, before anything is laid over it.
pub fn config(preset: Preset, protocol: Protocol, kind: ModelKind) -> Config {
    let quick = preset == Preset::Quick;
    let dropout = match (preset, protocol) {
        (_, Protocol::Paper) => 0.1,
        // Text that is never read twice cannot be overfitted.
        _ => 0.0,
    };
    let layers = if quick { 3 } else { 4 };
    Config {
        preset,
        protocol,
        seed: 0,
        budget: match preset {
            Preset::Quick => 180_000,
            Preset::OneMillion => 1_000_000,
            Preset::FiveMillion => 5_000_000,
        },
        length: match (preset, protocol) {
            (Preset::Quick, _) => Length::Steps(1400),
            (_, Protocol::Paper) => Length::Epochs(50),
            (_, Protocol::Tuned) => Length::Epochs(1),
        },
        data: Data {
            corpus: if quick { "tales".into() } else { "enwik8".into() },
            path: String::new(),
            bytes: 0,
            sha256: String::new(),
        },
        batch: BatchConfig { sequences: if quick { 16 } else { 64 }, context: 256, lanes: 8 },
        optimizer: match protocol {
            Protocol::Paper => paper_optimizer(),
            Protocol::Tuned => tuned_optimizer(preset, kind),
        },
        validation: match (preset, protocol) {
            (Preset::Quick, _) => Validation { every: 200, windows: 400, patience: 0, test: false },
            (_, Protocol::Paper) => Validation { every: 0, windows: 0, patience: 0, test: false },
            (_, Protocol::Tuned) => Validation { every: 250, windows: 1000, patience: 0, test: false },
        },
        checkpoints: Checkpoints { every: 0, keep: 2, minutes: USUAL_MINUTES },
        bad_steps: BadSteps {
            policy: match protocol {
                // The paper stops for no spike.
                Protocol::Paper => Policy::Continue,
                Protocol::Tuned => Policy::Stop,
            },
            spike: 3.0,
        },
        init_from: None,
        // 0: the corpus and the budget decide.
        model: match kind {
            ModelKind::Kuramoto => ModelConfig::Kuramoto(KuramotoConfig {
                vocab: 0,
                width: 0,
                layers,
                dropout,
                ..Default::default()
            }),
            ModelKind::Transformer => {
                let heads = match protocol {
                    Protocol::Paper => 1,
                    Protocol::Tuned => 4,
                };
                ModelConfig::Transformer(TransformerConfig {
                    vocab: 0,
                    width: 0,
                    layers,
                    heads,
                    dropout,
                    ..Default::default()
                })
            }
        },
    }
}

fn paper_optimizer() -> Optimizer {
    Optimizer {
        learning_rate: 1e-3,
        warmup: Warmup::Steps(0),
        schedule: Schedule::Constant,
        final_fraction: 1.0,
        beta1: 0.9,
        beta2: 0.999,
        epsilon: 1e-8,
        weight_decay: 0.01,
        decay: Decay::All,
        clip: 1.0,
        multipliers: Multipliers::new(),
    }
}

fn tuned_optimizer(preset: Preset, kind: ModelKind) -> Optimizer {
    let (learning_rate, warmup) = match (kind, preset) {
        (ModelKind::Kuramoto, _) => (1.6e-2, 100),
        // What 1M learns with at best sets 5M back.
        (ModelKind::Transformer, Preset::FiveMillion) => (2e-3, 300),
        (ModelKind::Transformer, _) => (8e-3, 300),
    };
    Optimizer {
        learning_rate,
        warmup: Warmup::Steps(warmup),
        schedule: Schedule::Cosine,
        final_fraction: 0.1,
        decay: Decay::Weights,
        ..paper_optimizer()
    }
}
