//! What all commands that look into a run share: which run, which checkpoint, which text.

use anyhow::{Context, Result, bail};
use kuramoto_model::Kuramoto;
use kuramoto_phase::windows::Text;
use kuramoto_train::data::default_cache;
use kuramoto_train::{Corpus, Run, Split, windows};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Look {
    /// Run folder of a Kuramoto model
    pub run: PathBuf,
    /// Look at this text instead of the validation split
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
    /// Windows of text, spread evenly; 0 for all of it
    #[arg(long, default_value_t = 64)]
    windows: usize,
    /// best, last or step-N
    #[arg(long, default_value = "best")]
    checkpoint: String,
    /// Where the corpus lies, if it is not in the cache and not where it was
    #[arg(long, value_name = "PATH")]
    data_path: Option<String>,
    /// Folder of prepared corpora
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
    /// Threads; all cores unless told
    #[arg(long)]
    threads: Option<usize>,
}

/// A model and a text, ready to be looked at.
pub struct Subject {
    pub network: Kuramoto,
    pub parameters: Vec<f32>,
    /// The step after which the parameters were saved.
    pub step: u64,
    /// Of the run.
    pub seed: u64,
    /// What the text is, in words.
    pub text: String,
    /// Tokens and targets of every window.
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Subject {
    pub fn windows(&self) -> Vec<Text<'_>> {
        self.pairs.iter().map(|(tokens, targets)| (tokens.as_slice(), targets.as_slice())).collect()
    }
}

impl Look {
    pub fn threads(&self) -> Result<usize> {
        Ok(crate::threads(self.threads)?)
    }

    pub fn open(&self) -> Result<Subject> {
        let mut run = Run::open(&self.run)?;
        if let Some(path) = &self.data_path {
            run.set_data_path(path);
        }
        let (network, loaded) = run.kuramoto(self.checkpoint.parse()?)?;
        let context = run.config().batch.context;
        let chosen = |range: std::ops::Range<usize>| match self.windows {
            0 => windows::all(range, context),
            count => windows::sample(range, context, count),
        };
        let (text, pairs) = match &self.text {
            Some(path) => {
                let bytes = fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
                if bytes.len() < 2 {
                    bail!(
                        "{} holds {} bytes: give at least two, one to read and one to predict",
                        path.display(),
                        bytes.len()
                    );
                }
                let tokens = run.corpus().encode(&path.display().to_string(), &bytes)?;
                let pair =
                    |w: windows::Window| (tokens[w.start..][..w.len].to_vec(), tokens[w.start + 1..][..w.len].to_vec());
                (path.display().to_string(), chosen(0..tokens.len()).into_iter().map(pair).collect())
            }
            None => {
                let corpus = Corpus::of_run(&run, &self.cache.clone().unwrap_or_else(default_cache))?;
                let read = |window: windows::Window| {
                    let (mut tokens, mut targets) = (vec![0; window.len], vec![0; window.len]);
                    corpus.read(window, &mut tokens, &mut targets);
                    (tokens, targets)
                };
                let name = format!("the validation split of {}", corpus.identity().name);
                (name, chosen(corpus.split(Split::Validation)).into_iter().map(read).collect())
            }
        };
        Ok(Subject {
            network,
            parameters: loaded.parameters,
            step: loaded.state.step,
            seed: run.config().seed,
            text,
            pairs,
        })
    }
}

/// Writes a file into a folder that is made if need be.
pub fn write(folder: &Path, name: &str, text: &str) -> Result<PathBuf> {
    let path = folder.join(name);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&path, text))
        .with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(path)
}
