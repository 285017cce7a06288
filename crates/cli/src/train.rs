//! `kuramoto train`: the main job.

use crate::choice::help_with_choices;
use crate::processes::{self, Follower};
use crate::progress::{Progress, Style, seconds};
use crate::signals::{self, Signals};
use crate::text;
use anyhow::{Context, Result};
use clap::ArgAction;
use kuramoto_engine::{Cpu, Group, Processes};
use kuramoto_kernels::peak;
use kuramoto_model::ModelKind;
use kuramoto_train::config::{Policy, Schedule};
use kuramoto_train::generate::{Sampling, generate};
use kuramoto_train::presets::{Preset, Protocol};
use kuramoto_train::run::Ended;
use kuramoto_train::{CorpusOptions, Error, NewRun, Overlay, Run, Session, Setting, Summary, Which, disk};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

#[derive(clap::Args)]
pub struct Arguments {
    #[arg(long, help = help_with_choices::<Preset>("Size and corpus to start from [default: quick]"))]
    preset: Option<String>,
    #[arg(long, help = help_with_choices::<Protocol>("Recipe: each model's or the paper's [default: tuned]"))]
    protocol: Option<String>,
    /// TOML file whose keys replace the preset's
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// tales, enwik8, codeparrot, or any file or folder
    #[arg(long)]
    data: Option<String>,
    /// Where enwik8 (raw, .gz, .xz, .zip) or the folder of CodeParrot's shards lies
    #[arg(long, value_name = "PATH")]
    data_path: Option<String>,
    /// Fetch enwik8 from its official address if it is not here
    #[arg(long)]
    download: bool,
    #[arg(long, help = help_with_choices::<ModelKind>("Which model [default: kuramoto]"))]
    model: Option<String>,
    /// Rows of the paper's ablation table, separated by commas
    #[arg(long = "ablation", value_name = "NAME", value_delimiter = ',')]
    ablations: Vec<String>,
    /// Parameters to match the width to, such as 250000 or 1M
    #[arg(long, conflicts_with = "width")]
    budget: Option<String>,
    #[command(flatten)]
    keys: Keys,
    /// Train this many optimizer steps
    #[arg(long, conflicts_with_all = ["tokens", "epochs"])]
    steps: Option<String>,
    /// Train on this many bytes
    #[arg(long, conflicts_with = "epochs")]
    tokens: Option<String>,
    /// Train this many passes over the training split
    #[arg(long)]
    epochs: Option<String>,
    /// Any key of config.toml, such as optimizer.beta2=0.99; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", action = ArgAction::Append)]
    set: Vec<String>,
    /// Also read the test split at the end, with the best parameters
    #[arg(long)]
    test: bool,
    /// Threads [default: all cores]; the numbers do not depend on it
    #[arg(long)]
    threads: Option<usize>,
    /// Keep each thread on a core of its own
    #[arg(long)]
    pin: bool,
    /// New folder of this run [default: runs/CORPUS-MODEL-N]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Go on with this run where its newest good checkpoint is
    #[arg(long, value_name = "FOLDER", conflicts_with = "out")]
    resume: Option<PathBuf>,
    /// Folder of prepared corpora [default: $KURAMOTO_CACHE or the user's cache folder]
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
    /// Print a JSON row a step and the summary as the last line, on standard output
    #[arg(long)]
    json: bool,
}

