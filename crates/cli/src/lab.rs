//! `kuramoto lab`: plans of runs and their runner.

use crate::progress::duration;
use crate::signals::Signals;
use crate::table::{Table, thousands};
use anyhow::{Context, Result};
use clap::{ArgAction, Subcommand};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use kuramoto_kernels::peak;
use kuramoto_lab::plan::{Experiment, Plan, Planned, Request, width};
use kuramoto_lab::results::Results;
use kuramoto_lab::runner::{Corpora, Outcome, Status, run_one, status};
use kuramoto_lab::scale::Scale;
use kuramoto_train::data::default_cache;
use kuramoto_train::presets::Protocol;
use kuramoto_train::run::Ended;
use kuramoto_train::{Layer, Observer, Row, State};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write a list of runs and what they will cost
    Plan(PlanArguments),
    /// Run what a plan still lacks; stop and start it as you like
    Run(RunArguments),
    /// Show where the runs of a plan are
    Status(FolderArguments),
    /// Write tables and statistics of the finished runs next to the paper's numbers
    Report(FolderArguments),
}

#[derive(clap::Args)]
struct PlanArguments {
    /// compare, ablations, grid or paper (all of them)
    experiment: String,
    /// smoke (a minute), study (hours) or paper (weeks)
    #[arg(long, default_value = "study")]
    scale: String,
    /// New folder of the plan
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// Corpora, separated by commas [default: tales at smoke, else enwik8]
    #[arg(long = "corpus", value_name = "CORPUS", value_delimiter = ',')]
    corpora: Vec<String>,
    /// Where a named corpus lies
    #[arg(long, value_name = "PATH", default_value = "")]
    data_path: String,
    /// Seeds of every arm [default: 2 at smoke, 3 at study, 5 at paper]
    #[arg(long)]
    seeds: Option<u64>,
    /// Parameter budgets, separated by commas [default: 6k at smoke, 120k at study, 1M and 5M at paper]
    #[arg(long = "budget", value_name = "BUDGET", value_delimiter = ',')]
    budgets: Vec<String>,
    /// Recipe: tuned or paper [default: both to compare; otherwise tuned, at the paper's scale the paper's]
    #[arg(long)]
    protocol: Option<String>,
    /// Any key of config.toml, for every run; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", action = ArgAction::Append)]
    set: Vec<String>,
    /// Folder of prepared corpora
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
}

#[derive(clap::Args)]
struct RunArguments {
    /// The plan's folder
    plan: PathBuf,
    /// Runs at a time, sharing the cores [default: one a core]
    #[arg(long)]
    jobs: Option<usize>,
    /// Run this one only, as job arrays do
    #[arg(long)]
    index: Option<usize>,
    /// Threads of all jobs together [default: all cores]
    #[arg(long)]
    threads: Option<usize>,
    /// Folder of prepared corpora
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
}

#[derive(clap::Args)]
struct FolderArguments {
    /// The plan's folder
    plan: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    match &arguments.command {
        Command::Plan(arguments) => make(arguments).map(|()| ExitCode::SUCCESS),
        Command::Run(arguments) => execute(arguments),
        Command::Status(arguments) => show(arguments).map(|()| ExitCode::SUCCESS),
        Command::Report(arguments) => report(arguments).map(|()| ExitCode::SUCCESS),
    }
}

/// Share of the multiply-add peak that an estimate counts on; small models reach less than large ones.
const EXPECTED_UTILISATION: f64 = 0.6;

