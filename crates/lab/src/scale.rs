//! How large an experiment is: a smoke test, a study that a small machine carries, or the paper itself.

use kuramoto_train::Config;
use kuramoto_train::config::{Length, Warmup};
use serde::{Deserialize, Serialize};

/// How large an experiment is.
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
    strum::VariantNames,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Scale {
    /// Seconds a run: shows that everything works, and nothing about the models.
    Smoke,
    /// Minutes a run: small models on ten million bytes of enwik8.
    Study,
    /// Days a run: the paper's protocol.
    Paper,
}

impl Scale {
    /// Default number of seeds of every arm.
    pub fn seeds(self) -> u64 {
        match self {
            Scale::Smoke => 2,
            Scale::Study => 3,
            Scale::Paper => 5,
        }
    }

    /// Default parameter budgets: those of a study and of the paper give both models, with four layers on
    /// enwik8, widths whose counts differ by less than 3%. Models of a smoke test are too small for that.
    pub fn budgets(self) -> &'static [usize] {
        match self {
            Scale::Smoke => &[6_000],
            Scale::Study => &[168_000],
            Scale::Paper => &[1_000_000, 5_000_000],
        }
    }

    /// Default corpus.
    pub fn corpus(self) -> &'static str {
        match self {
            Scale::Smoke => "tales",
            Scale::Study | Scale::Paper => "enwik8",
        }
    }

    /// Sets what this scale changes of the preset `1m`.
    pub(crate) fn apply(self, config: &mut Config) {
        match self {
            Scale::Smoke => {
                config.length = Length::Steps(40);
                config.batch.sequences = 8;
                config.batch.context = 64;
                config.optimizer.warmup = Warmup::Steps(5);
                config.validation.every = 20;
                config.validation.windows = 40;
            }
            // The paper's shape (four layers, windows of 256), a sixth of the parameters, 10 million bytes.
            Scale::Study => {
                config.length = Length::Tokens(10_000_000);
                config.batch.sequences = 16;
                config.validation.every = 250;
                config.validation.windows = 1000;
            }
            Scale::Paper => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kuramoto_model::matching::match_width;
    use kuramoto_model::{KuramotoConfig, ModelConfig, TransformerConfig};

    /// Widths come in steps: at most budgets the two models would not be of the same size.
    #[test]
    fn default_budgets_match_both_models() {
        let (vocab, layers) = (205, 4);
        let models = [
            ModelConfig::Kuramoto(KuramotoConfig { vocab, layers, ..Default::default() }),
            ModelConfig::Transformer(TransformerConfig { vocab, layers, ..Default::default() }),
        ];
        for (scale, most) in [(Scale::Study, 0.01), (Scale::Paper, 0.03)] {
            for &budget in scale.budgets() {
                let [ours, theirs] =
                    models.each_ref().map(|model| match_width(model, budget).unwrap().parameters as f64);
                assert!((theirs / ours - 1.0).abs() < most, "{scale}, {budget}: {ours} against {theirs}");
            }
        }
    }
}
