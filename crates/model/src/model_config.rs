//! Either of the two models, chosen at run time.

use crate::config::{KuramotoConfig, MAX_WIDTH, TransformerConfig};
use crate::error::{Error, Result};
use crate::flops::Flops;
use crate::layout::Layout;
use crate::{ablation, flops, kuramoto, transformer};
use serde::{Deserialize, Serialize};

/// Which model.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
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
pub enum ModelKind {
    /// Phase oscillators.
    Kuramoto,
    /// The parameter-matched transformer.
    Transformer,
}

impl ModelKind {
    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Which model, and its configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ModelConfig {
    /// Phase oscillators.
    Kuramoto(KuramotoConfig),
    /// The parameter-matched transformer.
    Transformer(TransformerConfig),
}

/// Runs an expression with the network of a [`ModelConfig`] for a context: the one place
/// that knows which there are.
#[macro_export]
macro_rules! with_network {
    ($config:expr, $context:expr, |$network:ident| $body:expr) => {
        match $config {
            $crate::ModelConfig::Kuramoto(config) => {
                let $network = $crate::Kuramoto::new(config.clone(), $context)?;
                $body
            }
            $crate::ModelConfig::Transformer(config) => {
                let $network = $crate::Transformer::new(config.clone(), $context)?;
                $body
            }
        }
    };
}

/// Runs an expression with whichever configuration it is: both have fields of the same names.
macro_rules! either {
    ($model:expr, $config:ident => $body:expr) => {
        match $model {
            ModelConfig::Kuramoto($config) => $body,
            ModelConfig::Transformer($config) => $body,
        }
    };
}

impl ModelConfig {
    /// Which it is.
    pub fn kind(&self) -> ModelKind {
        match self {
            ModelConfig::Kuramoto(_) => ModelKind::Kuramoto,
            ModelConfig::Transformer(_) => ModelKind::Transformer,
        }
    }

    /// k, oscillators, or d, channels per token.
    pub fn width(&self) -> usize {
        either!(self, config => config.width)
    }

    /// The width, to set.
    pub fn width_mut(&mut self) -> &mut usize {
        either!(self, config => &mut config.width)
    }

    /// Layers.
    pub fn layers(&self) -> usize {
        either!(self, config => config.layers)
    }

    /// The number of layers, to set.
    pub fn layers_mut(&mut self) -> &mut usize {
        either!(self, config => &mut config.layers)
    }

    /// Attention heads.
    pub fn heads(&self) -> usize {
        either!(self, config => config.heads)
    }

    /// The number of heads, to set.
    pub fn heads_mut(&mut self) -> &mut usize {
        either!(self, config => &mut config.heads)
    }

    /// V, distinct bytes.
    pub fn vocab(&self) -> usize {
        either!(self, config => config.vocab)
    }

    /// The vocabulary's size, to set.
    pub fn vocab_mut(&mut self) -> &mut usize {
        either!(self, config => &mut config.vocab)
    }

    /// Says what is wrong, if anything.
    pub fn validate(&self) -> Result<()> {
        either!(self, config => config.validate())
    }

    /// The exact parameter count of a valid configuration.
    pub fn parameters(&self) -> Result<usize> {
        Ok(self.layout()?.count())
    }

    /// Every parameter.
    pub fn layout(&self) -> Result<Layout> {
        self.validate()?;
        Ok(match self {
            ModelConfig::Kuramoto(config) => kuramoto::layout(config),
            ModelConfig::Transformer(config) => transformer::layout(config),
        })
    }

    /// Operations per token of sequences of `context` tokens.
    pub fn flops(&self, context: usize) -> Flops {
        flops::count(self, context)
    }

    /// Names of the rows of the ablation table that it is switched by.
    pub fn ablations(&self) -> Vec<&'static str> {
        match self {
            ModelConfig::Kuramoto(config) => ablation::applied(config),
            ModelConfig::Transformer(_) => Vec::new(),
        }
    }

    /// Switches the Kuramoto model by rows of the ablation table. Width and vocabulary may still be open (0).
    pub fn ablate(&mut self, names: &[impl AsRef<str>]) -> Result<()> {
        if names.is_empty() {
            return Ok(());
        }
        let ModelConfig::Kuramoto(config) = self else {
            let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
            let allowed = "only the Kuramoto model has ablations".into();
            return Err(Error::Field { field: "ablation", value: names.join(","), allowed });
        };
        // Any width and vocabulary that are valid will do for checking the rest.
        let open = (config.width, config.vocab);
        config.width = if config.width == 0 { (4 * config.heads).clamp(4, MAX_WIDTH) } else { config.width };
        config.vocab = config.vocab.max(1);
        let applied = ablation::apply(config, names);
        (config.width, config.vocab) = open;
        applied
    }
}

impl From<KuramotoConfig> for ModelConfig {
    fn from(config: KuramotoConfig) -> Self {
        ModelConfig::Kuramoto(config)
    }
}

impl From<TransformerConfig> for ModelConfig {
    fn from(config: TransformerConfig) -> Self {
        ModelConfig::Transformer(config)
    }
}
