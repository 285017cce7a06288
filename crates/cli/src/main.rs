//! `kuramoto`: Kuramoto Attention on the command line. Parses, calls, prints; the science is in the
//! libraries.
//!
//! Exit codes: 0 done, 1 something failed, 2 the command line or its input was not understood; training that
//! was asked to stop and saved its state: 130 after Ctrl-C, 143 after SIGTERM,
//! 141 when nobody read its rows any more.

mod bench;
mod checkpoint;
mod choice;
mod chosen;
mod describe;
mod device;
mod diagnose;
mod eval;
mod explore;
mod export;
mod generate;
mod inspect;
mod lab;
mod lesion;
mod manual;
mod matching;
mod models;
mod processes;
mod program;
mod progress;
mod pulls;
mod runs;
mod scaling;
mod signals;
mod simulate;
mod site;
mod table;
mod text;
mod train;

use anyhow::Context;
use clap::{CommandFactory, Parser, Subcommand};
use kuramoto_engine::MAX_THREADS;
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
    /// Train a model; without options, a small one on generated tales in two minutes
    Train(Box<train::Arguments>),
    /// List runs and their results
    Runs(runs::Arguments),
    /// List the trained models that come with the program
    Models(models::Arguments),
    /// Measure exact bits per byte of a run on a split of its corpus
    Eval(eval::Arguments),
    Generate(generate::Arguments),
    /// Measure the phases of a run: order parameters, drift, locking, and what the paper says of them
    Diagnose(diagnose::Arguments),
    /// Take part of a run's model away, dose by dose, and see what it costs in bits per byte
    Lesion(lesion::Arguments),
    /// List who pulled a byte, layer by layer, by how much and which way
    Pulls(pulls::Arguments),
    /// Write phases, couplings or weights for NumPy, xarray and others
    Export(export::Arguments),
    /// Open a local page to watch training and to look inside
    Explore(explore::Arguments),
    /// Write the explorer as static files, with models that run in the browser
    Site(site::Arguments),
    /// Simulate the classical Kuramoto model and plot its transition
    Simulate(simulate::Arguments),
    /// Plan and run experiments: the paper's tables at a scale this machine carries
    Lab(lab::Arguments),
    /// Print the widths and parameter counts of both models at a parameter budget
    Match(matching::Arguments),
    /// Measure training and decoding speed and memory against this machine's peak
    Bench(bench::Arguments),
    /// List compute devices: the processor, and graphics devices with their limits
    Devices(device::Arguments),
    /// Print completions for a shell
    Completions(manual::CompletionArguments),
    /// Write man pages
    Man(manual::ManArguments),
}

fn main() -> ExitCode {
    let done = |()| ExitCode::SUCCESS;
    let result = match Arguments::parse().command {
        Command::Train(arguments) => train::run(&arguments),
        Command::Runs(arguments) => runs::run(&arguments).map(done),
        Command::Models(arguments) => models::run(&arguments).map(done),
        Command::Eval(arguments) => eval::run(&arguments).map(done),
        Command::Generate(arguments) => generate::run(&arguments).map(done),
        Command::Diagnose(arguments) => diagnose::run(&arguments).map(done),
        Command::Lesion(arguments) => lesion::run(&arguments).map(done),
        Command::Pulls(arguments) => pulls::run(&arguments).map(done),
        Command::Export(arguments) => export::run(&arguments).map(done),
        Command::Explore(arguments) => explore::run(&arguments).map(done),
        Command::Site(arguments) => site::run(&arguments).map(done),
        Command::Simulate(arguments) => simulate::run(&arguments).map(done),
        Command::Lab(arguments) => lab::run(&arguments),
        Command::Match(arguments) => matching::run(&arguments).map(done),
        Command::Bench(arguments) => bench::run(&arguments).map(done),
        Command::Devices(arguments) => device::run(&arguments).map(done),
        Command::Completions(arguments) => manual::completions(Arguments::command(), &arguments).map(done),
        Command::Man(arguments) => manual::man(Arguments::command(), &arguments).map(done),
    };
    match result {
        Ok(code) => code,
        // A reader that left, as in `kuramoto .. | head`, has had enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let hint = match error.downcast_ref() {
                Some(kuramoto_train::Error::NotARun { .. }) => {
                    format!("; `{} runs FOLDER` lists the runs in a folder", program::program())
                }
                _ => String::new(),
            };
            note(&format!("error: {error:#}{hint}"));
            let usage = error.is::<kuramoto_model::Error>()
                || error.is::<kuramoto_engine::Error>()
                || error.downcast_ref().is_some_and(kuramoto_train::Error::is_usage)
                || error.downcast_ref().is_some_and(kuramoto_phase::Error::is_usage)
                || error.downcast_ref().is_some_and(kuramoto_lab::Error::is_usage);
            ExitCode::from(if usage { 2 } else { 1 })
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref().is_some_and(|error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Prints to standard output at once.
fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    // As in `note`; what a program reads, such as JSON, holds nothing of the kind.
    let written = out.write_all(text::printable(text.as_bytes()).as_bytes()).and_then(|()| out.flush());
    written.context("cannot write to standard output")
}

/// Prints a line to standard error, if anyone still reads it.
fn note(text: &str) {
    // A name of a file may hold what steers a terminal.
    writeln!(io::stderr().lock(), "{}", text::printable(text.as_bytes())).ok();
}

/// What was given for a flag is not allowed.
fn wrong(key: &str, value: impl ToString, allowed: impl Into<String>) -> kuramoto_train::Error {
    kuramoto_train::Error::Setting { key: key.into(), value: value.to_string(), allowed: allowed.into() }
}

/// The threads that were asked for, or all cores.
fn threads(asked: Option<usize>) -> Result<usize, kuramoto_train::Error> {
    match asked {
        Some(threads @ 1..=MAX_THREADS) => Ok(threads),
        Some(threads) => Err(wrong("--threads", threads, format!("it must be from 1 to {MAX_THREADS}"))),
        None => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
    }
}
