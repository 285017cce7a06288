//! Bits per byte of a stretch of a corpus.

use crate::data::{Corpus, Split};
use crate::error::Result;
use crate::run::{Run, Which};
use crate::windows::{self, Window};
use kuramoto_engine::{Batch, Device, Evaluator};
use kuramoto_model::with_network;

/// Sequences that a process evaluates at a time; the sums do not depend on it.
const SEQUENCES: usize = 64;

/// Mean bits per byte over the targets of `windows`, each seeing its own window only. Where several processes
/// work together they share the windows; the sum is taken window by window in order, so it is the same bits
/// for any number of threads and processes.
pub fn bits_per_byte(
    evaluator: &mut dyn Evaluator,
    processes: usize,
    corpus: &Corpus,
    windows: &[Window],
) -> Result<f64> {
    let mut sums = Vec::with_capacity(windows.len());
    let (mut tokens, mut targets) = (Vec::new(), Vec::new());
    // A batch holds windows of one length; only the last window of a split may be shorter.
    for windows in
        windows.chunk_by(|a, b| a.len == b.len).flat_map(|alike| alike.chunks(SEQUENCES * processes))
    {
        let length = windows[0].len;
        tokens.resize(windows.len() * length, 0);
        targets.resize(windows.len() * length, 0);
        let rows = tokens.chunks_mut(length).zip(targets.chunks_mut(length));
        for (window, (tokens, targets)) in windows.iter().zip(rows) {
            corpus.read(*window, tokens, targets);
        }
        let first = sums.len();
        sums.resize(first + windows.len(), 0.0);
        evaluator.evaluate(&Batch { tokens: &tokens, targets: &targets, length }, &mut sums[first..])?;
    }
    let bytes: usize = windows.iter().map(|window| window.len).sum();
    Ok(sums.iter().sum::<f64>() / std::f64::consts::LN_2 / bytes.max(1) as f64)
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
    corpus.check_same(run.corpus())?;
    let (config, context) = (run.config(), run.config().batch.context);
    let loaded = with_network!(&config.model, context, |network| run.load(which, network.layout())?);
    let windows = windows::all(corpus.split(split), context);
    let mut evaluator = device.evaluator(&config.model, context, &loaded.parameters)?;
    Ok(Evaluation {
        bits_per_byte: bits_per_byte(&mut *evaluator, device.group().size(), corpus, &windows)?,
        bytes: windows.iter().map(|window| window.len).sum(),
        step: loaded.state.step,
        floor_bits_per_byte: corpus.floor(&windows),
    })
}
