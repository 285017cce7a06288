//! Plans: deterministic lists of runs.
//!
//! A plan is written once, before anything runs, and lists every run completely, so that what is run later
//! depends on nothing else. Seeds are paired: seed s gives every arm the same batches, because a run's
//! batches depend on its seed, corpus and batch shape only.

use crate::arm::Arm;
use crate::check::{check, misplaced};
use crate::error::{Error, Result};
use crate::paper;
use crate::request::{Experiment, Request, located};
use crate::scale::Scale;
use kuramoto_engine::Device;
use kuramoto_model::ModelConfig;
use kuramoto_train::{Config, Corpus, Identity, Split, disk, hash};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const FORMAT: u32 = 2;

/// One run of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// Its place in the plan.
    pub index: usize,
    /// What is compared.
    pub arm: Arm,
    /// The corpus.
    pub corpus: String,
    /// Budget its width was matched to.
    pub budget: usize,
    /// Exact parameter count.
    pub parameters: usize,
    /// Its seed.
    pub seed: u64,
    /// Operations of all its steps, counted from the configuration.
    pub flops: f64,
    /// Its folder within the plan's.
    pub folder: String,
    /// Its complete configuration.
    pub config: Config,
}

impl Planned {
    /// What runs of one arm share: all but the seed.
    pub fn cell(&self) -> (Arm, &str, usize) {
        (self.arm, &self.corpus, self.budget)
    }
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    format: u32,
    /// sha256 of the rest, so that a plan is run as it was made or not at all.
    digest: String,
    /// What is compared.
    pub experiment: Experiment,
    /// How large.
    pub scale: Scale,
    /// Every run.
    pub runs: Vec<Planned>,
    #[serde(skip)]
    folder: PathBuf,
}

