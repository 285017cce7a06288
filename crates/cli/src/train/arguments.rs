//! The flags of `kuramoto train`, and the configuration keys they set.

// Doc comments of flags are their help: `[preset]` is no link there.
#![allow(rustdoc::broken_intra_doc_links)]

use crate::choice::help_with_choices;
use crate::chosen::Chosen;
use crate::device::{DeviceArguments, Opened};
use anyhow::{Context, Result};
use clap::ArgAction;
use kuramoto_engine::{Cpu, Group};
use kuramoto_model::ModelKind;
use kuramoto_model::ablation::{ABLATIONS, Ablation, VARIANTS};
use kuramoto_train::config::{Policy, Schedule};
use kuramoto_train::overlay::key_of;
use kuramoto_train::presets::{Preset, Protocol};
use kuramoto_train::{Config, CorpusOptions, Error, NewRun, Overlay, Which};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MODEL: &str = "Model";
const DATA: &str = "Data";
const LENGTH: &str = "Length and batch";
const OPTIMIZER: &str = "Optimizer";
const JUDGING: &str = "Validation and checkpoints";
const RUN: &str = "Run";

pub const SHORT_AFTER: &str = "[preset]: the preset and protocol decide; --dry-run prints the values. \
                               --help lists all options and examples.";

pub const AFTER: &str = "\
[preset]: the preset and protocol decide; --dry-run prints the values.

Examples:
  kuramoto train                                          two minutes on generated tales
  kuramoto train --model transformer                      the matched transformer
  kuramoto train --ablation no-value-gate --seed 1        a row of the paper's ablation table
  kuramoto train --data book.txt --steps 5000 --lr 0.008  your own text
  kuramoto train --preset 1m --data-path enwik8.xz --dry-run
  kuramoto train --resume runs/tales-kuramoto-1 --steps 2800
  kuramoto train --init-from runs/tales-kuramoto-1 --data book.txt --lr 0.002
  kuramoto train --config runs/tales-kuramoto-1/config.toml --seed 1

On one kind of device, what is trained is a function of the configuration alone: neither threads nor interruptions
change a bit of it.";

