//! A trained model and a text, ready to be measured.

use crate::KuramotoWeights;
use crate::error::{Error, Result};
use crate::trace::Trace;
use crate::windows::Text;
use kuramoto_model::{Kuramoto, Network};
use kuramoto_train::windows::{Window, sample};
use kuramoto_train::{Corpus, Run, Split, Which, disk, memory};
use std::path::Path;

/// Which text a model reads.
#[derive(Clone, Copy, Debug)]
pub enum TextSource<'a> {
    /// A file of bytes that occur in the run's corpus.
    File(&'a Path),
    /// The validation split of the run's corpus.
    Validation {
        /// Folder of prepared corpora.
        cache: &'a Path,
        /// The location of the corpus, if it is not in the cache and not where the run found it.
        data_path: Option<&'a str>,
    },
}

/// The model of a run at a checkpoint, and windows of a text.
pub struct Subject {
    /// The model.
    pub weights: KuramotoWeights,
    /// The step after which the parameters were saved.
    pub step: u64,
    /// Seed of the run.
    pub seed: u64,
    /// Name of the text.
    pub text: String,
    /// Tokens and targets of every window.
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Subject {
    /// Takes the Kuramoto model of a run and `count` windows of a text, spread evenly; 0 for all of it.
    /// `threads` will read them.
    pub fn open(
        mut run: Run,
        checkpoint: Which,
        source: TextSource<'_>,
        count: usize,
        threads: usize,
    ) -> Result<Subject> {
        let (weights, state) = run.kuramoto(checkpoint)?;
        let context = run.config().batch.context;
        let (text, pairs): (String, Vec<_>) = match source {
            TextSource::File(path) => (path.display().to_string(), of_file(&run, path, context, count)?),
            TextSource::Validation { cache, data_path } => {
                if let Some(path) = data_path {
                    run.set_data_path(path);
                }
                let corpus = Corpus::of_run(&run, cache)?;
                let read = |window: Window| {
                    let (mut tokens, mut targets) = (vec![0; window.len], vec![0; window.len]);
                    corpus.read(window, &mut tokens, &mut targets);
                    (tokens, targets)
                };
                let windows = sample(corpus.split(Split::Validation), context, count);
                let name = format!("the validation split of {}", corpus.identity().name);
                (name, windows.into_iter().map(read).collect())
            }
        };
        check_memory(weights.network(), context, threads.min(pairs.len()))?;
        Ok(Subject { weights, step: state.step, seed: run.config().seed, text, pairs })
    }

    /// Tokens and targets of every window.
    pub fn windows(&self) -> Vec<Text<'_>> {
        self.pairs.iter().map(|(tokens, targets)| (tokens.as_slice(), targets.as_slice())).collect()
    }
}

/// Bytes that drawing takes.
const FIGURES: usize = 64 << 20;

/// Says so if `threads` that each read windows of `n` bytes will not fit in memory.
pub fn check_memory(network: &Kuramoto, n: usize, threads: usize) -> Result<()> {
    // A measure and its surrogates hold two traces at a time, and as much again of what they derive.
    let traces = 4 * Trace::<f32>::planned_bytes(network.config(), n);
    let each = Network::<f32>::workspace_bytes(network) + traces;
    let planned = threads.saturating_mul(each).saturating_add(FIGURES);
    Ok(memory::check("reading the model", planned as u64, memory::SMALLER)?)
}

fn of_file(run: &Run, path: &Path, context: usize, count: usize) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let bytes = disk::read(path).map_err(|cause| Error::Read { path: path.into(), cause })?;
    if bytes.len() < 2 {
        return Err(Error::Short { path: path.into(), bytes: bytes.len() });
    }
    let tokens = run.corpus().encode(&path.display().to_string(), &bytes)?;
    let pair = |w: Window| (tokens[w.start..][..w.len].to_vec(), tokens[w.start + 1..][..w.len].to_vec());
    Ok(sample(0..tokens.len(), context, count).into_iter().map(pair).collect())
}
