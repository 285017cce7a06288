//! `kuramoto lab run`: what a plan still lacks, with a bar for every worker and one for the whole.

use crate::device::DeviceArguments;
use crate::program::{program, quoted};
use crate::progress::seconds;
use crate::signals::Signals;
use crate::table::counted;
use anyhow::{Context, Result};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use kuramoto_engine::Cpu;
use kuramoto_lab::runner::{Corpora, Outcome, Watcher, run_all};
use kuramoto_lab::{Plan, Planned};
use kuramoto_train::data::default_cache;
use kuramoto_train::run::Ended;
use kuramoto_train::{Observer, Row, Setting, State};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(clap::Args)]
pub struct Arguments {
    /// The plan's folder
    plan: PathBuf,
    /// Runs at a time, sharing the cores [default: one a core; on a graphics device, as many as keep it busy]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
    /// Run this one only, as job arrays do
    #[arg(long)]
    index: Option<usize>,
    /// Threads of all jobs together [default: all cores]
    #[arg(long)]
    threads: Option<usize>,
    #[command(flatten)]
    device: DeviceArguments,
    /// Folder of prepared corpora
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let plan = Plan::open(&arguments.plan)?;
    let cores = crate::threads(arguments.threads)?;
    let chosen: Vec<&Planned> = match arguments.index {
        Some(index) => vec![plan.run(index)?],
        None => plan.runs.iter().collect(),
    };
    let jobs = |or: usize| arguments.jobs.map_or(or, |jobs| jobs as usize).clamp(1, chosen.len().max(1));
    let opened = arguments.device.open(Cpu::new((cores / jobs(cores)).max(1)))?;
    let largest = chosen.iter().max_by(|a, b| a.flops.total_cmp(&b.flops));
    let measured = opened.measure()?;
    let fitting = largest
        .map_or(Ok(1), |run| measured.runs_at_a_time(&run.config.model, &run.config.shape(), cores))?;
    let jobs = jobs(fitting);
    let setting = Setting { core_peak_flops: Some(measured.peak_flops), ..Setting::new(opened.device()) };
    let screen = Screen::new(chosen.iter().map(|run| run.flops).sum(), arguments.index.is_some())?;
    let corpora = Corpora::new(&arguments.cache.clone().unwrap_or_else(default_cache));
    run_all(&plan, &chosen, &corpora, jobs, setting, &screen);
    screen.close(&plan)
}

/// Bars count whole things, so operations are counted in millions.
const UNIT: f64 = 1e6;

/// The bars, or the lines where there is no terminal.
struct Screen {
    bars: MultiProgress,
    whole: ProgressBar,
    live: bool,
    /// One run was asked for.
    alone: bool,
    signals: Signals,
    ran: AtomicUsize,
    finished: AtomicUsize,
    taken: AtomicUsize,
    failed: AtomicUsize,
}

impl Screen {
    fn new(flops: f64, alone: bool) -> Result<Screen> {
        let live = std::io::stderr().is_terminal();
        let bars = MultiProgress::new();
        let whole =
            if live { bars.add(ProgressBar::new((flops / UNIT) as u64)) } else { ProgressBar::hidden() };
        let style = ProgressStyle::with_template(
            "{bar:24.green} {percent}% of the plan  {elapsed} gone  {eta} left  {msg}",
        );
        whole.set_style(style.expect("the template is well formed"));
        let signals = Signals::listen().context("cannot listen to signals")?;
        let [ran, finished, taken, failed] = [const { AtomicUsize::new(0) }; 4];
        Ok(Screen { bars, whole, live, alone, signals, ran, finished, taken, failed })
    }

    fn say(&self, text: &str) {
        self.bars.suspend(|| crate::note(text));
    }

