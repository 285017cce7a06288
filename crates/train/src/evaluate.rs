//! Bits per byte of a stretch of a corpus.

use crate::data::{Corpus, Split};
use crate::error::Result;
use crate::memory;
use crate::run::{Run, Which};
use crate::windows::{self, Window};
use kuramoto_engine::{Batch, Device, Evaluator, Group};
use kuramoto_model::with_network;
use std::sync::Arc;
use std::time::Instant;

/// Seconds between two looks at whether a reading should stop.
const PAUSE: f64 = 0.3;
/// Sequences that a process evaluates at first, and at most, before it looks.
const SEQUENCES: (usize, usize) = (8, 4096);

/// The loss of windows of a corpus, each seeing its own window only, read piece by piece so that it can be
/// broken off. Where several processes work together they share the windows. The sum is taken window by
/// window in order, so it is the same bits for any number of threads and processes, and for any pieces.
pub(crate) struct Reading<'a> {
    corpus: &'a Corpus,
    group: Arc<dyn Group>,
    windows: &'a [Window],
    /// Nats of the windows that were read.
    sums: Vec<f64>,
    /// Sequences that each process takes next; process 0 decides by its clock.
    sequences: usize,
    tokens: Vec<u8>,
    targets: Vec<u8>,
}

impl<'a> Reading<'a> {
    pub fn new(corpus: &'a Corpus, group: Arc<dyn Group>, windows: &'a [Window]) -> Reading<'a> {
        let (sums, tokens, targets) = (Vec::with_capacity(windows.len()), Vec::new(), Vec::new());
        Reading { corpus, group, windows, sums, sequences: SEQUENCES.0, tokens, targets }
    }

    /// Reads the next windows; false once all are read.
    pub fn advance(&mut self, evaluator: &mut dyn Evaluator) -> Result<bool> {
        let started = Instant::now();
        let first = self.sums.len();
        let left = &self.windows[first..];
        // A batch holds windows of one length; only the last window of a split may be shorter.
        let Some(alike) = left.chunk_by(|a, b| a.len == b.len).next() else { return Ok(false) };
        let windows = &alike[..alike.len().min(self.sequences * self.group.size())];
        let length = windows[0].len;
        self.tokens.resize(windows.len() * length, 0);
        self.targets.resize(windows.len() * length, 0);
        let rows = self.tokens.chunks_mut(length).zip(self.targets.chunks_mut(length));
        for (window, (tokens, targets)) in windows.iter().zip(rows) {
            self.corpus.read(*window, tokens, targets);
        }
        self.sums.resize(first + windows.len(), 0.0);
        let batch = Batch { tokens: &self.tokens, targets: &self.targets, length };
        evaluator.evaluate(&batch, &mut self.sums[first..])?;
        self.pace(started.elapsed().as_secs_f64());
        Ok(self.sums.len() < self.windows.len())
    }

    /// Decides how many sequences to take next, after `seconds` for the last ones.
    fn pace(&mut self, seconds: f64) {
        let faster = (PAUSE / seconds.max(1e-9)).clamp(0.25, 4.0);
        let sequences = ((self.sequences as f64 * faster) as u64).clamp(1, SEQUENCES.1 as u64);
        let mut shared = sequences.to_le_bytes();
        self.group.broadcast(&mut shared);
        self.sequences = u64::from_le_bytes(shared) as usize;
    }

    /// How many windows were read.
    pub fn windows_read(&self) -> usize {
        self.sums.len()
    }

    /// Mean over the targets of the windows that were read.
    pub fn bits_per_byte(&self) -> f64 {
        let bytes: usize = self.windows[..self.sums.len()].iter().map(|window| window.len).sum();
        self.sums.iter().sum::<f64>() / std::f64::consts::LN_2 / bytes.max(1) as f64
    }
}

/// What an evaluation of a run found.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Evaluation {
    /// Mean over the bytes of the split.
    pub bits_per_byte: f64,
    /// Bytes predicted: all of the split but its first.
    pub bytes: usize,
    /// After which step the parameters were saved.
    pub step: u64,
    /// Fewest bits per byte that are possible, where that is known.
    pub floor_bits_per_byte: Option<f64>,
}

/// Exact bits per byte of a whole split under a checkpoint of a run.
pub fn evaluate(
    run: &Run,
    which: Which,
    corpus: &Corpus,
    split: Split,
    device: &dyn Device,
) -> Result<Evaluation> {
    let found = evaluate_until(run, which, corpus, split, device, &mut || false)?;
    Ok(found.expect("nothing stopped it"))
}

/// The same until `stop` says true, which is asked several times a second; then None.
pub fn evaluate_until(
    run: &Run,
    which: Which,
    corpus: &Corpus,
    split: Split,
    device: &dyn Device,
    stop: &mut dyn FnMut() -> bool,
) -> Result<Option<Evaluation>> {
    corpus.check_same(run.corpus())?;
    let (config, context) = (run.config(), run.config().batch.context);
    let planned = device.evaluation_bytes(&config.model, context)?;
    // A card's own memory is checked by its device.
    if device.uses_main_memory() {
        memory::check("the evaluation", planned as u64, memory::SMALLER)?;
    }
    let loaded = with_network!(&config.model, context, |network| run.load(which, network.layout())?);
    let windows = windows::all(corpus.split(split), context);
    let mut evaluator = device.evaluator(&config.model, context, &loaded.parameters)?;
    let mut reading = Reading::new(corpus, device.group(), &windows);
    while reading.advance(&mut *evaluator)? {
        if stop() {
            return Ok(None);
        }
    }
    Ok(Some(Evaluation {
        bits_per_byte: reading.bits_per_byte(),
        bytes: windows.iter().map(|window| window.len).sum(),
        step: loaded.state.step,
        floor_bits_per_byte: corpus.floor(&windows),
    }))
}
