//! `kuramoto diagnose`: the paper's diagnostics, and others, of a run on a text.

use crate::inspect::{Inspect, written};
use crate::table::counted;
use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use kuramoto_phase::diagnostics::Diagnostics;
use kuramoto_phase::surrogate::Surrogate;
use kuramoto_phase::survey::SurveyRequest;
use std::path::PathBuf;
use strum::VariantNames;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    inspect: Inspect,
    /// Folder of tables and figures [default: diagnostics in the run]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Surrogates to compare measures with, separated by commas; verdicts always compare with the untrained model
    #[arg(
        long,
        value_name = "SURROGATES",
        value_delimiter = ',',
        default_value = "untrained,shuffled,permuted,uniform",
        value_parser = surrogate_or_none()
    )]
    against: Vec<Option<Surrogate>>,
    /// Seed of the surrogates
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

fn surrogate_or_none() -> impl TypedValueParser<Value = Option<Surrogate>> {
    PossibleValuesParser::new(Surrogate::VARIANTS.iter().chain(&["none"])).map(|name| name.parse().ok())
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let against: Vec<Surrogate> = arguments.against.iter().flatten().copied().collect();
    let chosen = arguments.inspect.chosen()?;
    let subject = arguments.inspect.open(&chosen)?;
    let windows = subject.windows();
    let diagnostics = Diagnostics::of(&SurveyRequest {
        weights: &subject.weights,
        windows: &windows,
        against: &against,
        seed: arguments.seed,
        initial_seed: subject.seed,
        workers: arguments.inspect.threads()?.into(),
    })?;
    let folder = arguments.out.clone().unwrap_or_else(|| chosen.output("diagnostics"));
    let files = diagnostics.write(&folder)?;
    crate::print(&format!(
        "{}: {} of {}, {:.4} bits per byte, after step {}\n\n{}\n\n{}diagnostics.txt has every measure, what it \
         means, and what verdicts rest on; more in docs/phase.md#measures\n",
        chosen.name(),
        counted(windows.len(), "window"),
        subject.text,
        diagnostics.surveys.trained.bits_per_byte(),
        subject.step,
        diagnostics.summary().join("\n"),
        written(&files)
    ))
}
