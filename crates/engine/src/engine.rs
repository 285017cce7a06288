//! The seam between training and whatever computes its steps.

use crate::batch::Batch;
use crate::error::Result;
use crate::group::Group;
use crate::optimizer::Update;
use crate::timings::Timings;
use kuramoto_model::{Layout, ModelConfig};
use std::sync::Arc;

/// What a step is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Most sequences of a batch.
    pub sequences: usize,
    /// Longest sequence.
    pub context: usize,
    /// Sums of gradients that are kept apart and then added in a fixed tree. Part of the numbers: another
    /// count gives other roundings.
    pub lanes: usize,
}

/// Parameters and moments in the order of the model's layout.
#[derive(Clone, Copy, Debug)]
pub struct Arenas<'a> {
    /// As many as the layout counts.
    pub parameters: &'a [f32],
    /// The optimizer's first and second moments; without them they start at zero.
    pub moments: Option<(&'a [f32], &'a [f32])>,
}

/// Where steps can be computed.
pub trait Device: Sync {
    /// Bytes an engine will hold, known before it is made.
    fn planned_bytes(&self, model: &ModelConfig, shape: &Shape) -> Result<usize>;
    /// Bytes an evaluator will hold.
    fn evaluation_bytes(&self, model: &ModelConfig, context: usize) -> Result<usize>;
    /// An engine for training. Its parameters are zero until it is started or loaded.
    fn engine(&self, model: &ModelConfig, shape: &Shape) -> Result<Box<dyn Engine>>;
    /// These parameters, to evaluate and no more.
    fn evaluator(
        &self,
        model: &ModelConfig,
        context: usize,
        parameters: &[f32],
    ) -> Result<Box<dyn Evaluator>>;
    /// The processes that work together, each with a device like this.
    fn group(&self) -> Arc<dyn Group>;
    /// Threads of this process that will be busy.
    fn threads(&self, shape: &Shape) -> usize;
    /// True if engines hold their bytes in the memory of this process, rather than on a card.
    fn uses_main_memory(&self) -> bool {
        true
    }
}

/// Parameters that can be evaluated.
pub trait Evaluator: Send {
    /// Summed loss in nats of each sequence, without dropout: sums (sequences). Where several processes work
    /// together, each must be given the same batch; they share the work and all get all sums.
    fn evaluate(&mut self, batch: &Batch<'_>, sums: &mut [f64]) -> Result<()>;
}

/// A model with its parameters and its optimizer's state, on a device. Where several processes work together,
/// all of them must make the same calls in the same order.
pub trait Engine: Evaluator {
    /// The device, for people. Two engines of the same name give the same bits.
    fn device(&self) -> &str;
    /// Names and places of the parameters.
    fn layout(&self) -> &Layout;
    /// Sets the parameters to those that training starts from, and the moments to zero.
    fn start(&mut self, seed: u64) -> Result<()>;
    /// Takes saved arenas. Process 0 gives them to the others, which pass none.
    fn load(&mut self, arenas: Option<Arenas<'_>>) -> Result<()>;
    /// Mean loss of a batch in nats per token; the gradient is kept. Dropout is a function
    /// of (seed, step, sequence).
    fn gradient(&mut self, batch: &Batch<'_>, seed: u64, step: u64) -> Result<f64>;
    /// The global norm of the last gradient.
    fn norm(&mut self) -> Result<f64>;
    /// Clips the last gradient, whose norm is `norm`, and applies it.
    fn update(&mut self, update: &Update, norm: f64) -> Result<()>;
    /// The parameters, read back. One process may ask alone, so this must not communicate.
    fn parameters(&mut self) -> Result<&[f32]>;
    /// Parameters and moments, read back. One process may ask alone, so this must not communicate.
    fn arenas(&mut self) -> Result<Arenas<'_>>;
    /// Where several processes work together, makes sure that all hold the same parameters.
    fn check_agreement(&mut self) -> Result<()> {
        Ok(())
    }
    /// What the last step spent its time on, as far as the device can say.
    fn timings(&self) -> Timings {
        Timings::default()
    }
}
