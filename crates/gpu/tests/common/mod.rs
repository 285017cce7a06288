//! A device to test on, and both engines of the processor to compare with.

#![allow(dead_code)]

use kuramoto_engine::{Arenas, Batch, Cpu, Engine, Shape, cpu::CpuEngine};
use kuramoto_gpu::{Gpu, GpuEngine, adapters, best};
use kuramoto_model::{
    Kuramoto, KuramotoConfig, Layout, ModelConfig, Network, Transformer, TransformerConfig, random,
};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One test at a time uses the device: software devices take all cores.
static ALONE: Mutex<()> = Mutex::new(());

/// The device that `--device gpu` stands for, or the one whose number is in KURAMOTO_GPU, for as long as the guard lives.
pub fn device() -> (Gpu, MutexGuard<'static, ()>) {
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let index = match std::env::var("KURAMOTO_GPU") {
        Ok(index) => index.parse().expect("KURAMOTO_GPU is the number of a device"),
        Err(_) => best(&adapters()).map_or(0, |adapter| adapter.index),
    };
    let gpu = Gpu::open(index).expect("a graphics device, such as tests/gpu.sh sets up");
    (gpu, guard)
}

/// The same device without and, if it has any, with its matrix units.
pub fn with_and_without_units() -> (Vec<Gpu>, MutexGuard<'static, ()>) {
    let (gpu, guard) = device();
    let has_units =
        adapters().iter().any(|adapter| adapter.to_string() == gpu.name() && adapter.matrix_units.is_some());
    let with = has_units.then(|| gpu.clone().with_matrix_units(true).unwrap());
    (std::iter::once(gpu).chain(with).collect(), guard)
}

/// Tokens and what follows them.
pub struct Text {
    tokens: Vec<u8>,
    targets: Vec<u8>,
    length: usize,
}

impl Text {
    /// Random bytes below `vocab`.
    pub fn new(sequences: usize, length: usize, vocab: usize, seed: u64) -> Text {
        let mut stream = random::stream(seed, 1);
        let mut draw =
            || (0..sequences * length).map(|_| random::below_u32(&mut stream, vocab as u32) as u8).collect();
        Text { tokens: draw(), targets: draw(), length }
    }

    pub fn batch(&self) -> Batch<'_> {
        Batch { tokens: &self.tokens, targets: &self.targets, length: self.length }
    }
}

/// A small reference configuration; sizes that are no multiples of any tile.
pub fn small() -> KuramotoConfig {
    KuramotoConfig {
        vocab: 37,
        width: 20,
        layers: 2,
        heads: 2,
        dropout: 0.0,
        transport_rank: 3,
        ..Default::default()
    }
}

/// A small transformer.
pub fn small_transformer() -> TransformerConfig {
    TransformerConfig { vocab: 37, width: 20, layers: 2, heads: 2, dropout: 0.0, ..Default::default() }
}

/// Parameters near those that training starts from, and far enough that a wrong sign, transpose or
/// permutation shows. Embeddings reach beyond a turn, so that wrapping them does something.
pub fn parameters(model: &ModelConfig, seed: u64) -> Vec<f32> {
    fn moved<N: Network<f32>>(network: &N, phases: bool, seed: u64) -> Vec<f32> {
        let mut parameters = vec![0.0; network.layout().count()];
        network.initialize(seed, &mut parameters);
        let mut stream = random::stream(seed, 2);
        for tensor in network.layout().tensors() {
            let by = if phases && tensor.name == "emb" { 5.0 } else { 0.2 };
            for x in tensor.slot.slice_mut(&mut parameters) {
                *x += (by * random::uniform_signed(&mut stream)) as f32;
            }
        }
        parameters
    }
    match model {
        ModelConfig::Kuramoto(config) => moved(&Kuramoto::new(config.clone(), 8).unwrap(), true, seed),
        ModelConfig::Transformer(config) => moved(&Transformer::new(config.clone(), 8).unwrap(), false, seed),
    }
}

