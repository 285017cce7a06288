//! Training and evaluation on a device: batches are cut into micro-batches, which run one after the other and
//! add to the same slabs of gradients.

use crate::arenas::{Arenas as Buffers, ModelPlan, Sizes};
use crate::device::Opened;
use crate::memory::{Model, Planned, with_model};
use crate::plan::{Part, Plan};
use crate::program::Program;
use kuramoto_engine::{Arenas, Batch, Engine, Evaluator, Result, Timings, Update};
use kuramoto_kernels::Dropout;
use kuramoto_model::{Error as ModelError, Layout, Network, SequenceDropout};
use std::sync::Arc;
use std::time::Instant;

/// What changes from batch to batch; `batch.wgsl` has the same fields.
struct BatchNumbers {
    length: u32,
    sequences: u32,
    threshold: u32,
    scale: f32,
    weight: f32,
}

impl BatchNumbers {
    fn words(&self) -> [u32; 5] {
        [self.length, self.sequences, self.threshold, self.scale.to_bits(), self.weight.to_bits()]
    }
}

/// A model with its parameters and moments on a graphics card.
pub struct GpuEngine {
    program: Program,
    plan: Plan,
    model: Model,
    sizes: Sizes,
    buffers: Buffers,
    device: String,
    norm: f64,
    timings: Timings,
    /// What was read back: parameters and moments.
    read: [Vec<f32>; 3],
}

impl GpuEngine {
    pub(crate) fn new(opened: Arc<Opened>, planned: Planned) -> Result<GpuEngine> {
        let Planned { model, sizes, own: ModelPlan { plan, arenas, constants, .. } } = planned;
        let read = arenas.parameters.len.max(arenas.losses.len + arenas.squares.len);
        let device = format!("{}, micro-batches of {}", opened.name, sizes.sequences);
        let program = Program::new(opened, &plan, read)?;
        for (part, values) in &constants {
            program.write(*part, values);
        }
        program.write(arenas.table, arenas.scalar_table.as_flattened());
        let (norm, timings, read) = (0.0, Timings::default(), Default::default());
        Ok(GpuEngine { program, plan, model, sizes, buffers: arenas, device, norm, timings, read })
    }

    /// What it launches.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// How many micro-batches a batch of so many sequences is cut into.
    pub fn micro_batches_of(&self, sequences: usize) -> usize {
        sequences.div_ceil(self.sizes.sequences)
    }

    /// The gradient of the last batch, in the order of the layout.
    pub fn last_gradient(&mut self) -> Result<Vec<f32>> {
        self.download(self.buffers.gradient)
    }

    fn download(&self, part: Part) -> Result<Vec<f32>> {
        let [arena] = self.program.read([part])?;
        Ok(self.buffers.places.gather(&arena))
    }

    fn check_batch(&self, batch: &Batch<'_>) -> Result<()> {
        Ok(with_model!(&self.model, |network| batch.check::<f32>(network))?)
    }

    /// The first sequence of each micro-batch of a batch.
    fn micro_batches(&self, batch: &Batch<'_>) -> impl Iterator<Item = usize> + use<> {
        (0..batch.sequences()).step_by(self.sizes.sequences)
    }

    /// Sends the micro-batch that begins at a sequence, padded to its planned size. Returns how many
    /// sequences it has.
    fn feed(&self, batch: &Batch<'_>, first: usize, dropout: SequenceDropout) -> usize {
        let count = self.sizes.sequences.min(batch.sequences() - first);
        let padded = |bytes: &[u8]| {
            let mut words = vec![0u32; self.sizes.rows()];
            for (row, sequence) in words.chunks_mut(self.sizes.tokens).zip(bytes.chunks(batch.length)) {
                row.iter_mut().zip(sequence).for_each(|(word, byte)| *word = u32::from(*byte));
            }
            words
        };
        let own = first * batch.length..(first + count) * batch.length;
        self.program.write(self.buffers.tokens, &padded(&batch.tokens[own.clone()]));
        self.program.write(self.buffers.targets, &padded(&batch.targets[own]));
        let mask = Dropout::new(dropout.rate, 0);
        let numbers = BatchNumbers {
            length: batch.length as u32,
            sequences: count as u32,
            threshold: mask.threshold(),
            scale: mask.scale() as f32,
            weight: (1.0 / batch.tokens.len() as f64) as f32,
        };
        self.program.write(self.buffers.batch, &numbers.words());
        if mask.is_active() {
            self.program.write(self.buffers.keys, &self.keys(first, dropout));
        }
        count
    }

    /// Dropout keys of a micro-batch: for each layer and purpose those of all sequences.
    fn keys(&self, first: usize, dropout: SequenceDropout) -> Vec<u32> {
        let stride = self.sizes.key_stride();
        let mut words = vec![0; self.sizes.layers * 3 * stride];
        for i in 0..self.sizes.sequences {
            let own = SequenceDropout { sequence: (first + i) as u64, ..dropout };
            for layer in 0..self.sizes.layers {
                for (purpose, key) in own.keys(layer).into_iter().enumerate() {
                    let at = (3 * layer + purpose) * stride + 2 * i;
                    words[at..at + 2].copy_from_slice(&[key as u32, (key >> 32) as u32]);
                }
            }
        }
        words
    }