#[derive(clap::Args)]
#[command(after_help = SHORT_AFTER, after_long_help = AFTER)]
pub struct Arguments {
    #[arg(long, short, help_heading = MODEL, help = help_with_choices::<ModelKind>("Which model [default: kuramoto]"))]
    model: Option<String>,
    #[arg(long, short, help_heading = MODEL,
        help = help_with_choices::<Preset>("Size and corpus to start from [default: quick]"))]
    preset: Option<String>,
    #[arg(long, help_heading = MODEL,
        help = help_with_choices::<Protocol>("Recipe: each model's own or the paper's [default: tuned]"))]
    protocol: Option<String>,
    #[arg(long = "ablation", short, help_heading = MODEL, value_name = "NAME", value_delimiter = ',',
        help = "Rows of the paper's ablation table, separated by commas; --help lists them",
        long_help = ablation_help())]
    ablations: Vec<String>,
    /// Parameters to match the width to, such as 250000 or 1M [preset]
    #[arg(long, help_heading = MODEL, conflicts_with = "width")]
    budget: Option<String>,
    /// Start from the parameters of another run or shipped model, on any corpus
    ///
    /// RUN, RUN:best, RUN:last or RUN:step-N. Rows of embedding and readout are taken byte by byte; bytes that
    /// the other run does not know start anew, and so do the optimizer's moments.
    #[arg(long, help_heading = MODEL, value_name = "RUN[:CHECKPOINT]", conflicts_with = "resume")]
    init_from: Option<String>,
    /// TOML file whose keys replace the preset's; that of another run may be given
    #[arg(long, short, help_heading = MODEL, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Any key of config.toml, such as optimizer.beta2=0.99; may be repeated
    #[arg(long = "set", help_heading = MODEL, value_name = "KEY=VALUE", action = ArgAction::Append)]
    set: Vec<String>,
    /// tales, enwik8, codeparrot, or any file or folder [preset]
    #[arg(long, short, help_heading = DATA)]
    data: Option<String>,
    /// Location of enwik8 (raw, .gz, .xz, .zip) or of the folder of CodeParrot's shards
    #[arg(long, help_heading = DATA, value_name = "PATH")]
    data_path: Option<String>,
    /// Fetch enwik8 from its official address if it is not here
    #[arg(long, help_heading = DATA, hide_short_help = true)]
    download: bool,
    /// Folder of prepared corpora [default: $KURAMOTO_CACHE or the user's cache folder]
    #[arg(long, help_heading = DATA, value_name = "FOLDER", hide_short_help = true)]
    pub cache: Option<PathBuf>,
    /// Train this many optimizer steps [preset]
    #[arg(long, short, help_heading = LENGTH, conflicts_with_all = ["tokens", "epochs"])]
    steps: Option<String>,
    /// Train on this many bytes [preset]
    #[arg(long, help_heading = LENGTH, conflicts_with = "epochs", hide_short_help = true)]
    tokens: Option<String>,
    /// Train this many passes over the training split [preset]
    #[arg(long, help_heading = LENGTH)]
    epochs: Option<String>,
    #[command(flatten)]
    pub keys: Keys,
    /// Also read the test split at the end, with the best parameters
    #[arg(long, help_heading = JUDGING)]
    test: bool,
    /// New folder of this run [default: runs/CORPUS-MODEL-N, with ablations after the model]
    #[arg(long, short, help_heading = RUN, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Go on with this run from its newest good checkpoint
    #[arg(long, short, help_heading = RUN, value_name = "FOLDER", conflicts_with = "out")]
    pub resume: Option<PathBuf>,
    /// Print the configuration, memory and time, measured on a few steps, and train nothing
    #[arg(long, short = 'n', help_heading = RUN, conflicts_with = "resume")]
    pub dry_run: bool,
    /// Threads [default: all cores]; the numbers do not depend on it
    #[arg(long, short, help_heading = RUN)]
    threads: Option<usize>,
    /// Keep each thread on a core of its own
    #[arg(long, help_heading = RUN, hide_short_help = true)]
    pin: bool,
    #[command(flatten, next_help_heading = RUN)]
    pub device: DeviceArguments,
    /// Print what a graphics device would launch in a step, with operations and bytes, and train nothing
    #[arg(long, help_heading = RUN, hide_short_help = true, conflicts_with_all = ["resume", "dry_run", "json"])]
    pub explain: bool,
    /// Print a JSON row a step and the summary as the last line, on standard output
    #[arg(long, help_heading = RUN)]
    pub json: bool,
}