/// Flags that set one key each.
#[derive(clap::Args)]
struct Keys {
    /// Layers
    #[arg(long)]
    layers: Option<String>,
    /// Attention heads
    #[arg(long)]
    heads: Option<String>,
    /// Oscillators (or channels) per token, instead of a budget
    #[arg(long)]
    width: Option<String>,
    /// Probability of dropping attention weights and increments
    #[arg(long)]
    dropout: Option<String>,
    /// Windows in a batch
    #[arg(long, value_name = "SEQUENCES")]
    batch: Option<String>,
    /// Bytes in a window
    #[arg(long)]
    context: Option<String>,
    /// Highest learning rate
    #[arg(long)]
    learning_rate: Option<String>,
    /// Steps of warm-up
    #[arg(long)]
    warmup: Option<String>,
    #[arg(long, help = help_with_choices::<Schedule>("How the learning rate goes on after the warm-up"))]
    schedule: Option<String>,
    /// Decoupled weight decay
    #[arg(long)]
    weight_decay: Option<String>,
    /// Largest global gradient norm; 0 for none
    #[arg(long)]
    clip: Option<String>,
    /// Seed of parameters, batches and dropout
    #[arg(long)]
    seed: Option<String>,
    /// Steps between validations; 0 for every epoch
    #[arg(long, value_name = "STEPS")]
    validate_every: Option<String>,
    /// Windows of a validation; 0 for the whole split
    #[arg(long, value_name = "WINDOWS")]
    validation_windows: Option<String>,
    /// Stop after this many validations without a new best; 0 for never
    #[arg(long, value_name = "VALIDATIONS")]
    patience: Option<String>,
    /// Steps between checkpoints; 0 for every validation
    #[arg(long, value_name = "STEPS")]
    checkpoint_every: Option<String>,
    /// Checkpoints to keep besides the best; 0 for all
    #[arg(long, value_name = "CHECKPOINTS")]
    keep: Option<String>,
    #[arg(long, value_name = "POLICY", help = help_with_choices::<Policy>("If a loss is NaN or spikes"))]
    on_bad_step: Option<String>,
}

impl Keys {
    /// Flag, key and value of those that were given.
    fn given(&self) -> impl Iterator<Item = (&'static str, &'static str, &String)> {
        [
            ("--layers", "model.layers", &self.layers),
            ("--heads", "model.heads", &self.heads),
            ("--width", "model.width", &self.width),
            ("--dropout", "model.dropout", &self.dropout),
            ("--batch", "batch.sequences", &self.batch),
            ("--context", "batch.context", &self.context),
            ("--learning-rate", "optimizer.learning-rate", &self.learning_rate),
            ("--warmup", "optimizer.warmup", &self.warmup),
            ("--schedule", "optimizer.schedule", &self.schedule),
            ("--weight-decay", "optimizer.weight-decay", &self.weight_decay),
            ("--clip", "optimizer.clip", &self.clip),
            ("--seed", "seed", &self.seed),
            ("--validate-every", "validation.every", &self.validate_every),
            ("--validation-windows", "validation.windows", &self.validation_windows),
            ("--patience", "validation.patience", &self.patience),
            ("--checkpoint-every", "checkpoints.every", &self.checkpoint_every),
            ("--keep", "checkpoints.keep", &self.keep),
            ("--on-bad-step", "bad-steps.policy", &self.on_bad_step),
        ]
        .into_iter()
        .filter_map(|(flag, key, value)| Some((flag, key, value.as_ref()?)))
    }
}

impl Arguments {
    /// What the command line lays over the preset, in order.
    fn overlays(&self) -> Result<Vec<Overlay>> {
        let mut overlays = Vec::new();
        if let Some(path) = &self.config {
            let text =
                disk::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            overlays.push(Overlay::parse(path.display().to_string(), &text)?);
        }
        let named = [
            ("--preset", "preset", &self.preset),
            ("--protocol", "protocol", &self.protocol),
            ("--data", "data.corpus", &self.data),
            ("--data-path", "data.path", &self.data_path),
            ("--model", "model.kind", &self.model),
        ];
        for (flag, key, value) in named {
            // Names are text even where they look like numbers.
            overlays.extend(value.as_ref().map(|value| Overlay::text(flag, key, value)));
        }
        if let Some(budget) = &self.budget {
            let budget = kuramoto_model::matching::parse_budget(budget)?;
            overlays.push(Overlay::set("--budget", "budget", &budget.to_string()));
            // A width, as a saved configuration has one, would leave the budget without effect.
            overlays.push(Overlay::set("--budget", "model.width", "0"));
        }
        overlays.extend(self.keys.given().map(|(flag, key, value)| Overlay::set(flag, key, value)));
        let lengths = [
            ("--steps", "length.steps", &self.steps),
            ("--tokens", "length.tokens", &self.tokens),
            ("--epochs", "length.epochs", &self.epochs),
        ];
        let given = |(flag, key, value): (&str, &str, &Option<String>)| {
            Some(Overlay::set(flag, key, value.as_ref()?))
        };
        overlays.extend(lengths.into_iter().filter_map(given));
        if self.test {
            overlays.push(Overlay::set("--test", "validation.test", "true"));
        }
        for pair in &self.set {
            overlays.push(Overlay::pair("--set", pair)?);
        }
        Ok(overlays)
    }

