//! What is learned: the Kuramoto Attention model and its parameter-matched transformer.
//!
//! A model is a configuration ([`ModelConfig`]), a named layout of one parameter arena ([`Layout`]) and a
//! [`Network`] ([`Kuramoto`], [`Transformer`]) that runs one sequence forward and backward on one core.
//! [`Weights`] is a network with its parameters: it runs text, with [`Hooks`] that read and change what
//! happens inside, and decodes. The glossary from names in the code to symbols of the paper is in
//! [`kuramoto`].
//!
//! Nothing here knows threads, files or optimizers; how a training step is computed is in the crate
//! `kuramoto-engine`.

pub mod ablation;
mod attention;
pub mod config;
pub mod error;
pub mod flops;
pub mod hooks;
mod init;
pub mod kuramoto;
pub mod layout;
pub mod matching;
mod model_config;
pub mod network;
mod packed;
mod parallel;
pub mod random;
pub mod transformer;
mod weights;
mod workspace;

pub use ablation::Ablation;
pub use config::{KuramotoConfig, TransformerConfig};
pub use error::{Error, Result};
pub use hooks::{Gates, Hooks, NoHooks};
pub use kuramoto::Kuramoto;
pub use layout::{Layout, ParameterKind, Slot, Tensor};
pub use model_config::{ModelConfig, ModelKind};
pub use network::{Network, Pass, SequenceDropout};
pub use transformer::Transformer;
pub use weights::{Decoder, Weights};
