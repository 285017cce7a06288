//! `kuramoto generate`: a model writes on from a prompt, byte by byte.

use crate::checkpoint::Checkpoint;
use crate::chosen::{Chosen, FOR_TEXT};
use crate::text::{self, Stream};
use anyhow::{Context, Result};
use kuramoto_train::generate::{Sampling, default_prompt, generate};
use kuramoto_train::{Identity, disk};
use std::io::{self, IsTerminal, Read, Write};
use std::path::PathBuf;

/// Let a run's model write on from a prompt
///
/// The model sees as many bytes as its context has. When that is full, it goes on with the second half of it;
/// of a prompt that fills the context, it reads the last half.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  kuramoto generate --prompt 'Anna was a ' --temperature 0.5
  kuramoto generate runs/tales-kuramoto-1 --samples 3 --top-k 10
  head -c 200 book.txt | kuramoto generate runs/book.txt-kuramoto-1 --prompt-file - --skip-unknown")]
pub struct Arguments {
    /// Run folder or shipped model [default: enwik8-kuramoto-1m]
    run: Option<PathBuf>,
    /// Text to go on from [default: how a paragraph of the corpus begins]
    #[arg(long, short)]
    prompt: Option<String>,
    /// File to go on from; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "prompt")]
    prompt_file: Option<PathBuf>,
    /// Leave out bytes of the prompt that the model's corpus does not have
    #[arg(long)]
    skip_unknown: bool,
    /// Bytes to write
    #[arg(long, short = 'n', default_value_t = 500)]
    bytes: usize,
    /// How many texts to write, with this seed and those that follow it
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    samples: u64,
    /// Logits are divided by it; 0 always takes the likeliest byte
    #[arg(long, short, default_value_t = 0.8)]
    temperature: f64,
    /// Draw from the likeliest bytes whose probabilities sum to this
    #[arg(long, default_value_t = 1.0)]
    top_p: f64,
    /// Draw from this many of the likeliest bytes; 0 for all
    #[arg(long, default_value_t = 0)]
    top_k: usize,
    /// Seed of the draws
    #[arg(long, short, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    checkpoint: Checkpoint,
}

/// On a terminal, bytes that are no text are shown as \xNN; elsewhere every byte is written as it is.
pub fn run(arguments: &Arguments) -> Result<()> {
    let run = Chosen::new(arguments.run.as_deref(), FOR_TEXT)?.open()?;
    let which = arguments.checkpoint.of(&run)?;
    let prompt = arguments.prompt(run.corpus())?;
    let mut out = io::stdout();
    let terminal = out.is_terminal();
    for sample in 0..arguments.samples {
        let sampling = Sampling {
            temperature: arguments.temperature,
            top_p: arguments.top_p,
            top_k: arguments.top_k,
            seed: arguments.seed.wrapping_add(sample),
        };
        if arguments.samples > 1 {
            let gap = if sample == 0 { "" } else { "\n" };
            writeln!(out, "{gap}--- {} of {}, seed {}", sample + 1, arguments.samples, sampling.seed)?;
        }
        let mut stream = Stream::default();
        let mut written = Ok(());
        let mut put = |out: &mut io::Stdout, byte: u8| {
            let shown = if terminal { stream.push(byte).into_bytes() } else { vec![byte] };
            out.write_all(&shown).and_then(|()| out.flush())
        };
        // A line break that was only to begin with is no text.
        let mut shown = if prompt == b"\n" { &[][..] } else { &prompt };
        generate(&run, which, &prompt, arguments.bytes, &sampling, &mut |byte| {
            let prompt = std::mem::take(&mut shown);
            written = prompt.iter().chain([&byte]).try_for_each(|&byte| put(&mut out, byte));
            written.is_ok()
        })?;
        written?;
        if terminal {
            out.write_all(stream.finish().as_bytes())?;
        }
        if terminal || arguments.samples > 1 {
            out.write_all(b"\n")?;
        }
    }
    Ok(out.flush()?)
}

impl Arguments {
    /// What to go on from, of which the model knows every byte.
    fn prompt(&self, corpus: &Identity) -> Result<Vec<u8>> {
        let given = match (&self.prompt, &self.prompt_file) {
            (Some(text), _) => text.clone().into_bytes(),
            (None, Some(path)) if path.as_os_str() == "-" => {
                let mut bytes = Vec::new();
                io::stdin().read_to_end(&mut bytes).context("cannot read standard input")?;
                bytes
            }
            (None, Some(path)) => {
                disk::read(path).with_context(|| format!("cannot read {}", path.display()))?
            }
            (None, None) => default_prompt(corpus),
        };
        if !self.skip_unknown {
            let advice = "give --skip-unknown to leave out bytes that the model does not know";
            return corpus.encode("prompt", &given).map(|_| given).context(advice);
        }
        let known = corpus.tokens();
        let (kept, skipped): (Vec<u8>, Vec<u8>) =
            given.into_iter().partition(|&byte| known[usize::from(byte)].is_some());
        if !skipped.is_empty() {
            let count = crate::table::counted(skipped.len(), "byte");
            let shown = text::quoted(&skipped[..skipped.len().min(20)]);
            let more = if skipped.len() > 20 { " .." } else { "" };
            crate::note(&format!("left out {count} that {} does not have: {shown}{more}", corpus.name));
        }
        Ok(kept)
    }
}
