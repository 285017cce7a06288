//! AdamW and its schedule.
//!
//! The warm-up is given in steps or as a share of the run. In files both are the one key `warmup`: a number
//! for steps, as ever, and a text for a share.

use crate::error::{Error, Result as TrainResult};
use kuramoto_engine::Multipliers;
use kuramoto_model::Layout;
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// How the learning rate goes on after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Schedule {
    /// It stays.
    Constant,
    /// It falls along half a cosine to `final-fraction` of itself at the last step.
    Cosine,
}

/// Which parameters decay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decay {
    /// Every one, as PyTorch's AdamW does by default.
    All,
    /// Matrices of linear maps and transformer embeddings; no phases, rates, biases, norms or scalars.
    Weights,
}

/// AdamW and its schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Optimizer {
    /// Highest learning rate.
    pub learning_rate: f64,
    /// Over how much of the run the learning rate rises from 0.
    pub warmup: Warmup,
    /// How it goes on.
    pub schedule: Schedule,
    /// Share of the learning rate that is left at the end of a cosine.
    pub final_fraction: f64,
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Added to the root of the second moment.
    pub epsilon: f64,
    /// Decoupled weight decay.
    pub weight_decay: f64,
    /// Which parameters decay.
    pub decay: Decay,
    /// Largest global gradient norm; 0 for no clipping.
    pub clip: f64,
    /// What the learning rate of tensors is multiplied by, by a part of their name.
    #[serde(default, skip_serializing_if = "Multipliers::is_empty")]
    pub multipliers: Multipliers,
}

/// Largest multiplier of a learning rate.
const MAX_MULTIPLIER: f64 = 1e6;

impl Optimizer {
    /// The learning rate of `step`, from 1, of `steps` in all.
    pub fn learning_rate_at(&self, step: u64, steps: u64) -> f64 {
        let warmup = self.warmup_steps(steps);
        let warm = if step < warmup { step as f64 / warmup as f64 } else { 1.0 };
        let shape = match self.schedule {
            Schedule::Constant => 1.0,
            Schedule::Cosine => {
                let span = steps.saturating_sub(warmup).max(1) as f64;
                let done = (step.saturating_sub(warmup) as f64 / span).min(1.0);
                let fall = 0.5 * (1.0 + (std::f64::consts::PI * done).cos());
                self.final_fraction + (1.0 - self.final_fraction) * fall
            }
        };
        self.learning_rate * warm * shape
    }

    /// Steps of warm-up in a run of `steps` in all.
    pub fn warmup_steps(&self, steps: u64) -> u64 {
        match self.warmup {
            Warmup::Steps(warmup) => warmup,
            Warmup::Share(share) => share.steps(steps),
        }
    }

    /// Says which multiplier is out of range, or of no tensor of the model.
    pub(super) fn check_multipliers(&self, layout: &Layout) -> TrainResult<()> {
        for (part, &multiplier) in &self.multipliers {
            let key = format!("optimizer.multipliers.{part}");
            super::number(&key, multiplier, 0.0, MAX_MULTIPLIER)?;
            if !layout.tensors().iter().any(|tensor| tensor.parts().any(|own| own == part)) {
                let mut parts: Vec<&str> =
                    layout.tensors().iter().flat_map(|tensor| tensor.parts()).collect();
                parts.sort_unstable();
                parts.dedup();
                let allowed =
                    format!("no tensor of this model has that in its name: use one of {}", parts.join(", "));
                return Err(Error::setting(key, multiplier, allowed));
            }
        }
        Ok(())
    }

    /// Fixes what the warm-up is a share of, as a run of `steps` starts.
    pub(super) fn resolve(&mut self, steps: u64) {
        if let Warmup::Share(share) = &mut self.warmup {
            share.of.get_or_insert(steps);
        }
    }
}

/// A share of the steps of a run, written `8%`, and `8% of 1400 steps` once the run has started: a resumed run
/// may get longer, but the steps that it took stay what they were.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WarmupShare {
    /// From 0 to 100.
    pub percent: f64,
    /// Steps that the run was started with; None before.
    pub of: Option<u64>,
}

impl WarmupShare {
    /// What the warm-up of a run may be.
    pub(crate) const ALLOWED: &str =
        "it takes steps, such as 100, or a share of the run from 0% to 100%, such as 8%";

    /// The nearest number of steps, in a run of `steps` that has not started yet.
    pub fn steps(&self, steps: u64) -> u64 {
        (self.percent * self.of.unwrap_or(steps) as f64 / 100.0).round() as u64
    }
}

impl fmt::Display for WarmupShare {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}%", self.percent)?;
        self.of.map_or(Ok(()), |steps| write!(out, " of {steps} steps"))
    }
}

impl FromStr for WarmupShare {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<WarmupShare, &'static str> {
        let parse = || -> Option<WarmupShare> {
            let (percent, rest) = text.split_once('%')?;
            let of = match rest {
                "" => None,
                rest => Some(rest.strip_prefix(" of ")?.strip_suffix(" steps")?.parse().ok()?),
            };
            // No minus zero.
            let percent = percent.trim().parse::<f64>().ok()? + 0.0;
            (0.0..=100.0).contains(&percent).then_some(WarmupShare { percent, of })
        };
        parse().ok_or(WarmupShare::ALLOWED)
    }
}

/// How long the learning rate rises. In files it is a number of steps, or the text of a share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Warmup {
    /// So many steps.
    Steps(u64),
    /// A share of the run.
    Share(WarmupShare),
}

impl Serialize for Warmup {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Warmup::Steps(steps) => out.serialize_u64(*steps),
            Warmup::Share(share) => out.collect_str(share),
        }
    }
}

impl<'de> Deserialize<'de> for Warmup {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Warmup, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Warmup;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("steps or a share of the run from 0% to 100%, such as 8%")
            }

            fn visit_u64<E: de::Error>(self, steps: u64) -> Result<Warmup, E> {
                Ok(Warmup::Steps(steps))
            }

            fn visit_i64<E: de::Error>(self, steps: i64) -> Result<Warmup, E> {
                let wrong = |_| E::invalid_value(de::Unexpected::Signed(steps), &self);
                u64::try_from(steps).map(Warmup::Steps).map_err(wrong)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Warmup, E> {
                let wrong = |_| E::invalid_value(de::Unexpected::Str(text), &self);
                text.parse().map(Warmup::Share).map_err(wrong)
            }
        }
        input.deserialize_any(Either)
    }
}
