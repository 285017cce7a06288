//! Both models in both precisions behind one trait, so that Python has one class.

use crate::array::Float;
use crate::error::{Raised, Result};
use crate::hooks::{Hooked, PythonHooks};
use crate::phase::Traced;
use crate::threads::on_own_pool;
use kuramoto_engine::Batch;
use kuramoto_kernels::Real;
use kuramoto_model::{
    Hooks, Kuramoto, Layout, ModelConfig, Network, NoHooks, SequenceDropout, Slot, Transformer, Weights,
};
use kuramoto_phase::intervention::Intervening;
use kuramoto_phase::pull::{Pull, Pulls};
use kuramoto_phase::radius::radii;
use kuramoto_phase::{KuramotoWeights, Trace};
use kuramoto_train::generate::{Sampling, write_on};
use kuramoto_train::memory;
use pyo3::prelude::*;
use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Numbers of one of the two precisions.
pub enum Numbers {
    /// float32.
    Single(Vec<f32>),
    /// float64.
    Double(Vec<f64>),
}

impl Numbers {
    /// Of a generic computation.
    pub fn of<F: Float>(values: Vec<F>) -> Numbers {
        let values: Box<dyn Any> = Box::new(values);
        match values.downcast::<Vec<f32>>() {
            Ok(single) => Numbers::Single(*single),
            Err(double) => Numbers::Double(*double.downcast().expect("there are two kinds of floats")),
        }
    }

    /// The part of a slot.
    pub fn part(&self, slot: Slot) -> Numbers {
        match self {
            Numbers::Single(values) => Numbers::Single(slot.slice(values).to_vec()),
            Numbers::Double(values) => Numbers::Double(slot.slice(values).to_vec()),
        }
    }

    /// In another precision.
    pub fn to<F: Float>(&self) -> Vec<F> {
        match self {
            Numbers::Single(values) => values.iter().map(|&x| F::from_f64(f64::from(x))).collect(),
            Numbers::Double(values) => values.iter().map(|&x| F::from_f64(x)).collect(),
        }
    }

    /// As an array.
    pub fn array<'py>(self, py: Python<'py>, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Numbers::Single(values) => crate::array::array(py, values, shape),
            Numbers::Double(values) => crate::array::array(py, values, shape),
        }
    }
}

/// Where a model's parameters come from.
pub enum Start<'a> {
    /// Initialization.
    Seed(u64),
    /// An arena.
    Parameters(&'a Numbers),
}

/// A model, whichever it is.
pub trait AnyModel: Send + Sync {
    /// NumPy's name of its precision.
    fn dtype(&self) -> &'static str;
    /// Names and places of its parameters.
    fn layout(&self) -> &Layout;
    /// Its parameters.
    fn parameters(&self) -> Numbers;
    /// One of its parameters.
    fn parameter(&self, slot: Slot) -> Numbers;
    /// Logits (n x vocab) of a sequence.
    fn logits(&self, tokens: &[u8], hooked: &Hooked) -> PyResult<Numbers>;
    /// Loss of every target in nats (n).
    fn nats(&self, tokens: &[u8], targets: &[u8], hooked: &Hooked) -> PyResult<Vec<f64>>;
    /// Mean loss of a batch in nats, and its gradient in the order of the layout.
    /// Stops between sequences once the flag is up.
    fn gradient(&self, batch: &Batch<'_>, stop: &AtomicBool) -> Result<(f64, Numbers)>;
    /// What a sequence leaves at the hook points.
    fn trace(&self, tokens: &[u8], hooked: &Hooked) -> PyResult<Traced>;
    /// Terms (token + 1 x k) of the pulls on a token, their common scale, and the pulls by size.
    fn pulls(
        &self,
        tokens: &[u8],
        hooked: &Hooked,
        layer: usize,
        token: usize,
    ) -> PyResult<(Vec<f64>, f64, Vec<Pull>)>;
    /// Writes tokens after `history` until `write` says false.
    fn generate(
        &self,
        history: Vec<u8>,
        count: usize,
        sampling: &Sampling,
        write: &mut dyn FnMut(u8) -> bool,
    ) -> Result<()>;
    /// The Kuramoto model in single precision, which surveys and lesions read.
    fn kuramoto(&self) -> Result<&KuramotoWeights>;
}

/// Makes a model.
pub fn make(
    config: &ModelConfig,
    context: usize,
    dtype: &str,
    start: Start<'_>,
) -> Result<Arc<dyn AnyModel>> {
    match (config, dtype) {
        (ModelConfig::Kuramoto(config), "float32") => {
            hold::<f32, _>(Kuramoto::new(config.clone(), context)?, start)
        }
        (ModelConfig::Kuramoto(config), "float64") => {
            hold::<f64, _>(Kuramoto::new(config.clone(), context)?, start)
        }
        (ModelConfig::Transformer(config), "float32") => {
            hold::<f32, _>(Transformer::new(config.clone(), context)?, start)
        }
        (ModelConfig::Transformer(config), "float64") => {
            hold::<f64, _>(Transformer::new(config.clone(), context)?, start)
        }
        _ => Err(Raised::value(format!("dtype = {dtype:?} is not allowed: choose float32 or float64"))),
    }
}

fn hold<F: Float, N: Network<F> + 'static>(network: N, start: Start<'_>) -> Result<Arc<dyn AnyModel>>
where
    Kuramoto: Network<F>,
{
    let planned = Weights::<F, N>::planned_bytes(&network) + network.workspace_bytes();
    memory::check("the model", planned as u64, memory::SMALLER)?;
    let weights = on_own_pool(|| match start {
        Start::Seed(seed) => Ok(Weights::initialized(network, seed)),
        Start::Parameters(parameters) => Weights::new(network, &parameters.to::<F>()),
    })?;
    Ok(Arc::new(Held { weights, free: Mutex::default() }))
}

