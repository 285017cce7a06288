//! How large an experiment is: a smoke test, a study that a small machine carries, or the paper itself.

use crate::error::{Error, Result};
use kuramoto_train::Overlay;
use serde::{Deserialize, Serialize};

/// How large an experiment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Seconds a run: shows that everything works, and nothing about the models.
    Smoke,
    /// Minutes a run: small models on ten million bytes of enwik8.
    Study,
    /// Days a run: the paper's protocol.
    Paper,
}

impl Scale {
    /// By its name on the command line.
    pub fn named(name: &str) -> Result<Scale> {
        match name {
            "smoke" => Ok(Scale::Smoke),
            "study" => Ok(Scale::Study),
            "paper" => Ok(Scale::Paper),
            _ => Err(Error::Choice {
                what: "scale",
                value: format!("{name:?}"),
                allowed: "choose smoke, study or paper".into(),
            }),
        }
    }

    /// Seeds of every arm unless told otherwise.
    pub fn seeds(self) -> u64 {
        match self {
            Scale::Smoke => 2,
            Scale::Study => 3,
            Scale::Paper => 5,
        }
    }

    /// Parameters of every arm unless told otherwise.
    pub fn budgets(self) -> &'static [usize] {
        match self {
            Scale::Smoke => &[6_000],
            Scale::Study => &[120_000],
            Scale::Paper => &[1_000_000, 5_000_000],
        }
    }

    /// The corpus unless told otherwise.
    pub fn corpus(self) -> &'static str {
        match self {
            Scale::Smoke => "tales",
            Scale::Study | Scale::Paper => "enwik8",
        }
    }

    /// What this scale lays over the preset `1m`.
    pub(crate) fn layer(self) -> Overlay {
        let text = match self {
            Scale::Smoke => {
                "length = { steps = 40 }\n\
                 batch = { sequences = 8, context = 64 }\n\
                 optimizer = { warmup = 5 }\n\
                 validation = { every = 20, windows = 40 }"
            }
            // The paper's shape (four layers, windows of 256), a tenth of the parameters, 10 million bytes.
            Scale::Study => {
                "length = { tokens = 10_000_000 }\n\
                 batch = { sequences = 16 }\n\
                 validation = { every = 250, windows = 1000 }"
            }
            Scale::Paper => "",
        };
        Overlay::parse("the scale", text).expect("scales are well formed")
    }
}