    fn corpora(&self) -> CorpusOptions {
        let announce: fn(&str) = |address| crate::note(&format!("fetching {address} .."));
        CorpusOptions { cache: self.cache.clone(), download: self.download.then_some(announce) }
    }

    fn device(&self, group: Arc<dyn Group>) -> Result<Cpu> {
        let (threads, cores) = (crate::threads(self.threads)?, crate::threads(None)?);
        let refuse = |allowed: String| Err(crate::wrong("--pin", true, allowed).into());
        if self.pin && group.size() > 1 {
            return refuse(
                "processes on one machine would share cores: have mpirun bind them (--bind-to core)".into(),
            );
        }
        if self.pin && threads > cores {
            return refuse(format!(
                "{threads} threads would each need a core, and there are {cores}: ask for fewer"
            ));
        }
        Ok(Cpu { threads, pin: self.pin, group })
    }

    /// Refuses what does not go together.
    fn check(&self) -> Result<()> {
        let new_only = [("--ablation", !self.ablations.is_empty()), ("--download", self.download)];
        match new_only.into_iter().find(|(_, given)| *given && self.resume.is_some()) {
            None => Ok(()),
            Some((flag, _)) => {
                let why = "it goes with a new run, not with --resume".into();
                Err(Error::Config { origin: flag.into(), why }.into())
            }
        }
    }

    /// A new run, or the one to resume.
    fn open<'a>(&self, overlays: &[Overlay], setting: Setting<'a>) -> Result<Session<'a>, Error> {
        let corpora = self.corpora();
        let Some(folder) = &self.resume else {
            let (overlays, ablations, folder) = (overlays.to_vec(), self.ablations.clone(), self.out.clone());
            return Session::create(&NewRun { overlays, ablations, folder, corpora }, setting);
        };
        let kept: Vec<Overlay> =
            overlays.iter().filter(|overlay| overlay.origin != "--data-path").cloned().collect();
        Session::resume(folder, &kept, self.data_path.as_deref(), &corpora, setting)
    }
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let processes = Processes::join()?;
    let prepare = || {
        arguments.check()?;
        // The first process gives the others its configuration.
        let overlays = if processes.leads() { arguments.overlays()? } else { Vec::new() };
        Ok((overlays, arguments.device(processes.group())?))
    };
    let (overlays, device) = match processes::in_all(&processes, prepare()) {
        Ok(prepared) => prepared,
        Err(error) => return processes::could_not_begin(&processes, error),
    };
    let setting = Setting { core_peak_flops: Some(peak::measure(0.2)), ..Setting::new(&device) };
    match arguments.open(&overlays, setting) {
        Ok(mut session) => {
            train(arguments, &processes, &mut session).or_else(|error| processes::failed(&processes, error))
        }
        Err(error) => processes::could_not_begin(&processes, error.into()),
    }
}

