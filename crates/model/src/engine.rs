//! A batch on many cores and many machines, the same bits for any number of threads and processes.
//!
//! Sequence i of a batch belongs to lane i mod `lanes`. A lane's gradient is summed sequence by sequence in order, the
//! lanes in a fixed binary tree (`reduction.rs`); a process owns neighbouring lanes, a thread takes whole ones.
//! Everything is sized when the engine is made, and a step of a single process allocates nothing.

use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::group::{Alone, Group};
use crate::hooks::NoHooks;
use crate::lanes::{Lanes, own_workspace};
use crate::layout::ParameterKind;
use crate::network::{Draw, Network, Pass};
use crate::reduction::{CHUNK, Reduction};
use crate::timings::{Clock, Timings};
use kuramoto_kernels::adamw::{self, AdamW};
use kuramoto_kernels::{AlignedVec, Real, reduce};
use rayon::ThreadPool;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// One optimizer update.
#[derive(Clone, Copy, Debug)]
pub struct Update {
    /// Learning rate.
    pub learning_rate: f64,
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Added to the root of the second moment.
    pub epsilon: f64,
    /// Decoupled weight decay of the parameters that `decays` names.
    pub weight_decay: f64,
    /// Which kinds of parameters decay.
    pub decays: fn(ParameterKind) -> bool,
    /// Largest global gradient norm; larger gradients are scaled down to it.
    pub clip: Option<f64>,
    /// Which update this is, from 1.
    pub step: u64,
}

impl Default for Update {
    fn default() -> Self {
        Update {
            learning_rate: 1e-3,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            weight_decay: 0.01,
            decays: |_| true,
            clip: Some(1.0),
            step: 1,
        }
    }
}

/// A model with its parameters, moments, lanes and threads.
pub struct Engine<F: Real, N: Network<F>> {
    network: N,
    parameters: AlignedVec<F>,
    first: AlignedVec<F>,
    second: AlignedVec<F>,
    tables: N::Tables,
    tables_are_current: bool,
    /// Of the lanes of this process.
    gradients: Vec<AlignedVec<F>>,
    /// Summed nats of each sequence (lanes x sequences of a lane), of all processes.
    losses: Vec<f64>,
    /// Most sequences of a lane.
    stride: usize,
    reduction: Reduction<F>,
    overlaps: bool,
    timings: Timings,
    workspaces: Vec<Mutex<N::Workspace>>,
    partial_sums: Vec<f64>,
    pool: Arc<ThreadPool>,
}

/// Most threads and lanes accepted.
pub const MAX_THREADS: usize = 1024;

impl<F: Real, N: Network<F>> Engine<F, N> {
    /// An engine with zero parameters; batches hold up to `sequences`.
    pub fn new(network: N, sequences: usize, lanes: usize, threads: usize) -> Result<Self> {
        Self::in_group(network, sequences, lanes, threads, Arc::new(Alone))
    }