impl Plan {
    /// Makes a plan and writes it to a new folder. Corpora are opened, because their vocabulary decides
    /// widths.
    pub fn create(request: &Request, folder: &Path, cache: &Path) -> Result<Plan> {
        if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(Error::plan(folder, "the folder is not empty: choose another with --out"));
        }
        let plan = Plan::of(request, folder, &mut |_, config| corpus(config, cache))?;
        let path = folder.join(FILE);
        let json = serde_json::to_vec_pretty(&plan).expect("a plan is plain data");
        let written = kuramoto_report::write(folder, "plan.json", json);
        written.map_err(|error| Error::plan(path, format!("it cannot be written: {error}")))?;
        Ok(plan)
    }

    /// A plan that is not written, to see what it would cost. The paper's corpora need not be there: it says how
    /// many bytes and byte values they have.
    pub fn draft(request: &Request, folder: &Path, cache: &Path) -> Result<Plan> {
        Plan::of(request, folder, &mut |named, config| {
            corpus(config, cache).or_else(|error| paper::identity(named).ok_or(error))
        })
    }

    fn of(
        request: &Request,
        folder: &Path,
        open: &mut dyn FnMut(&str, &Config) -> Result<Identity>,
    ) -> Result<Plan> {
        let runs = runs(request, open)?;
        check(&runs).map_err(|why| {
            let other = "ask for other budgets, corpora or --set keys";
            Error::plan(folder, format!("no plan was written: {why}; {other}"))
        })?;
        let mut plan = Plan {
            format: FORMAT,
            digest: String::new(),
            experiment: request.experiment,
            scale: request.scale,
            runs,
            folder: folder.to_path_buf(),
        };
        plan.digest = plan.digest_of_rest();
        Ok(plan)
    }

    /// The run of the lowest seed of every cell.
    pub fn cells(&self) -> impl Iterator<Item = &Planned> {
        self.runs.iter().filter(|run| run.seed == 0)
    }

    /// Reads a plan. Its digest shows that it is what [`Plan::create`] wrote. Whoever edits a plan can also compute the
    /// digest anew, so runs must be where they belong.
    pub fn open(folder: &Path) -> Result<Plan> {
        let path = folder.join(FILE);
        let bytes = disk::read(&path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Error::plan(folder, "it holds no plan.json: make a plan with `lab plan`"),
            _ => Error::plan(&path, format!("it cannot be read: {error}")),
        })?;
        Plan::parse(folder, &bytes)
    }

    /// The plan of a folder, of the bytes of its plan.json.
    pub fn parse(folder: &Path, bytes: &[u8]) -> Result<Plan> {
        let path = folder.join(FILE);
        let changed = |why: String| {
            let undo = "undo the change, or make the plan anew";
            Error::plan(&path, format!("it is not what `lab plan` wrote{why}: {undo}"))
        };
        let unreadable = |error: serde_json::Error| changed(format!(" ({error})"));
        match serde_json::from_slice(bytes).map_err(unreadable)? {
            Header { format: FORMAT } => {}
            Header { format: 1 } => {
                let why = "it was made by version 0.1: make the plan anew with the same command and another \
                           --out; to keep its runs, move its folder `runs` there";
                return Err(Error::plan(&path, why));
            }
            Header { format } => {
                let why = format!("its format is {format}, and this program reads format {FORMAT}");
                return Err(Error::plan(&path, format!("{why}: make the plan anew with this program")));
            }
        }
        let mut plan: Plan = serde_json::from_slice(bytes).map_err(unreadable)?;
        if plan.digest != plan.digest_of_rest() {
            return Err(changed(String::new()));
        }
        if let Some(run) = misplaced(&plan.runs) {
            return Err(changed(format!(" (run {} in {:?} is out of place)", run.index, run.folder)));
        }
        plan.folder = folder.to_path_buf();
        Ok(plan)
    }

    /// sha256 of the compact JSON of every field but the digest, in their order.
    fn digest_of_rest(&self) -> String {
        let Plan { format, experiment, scale, ref runs, .. } = *self;
        let rest = Rest { format, experiment, scale, runs };
        hash::of(&serde_json::to_vec(&rest).expect("a plan is plain data"))
    }

    /// The plan's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The name of the plan's folder, also where it was given as `.`.
    pub fn name(&self) -> String {
        let absolute = std::path::absolute(&self.folder).unwrap_or_else(|_| self.folder.clone());
        absolute.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The folder of a run.
    pub fn run_folder(&self, run: &Planned) -> PathBuf {
        self.folder.join(&run.folder)
    }

    /// The run at an index.
    pub fn run(&self, index: usize) -> Result<&Planned> {
        self.runs.get(index).ok_or_else(|| Error::Choice {
            what: "index",
            value: index.to_string(),
            allowed: format!("the plan has runs 0 to {}", self.runs.len().saturating_sub(1)),
        })
    }

    /// By how much the parameters of a run differ from those of the arm it is compared with, as a share of
    /// these, where the plan has that arm.
    pub fn off(&self, run: &Planned) -> Option<f64> {
        let cell = (run.arm.counterpart()?, &*run.corpus, run.budget);
        let other = self.runs.iter().find(|other| other.cell() == cell)?;
        Some(run.parameters as f64 / other.parameters as f64 - 1.0)
    }

    /// Operations of all runs.
    pub fn flops(&self) -> f64 {
        self.runs.iter().map(|run| run.flops).sum()
    }
}

const FILE: &str = "plan.json";

/// What every format of a plan has.
#[derive(Deserialize)]
struct Header {
    format: u32,
}

/// What the digest is of.
#[derive(Serialize)]
struct Rest<'a> {
    format: u32,
    experiment: Experiment,
    scale: Scale,
    runs: &'a [Planned],
}

