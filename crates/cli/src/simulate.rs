//! `kuramoto simulate`: the classical Kuramoto model and its transition.

use crate::inspect::{one_of, written};
use crate::table::counted;
use crate::wrong;
use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use kuramoto_phase::classical::{
    Distribution, Graph, MAX_STEPS, Watch, csv, figure, sweep, sweep_bytes, table,
};
use kuramoto_report::write;
use kuramoto_train::{Error, disk, memory};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(clap::Args)]
pub struct Arguments {
    /// Distribution of natural frequencies
    #[arg(long, default_value = "lorentzian", value_parser = one_of::<Distribution>())]
    frequencies: Distribution,
    /// Their half-width, standard deviation or edge
    #[arg(long, default_value_t = 0.5)]
    width: f64,
    /// Oscillators
    #[arg(long, default_value_t = 2000)]
    oscillators: usize,
    /// Couplings K, separated by commas [default: 0 to 4 times the critical one]
    #[arg(long, value_delimiter = ',')]
    couplings: Vec<f64>,
    /// Couple along the edges in this file, two numbers a line, instead of all with all
    #[arg(long, value_name = "FILE", conflicts_with = "mean_degree")]
    graph: Option<PathBuf>,
    /// Couple along random edges, so many for each oscillator on average
    #[arg(long)]
    mean_degree: Option<f64>,
    /// Time before the order is measured
    #[arg(long, default_value_t = 100.0)]
    settle: f64,
    /// Time over which it is measured
    #[arg(long, default_value_t = 100.0)]
    measure: f64,
    /// Time of one Runge-Kutta step
    #[arg(long, default_value_t = 0.05)]
    step: f64,
    /// Seed of the initial phases and of random edges
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Folder of the table and the figure
    #[arg(long, value_name = "FOLDER", default_value = "simulation")]
    out: PathBuf,
}

/// What makes a simulation need less memory.
const LESS: &str = "fewer oscillators or a longer --step";

/// Most oscillators on a random graph: so many are drawn for in minutes.
const MAX_RANDOM: usize = 200_000;

fn positive(key: &str, value: f64) -> Result<(), Error> {
    let fine = value > 0.0 && value.is_finite();
    if fine { Ok(()) } else { Err(wrong(key, format!("{value:?}"), "it must be more than 0")) }
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let (width, count) = (arguments.width, arguments.oscillators);
    for (key, value) in [("--width", width), ("--oscillators", count as f64), ("--step", arguments.step)] {
        positive(key, value)?;
    }
    for (key, value) in [("--settle", arguments.settle), ("--measure", arguments.measure)] {
        positive(key, value)?;
    }
    let frequencies = arguments.frequencies.of_width(width);
    let critical = frequencies.critical_coupling();
    if !(critical.is_normal() && (4.0 * critical).is_finite()) {
        return Err(wrong(
            "--width",
            format!("{width:?}"),
            "its critical coupling must be a finite number above 0",
        )
        .into());
    }
    let watch = Watch { settle: arguments.settle, measure: arguments.measure, step: arguments.step };
    if watch.steps() > MAX_STEPS {
        let allowed = format!(
            "with --settle and --measure that is {:.1e} steps; at most {MAX_STEPS:.0e} are taken",
            watch.steps()
        );
        return Err(wrong("--step", format!("{:?}", arguments.step), allowed).into());
    }
    if let Some(degree) = arguments.mean_degree {
        positive("--mean-degree", degree)?;
        if count > MAX_RANDOM {
            let allowed = format!("with --mean-degree every two are drawn for: at most {MAX_RANDOM}");
            return Err(wrong("--oscillators", count, allowed).into());
        }
    }
    let threads = crate::threads(None)?;
    memory::check("the simulation", sweep_bytes(count, &Graph::Complete, watch, threads), LESS)?;
    let graph = match (&arguments.graph, arguments.mean_degree) {
        (Some(path), _) => read_graph(path, count)?,
        (None, Some(degree)) => {
            // Each edge is in two lists, which grow by doubling.
            let edges = degree.min(count as f64) * count as f64 * 2.0 * size_of::<usize>() as f64;
            memory::check("the random graph", edges as u64, "a lower --mean-degree")?;
            Graph::random(count, degree, arguments.seed)
        }
        (None, None) => Graph::Complete,
    };
    memory::check("the simulation", sweep_bytes(count, &graph, watch, threads), LESS)?;
    let couplings = match &arguments.couplings[..] {
        [] => (0..=32).map(|i| critical * f64::from(i) / 8.0).collect(),
        some => some.to_vec(),
    };
    if let Some(coupling) = couplings.iter().find(|coupling| !coupling.is_finite()) {
        return Err(wrong("--couplings", coupling, "give finite numbers").into());
    }
    // A folder that cannot be written is found now, not after minutes of work.
    fs::create_dir_all(&arguments.out)
        .with_context(|| format!("{} cannot be written", arguments.out.display()))?;
    let bar = progress(couplings.len());
    let found = sweep(frequencies, count, &graph, &couplings, watch, arguments.seed, || bar.inc(1));
    bar.finish_and_clear();
    let mut files = vec![write(&arguments.out, "transition.csv", csv(&found))?];
    files.extend(figure(frequencies, &found).save(&arguments.out)?);
    crate::print(&format!(
        "{}, {} frequencies of width {width}: critical coupling {critical:.4} (of an infinite population, \
         all with all)\n\n{}\n{}",
        counted(count, "oscillator"),
        arguments.frequencies,
        table(&found),
        written(&files)
    ))
}

/// Couplings that are done; nothing where standard error is no terminal.
fn progress(couplings: usize) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{bar:24.cyan/blue} {pos}/{len} couplings  {elapsed} gone  {eta} left");
    let bar = ProgressBar::new(couplings as u64).with_style(style.expect("the template is well formed"));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn read_graph(path: &Path, count: usize) -> Result<Graph> {
    let text = disk::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let mut edges = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let ends: Vec<usize> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let (&[a, b], 2) = (&ends[..], line.split_whitespace().count()) else {
            bail!(
                "{}, line {}: {line:?} is not an edge: write two numbers of oscillators",
                path.display(),
                number + 1
            );
        };
        edges.push((a, b));
    }
    Graph::of_edges(count, &edges)
        .map_err(|why| anyhow::anyhow!("{}: {why}; see --oscillators", path.display()))
}