/// Flags that set one key each.
#[derive(clap::Args)]
pub struct Keys {
    /// Layers [preset]
    #[arg(long, help_heading = MODEL)]
    layers: Option<String>,
    /// Attention heads [preset]
    #[arg(long, help_heading = MODEL, hide_short_help = true)]
    heads: Option<String>,
    /// Oscillators (or channels) per token, instead of a budget
    #[arg(long, help_heading = MODEL, hide_short_help = true)]
    width: Option<String>,
    /// Probability of dropping attention weights and increments [preset]
    #[arg(long, help_heading = MODEL, hide_short_help = true)]
    dropout: Option<String>,
    /// Seed of parameters, batches and dropout [default: 0]
    #[arg(long, help_heading = MODEL)]
    seed: Option<String>,
    /// Windows in a batch [preset]
    #[arg(long, short, help_heading = LENGTH, value_name = "SEQUENCES")]
    batch: Option<String>,
    /// Bytes in a window [preset]
    #[arg(long, help_heading = LENGTH)]
    context: Option<String>,
    #[arg(long, short, alias = "lr", help_heading = OPTIMIZER, help = "Highest learning rate; also --lr [preset]")]
    learning_rate: Option<String>,
    /// Steps of warm-up, or a share of the run such as 8% [preset]
    #[arg(long, help_heading = OPTIMIZER, value_name = "STEPS|SHARE", hide_short_help = true)]
    warmup: Option<String>,
    #[arg(long, help_heading = OPTIMIZER, hide_short_help = true,
        help = help_with_choices::<Schedule>("Learning rate after the warm-up [preset]"))]
    schedule: Option<String>,
    /// Decoupled weight decay [preset]
    #[arg(long, help_heading = OPTIMIZER, hide_short_help = true)]
    weight_decay: Option<String>,
    /// Largest global gradient norm; 0 for none [preset]
    #[arg(long, help_heading = OPTIMIZER, hide_short_help = true)]
    clip: Option<String>,
    /// Steps between validations; 0 for every epoch [preset]
    #[arg(long, help_heading = JUDGING, value_name = "STEPS")]
    validate_every: Option<String>,
    /// Windows of a validation; 0 for the whole split [preset]
    #[arg(long, help_heading = JUDGING, value_name = "WINDOWS", hide_short_help = true)]
    validation_windows: Option<String>,
    /// Stop after this many validations without a new best; 0 for never [default: 0]
    #[arg(long, help_heading = JUDGING, value_name = "VALIDATIONS", hide_short_help = true)]
    pub patience: Option<String>,
    /// Steps between checkpoints; 0 for every validation [default: 0]
    #[arg(long, help_heading = JUDGING, value_name = "STEPS", hide_short_help = true)]
    checkpoint_every: Option<String>,
    /// Checkpoints to keep besides the best; 0 for all [default: 2]
    #[arg(long, help_heading = JUDGING, value_name = "CHECKPOINTS", hide_short_help = true)]
    keep: Option<String>,
    #[arg(long, help_heading = JUDGING, value_name = "POLICY", hide_short_help = true,
        help = help_with_choices::<Policy>("If a loss is NaN or spikes [preset]"))]
    on_bad_step: Option<String>,
}

fn ablation_help() -> String {
    let rows = |rows: &[Ablation]| -> String {
        rows.iter().map(|row| format!("\n{:<22} {}", row.name, row.title)).collect()
    };
    format!(
        "Rows of the paper's ablation table, separated by commas:{}\nand variants that it has no row for:{}",
        rows(&ABLATIONS),
        rows(&VARIANTS)
    )
}