fn train(arguments: &Arguments, processes: &Processes, session: &mut Session<'_>) -> Result<ExitCode> {
    // From here on there is something to save; until now a signal may end the process as it is.
    let signals = Signals::listen().context("cannot listen to signals")?;
    if !processes.leads() {
        session.train(&mut Follower(signals))?;
        return Ok(processes::FOLLOWED);
    }
    let style = match (arguments.json, std::io::stderr().is_terminal()) {
        (true, _) => Style::Json,
        (false, true) => Style::Bar,
        (false, false) => Style::Lines,
    };
    let mut progress = Progress::new(style, signals.clone());
    let outcome = session.train(&mut progress);
    progress.finish();
    let summary = outcome?;
    let printed = match arguments.json {
        true => crate::print(&format!("{}\n", serde_json::to_string(&summary)?)),
        false => crate::print(&conclusion(session.run(), &summary)?),
    };
    // Where training stopped because nobody reads, nobody reads this either.
    if summary.ended != Ended::Interrupted {
        printed?;
    }
    Ok(match summary.ended {
        // Another process may be the one that got the signal.
        Ended::Interrupted if processes.group().size() > 1 && !signals.came() => {
            ExitCode::from(signals::TERMINATED)
        }
        Ended::Interrupted => ExitCode::from(signals.exit_code()),
        _ => ExitCode::SUCCESS,
    })
}

/// What was learned, a sample of it, and what to try next.
fn conclusion(run: &Run, summary: &Summary) -> Result<String> {
    let folder = quoted(&run.folder().to_string_lossy());
    let program = quoted(&std::env::args().next().unwrap_or_else(|| "kuramoto".into()));
    let mut lines = Vec::new();
    let time = seconds(summary.seconds);
    if summary.ended == Ended::Interrupted {
        lines.push(format!("stopped after step {} and {time}; everything is saved", summary.steps));
        lines.push(format!("go on with: {program} train --resume {folder}"));
        return Ok(lines.join("\n") + "\n");
    }
    if summary.ended == Ended::EarlyStop {
        lines.push(format!(
            "stopped early: validation had not improved since step {}",
            summary.best_step.unwrap_or(0)
        ));
    }
    if let Some(bits) = summary.validation_bits_per_byte {
        let floor = summary.floor_bits_per_byte.map_or_else(String::new, |floor| {
            format!(", {:.1}% above the best possible, {floor:.3}", 100.0 * (bits / floor - 1.0))
        });
        lines.push(format!(
            "validation {bits:.3} bits per byte (step {}){floor}",
            summary.best_step.unwrap_or(0)
        ));
    }
    if let Some(bits) = summary.test_bits_per_byte {
        lines.push(format!("test {bits:.3} bits per byte"));
    }
    lines.push(format!(
        "{} bytes read in {time}; saved in {folder}\n",
        crate::table::thousands(summary.tokens as usize)
    ));
    if let Some(share) = summary.exchange_share {
        lines.push(format!(
            "{:.1}% of the time went into exchanging gradients and waiting for each other\n",
            100.0 * share
        ));
    }
    lines.push("a sample, at temperature 0.8:\n".into());
    let mut sample = Vec::new();
    let sampling = Sampling { temperature: 0.8, top_p: 1.0, seed: run.config().seed };
    let prompt = kuramoto_train::generate::default_prompt(run.corpus());
    generate(run, Which::Best, &prompt, 400, &sampling, &mut |byte| {
        sample.push(byte);
        true
    })?;
    lines.extend(text::wrap(&text::printable(&sample), 100).into_iter().map(|line| format!("    {line}")));
    lines.push("\nnext:".into());
    let mut next = vec![
        (format!("generate {folder}"), "more of it"),
        (format!("eval {folder} --split test"), "exact bits per byte on text it was never judged by"),
        ("train --data FILE".into(), "your own text"),
        ("runs".into(), "what there is"),
    ];
    next.insert(2, ("explore".into(), "all runs in a browser, and a look inside"));
    if summary.model == "kuramoto" {
        next.insert(
            3,
            (format!("diagnose {folder}"), "how its phases synchronize, with the paper's figures"),
        );
        next.insert(4, ("train --model transformer".into(), "the transformer of the same size, to compare"));
    }
    let width = next.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    lines.extend(next.iter().map(|(command, why)| format!("    {program} {command:<width$}  # {why}")));
    Ok(lines.join("\n") + "\n")
}

/// A word as a shell takes it, so that what is printed can be pasted.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    if word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
