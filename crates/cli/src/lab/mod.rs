//! `kuramoto lab`: plans of runs and their runner.

mod cost;
mod run;
mod submit;

use crate::choice::choice;
use crate::program::{program, quoted};
use crate::progress::seconds;
use crate::table::{Table, counted, thousands};
use crate::train::note_other_name;
use anyhow::Result;
use clap::{ArgAction, Subcommand};
use kuramoto_kernels::peak;
use kuramoto_lab::claims::{count_in, seeds_needed};
use kuramoto_lab::plan::size;
use kuramoto_lab::results::Results;
use kuramoto_lab::runner::Status;
use kuramoto_lab::scale::Scale;
use kuramoto_lab::standing::Standing;
use kuramoto_lab::{Arm, Experiment, PaperTable, Plan, Planned, Request};
use kuramoto_train::data::default_cache;
use kuramoto_train::presets::Protocol;
use kuramoto_train::{Corpus, Overlay};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

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
    Run(run::Arguments),
    /// Hand a plan to a cluster as a job array
    Submit(submit::Arguments),
    /// Show where the runs of a plan are
    Status(FolderArguments),
    /// Write tables and statistics of the finished runs next to the paper's numbers
    Report(ReportArguments),
}

#[derive(clap::Args)]
struct PlanArguments {
    /// Tables of the paper to plan; `paper` is all of them
    #[arg(value_parser = choice::<Experiment>())]
    experiment: Experiment,
    /// Size of every run: a smoke test takes a minute, a study hours, the paper's protocol weeks
    #[arg(long, default_value_t = Scale::Study, value_parser = choice::<Scale>())]
    scale: Scale,
    /// New folder of the plan
    #[arg(long, value_name = "FOLDER", required_unless_present = "dry_run")]
    out: Option<PathBuf>,
    /// Print the runs and what they cost, and write nothing; the paper's corpora need not be there
    #[arg(long)]
    dry_run: bool,
    /// Estimate the cost on so many cores, besides this machine's
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    cores: Option<u32>,
    /// Corpora, separated by commas: a name, NAME=PATH, a file or a folder [default: tales at smoke, enwik8
    /// at study, at paper the paper's for every table]
    #[arg(long = "data", alias = "corpus", value_name = "CORPUS", value_delimiter = ',')]
    corpora: Vec<String>,
    /// Arms, separated by commas; ablations come with their reference, variants beyond the paper's table can
    /// be named [default: all of the paper's table]
    #[arg(long, value_name = "ARM", value_delimiter = ',')]
    arms: Vec<Arm>,
    /// Location of a named corpus
    #[arg(long, value_name = "PATH", default_value = "")]
    data_path: String,
    /// Seeds of every arm [default: 2 at smoke, 3 at study, at paper the paper's for every arm]
    #[arg(long)]
    seeds: Option<u64>,
    /// Parameter budgets, separated by commas [default: 6k at smoke, 168k at study, 1M and 5M at paper]
    #[arg(long = "budget", value_name = "BUDGET", value_delimiter = ',')]
    budgets: Vec<String>,
    /// Recipe [default: both to compare; otherwise tuned, at the paper's scale the paper's]
    #[arg(long, value_parser = choice::<Protocol>())]
    protocol: Option<Protocol>,
    /// Any key of config.toml, for every run; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", action = ArgAction::Append)]
    set: Vec<String>,
    /// Folder of prepared corpora
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
}

#[derive(clap::Args)]
struct FolderArguments {
    /// The plan's folder
    plan: PathBuf,
}

#[derive(clap::Args)]
struct ReportArguments {
    /// The plan's folder
    plan: PathBuf,
    /// Write it from the report.json that is there, for a plan whose run folders were not kept
    #[arg(long)]
    again: bool,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    match &arguments.command {
        Command::Plan(arguments) => make(arguments).map(|()| ExitCode::SUCCESS),
        Command::Run(arguments) => run::run(arguments),
        Command::Submit(arguments) => submit::run(arguments).map(|()| ExitCode::SUCCESS),
        Command::Status(arguments) => show(arguments).map(|()| ExitCode::SUCCESS),
        Command::Report(arguments) => report(arguments).map(|()| ExitCode::SUCCESS),
    }
}

/// Largest difference in parameters between models that count as matched.
const MATCHED: f64 = 0.05;

fn make(arguments: &PlanArguments) -> Result<()> {
    let overlays = arguments.set.iter().map(|pair| Overlay::pair("--set", pair));
    let budgets = arguments.budgets.iter().map(|budget| kuramoto_model::matching::parse_budget(budget));
    let request = Request {
        experiment: arguments.experiment,
        scale: arguments.scale,
        corpora: arguments.corpora.clone(),
        arms: arguments.arms.clone(),
        data_path: arguments.data_path.clone(),
        seeds: arguments.seeds,
        budgets: budgets.collect::<Result<_, _>>()?,
        protocol: arguments.protocol,
        overlays: overlays.collect::<Result<_, _>>()?,
    };
    let cache = arguments.cache.clone().unwrap_or_else(default_cache);
    let plan = match (&arguments.out, arguments.dry_run) {
        (Some(out), false) => Plan::create(&request, out, &cache)?,
        (out, _) => Plan::draft(&request, out.as_deref().unwrap_or(Path::new("plan")), &cache)?,
    };
    note_other_names(&plan, &cache);
    let next = match arguments.dry_run {
        true => "nothing was written\n".into(),
        false => {
            format!("run them with: {} lab run {}\n", program(), quoted(&plan.folder().to_string_lossy()))
        }
    };
    let costs = cost::text(&plan, arguments.cores.map(|cores| cores as usize))?;
    crate::print(&format!("{costs}{}{next}", cautions(&plan)))
}