fn make(arguments: &PlanArguments) -> Result<()> {
    let layers = arguments.set.iter().map(|pair| Layer::pair("--set", pair));
    let budgets = arguments.budgets.iter().map(|budget| kuramoto_model::matching::parse_budget(budget));
    let request = Request {
        experiment: Experiment::named(&arguments.experiment)?,
        scale: Scale::named(&arguments.scale)?,
        corpora: arguments.corpora.clone(),
        data_path: arguments.data_path.clone(),
        seeds: arguments.seeds,
        budgets: budgets.collect::<Result<_, _>>()?,
        protocol: arguments.protocol.as_deref().map(Protocol::named).transpose()?,
        layers: layers.collect::<Result<_, _>>()?,
    };
    let plan = Plan::create(&request, &arguments.out, &arguments.cache.clone().unwrap_or_else(default_cache))?;
    let cores = crate::threads(None)?;
    let rate = peak::measure(0.1) * cores as f64 * EXPECTED_UTILISATION;
    let mut table = Table::new(&["arm", "table", "corpus", "width", "parameters", "seeds", "hours each"]);
    for run in plan.runs.iter().filter(|run| run.seed == 0) {
        table.row([
            run.arm.clone(),
            run.table.clone(),
            run.corpus.clone(),
            width(&run.config.model),
            thousands(run.parameters),
            plan.runs.iter().filter(|other| other.cell() == run.cell()).count().to_string(),
            format!("{:.2}", run.flops / rate / 3600.0),
        ]);
    }
    let total = Duration::from_secs_f64(plan.flops() / rate);
    crate::print(&format!(
        "{table}\n{} runs, {:.2e} floating-point operations: about {} on the {cores} cores here, at {:.0}% of their peak\n\
         run them with: kuramoto lab run {}\n",
        plan.runs.len(),
        plan.flops(),
        duration(total),
        100.0 * EXPECTED_UTILISATION,
        plan.folder().display(),
    ))
}

fn show(arguments: &FolderArguments) -> Result<()> {
    let plan = Plan::open(&arguments.plan)?;
    let mut table = Table::new(&["run", "arm", "seed", "parameters", "validation", "status"]);
    for run in &plan.runs {
        let (bits, word) = match status(&plan, run) {
            Ok(Status::Missing) => (None, "missing".into()),
            Ok(Status::Begun) => (None, "begun".into()),
            Ok(Status::Training) => (None, "training".into()),
            Ok(Status::Finished(summary)) => (summary.validation_bits_per_byte, "finished".into()),
            Err(error) => (None, error.to_string()),
        };
        let bits = bits.map_or_else(|| "-".into(), |bits| format!("{bits:.4}"));
        table.row([
            run.index.to_string(),
            run.arm.clone(),
            run.seed.to_string(),
            thousands(run.parameters),
            bits,
            word,
        ]);
    }
    crate::print(&table.to_string())
}

fn report(arguments: &FolderArguments) -> Result<()> {
    let plan = Plan::open(&arguments.plan)?;
    let results = Results::gather(&plan)?;
    let written = kuramoto_lab::report::write(&plan, &results)?;
    let list: Vec<String> = written.iter().map(|path| format!("    {}\n", path.display())).collect();
    let (done, planned) = results.progress;
    crate::print(&format!("{done} of {planned} runs are finished; wrote\n{}", list.concat()))
}

/// The bars, or the lines where there is no terminal.
struct Screen {
    bars: MultiProgress,
    whole: ProgressBar,
    live: bool,
}

impl Screen {
    fn new(flops: f64) -> Screen {
        let live = std::io::stderr().is_terminal();
        let bars = MultiProgress::new();
        // In GFLOP: bars count whole things.
        let whole = if live { bars.add(ProgressBar::new((flops / 1e9) as u64)) } else { ProgressBar::hidden() };
        let style =
            ProgressStyle::with_template("{bar:24.green} {percent}% of the plan  {elapsed} gone  {eta} left  {msg}");
        whole.set_style(style.expect("the template is well formed"));
        Screen { bars, whole, live }
    }

    fn say(&self, text: &str) {
        self.bars.suspend(|| crate::note(text));
    }
}

/// One worker's bar.
struct Worker<'a> {
    screen: &'a Screen,
    signals: Signals,
    bar: ProgressBar,
    name: String,
    flops_per_step: f64,
    began: Instant,
}