    /// Says how it went.
    fn close(&self, plan: &Plan) -> Result<ExitCode> {
        self.whole.finish_and_clear();
        let (program, folder) = (program(), quoted(&plan.folder().to_string_lossy()));
        if self.signals.came() {
            let again = format!("{program} lab run {folder}");
            crate::print(&format!("stopped; everything is saved. Go on with: {again}\n"))?;
            return Ok(ExitCode::from(self.signals.exit_code()));
        }
        let [ran, finished, taken, failed] =
            [&self.ran, &self.finished, &self.taken, &self.failed].map(|count| count.load(Ordering::Relaxed));
        crate::print(&format!(
            "{} done, {finished} done before, {taken} trained by other processes, {failed} failed\ntheir \
             report: {program} lab report {folder}\n",
            counted(ran, "run")
        ))?;
        // Who asked for one run must not take it for finished when another process has it.
        let wanting = failed > 0 || (self.alone && taken > 0);
        Ok(if wanting { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

fn name(run: &Planned) -> String {
    format!("{} seed {}", run.arm, run.seed)
}

impl Watcher for Screen {
    fn begins<'a>(&'a self, run: &'a Planned) -> Box<dyn Observer + 'a> {
        let bar = if self.live { self.bars.add(ProgressBar::new(1)) } else { ProgressBar::hidden() };
        let style = ProgressStyle::with_template("{bar:24.cyan/blue} {pos}/{len}  {wide_msg}");
        bar.set_style(style.expect("the template is well formed"));
        let per_step =
            run.config.model.flops(run.config.batch.context).training * run.config.batch.tokens() as f64;
        Box::new(Worker { screen: self, bar, name: name(run), units_per_step: per_step / UNIT })
    }

    fn ended(&self, run: &Planned, outcome: &kuramoto_lab::Result<Outcome>) {
        let count = |number: &AtomicUsize| {
            number.fetch_add(1, Ordering::Relaxed);
        };
        let name = name(run);
        match outcome {
            Err(error) => {
                count(&self.failed);
                self.say(&format!("run {}: {name}: failed: {error}", run.index));
            }
            Ok(Outcome::Ran(summary)) if summary.ended == Ended::Interrupted => {}
            Ok(Outcome::Ran(summary)) => {
                count(&self.ran);
                let bits = summary.validation_bits_per_byte;
                let bits =
                    bits.map_or_else(|| "not validated".into(), |bits| format!("{bits:.4} bits per byte"));
                let time = seconds(summary.seconds);
                let ended = match summary.ended {
                    Ended::NonFinite => format!("; {}", summary.ended_in_words()),
                    _ => String::new(),
                };
                self.say(&format!("run {}: {name}: {bits} in {time}{ended}", run.index));
            }
            Ok(Outcome::WasFinished(_)) => {
                count(&self.finished);
                self.whole.inc((run.flops / UNIT) as u64);
            }
            Ok(Outcome::Failed(failure)) => {
                count(&self.failed);
                self.say(&format!("run {}: {name}: failed: {failure}", run.index));
            }
            Ok(Outcome::Taken) => count(&self.taken),
        }
    }

    fn stop(&self) -> bool {
        self.signals.came()
    }
}

/// One worker's bar.
struct Worker<'a> {
    screen: &'a Screen,
    bar: ProgressBar,
    name: String,
    units_per_step: f64,
}

impl Observer for Worker<'_> {
    fn plan(&mut self, plan: &kuramoto_train::TrainingPlan) {
        self.bar.set_length(plan.steps);
        self.bar.set_position(plan.done);
        self.screen.whole.inc((self.units_per_step * plan.done as f64) as u64);
    }

    fn step(&mut self, row: &Row, state: &State) {
        let best = state.best.map_or_else(|| "-".into(), |best| format!("{:.3}", best.bits_per_byte));
        self.bar.set_message(format!("{}  train {:.3}  best {best}", self.name, row.train_bits_per_byte));
        self.bar.set_position(row.step);
        self.screen.whole.inc(self.units_per_step.round() as u64);
    }

    fn warning(&mut self, text: &str) {
        self.screen.say(&format!("warning: {}: {text}", self.name));
    }

    fn stop(&mut self) -> bool {
        self.screen.signals.came()
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
