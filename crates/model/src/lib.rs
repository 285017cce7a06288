//! What is learned: the Kuramoto Attention model and its parameter-matched transformer.
//!
//! A model is a configuration ([`KuramotoConfig`], [`TransformerConfig`]), a named layout of one parameter arena
//! ([`Layout`]) and a [`Network`] that runs one sequence forward and backward on one core. [`Engine`] runs a batch:
//! sequences belong to lanes, lanes to threads and processes ([`Group`]), and gradients are summed in a tree that never
//! depends on how many there are.

pub mod ablation;
mod attention;
pub mod batch;
pub mod config;
pub mod engine;
pub mod error;
pub mod flops;
mod gradient;
pub mod group;
pub mod hooks;
pub mod init;
pub mod kuramoto;
mod lanes;
pub mod layout;
pub mod matching;
mod model_config;
pub mod network;
mod packed;
mod reduction;
mod relay;
pub mod scaling;
pub mod timings;
pub mod transformer;
mod workspace;

pub use ablation::Ablation;
pub use batch::Batch;
pub use config::{KuramotoConfig, TransformerConfig};
pub use engine::{Engine, Update};
pub use error::{Error, Result};
pub use gradient::{Blocks, Gradient};
pub use group::{Alone, Group};
pub use hooks::{Gates, Hooks, NoHooks};
pub use kuramoto::Kuramoto;
pub use layout::{Layout, ParameterKind, Slot, Tensor};
pub use model_config::{ModelConfig, ModelKind};
pub use network::{Decoder, Draw, Network, Pass};
pub use timings::Timings;
pub use transformer::Transformer;
