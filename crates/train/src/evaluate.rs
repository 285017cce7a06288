//! Bits per byte of a stretch of a corpus.

use crate::data::{Corpus, Split};
use crate::error::Result;
use crate::run::{Run, Which};
use crate::windows::{self, Window};
use kuramoto_model::{Batch, Engine, Network, with_network};

/// Sequences that are evaluated at a time; the sums do not depend on it.
const TOGETHER: usize = 64;

/// Mean bits per byte over the targets of `windows`, each seeing its own window only. Each process of the engine's group
/// reads its part of the windows; the sum is taken window by window in order, so it is the same bits for any number of
/// threads and processes.
pub fn bits_per_byte<N: Network<f32>>(engine: &mut Engine<f32, N>, corpus: &Corpus, windows: &[Window]) -> Result<f64> {
    let group = engine.group().clone();
    let mut sums = vec![0.0; windows.len()];
    let own = group.part(windows.len());
    read_sums(engine, corpus, &windows[own.clone()], &mut sums[own])?;
    group.gather_parts(bytemuck::cast_slice_mut(&mut sums), windows.len(), size_of::<f64>());
    let bytes: usize = windows.iter().map(|window| window.len).sum();
    Ok(sums.iter().sum::<f64>() / std::f64::consts::LN_2 / bytes.max(1) as f64)
}

/// Summed nats of each window.
fn read_sums<N: Network<f32>>(
    engine: &mut Engine<f32, N>,
    corpus: &Corpus,
    windows: &[Window],
    mut sums: &mut [f64],
) -> Result<()> {
    let (mut tokens, mut targets) = (Vec::new(), Vec::new());
    // A batch holds windows of one length; only the last window of a split may be shorter.
    for windows in windows.chunk_by(|a, b| a.len == b.len).flat_map(|alike| alike.chunks(TOGETHER)) {
        let length = windows[0].len;
        tokens.resize(windows.len() * length, 0);
        targets.resize(windows.len() * length, 0);
        for ((window, tokens), targets) in windows.iter().zip(tokens.chunks_mut(length)).zip(targets.chunks_mut(length))
        {
            corpus.read(*window, tokens, targets);
        }
        let (now, later) = sums.split_at_mut(windows.len());
        engine.evaluate(&Batch { tokens: &tokens, targets: &targets, length }, now)?;
        sums = later;
    }
    Ok(())
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
pub fn evaluate(run: &Run, which: Which, corpus: &Corpus, split: Split, threads: usize) -> Result<Evaluation> {
    corpus.check_same(run.corpus())?;
    with_network!(&run.config().model, run.config().batch.context, |network| whole_split(
        network, run, which, corpus, split, threads
    ))
}

fn whole_split<N: Network<f32>>(
    network: N,
    run: &Run,
    which: Which,
    corpus: &Corpus,
    split: Split,
    threads: usize,
) -> Result<Evaluation> {
    let loaded = run.load(which, network.layout())?;
    let windows = windows::all(corpus.split(split), network.context());
    // As few lanes as will do: they hold gradients, which nobody asks for here.
    let mut engine = Engine::new(network, TOGETHER, threads, threads)?;
    engine.parameters_mut().copy_from_slice(&loaded.parameters);
    Ok(Evaluation {
        bits_per_byte: bits_per_byte(&mut engine, corpus, &windows)?,
        bytes: windows.iter().map(|window| window.len).sum(),
        step: loaded.state.step,
        floor_bits_per_byte: corpus.floor(&windows),
    })
}