/// The processor's engine of a precision.
pub trait Reference {
    fn gradient(&mut self, batch: &Batch<'_>, step: u64) -> (f64, Vec<f64>);
    fn update(&mut self, update: &kuramoto_engine::Update) -> f64;
    fn parameters(&self) -> Vec<f64>;
    fn evaluate(&mut self, batch: &Batch<'_>) -> Vec<f64>;
}

struct On<F: kuramoto_kernels::Real, N: Network<F>>(CpuEngine<F, N>);

impl<F: kuramoto_kernels::Real, N: Network<F>> Reference for On<F, N> {
    fn gradient(&mut self, batch: &Batch<'_>, step: u64) -> (f64, Vec<f64>) {
        let loss = self.0.mean_gradient(batch, 3, step).unwrap();
        (loss, self.0.last_gradient().iter().map(|x| x.to_f64()).collect())
    }
    fn update(&mut self, update: &kuramoto_engine::Update) -> f64 {
        let norm = self.0.gradient_norm();
        self.0.apply(update, norm);
        norm
    }
    fn parameters(&self) -> Vec<f64> {
        self.0.weights().parameters().iter().map(|x| x.to_f64()).collect()
    }
    fn evaluate(&mut self, batch: &Batch<'_>) -> Vec<f64> {
        let mut sums = vec![0.0; batch.sequences()];
        kuramoto_engine::Evaluator::evaluate(&mut self.0, batch, &mut sums).unwrap();
        sums
    }
}

/// The processor's engine in f64 or f32, with these parameters.
pub fn reference<F: kuramoto_kernels::Real + 'static>(
    model: &ModelConfig,
    shape: &Shape,
    parameters: &[f32],
) -> Box<dyn Reference>
where
    Kuramoto: Network<F>,
    Transformer: Network<F>,
{
    let set = |own: &mut [F]| {
        own.iter_mut().zip(parameters).for_each(|(own, &x)| *own = F::from_f64(f64::from(x)));
    };
    match model {
        ModelConfig::Kuramoto(config) => {
            let network = Kuramoto::new(config.clone(), shape.context).unwrap();
            let mut engine = CpuEngine::<F, _>::new(network, shape, &Cpu::new(1)).unwrap();
            engine.edit(|_, own| set(own));
            Box::new(On(engine))
        }
        ModelConfig::Transformer(config) => {
            let network = Transformer::new(config.clone(), shape.context).unwrap();
            let mut engine = CpuEngine::<F, _>::new(network, shape, &Cpu::new(1)).unwrap();
            engine.edit(|_, own| set(own));
            Box::new(On(engine))
        }
    }
}

/// An engine on the device, with these parameters.
pub fn engine(gpu: &Gpu, model: &ModelConfig, shape: &Shape, parameters: &[f32]) -> GpuEngine {
    let mut engine = gpu.gpu_engine(model, shape).unwrap();
    engine.load(Some(Arenas { parameters, moments: None })).unwrap();
    engine
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|x| x * x).sum::<f64>().sqrt()
}

fn difference(found: &[f64], expected: &[f64]) -> f64 {
    norm(found.iter().zip(expected).map(|(a, b)| a - b))
}

/// The norm of the difference over the norm.
pub fn distance(found: &[f64], expected: &[f64]) -> f64 {
    difference(found, expected) / norm(expected.iter().copied()).max(1e-300)
}

/// The tensor of a gradient that is most wrong, and by how much: the norm of its difference over its norm, or
/// over a hundredth of the whole gradient's if that is larger. A scalar whose terms cancel has no digits to
/// compare.
pub fn worst_tensor(layout: &Layout, found: &[f64], expected: &[f64]) -> (f64, String) {
    let least = (1e-2 * norm(expected.iter().copied())).max(1e-300);
    let errors = layout.tensors().iter().map(|tensor| {
        let (found, expected) = (tensor.slot.slice(found), tensor.slot.slice(expected));
        let error = difference(found, expected) / norm(expected.iter().copied()).max(least);
        (error, tensor.name.clone())
    });
    errors.max_by(|a, b| a.0.total_cmp(&b.0)).expect("a model has tensors")
}

pub fn double(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&x| f64::from(x)).collect()
}
