//! What one measures on a trained Kuramoto model.
//!
//! [`Weights`](kuramoto_model::Weights) run over a window of text; a [`Trace`] is what they leave at the hook
//! points: phases, couplings, gates. From traces follow the order parameters of the paper ([`order`]),
//! [`locking`], [`pull`]s and [`coalition`]s, and the score's [`metric`], from logits [`prediction`]s;
//! [`measure`] lists one-number measures, [`survey`] takes them over whole texts and beside [`surrogate`]s, and
//! [`diagnostics`] makes tables, figures and verdicts of them. [`intervention`] changes a pass while it runs, [`lesion`] finds out what a part is worth, [`export`]
//! writes arrays for other programs. [`classical`] is the model that the layer is named after.
//!
//! The feature `runs`, on by default, adds [`subject`], which opens run folders. It includes the feature `reports`:
//! measures of whole texts and all that writes files. Without both there is what reads and changes a single pass,
//! which builds for WebAssembly.
#![cfg_attr(
    feature = "runs",
    doc = concat!("\n```\n", include_str!("../examples/train_and_read_phases.rs"), "```\n")
)]

pub mod circular;
pub mod classical;
pub mod coalition;
#[cfg(feature = "reports")]
pub mod diagnostics;
pub mod error;
#[cfg(feature = "reports")]
pub mod export;
pub mod intervention;
#[cfg(feature = "reports")]
pub mod lesion;
pub mod locking;
#[cfg(feature = "reports")]
pub mod measure;
#[cfg(feature = "reports")]
pub mod metric;
pub mod order;
pub mod prediction;
pub mod pull;
pub mod radius;
#[cfg(feature = "runs")]
pub mod subject;
#[cfg(feature = "reports")]
pub mod surrogate;
#[cfg(feature = "reports")]
pub mod survey;
pub mod trace;
#[cfg(feature = "reports")]
pub mod windows;

pub use error::{Error, Result};
#[cfg(feature = "runs")]
pub use subject::{Subject, TextSource};
pub use trace::Trace;

/// A trained Kuramoto model.
pub type KuramotoWeights = kuramoto_model::Weights<f32, kuramoto_model::Kuramoto>;
/// Room for one window of text.
pub type KuramotoWorkspace = <kuramoto_model::Kuramoto as kuramoto_model::Network<f32>>::Workspace;
