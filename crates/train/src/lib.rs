//! From bytes to a trained model: corpora and splits, the sampler, the training loop, checkpoints and run folders,
//! evaluation and generation.
//!
//! A [`Config`] starts from a preset, is laid over by files and flags, and is resolved against a [`Corpus`]. A [`Run`]
//! is a folder; [`train`] takes it from wherever it is to its end, and every stop on the way can be resumed bit for bit.

pub mod checkpoint;
pub mod config;
pub mod data;
pub mod disk;
pub mod error;
pub mod evaluate;
pub mod generate;
pub mod hash;
pub mod job;
pub mod listing;
mod memory;
pub mod metrics;
mod overlap;
pub mod overlay;
pub mod presets;
mod recorder;
pub mod run;
pub mod setting;
mod start;
pub mod state;
pub mod tensorboard;
pub mod trainer;
pub mod windows;

pub use config::Config;
pub use data::{Corpus, Identity, Source, Split};
pub use error::{Error, Result};
pub use job::Job;
pub use metrics::Row;
pub use overlay::Overlay;
pub use run::{Run, Summary, Which};
pub use setting::{Observer, Setting, TrainingPlan, check, planned_memory};
pub use state::State;
pub use trainer::train;