    /// Summed nats of the sequences of a micro-batch, from the losses of its rows.
    fn sums<'a>(
        &self,
        losses: &'a [f32],
        length: usize,
        count: usize,
    ) -> impl Iterator<Item = f64> + use<'a> {
        let rows = losses.chunks(self.sizes.tokens).take(count);
        rows.map(move |row| row[..length].iter().map(|&loss| f64::from(loss)).sum())
    }

    /// The numbers of an update, as `adamw.wgsl` has them.
    fn how(update: &Update<'_>, norm: f64) -> [f32; 7] {
        [
            1.0 / correction(update.beta2, update.step).sqrt(),
            update.beta1,
            update.beta2,
            1.0 - update.beta1,
            1.0 - update.beta2,
            update.epsilon,
            update.gradient_scale(norm),
        ]
        .map(|x| x as f32)
    }

    fn check_len(&self, values: &[f32]) -> Result<()> {
        let (left, right) = (values.len(), self.layout().count());
        if left == right {
            return Ok(());
        }
        Err(ModelError::Length { what: "saved and planned elements", left, right }.into())
    }
}

impl Evaluator for GpuEngine {
    fn evaluate(&mut self, batch: &Batch<'_>, sums: &mut [f64]) -> Result<()> {
        self.check_batch(batch)?;
        let (left, right) = (sums.len(), batch.sequences());
        if left != right {
            return Err(ModelError::Length { what: "sums and sequences", left, right }.into());
        }
        for first in self.micro_batches(batch) {
            let count = self.feed(batch, first, SequenceDropout::NONE);
            self.program.run(&[], &[&self.program.forward, &self.program.losses]);
            let [losses] = self.program.read([self.buffers.losses])?;
            let own = self.sums(&losses, batch.length, count);
            sums[first..first + count].iter_mut().zip(own).for_each(|(sum, own)| *sum = own);
        }
        Ok(())
    }
}

impl Engine for GpuEngine {
    fn device(&self) -> &str {
        &self.device
    }

    fn layout(&self) -> &Layout {
        with_model!(&self.model, |network| network.layout())
    }

    fn start(&mut self, seed: u64) -> Result<()> {
        let mut parameters = vec![0.0; self.layout().count()];
        with_model!(&self.model, |network| network.initialize(seed, &mut parameters));
        self.load(Some(Arenas { parameters: &parameters, moments: None }))
    }

    fn load(&mut self, arenas: Option<Arenas<'_>>) -> Result<()> {
        let Some(arenas) = arenas else { return Ok(()) };
        self.check_len(arenas.parameters)?;
        let places = &self.buffers.places;
        if self.sizes.training() {
            let zeros = vec![0.0; self.layout().count()];
            let (first, second) = arenas.moments.unwrap_or((&zeros, &zeros));
            for (part, values) in self.buffers.moments.into_iter().zip([first, second]) {
                self.check_len(values)?;
                self.program.write(part, &places.spread(values));
            }
        }
        self.program.write(self.buffers.parameters, &places.spread(arenas.parameters));
        self.program.opened().check()
    }

    fn gradient(&mut self, batch: &Batch<'_>, seed: u64, step: u64) -> Result<f64> {
        self.check_batch(batch)?;
        let rate = with_model!(&self.model, |network| Network::<f32>::dropout(network));
        let dropout = SequenceDropout { rate, seed, step, sequence: 0 };
        let (started, Program { forward, backward, finish, .. }) = (Instant::now(), &self.program);
        let mut loss = 0.0;
        for first in self.micro_batches(batch) {
            let count = self.feed(batch, first, dropout);
            let cleared = if first == 0 { &[self.buffers.slabs][..] } else { &[] };
            self.program.run(cleared, &[forward, backward]);
            if first + count == batch.sequences() {
                self.program.run(&[], &[finish]);
            }
            let [losses, squares] = self.program.read([self.buffers.losses, self.buffers.squares])?;
            loss += self.sums(&losses, batch.length, count).sum::<f64>();
            self.norm = squares.iter().map(|&x| f64::from(x)).sum::<f64>().sqrt();
        }
        self.timings.lanes = started.elapsed().as_secs_f64();
        Ok(loss * (1.0 / batch.tokens.len() as f64))
    }

    fn norm(&mut self) -> Result<f64> {
        Ok(self.norm)
    }

    fn update(&mut self, update: &Update<'_>, norm: f64) -> Result<()> {
        let Some(rates) = self.buffers.places.rates(update, correction(update.beta1, update.step)) else {
            let why = "optimizer.multipliers tell apart tensors that lie together on it (wq, wk and wv, or gate and \
                       up): give them the same, or train on the processor";
            return Err(self.program.opened().error(why));
        };
        self.program.write(self.buffers.how, &Self::how(update, norm));
        self.program.write(self.buffers.rates, rates.as_flattened());
        self.program.run(&[], &[&self.program.update]);
        self.program.opened().check()
    }

    /// The gradient is one figure: nothing waits for its parts. The update runs while the processor goes on.
    fn timings(&self) -> Timings {
        self.timings
    }

    fn parameters(&mut self) -> Result<&[f32]> {
        self.read[0] = self.download(self.buffers.parameters)?;
        Ok(&self.read[0])
    }

    fn arenas(&mut self) -> Result<Arenas<'_>> {
        let [first, second] = self.buffers.moments;
        self.read = [self.download(self.buffers.parameters)?, self.download(first)?, self.download(second)?];
        let [parameters, first, second] = &self.read;
        Ok(Arenas { parameters, moments: Some((first, second)) })
    }
}

/// What corrects a moment's bias towards zero.
fn correction(beta: f64, step: u64) -> f64 {
    1.0 - beta.powi(step.min(i32::MAX as u64) as i32)
}