/// Workspaces that are kept for the next calls.
const KEPT: usize = 4;

fn check_memory(bytes: usize) -> Result<()> {
    Ok(memory::check("reading the text", bytes as u64, "a shorter context")?)
}

/// A model and workspaces that no call uses at the moment.
struct Held<F: Real, N: Network<F>> {
    weights: Weights<F, N>,
    free: Mutex<Vec<N::Workspace>>,
}

impl<F: Float, N: Network<F> + 'static> Held<F, N>
where
    Kuramoto: Network<F>,
{
    /// Does `work` with a workspace that is free, or a new one if there is memory for it.
    fn with_workspace<T>(&self, work: impl FnOnce(&mut N::Workspace) -> T) -> Result<T> {
        let taken = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut workspace = match taken {
            Some(workspace) => workspace,
            None => {
                check_memory(self.weights.network().workspace_bytes())?;
                self.weights.workspace()
            }
        };
        let result = work(&mut workspace);
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        // A burst of threads may have made many.
        if free.len() < KEPT {
            free.push(workspace);
        }
        Ok(result)
    }

    fn as_kuramoto(&self) -> Result<&Weights<F, Kuramoto>> {
        let weights: &dyn Any = &self.weights;
        weights.downcast_ref().ok_or_else(|| {
            Raised::value("this model is a transformer, which has no phases: give a Kuramoto model")
        })
    }

    /// Runs a sequence: interventions act first, then Python's hooks, and `then` sees what they left.
    fn forward(
        &self,
        tokens: &[u8],
        work: &mut N::Workspace,
        hooked: &Hooked,
        then: &mut dyn Hooks<F>,
    ) -> PyResult<()> {
        if hooked.is_empty() {
            return Ok(self.weights.forward(tokens, work, then).map_err(Raised::from)?);
        }
        let kuramoto = self.as_kuramoto();
        let mut python = PythonHooks::new(hooked, tokens.len(), kuramoto.is_ok(), then);
        let done = if hooked.interventions.is_empty() {
            self.weights.forward(tokens, work, &mut python)
        } else {
            let network = kuramoto?.network();
            for intervention in &hooked.interventions {
                intervention.check(network).map_err(Raised::value)?;
                intervention.check_tokens(tokens.len()).map_err(Raised::value)?;
            }
            self.weights.forward(
                tokens,
                work,
                &mut Intervening::new(network, &hooked.interventions, &mut python),
            )
        };
        done.map_err(Raised::from)?;
        python.raise()
    }

    fn traced(&self, tokens: &[u8], hooked: &Hooked) -> PyResult<(Trace<F>, Vec<F>)> {
        let kuramoto = self.as_kuramoto()?;
        // The trace, what follows from it, and a copy that an array is made of.
        let trace = 4 * Trace::<F>::planned_bytes(kuramoto.network().config(), tokens.len());
        check_memory(trace + self.weights.network().workspace_bytes())?;
        let mut trace = Trace::new(kuramoto.network());
        let logits = self.with_workspace(|work| {
            self.forward(tokens, work, hooked, &mut trace)?;
            PyResult::Ok(self.weights.logits(tokens.len(), work))
        })??;
        Ok((trace, logits))
    }
}

