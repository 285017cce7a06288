//! From bytes to a trained model: corpora and splits, the sampler, the training loop, checkpoints and run
//! folders, evaluation and generation.
//!
//! A [`Session`] is a run that is open for training: made from a preset and keys laid over it ([`NewRun`]),
//! or resumed. Every stop can be resumed bit for bit. A [`Run`] is its folder, for those who only read.
//!
//! ```
//! use kuramoto_engine::Cpu;
//! use kuramoto_train::{NewRun, Overlay, Session, Setting, Split, Which};
//!
//! # fn main() -> kuramoto_train::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let folder = folder.path();
//! let keys = "data.bytes = 30000\nlength = { steps = 6 }\nbatch = { sequences = 4, context = 32 }";
//! let new = NewRun {
//!     overlays: vec![Overlay::parse("example", keys)?],
//!     folder: Some(folder.join("run")),
//!     ..Default::default()
//! };
//! let device = Cpu::all_cores();
//! let mut session = Session::create(&new, Setting::new(&device))?;
//! let summary = session.train(&mut ())?;
//! assert_eq!(summary.steps, 6);
//! let test = session.evaluate(Which::Best, Split::Test)?;
//! assert!(test.bits_per_byte < 8.0);
//! # Ok(())
//! # }
//! ```

pub mod checkpoint;
pub mod compare;
pub mod config;
pub mod data;
pub mod difference;
pub mod disk;
pub mod elsewhere;
pub mod error;
pub mod estimate;
pub mod evaluate;
pub mod generate;
pub mod hash;
pub mod hugging_face;
pub mod listing;
pub mod memory;
pub mod metrics;
pub mod notes;
pub mod overlay;
mod peak_memory;
mod pointers;
pub mod presets;
pub mod publish;
mod recorder;
pub mod run;
mod session;
mod setting;
mod start;
pub mod state;
mod tensorboard;
mod trainer;
mod warm_start;
pub mod windows;

pub use config::Config;
pub use data::{Corpus, Identity, Source, Split};
pub use error::{Error, Result};
pub use metrics::Row;
pub use overlay::Overlay;
pub use run::{Run, Summary, Which};
pub use session::{CorpusOptions, NewRun, Prepared, Session};
pub use setting::{Observer, Setting, TrainingPlan, check_memory};
pub use state::{State, Stretch};