/// Says of every corpus why it has another name than its place or its files suggest, if so.
fn note_other_names(plan: &Plan, cache: &Path) {
    let corpora: BTreeMap<&str, &Planned> =
        plan.runs.iter().map(|run| (run.config.data.sha256.as_str(), run)).collect();
    for (sha256, run) in corpora {
        // Corpora that are generated are not in the cache, and have their own name always.
        if let Some(corpus) = Corpus::look_up(sha256, cache) {
            note_other_name(&run.config, &corpus);
        }
    }
}

/// What should be known before hours are spent: seeds that can show nothing, models that do not match.
fn cautions(plan: &Plan) -> String {
    let mut text = String::new();
    for table in PaperTable::all() {
        let cells = plan.cells().filter(|cell| cell.arm.table() == table);
        let seeds = cells.map(|cell| plan.runs.iter().filter(|run| run.cell() == cell.cell()).count()).min();
        let (claims, seeds) = (count_in(plan, table), seeds.unwrap_or(0));
        let needed = seeds_needed(claims);
        if claims > 0 && seeds < needed {
            text += &format!(
                "note: {table}: corrected for {}, the paired test of {} can show nothing at 5%; it takes \
                 {needed}\n",
                counted(claims, "claim"),
                counted(seeds, "seed")
            );
        }
    }
    let off = |run: &Planned| plan.off(run).unwrap_or(0.0).abs();
    let worst = plan.runs.iter().max_by(|a, b| off(a).total_cmp(&off(b)));
    if let Some((run, other)) =
        worst.filter(|run| off(run) > MATCHED).and_then(|run| Some((run, run.arm.counterpart()?)))
    {
        let share = 100.0 * plan.off(run).unwrap_or(0.0);
        text += &format!(
            "note: widths come in steps, and {} has {share:+.1}% parameters against {other}; another \
             --budget may match better\n",
            run.arm
        );
    }
    text
}

fn show(arguments: &FolderArguments) -> Result<()> {
    let plan = Plan::open(&arguments.plan)?;
    let standing = Standing::of(&plan);
    let mut table = Table::new(&["run", "arm", "seed", "parameters", "validation", "status"]);
    for (run, found) in plan.runs.iter().zip(&standing.runs) {
        let (bits, word) = match found {
            Ok(Status::Missing) => (None, "open".into()),
            Ok(Status::Begun) => (None, "begun".into()),
            Ok(Status::Training) => (None, "running".into()),
            Ok(Status::Finished(proven)) => {
                (proven.summary.validation_bits_per_byte, proven.summary.ended_in_words())
            }
            Ok(Status::Failed(failure)) => (None, format!("failed: {failure}")),
            Err(error) => (None, error.to_string()),
        };
        let bits = bits.map_or_else(|| "-".into(), |bits| format!("{bits:.4}"));
        table.row([
            run.index.to_string(),
            run.arm.to_string(),
            run.seed.to_string(),
            thousands(run.parameters),
            bits,
            word,
        ]);
    }
    crate::print(&format!("{}\n{table}", summary(&plan, &standing)?))
}

/// How far a plan is and what comes next.
fn summary(plan: &Plan, standing: &Standing) -> Result<String> {
    let Standing { finished, training, begun, missing, failed, .. } = *standing;
    let mut text = format!("{finished} of {} finished", counted(plan.runs.len(), "run"));
    for (count, word) in [(training, "running"), (begun, "begun"), (missing, "open"), (failed, "failed")] {
        if count > 0 {
            text += &format!(", {count} {word}");
        }
    }
    let (program, folder) = (program(), quoted(&plan.folder().to_string_lossy()));
    if training + begun + missing == 0 {
        return Ok(text + &format!("\ntheir report: {program} lab report {folder}\n"));
    }
    let at_a_time = if training > 0 { training } else { crate::threads(None)? };
    // Before any has finished, what a run of this size is expected to reach.
    let speed = standing.flops_per_second.unwrap_or_else(|| {
        let parameters = plan.runs.iter().map(|run| run.parameters).max().unwrap_or(0);
        peak::measure(0.1) * cost::expected_utilisation(parameters)
    });
    text += &format!(
        "; about {} left with {} at a time\n",
        seconds(standing.flops_left / (speed * at_a_time as f64)),
        counted(at_a_time, "run")
    );
    if training == 0 {
        text += &format!("go on with: {program} lab run {folder}\n");
    }
    Ok(text)
}

fn report(arguments: &ReportArguments) -> Result<()> {
    let plan = Plan::open(&arguments.plan)?;
    let results = if arguments.again { Results::reread(&plan)? } else { Results::gather(&plan) };
    let written = kuramoto_lab::report::write(&plan, &results)?;
    let list: Vec<String> = written.iter().map(|path| format!("    {}\n", path.display())).collect();
    let (done, planned) = results.progress;
    let planned = counted(planned, "run");
    for run in &results.unusable {
        let place = format!("{}, {}, {}, seed {}", run.arm, run.corpus, size(run.budget), run.seed);
        crate::note(&format!("run {} ({place}) cannot be used: {}", run.index, run.why));
    }
    crate::print(&format!("{done} of {planned} finished; wrote\n{}", list.concat()))
}
