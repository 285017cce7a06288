//! `kuramoto`: Kuramoto Attention on the command line. Parses, calls, prints; the science is in the libraries.
//!
//! Exit codes: 0 done, 1 something failed, 2 the command line or its input was not understood.

#![allow(clippy::print_stderr)]

mod bench;
mod matching;
mod table;

use clap::{Parser, Subcommand};
use std::io::{self, Write};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "kuramoto", version, about, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the widths and parameter counts of both models at a parameter budget
    Match(matching::Arguments),
    /// Measure training and decoding speed and memory against this machine's peak
    Bench(bench::Arguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Match(arguments) => matching::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that left, as in `kuramoto .. | head`, has had enough.
        Err(error) if error.downcast_ref().is_some_and(|e: &io::Error| e.kind() == io::ErrorKind::BrokenPipe) => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(if error.is::<kuramoto_model::Error>() { 2 } else { 1 })
        }
    }
}

/// Prints to standard output at once.
fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}
