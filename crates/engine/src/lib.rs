//! How a training step is computed.
//!
//! A [`Device`] makes engines. An [`Engine`] holds a model and its optimizer's state and does what a training
//! loop asks for: the gradient of a batch, its norm, an update, an evaluation. The loop knows nothing behind
//! that trait, so another kind of device is one more implementation of it. [`Cpu`] is the first: sequences
//! belong to lanes, lanes to threads and processes ([`Group`]), and gradients are summed in a tree that never
//! depends on how many there are.
//!
//! ```
//! use kuramoto_engine::{Batch, Cpu, Device, Shape, Update};
//! use kuramoto_model::KuramotoConfig;
//!
//! # fn main() -> kuramoto_engine::Result<()> {
//! let model = KuramotoConfig { vocab: 3, width: 8, layers: 1, ..Default::default() }.into();
//! let mut engine = Cpu::new(1).engine(&model, &Shape { sequences: 2, context: 4, lanes: 2 })?;
//! engine.start(0)?;
//! let batch = Batch { tokens: &[0, 1, 2, 0, 1, 2, 0, 1], targets: &[1, 2, 0, 1, 2, 0, 1, 2], length: 4 };
//! let mut losses = Vec::new();
//! for step in 1..=20 {
//!     losses.push(engine.gradient(&batch, 0, step)?);
//!     let norm = engine.norm()?;
//!     engine.update(&Update { learning_rate: 0.01, step, ..Default::default() }, norm)?;
//! }
//! assert!(losses[19] < losses[0]);
//! # Ok(())
//! # }
//! ```

mod batch;
pub mod cpu;
mod engine;
mod error;
pub mod group;
mod optimizer;
mod processes;
pub mod scaling;
mod timings;

pub use batch::Batch;
pub use cpu::{Cpu, MAX_THREADS};
pub use engine::{Arenas, Device, Engine, Evaluator, Shape};
pub use error::{Error, Result};
pub use group::{Group, SingleProcess};
pub use optimizer::{Multipliers, Update};
pub use processes::Processes;
pub use timings::Timings;