    /// An engine that shares its lanes with those of other processes. All must be made and used alike.
    pub fn in_group(network: N, sequences: usize, lanes: usize, threads: usize, group: Arc<dyn Group>) -> Result<Self> {
        crate::error::within("lanes", lanes, 1..=MAX_THREADS)?;
        crate::error::within("threads", threads, 1..=MAX_THREADS)?;
        check_lanes(lanes, &*group)?;
        let reduction = Reduction::new(group, lanes, network.gradient_len());
        let own = reduction.own().len();
        // Threads beyond the lanes would have nothing to do.
        let threads = threads.min(own);
        let (count, stride) = (network.layout().count(), sequences.div_ceil(lanes));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| Error::Field {
            field: "threads",
            value: threads.to_string(),
            allowed: format!("the system could not start them ({error}); ask for fewer"),
        })?;
        // A thread that looks for work for the first time registers itself, which allocates: now, not in a step.
        pool.broadcast(|_| rayon::yield_now());
        Ok(Engine {
            parameters: AlignedVec::zeros(count),
            first: AlignedVec::zeros(count),
            second: AlignedVec::zeros(count),
            tables: network.tables(),
            tables_are_current: false,
            gradients: (0..own).map(|_| AlignedVec::zeros(network.gradient_len())).collect(),
            losses: vec![0.0; lanes * stride],
            stride,
            reduction,
            overlaps: false,
            timings: Timings::default(),
            workspaces: (0..threads).map(|_| Mutex::new(network.workspace())).collect(),
            partial_sums: vec![0.0; count.div_ceil(CHUNK)],
            pool: Arc::new(pool),
            network,
        })
    }

    /// Bytes an engine will hold, known before it is made.
    pub fn planned_bytes(network: &N, lanes: usize, threads: usize, group: &dyn Group) -> usize {
        let (own, len) = (group.part(lanes).len(), network.gradient_len());
        let arenas = 3 * network.layout().count() + own * len + Reduction::<F>::planned(group, lanes, len);
        arenas * size_of::<F>() + network.table_bytes() + threads.min(own) * network.workspace_bytes()
    }

    /// The model.
    pub fn network(&self) -> &N {
        &self.network
    }

    /// The threads that work here. A training loop run inside `install` of this pool allocates nothing per step.
    pub fn pool(&self) -> Arc<ThreadPool> {
        self.pool.clone()
    }

    /// The processes that work here.
    pub fn group(&self) -> &Arc<dyn Group> {
        self.reduction.group()
    }

    /// Keeps each thread on a core of its own, so that what it touches first stays near it.
    pub fn pin(&self) -> Result<()> {
        let cores = core_affinity::get_core_ids().unwrap_or_default();
        let threads = self.pool.current_num_threads();
        let refuse =
            |allowed: String| Err(Error::Field { field: "pinned threads", value: threads.to_string(), allowed });
        if cores.len() < threads {
            return refuse(format!("this process may use {} cores: ask for as many threads", cores.len()));
        }
        let pinned = self.pool.broadcast(|thread| core_affinity::set_for_current(cores[thread.index()]));
        if pinned.contains(&false) {
            return refuse("this system does not pin threads: leave it out".into());
        }
        Ok(())
    }

    /// Whether blocks of the gradient are sent while others are computed. All processes must be told the same; one alone has
    /// nothing to send.
    pub fn overlap(&mut self, overlaps: bool) {
        self.overlaps = overlaps && self.group().size() > 1;
    }

    /// Pieces into which sums and updates are cut: more threads than that cannot share them.
    pub fn pieces(&self) -> usize {
        self.partial_sums.len()
    }

    /// What the last step spent its time on.
    pub fn timings(&self) -> Timings {
        self.timings
    }

    /// Sets the parameters to their start and forgets the moments.
    pub fn initialize(&mut self, seed: u64) {
        self.network.initialize(seed, &mut self.parameters);
        self.first.fill(F::ZERO);
        self.second.fill(F::ZERO);
        self.tables_are_current = false;
    }

    /// The parameter arena.
    pub fn parameters(&self) -> &[F] {
        &self.parameters
    }

    /// The parameter arena, to change.
    pub fn parameters_mut(&mut self) -> &mut [F] {
        self.tables_are_current = false;
        &mut self.parameters
    }

    /// The optimizer's first and second moments.
    pub fn moments(&self) -> (&[F], &[F]) {
        (&self.first, &self.second)
    }

    /// The optimizer's moments, to change.
    pub fn moments_mut(&mut self) -> (&mut [F], &mut [F]) {
        (&mut self.first, &mut self.second)
    }

    /// The gradient of the last [`Engine::gradient`].
    pub fn last_gradient(&self) -> &[F] {
        &self.gradients[0][..self.parameters.len()]
    }

    fn prepare(&mut self) {
        if !self.tables_are_current {
            self.network.prepare(&self.parameters, &mut self.tables);
            self.tables_are_current = true;
        }
    }

    /// Mean loss of the batch in nats per token, its gradient left in [`Engine::last_gradient`]. Dropout is drawn by
    /// (seed, step, sequence).
    pub fn gradient(&mut self, batch: &Batch<'_>, seed: u64, step: u64) -> Result<f64> {
        batch.check(&self.network)?;
        let most = self.stride * self.reduction.lanes();
        if batch.sequences() > most {
            return Err(Error::Length { what: "sequences and room for them", left: batch.sequences(), right: most });
        }
        let pool = self.pool.clone();
        Ok(pool.install(|| {
            let mut clock = Clock::start();
            self.prepare();
            self.timings.prepare = clock.lap();
            let rest = self.run_lanes(batch, seed, step);
            let loss = self.summed_loss(batch);
            clock.lap();
            let mut exchange = 0.0;
            for stretch in rest.into_iter().filter(|stretch| !stretch.is_empty()) {
                exchange += self.reduction.sum(&mut self.gradients, stretch);
            }
            self.timings.sum = clock.lap() - exchange;
            self.timings.exchange += exchange;
            self.network.finish(&self.parameters, &mut self.tables, &mut self.gradients[0]);
            self.timings.finish = clock.lap();
            loss * (1.0 / batch.tokens.len() as f64)
        }))
    }

    /// The gradients of this process' lanes; returns what of them is not summed yet.
    fn run_lanes(&mut self, batch: &Batch<'_>, seed: u64, step: u64) -> [Range<usize>; 2] {
        let mut clock = Clock::start();
        let own = self.reduction.own();
        let lanes = Lanes {
            network: &self.network,
            parameters: &self.parameters,
            tables: &self.tables,
            workspaces: &self.workspaces,
            count: self.reduction.lanes(),
            batch,
            seed,
            step,
        };
        let (gradients, reduction, blocks) = (&mut self.gradients, &mut self.reduction, self.network.blocks());
        let losses = &mut self.losses[own.start * self.stride..own.end * self.stride];
        let len = self.network.gradient_len();
        if !self.overlaps {
            lanes.run(own, gradients, losses, None);
            self.timings.lanes = clock.lap();
            self.timings.exchange = 0.0;
            return [0..len, len..len];
        }
        let (relay, sums) = reduction.relay(blocks.starts.len());
        std::thread::scope(|scope| {
            scope.spawn(|| reduction.sum_blocks(sums));
            lanes.run(own, gradients, losses, Some(&relay));
            self.timings.lanes = clock.lap();
            // Its end is that of the sums.
            drop(relay);
        });
        self.timings.exchange = clock.lap();
        blocks.rest(len)
    }

    /// The loss of the whole batch.
    fn summed_loss(&mut self, batch: &Batch<'_>) -> f64 {
        let mut clock = Clock::start();
        let (count, stride, group) = (self.reduction.lanes(), self.stride, self.reduction.group());
        if group.size() > 1 {
            group.gather_parts(bytemuck::cast_slice_mut(&mut self.losses), count, stride * size_of::<f64>());
        }
        self.timings.exchange += clock.lap();
        (0..batch.sequences()).map(|i| self.losses[i % count * stride + i / count]).sum()
    }

    /// The global norm of the last gradient.
    pub fn gradient_norm(&mut self) -> f64 {
        let mut clock = Clock::start();
        let gradient = &self.gradients[0][..self.parameters.len()];
        let sums = &mut self.partial_sums;
        self.pool.install(|| {
            let chunks = gradient.par_chunks(CHUNK).zip(sums.par_iter_mut());
            chunks.for_each(|(chunk, sum)| *sum = reduce::sum_of_squares(chunk));
        });
        let norm = self.partial_sums.iter().sum::<f64>().sqrt();
        self.timings.norm = clock.lap();
        norm
    }

    /// Clips the last gradient, whose norm is `norm`, and applies AdamW.
    pub fn update(&mut self, how: &Update, norm: f64) {
        let mut clock = Clock::start();
        let gradient_scale = match how.clip {
            // As PyTorch's clip_grad_norm_ does, so that traces can be compared.
            Some(clip) => (clip / (norm + 1e-6)).min(1.0),
            None => 1.0,
        };
        let adamw = |weight_decay: f64| AdamW {
            learning_rate: how.learning_rate,
            beta1: how.beta1,
            beta2: how.beta2,
            epsilon: how.epsilon,
            weight_decay,
            gradient_scale,
            step: how.step,
        };
        let (decayed, plain) = (adamw(how.weight_decay), adamw(0.0));
        let tensors = self.network.layout().tensors();
        let gradient = &self.gradients[0][..self.parameters.len()];
        let moments = self.first.par_chunks_mut(CHUNK).zip(self.second.par_chunks_mut(CHUNK));
        let chunks = self.parameters.par_chunks_mut(CHUNK).zip(gradient.par_chunks(CHUNK)).zip(moments);
        self.pool.install(|| {
            chunks.enumerate().for_each(|(index, ((parameters, gradient), (first, second)))| {
                let start = index * CHUNK;
                let mut done = 0;
                let at = tensors.partition_point(|tensor| tensor.slot.start + tensor.slot.len <= start);
                for tensor in &tensors[at..] {
                    if done == parameters.len() {
                        break;
                    }
                    let end = (tensor.slot.start + tensor.slot.len - start).min(parameters.len());
                    let how = if (how.decays)(tensor.kind) { &decayed } else { &plain };
                    let part = done..end;
                    adamw::update(
                        how,
                        &mut parameters[part.clone()],
                        &gradient[part.clone()],
                        &mut first[part.clone()],
                        &mut second[part],
                    );
                    done = end;
                }
            });
        });
        self.tables_are_current = false;
        self.timings.update = clock.lap();
    }

    /// Summed loss in nats of each sequence, without dropout: sums (sequences)
    pub fn evaluate(&mut self, batch: &Batch<'_>, sums: &mut [f64]) -> Result<()> {
        batch.check(&self.network)?;
        if sums.len() != batch.sequences() {
            return Err(Error::Length { what: "sums and sequences", left: sums.len(), right: batch.sequences() });
        }
        let pool = self.pool.clone();
        pool.install(|| {
            self.prepare();
            let (network, parameters, tables, workspaces) =
                (&self.network, &self.parameters, &self.tables, &self.workspaces);
            sums.par_iter_mut().with_max_len(1).enumerate().for_each(|(i, sum)| {
                let work = &mut *own_workspace(workspaces);
                let (tokens, targets) = batch.sequence(i);
                network.forward(&Pass { parameters, tables, tokens, draw: Draw::EVALUATION }, work, &mut NoHooks);
                *sum = network.losses(parameters, work, targets).iter().sum();
            });
        });
        Ok(())
    }

    /// Runs one sequence forward without dropout, with hooks; returns its logits (n x vocab).
    pub fn observe(&mut self, tokens: &[u8], hooks: &mut impl crate::hooks::Hooks<F>) -> Result<Vec<F>> {
        self.network.check(tokens)?;
        self.prepare();
        let work = &mut *own_workspace(&self.workspaces);
        let pass = Pass { parameters: &self.parameters, tables: &self.tables, tokens, draw: Draw::EVALUATION };
        self.network.forward(&pass, work, hooks);
        Ok(self.network.logits(&self.parameters, work, tokens.len()))
    }

    /// A decoder over the present parameters.
    pub fn decoder(&self) -> N::Decoder {
        self.network.decoder(&self.parameters)
    }
}

/// Every process needs a lane of its own.
pub fn check_lanes(lanes: usize, group: &dyn Group) -> Result<()> {
    if group.size() <= lanes {
        return Ok(());
    }
    let allowed = format!("each needs a lane of its own, and there are {lanes}: start fewer, or set batch.lanes");
    Err(Error::Field { field: "processes", value: group.size().to_string(), allowed })
}