impl<F: Float, N: Network<F> + 'static> AnyModel for Held<F, N>
where
    Kuramoto: Network<F>,
{
    fn dtype(&self) -> &'static str {
        F::NAME
    }

    fn layout(&self) -> &Layout {
        self.weights.network().layout()
    }

    fn parameters(&self) -> Numbers {
        Numbers::of(self.weights.parameters().to_vec())
    }

    fn parameter(&self, slot: Slot) -> Numbers {
        Numbers::of(slot.slice(self.weights.parameters()).to_vec())
    }

    fn logits(&self, tokens: &[u8], hooked: &Hooked) -> PyResult<Numbers> {
        self.with_workspace(|work| {
            self.forward(tokens, work, hooked, &mut NoHooks)?;
            PyResult::Ok(Numbers::of(self.weights.logits(tokens.len(), work)))
        })?
    }

    fn nats(&self, tokens: &[u8], targets: &[u8], hooked: &Hooked) -> PyResult<Vec<f64>> {
        self.with_workspace(|work| {
            self.forward(tokens, work, hooked, &mut NoHooks)?;
            PyResult::Ok(self.weights.losses(targets, work).map_err(Raised::from)?.to_vec())
        })?
    }

    fn gradient(&self, batch: &Batch<'_>, stop: &AtomicBool) -> Result<(f64, Numbers)> {
        let network = self.weights.network();
        let rows = || batch.tokens.chunks_exact(batch.length).zip(batch.targets.chunks_exact(batch.length));
        for (tokens, targets) in rows() {
            network.check(tokens)?;
            network.check(targets)?;
        }
        // Its tables take part in the sum.
        let mut weights = on_own_pool(|| self.weights.clone());
        let mut gradient = vec![F::ZERO; network.gradient_len()];
        let weight = 1.0 / batch.tokens.len() as f64;
        let nats = self.with_workspace(|work| {
            let mut nats = 0.0;
            for (tokens, targets) in rows() {
                if stop.load(Ordering::Relaxed) {
                    return Err(Raised::failed("the gradient was stopped before its end"));
                }
                let none = SequenceDropout::NONE;
                nats += weights.add_gradient(tokens, targets, none, weight, work, &mut gradient);
            }
            Ok(nats)
        })??;
        on_own_pool(|| weights.finish_gradient(&mut gradient));
        gradient.truncate(network.layout().count());
        Ok((nats * weight, Numbers::of(gradient)))
    }

    fn trace(&self, tokens: &[u8], hooked: &Hooked) -> PyResult<Traced> {
        let (trace, logits) = self.traced(tokens, hooked)?;
        Ok(Traced::new(trace, logits))
    }

    fn pulls(
        &self,
        tokens: &[u8],
        hooked: &Hooked,
        layer: usize,
        token: usize,
    ) -> PyResult<(Vec<f64>, f64, Vec<Pull>)> {
        let kuramoto = self.as_kuramoto()?;
        Pulls::check(kuramoto.network()).map_err(Raised::from)?;
        let (trace, _) = self.traced(tokens, hooked)?;
        let pulls = Pulls::on(&trace, layer, token, radii(kuramoto)[layer].0);
        let strongest = pulls.strongest(&trace, layer);
        Ok((pulls.terms, pulls.scale, strongest))
    }

    fn generate(
        &self,
        history: Vec<u8>,
        count: usize,
        sampling: &Sampling,
        write: &mut dyn FnMut(u8) -> bool,
    ) -> Result<()> {
        let weights: &dyn Any = &self.weights;
        if let Some(weights) = weights.downcast_ref::<Weights<f32, Kuramoto>>() {
            return Ok(write_on(weights, history, count, sampling, write)?);
        }
        if let Some(weights) = weights.downcast_ref::<Weights<f32, Transformer>>() {
            return Ok(write_on(weights, history, count, sampling, write)?);
        }
        Err(Raised::value("bytes are drawn in single precision: use model.astype(\"float32\")"))
    }

    fn kuramoto(&self) -> Result<&KuramotoWeights> {
        self.as_kuramoto()?;
        let weights: &dyn Any = &self.weights;
        weights.downcast_ref().ok_or_else(|| {
            Raised::value("this is measured in single precision: use model.astype(\"float32\")")
        })
    }
}
