//! `kuramoto`: Kuramoto Attention on the command line. Parses, calls, prints; the science is in the libraries.
//!
//! Exit codes: 0 done, 1 something failed, 2 the command line or its input was not understood.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod matching;
mod table;

use clap::{Parser, Subcommand};
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
    // Rust programs ignore the signal that ends a writer whose reader left; without a panic, `kuramoto .. | head` works.
    let result = match Arguments::parse().command {
        Command::Match(arguments) => matching::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(if error.is::<kuramoto_model::Error>() { 2 } else { 1 })
        }
    }
}