/// Every run of a request; `open` gives a corpus by what it was asked for as.
fn runs(request: &Request, open: &mut dyn FnMut(&str, &Config) -> Result<Identity>) -> Result<Vec<Planned>> {
    if request.seeds == Some(0) {
        return Err(Error::Choice {
            what: "seeds",
            value: "0".into(),
            allowed: "it must be at least 1".into(),
        });
    }
    let mut cells = Vec::new();
    for arm in request.chosen_arms()? {
        for named in request.corpora_of(arm) {
            cells.extend(request.budgets_of(arm).into_iter().map(|budget| (arm, named, budget)));
        }
    }
    one_location(request, &cells)?;
    let mut opened: BTreeMap<&str, Identity> = BTreeMap::new();
    let mut seeds = BTreeMap::new();
    for (i, &(arm, named, budget)) in cells.iter().enumerate() {
        if !opened.contains_key(named) {
            opened.insert(named, open(named, &request.config(arm, named, budget, 0)?)?);
        }
        seeds.insert(i, request.seeds_of(arm, &opened[named].name, budget));
    }
    let mut runs = Vec::new();
    // Corpus by corpus, and seed by seed, so that a plan that is stopped early has compared all arms.
    let mut order: Vec<&str> = Vec::new();
    for &(_, named, _) in &cells {
        if !order.contains(&named) {
            order.push(named);
        }
    }
    let most = seeds.values().copied().max().unwrap_or(0);
    for (named, seed) in order.into_iter().flat_map(|named| (0..most).map(move |seed| (named, seed))) {
        let here = cells.iter().enumerate().filter(|(i, cell)| cell.1 == named && seed < seeds[i]);
        for (_, &(arm, named, budget)) in here {
            let corpus = &opened[named];
            let mut config = request.config(arm, named, budget, seed)?;
            config.resolve(corpus)?;
            runs.push(Planned {
                index: runs.len(),
                arm,
                corpus: corpus.name.clone(),
                budget,
                parameters: config.model.parameters()?,
                seed,
                flops: flops(&config, corpus)?,
                folder: format!("runs/{}-{arm}-{}-{}-seed{seed}", arm.table(), corpus.name, size(budget)),
                config,
            });
        }
    }
    Ok(runs)
}

/// One path cannot be the place of two corpora.
fn one_location(request: &Request, cells: &[(Arm, &str, usize)]) -> Result<()> {
    let unplaced: BTreeSet<&str> =
        cells.iter().map(|cell| cell.1).filter(|named| located(named).is_none()).collect();
    if request.data_path.is_empty() || unplaced.len() < 2 {
        return Ok(());
    }
    let names: Vec<&str> = unplaced.into_iter().collect();
    Err(Error::Choice {
        what: "data-path",
        value: format!("{:?}", request.data_path),
        allowed: format!(
            "the plan has {}: give each its own with --data, as in --data {}=PATH",
            names.join(" and "),
            names.join("=PATH,")
        ),
    })
}

/// The corpus of a configuration.
fn corpus(config: &Config, cache: &Path) -> Result<Identity> {
    Ok(Corpus::open(&config.source()?, cache)?.identity().clone())
}

/// Operations of all steps, validations and the test.
fn flops(config: &Config, corpus: &Identity) -> Result<f64> {
    let sampler = config.sampler(corpus)?;
    let steps = config.steps(&sampler);
    let per_token = config.model.flops(config.batch.context).training;
    // Validation and test run forward only: a third of a training step's work per byte.
    let validations = match config.validation.every {
        0 => steps / sampler.steps_per_epoch(),
        every => steps / every,
    };
    let validated = match config.validation.windows {
        0 => Split::Validation.range(corpus.bytes).len(),
        windows => windows * config.batch.context,
    };
    let tested = if config.validation.test { Split::Test.range(corpus.bytes).len() } else { 0 };
    let read_forward = (validations as usize * validated + tested) as f64;
    Ok(per_token * (steps as f64 * config.batch.tokens() as f64 + read_forward / 3.0))
}

/// Bytes of memory that a run will hold on a device, besides the corpus.
pub(crate) fn planned_memory(config: &Config, device: &dyn Device) -> Result<usize> {
    let planned = device.planned_bytes(&config.model, &config.shape());
    Ok(planned.map_err(kuramoto_train::Error::from)?)
}

/// A parameter budget, short.
pub fn size(budget: usize) -> String {
    match budget {
        budget if budget.is_multiple_of(1_000_000) => format!("{}m", budget / 1_000_000),
        budget if budget.is_multiple_of(1_000) => format!("{}k", budget / 1_000),
        budget => budget.to_string(),
    }
}

/// The symbol and size of a model, for tables.
pub fn width(model: &ModelConfig) -> String {
    match model {
        ModelConfig::Kuramoto(config) => format!("k = {}", config.width),
        ModelConfig::Transformer(config) => format!("d = {}", config.width),
    }
}