impl Observer for Worker<'_> {
    fn plan(&mut self, plan: &kuramoto_train::Plan) {
        self.bar.set_length(plan.steps);
        self.bar.set_position(plan.done);
        self.screen.whole.inc((self.flops_per_step * plan.done as f64 / 1e9) as u64);
        self.began = Instant::now();
    }

    fn step(&mut self, row: &Row, state: &State) {
        let best = state.best.map_or_else(|| "-".into(), |best| format!("{:.3}", best.bits_per_byte));
        self.bar.set_message(format!("{}  train {:.3}  best {best}", self.name, row.train_bits_per_byte));
        self.bar.set_position(row.step);
        self.screen.whole.inc((self.flops_per_step / 1e9).round() as u64);
    }

    fn warning(&mut self, text: &str) {
        self.screen.say(&format!("warning: {}: {text}", self.name));
    }

    fn stop(&mut self) -> bool {
        self.signals.came()
    }
}

fn execute(arguments: &RunArguments) -> Result<ExitCode> {
    let plan = Plan::open(&arguments.plan)?;
    let cores = crate::threads(arguments.threads)?;
    let chosen: Vec<&Planned> = match arguments.index {
        Some(index) => vec![plan.run(index)?],
        None => plan.runs.iter().collect(),
    };
    let jobs = arguments.jobs.unwrap_or(cores).clamp(1, chosen.len().max(1));
    let threads = (cores / jobs).max(1);
    let signals = Signals::listen().context("cannot listen to signals")?;
    let screen = Screen::new(chosen.iter().map(|run| run.flops).sum());
    let corpora = Corpora::new(&arguments.cache.clone().unwrap_or_else(default_cache));
    let peak = peak::measure(0.05) * threads as f64;
    let next = AtomicUsize::new(0);
    let [ran, finished, taken, failed] = [const { AtomicUsize::new(0) }; 4];
    let work = || {
        while let Some(run) = chosen.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| !signals.came()) {
            let name = format!("{} seed {}", run.arm, run.seed);
            let bar = if screen.live { screen.bars.add(ProgressBar::new(1)) } else { ProgressBar::hidden() };
            bar.set_style(
                ProgressStyle::with_template("{bar:24.cyan/blue} {pos}/{len}  {wide_msg}").expect("well formed"),
            );
            let mut worker = Worker {
                screen: &screen,
                signals: signals.clone(),
                bar,
                name: name.clone(),
                flops_per_step: run.config.model.training_flops(run.config.batch.context)
                    * run.config.batch.tokens() as f64,
                began: Instant::now(),
            };
            let outcome = run_one(&plan, run, &corpora, threads, Some(peak), &mut worker);
            worker.bar.finish_and_clear();
            match outcome {
                // The others do not depend on it.
                Err(error) => {
                    failed.fetch_add(1, Ordering::Relaxed);
                    screen.say(&format!("run {}: {name}: failed: {error}", run.index));
                }
                Ok(Outcome::Ran(summary)) if summary.ended == Ended::Interrupted => {}
                Ok(Outcome::Ran(summary)) => {
                    ran.fetch_add(1, Ordering::Relaxed);
                    let bits = summary.validation_bits_per_byte.unwrap_or(f64::NAN);
                    let time = duration(worker.began.elapsed());
                    screen.say(&format!("run {}: {name}: {bits:.4} bits per byte in {time}", run.index));
                }
                Ok(Outcome::WasFinished(_)) => {
                    finished.fetch_add(1, Ordering::Relaxed);
                    screen.whole.inc((run.flops / 1e9) as u64);
                }
                Ok(Outcome::Taken) => {
                    taken.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(work);
        }
    });
    screen.whole.finish_and_clear();
    let count = |number: &AtomicUsize| number.load(Ordering::Relaxed);
    let folder = plan.folder().display();
    if signals.came() {
        crate::print(&format!("stopped; everything is saved. Go on with: kuramoto lab run {folder}\n"))?;
        return Ok(ExitCode::from(signals.exit_code()));
    }
    let [ran, finished, taken, failed] = [ran, finished, taken, failed].each_ref().map(count);
    crate::print(&format!(
        "{ran} runs done, {finished} were done before, {taken} are in other hands, {failed} failed\n"
    ))?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
