//! How a training step is computed.
//!
//! A [`Device`] makes engines. An [`Engine`] holds a model and its optimizer's state and does what a training
//! loop asks for: the gradient of a batch, its norm, an update, an evaluation. The loop knows nothing behind
//! that trait, so another kind of device is one more implementation of it. [`Cpu`] is the first: sequences
//! belong to lanes, lanes to threads and processes ([`Group`]), and gradients are summed in a tree that never
//! depends on how many there are.

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
pub use optimizer::Update;
pub use processes::Processes;
pub use timings::Timings;