/// A flag that sets one key, and what was given for it.
type KeyFlag = (&'static str, fn(&Keys) -> &Option<String>);

const KEY_FLAGS: [KeyFlag; 18] = [
    ("--layers", |keys| &keys.layers),
    ("--heads", |keys| &keys.heads),
    ("--width", |keys| &keys.width),
    ("--dropout", |keys| &keys.dropout),
    ("--batch", |keys| &keys.batch),
    ("--context", |keys| &keys.context),
    ("--learning-rate", |keys| &keys.learning_rate),
    ("--warmup", |keys| &keys.warmup),
    ("--schedule", |keys| &keys.schedule),
    ("--weight-decay", |keys| &keys.weight_decay),
    ("--clip", |keys| &keys.clip),
    ("--seed", |keys| &keys.seed),
    ("--validate-every", |keys| &keys.validate_every),
    ("--validation-windows", |keys| &keys.validation_windows),
    ("--patience", |keys| &keys.patience),
    ("--checkpoint-every", |keys| &keys.checkpoint_every),
    ("--keep", |keys| &keys.keep),
    ("--on-bad-step", |keys| &keys.on_bad_step),
];

impl Arguments {
    /// What the command line lays over the preset, in order.
    pub fn overlays(&self) -> Result<Vec<Overlay>> {
        let mut overlays = Vec::new();
        if let Some(path) = &self.config {
            let text = kuramoto_train::disk::read_to_string(path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            let file = Overlay::parse(path.display().to_string(), &text)?;
            overlays.push(if self.resume.is_some() { file } else { file.for_new_run() });
        }
        let named = [
            ("--preset", &self.preset),
            ("--protocol", &self.protocol),
            ("--data", &self.data),
            ("--data-path", &self.data_path),
            ("--model", &self.model),
        ];
        for (flag, value) in named {
            // Names are text even where they look like numbers.
            overlays.extend(value.as_ref().map(|value| Overlay::text(flag, key_of(flag), value)));
        }
        if self.data.is_some() && self.data_path.is_none() && self.config.is_some() {
            // The path in a file belongs to the corpus in that file.
            let named = Config::from_overlays(&overlays[..1])?.data.corpus;
            if self.data.as_ref() != Some(&named) {
                overlays.push(Overlay::text("--data", "data.path", ""));
            }
        }
        if let Some(from) = &self.init_from {
            // A path may hold a colon too.
            let (run, checkpoint) = match from.rsplit_once(':') {
                Some((run, which)) if !run.is_empty() && which.parse::<Which>().is_ok() => (run, which),
                _ => (from.as_str(), "best"),
            };
            let folder = Chosen::new(Some(Path::new(run)), run)?.folder;
            let Some(run) = folder.to_str() else {
                let allowed = "its path is not UTF-8, so no configuration can name it";
                return Err(crate::wrong("--init-from", folder.display(), allowed).into());
            };
            overlays.push(Overlay::text("--init-from", "init-from.run", run));
            overlays.push(Overlay::text("--init-from", "init-from.checkpoint", checkpoint));
        }
        if let Some(budget) = &self.budget {
            overlays.extend(Overlay::budget("--budget", budget)?);
        }
        let given = KEY_FLAGS
            .iter()
            .filter_map(|(flag, value)| Some(Overlay::set(*flag, key_of(flag), value(&self.keys).as_ref()?)));
        overlays.extend(given);
        let lengths = [("--steps", &self.steps), ("--tokens", &self.tokens), ("--epochs", &self.epochs)];
        let given =
            |(flag, value): (&str, &Option<String>)| Some(Overlay::set(flag, key_of(flag), value.as_ref()?));
        overlays.extend(lengths.into_iter().filter_map(given));
        if self.test {
            overlays.push(Overlay::set("--test", key_of("--test"), "true"));
        }
        for pair in &self.set {
            overlays.push(Overlay::pair("--set", pair)?);
        }
        Ok(overlays)
    }

    pub fn corpora(&self) -> CorpusOptions {
        let announce: fn(&str) = |address| crate::note(&format!("fetching {address} .."));
        CorpusOptions { cache: self.cache.clone(), download: self.download.then_some(announce) }
    }

    pub fn new_run(&self, overlays: &[Overlay]) -> NewRun {
        NewRun {
            overlays: overlays.to_vec(),
            ablations: self.ablations.clone(),
            folder: self.out.clone(),
            corpora: self.corpora(),
        }
    }

    /// Where a resumed run's corpus is now.
    pub fn data_path(&self) -> Option<&str> {
        self.data_path.as_deref()
    }

    pub fn open_device(&self, group: Arc<dyn Group>) -> Result<Opened> {
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
        self.device.open(Cpu { threads, pin: self.pin, group })
    }

    /// Refuses what does not go together.
    pub fn check(&self, processes: usize) -> Result<()> {
        let new_only = [("--ablation", !self.ablations.is_empty()), ("--download", self.download)];
        let refused = match new_only.into_iter().find(|(_, given)| *given && self.resume.is_some()) {
            Some((flag, _)) => Some((flag, "it goes with a new run, not with --resume")),
            None if self.dry_run && processes > 1 => Some(("--dry-run", "it goes with one process only")),
            None if self.explain && processes > 1 => Some(("--explain", "it goes with one process only")),
            None => None,
        };
        match refused {
            None => Ok(()),
            Some((flag, why)) => Err(Error::Config { origin: flag.into(), why: why.into() }.into()),
        }
    }
}
