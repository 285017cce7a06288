//! `kuramoto generate`: a model writes on from a prompt, byte by byte.

use crate::checkpoint::Checkpoint;
use crate::chosen::{Chosen, FOR_TEXT};
use crate::text::Stream;
use anyhow::Result;
use kuramoto_train::generate::{Sampling, default_prompt, generate};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// Run folder or shipped model [default: tales-kuramoto]
    run: Option<PathBuf>,
    /// Text to go on from [default: a line break]
    #[arg(long)]
    prompt: Option<String>,
    /// Bytes to write
    #[arg(long, default_value_t = 500)]
    bytes: usize,
    /// Logits are divided by it; 0 takes the likeliest byte always
    #[arg(long, default_value_t = 0.8)]
    temperature: f64,
    /// Draw from the likeliest bytes that make up this probability together
    #[arg(long, default_value_t = 1.0)]
    top_p: f64,
    /// Seed of the draws
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    checkpoint: Checkpoint,
}

/// On a terminal, bytes that are no text are shown as \xNN; elsewhere every byte is written as it is.
pub fn run(arguments: &Arguments) -> Result<()> {
    let run = Chosen::new(arguments.run.as_deref(), FOR_TEXT)?.open()?;
    let which = arguments.checkpoint.of(&run)?;
    let prompt = match &arguments.prompt {
        Some(prompt) => prompt.clone().into_bytes(),
        None => default_prompt(run.corpus()),
    };
    let sampling =
        Sampling { temperature: arguments.temperature, top_p: arguments.top_p, seed: arguments.seed };
    let mut out = io::stdout();
    let terminal = out.is_terminal();
    let mut stream = Stream::default();
    let mut written = Ok(());
    let mut put = |out: &mut io::Stdout, byte: u8| {
        let shown = if terminal { stream.push(byte).into_bytes() } else { vec![byte] };
        out.write_all(&shown).and_then(|()| out.flush())
    };
    let mut begun = false;
    generate(&run, which, &prompt, arguments.bytes, &sampling, &mut |byte| {
        // The prompt goes first, but not before it is known that the model can read it.
        let prompt: &[u8] = if !begun && arguments.prompt.is_some() { &prompt } else { &[] };
        begun = true;
        written = prompt.iter().chain([&byte]).try_for_each(|&byte| put(&mut out, byte));
        written.is_ok()
    })?;
    written?;
    if terminal {
        out.write_all(stream.finish().as_bytes())?;
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}
