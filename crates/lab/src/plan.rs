//! Plans: deterministic lists of runs.
//!
//! A plan is written once, before anything runs, and lists every run completely, so that what is run later depends on
//! nothing else. Seeds are paired: seed s gives every arm the same batches, because a run's batches depend on its
//! seed, corpus and batch shape only.

use crate::arms::{Arm, arms};
use crate::error::{Error, Result};
use crate::scale::Scale;
use kuramoto_model::ModelConfig;
use kuramoto_engine::{Cpu, Device};
use kuramoto_model::ablation::ABLATIONS;
use kuramoto_train::data::Source;
use kuramoto_train::data::source::ENWIK8_SHA256;
use kuramoto_train::presets::Protocol;
use kuramoto_train::{Config, Corpus, Identity, Overlay, Split};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const FORMAT: u32 = 1;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Experiment {
    /// Both models at equal parameters, under the paper's recipe and under each model's own: Tables 1 and 2.
    Compare,
    /// The reference and its thirteen ablations: Table 3.
    Ablations,
    /// Heads by layers, both models: Table 4.
    Grid,
    /// All of them.
    Paper,
}

impl Experiment {
    /// By its name on the command line.
    pub fn named(name: &str) -> Result<Experiment> {
        match name {
            "compare" => Ok(Experiment::Compare),
            "ablations" => Ok(Experiment::Ablations),
            "grid" => Ok(Experiment::Grid),
            "paper" => Ok(Experiment::Paper),
            _ => Err(Error::Choice {
                what: "experiment",
                value: format!("{name:?}"),
                allowed: "choose compare, ablations, grid or paper".into(),
            }),
        }
    }

    /// True if its plans have runs of this table.
    fn holds(self, table: &str) -> bool {
        match self {
            Experiment::Compare => table == "compare",
            Experiment::Ablations => table == "ablations",
            Experiment::Grid => table == "grid",
            Experiment::Paper => true,
        }
    }
}

/// What a plan is made from.
#[derive(Clone, Debug)]
pub struct Request {
    /// What is compared.
    pub experiment: Experiment,
    /// How large.
    pub scale: Scale,
    /// Corpora (a name, NAME=PATH, a file or a folder); the scale's if empty.
    pub corpora: Vec<String>,
    /// Arms by name; all of the experiment if empty.
    pub arms: Vec<String>,
    /// Where a named corpus lies whose path is not given with it.
    pub data_path: String,
    /// Seeds of every arm; the scale's if None.
    pub seeds: Option<u64>,
    /// Parameter budgets; the scale's if empty.
    pub budgets: Vec<usize>,
    /// Recipe of ablations and grid; the paper's at its own scale, else the tuned one, if None.
    pub protocol: Option<Protocol>,
    /// Keys laid over every run.
    pub layers: Vec<Overlay>,
}

/// One run of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// Its place in the plan.
    pub index: usize,
    /// Which table it belongs to: `compare`, `ablations` or `grid`.
    pub table: String,
    /// What is compared: all runs of an arm differ in their seed only.
    pub arm: String,
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
    /// True if its model and recipe are what the arm's name promises; what an ablation promises takes its reference to
    /// tell.
    fn belongs(&self) -> bool {
        let (model, protocol) = (&self.config.model, self.config.protocol.name());
        let kind = model.kind().name();
        match self.table.as_str() {
            "compare" => self.arm == format!("{kind}-{protocol}"),
            "grid" => self.arm == format!("{kind}-h{}-l{}", model.heads(), model.layers()),
            "ablations" => {
                kind == "kuramoto" && (self.arm == "reference" || ABLATIONS.iter().any(|row| row.name == self.arm))
            }
            _ => false,
        }
    }

    /// True if the corpus is the one it is named after.
    fn is_of_its_corpus(&self) -> bool {
        let data = &self.config.data;
        let named = !Source::is_name(&data.corpus) || data.corpus == self.corpus;
        named && (self.corpus == "enwik8") == (data.sha256 == ENWIK8_SHA256)
    }

    /// True if it is the reference changed by its ablation, and by nothing else than the width and the seed.
    fn is_ablated(&self, reference: &Planned) -> bool {
        let mut expected = Config { seed: self.seed, ..reference.config.clone() };
        let applied = expected.model.ablate(std::slice::from_ref(&self.arm)).is_ok();
        let differs = expected.model != reference.config.model;
        if let (ModelConfig::Kuramoto(expected), ModelConfig::Kuramoto(own)) = (&mut expected.model, &self.config.model)
        {
            expected.width = own.width;
        }
        applied && differs && expected == self.config
    }

    /// True if it is trained and judged on the same bytes, so that seeds are pairs.
    fn pairs_with(&self, other: &Planned) -> bool {
        let (a, b) = (&self.config, &other.config);
        (&a.batch, &a.data, a.length, &a.validation) == (&b.batch, &b.data, b.length, &b.validation)
    }

    /// What runs of one arm share: all but the seed.
    pub fn cell(&self) -> (&str, &str, &str, usize) {
        (&self.table, &self.arm, &self.corpus, self.budget)
    }
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Of this file.
    pub format: u32,
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
    /// Makes a plan and writes it to a new folder. Corpora are opened, because their vocabulary decides widths.
    pub fn create(request: &Request, folder: &Path, cache: &Path) -> Result<Plan> {
        if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(Error::plan(folder, "the folder is not empty: choose another with --out"));
        }
        let corpora: Vec<&str> = match request.corpora.as_slice() {
            [] => vec![request.scale.corpus()],
            named => named.iter().map(String::as_str).collect(),
        };
        let budgets = if request.budgets.is_empty() { request.scale.budgets() } else { &request.budgets };
        let seeds = request.seeds.unwrap_or(request.scale.seeds());
        if seeds == 0 {
            return Err(Error::Choice { what: "seeds", value: "0".into(), allowed: "it must be at least 1".into() });
        }
        let arms = arms(request)?;
        let mut runs = Vec::new();
        for corpus in corpora {
            let mut identity: Option<Identity> = None;
            // Seed by seed, so that a plan that is stopped early has compared all arms.
            for seed in 0..seeds {
                for arm in &arms {
                    for budget in arm.budgets(budgets) {
                        let mut config = arm.config(request, corpus, budget, seed)?;
                        let identity = match &mut identity {
                            Some(identity) => identity,
                            none => none.insert(Corpus::open(&config.source()?, cache)?.identity().clone()),
                        };
                        config.resolve(identity)?;
                        runs.push(planned(runs.len(), arm, config, identity, budget, seed)?);
                    }
                }
            }
        }
        let plan = Plan {
            format: FORMAT,
            experiment: request.experiment,
            scale: request.scale,
            runs,
            folder: folder.to_path_buf(),
        };
        plan.check().map_err(|why| {
            Error::plan(folder, format!("no plan was written: {why}; ask for other budgets, corpora or --set keys"))
        })?;
        let path = plan.path();
        let json = serde_json::to_vec_pretty(&plan).expect("a plan is plain data");
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, json));
        written.map_err(|error| Error::plan(path, format!("it cannot be written: {error}")))?;
        Ok(plan)
    }

    /// Reads a plan.
    pub fn open(folder: &Path) -> Result<Plan> {
        let path = folder.join("plan.json");
        let bytes = fs::read(&path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Error::plan(folder, "it holds no plan.json: make a plan with `lab plan`"),
            _ => Error::plan(&path, format!("it cannot be read: {error}")),
        })?;
        let undo = |why: String| Error::plan(&path, format!("{why}: undo the change, or make the plan anew"));
        let mut plan: Plan =
            serde_json::from_slice(&bytes).map_err(|error| undo(format!("it is not a whole plan ({error})")))?;
        plan.folder = folder.to_path_buf();
        plan.check().map_err(undo)?;
        Ok(plan)
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

    fn path(&self) -> PathBuf {
        self.folder.join("plan.json")
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

    /// Operations of all runs.
    pub fn flops(&self) -> f64 {
        self.runs.iter().map(|run| run.flops).sum()
    }

    /// Says what is wrong, if anything; plans may be edited by hand.
    fn check(&self) -> std::result::Result<(), String> {
        if self.format != FORMAT {
            return Err(format!("its format is {}, this program reads format {FORMAT}", self.format));
        }
        if self.runs.is_empty() {
            return Err("it has no runs".into());
        }
        let (mut folders, mut places) = (BTreeSet::new(), BTreeSet::new());
        for (i, run) in self.runs.iter().enumerate() {
            let wrong = |why: String| Err(format!("run {i} ({}, seed {}): {why}", run.arm, run.seed));
            if run.index != i {
                return wrong(format!("it says it is run {}; runs are numbered from 0 in order", run.index));
            }
            if !is_run_folder(&run.folder) {
                return wrong(format!("folder {:?} is not of the form runs/NAME", run.folder));
            }
            if !folders.insert(&run.folder) {
                return wrong(format!("folder {:?} is used twice", run.folder));
            }
            if !places.insert((run.cell(), run.seed)) {
                return wrong("this seed is used twice in the same arm".into());
            }
            if !run.flops.is_finite() || run.flops <= 0.0 {
                return wrong(format!("flops = {} is not a cost", run.flops));
            }
            if !run.belongs() || !self.experiment.holds(&run.table) {
                let (model, protocol) = (&run.config.model, run.config.protocol.name());
                return wrong(format!(
                    "a {} of {} heads and {} layers under the {protocol} protocol does not belong to arm {:?} of table {:?}",
                    model.kind().name(),
                    model.heads(),
                    model.layers(),
                    run.arm,
                    run.table
                ));
            }
            if !run.is_of_its_corpus() {
                let data = &run.config.data;
                return wrong(format!("it is said to be of {}, but reads {:?}", run.corpus, data.corpus));
            }
            if run.config.budget != run.budget {
                return wrong(format!("its configuration has budget {}", run.config.budget));
            }
            if run.config.seed != run.seed {
                return wrong(format!("its configuration has seed {}", run.config.seed));
            }
            if let Err(error) = run.config.check() {
                return wrong(error.to_string());
            }
            match run.config.model.parameters() {
                Ok(found) if found == run.parameters => {}
                Ok(found) => {
                    return wrong(format!("its model has {found} parameters, the plan says {}", run.parameters));
                }
                Err(error) => return wrong(error.to_string()),
            }
            self.check_beside_others(run).or_else(wrong)?;
        }
        Ok(())
    }

    /// What a run must share with the others that it is compared with.
    fn check_beside_others(&self, run: &Planned) -> std::result::Result<(), String> {
        let of_table =
            |other: &&Planned| (&other.table, &other.corpus, other.budget) == (&run.table, &run.corpus, run.budget);
        // Each is held against the first of its table, of its arm, and the reference: what equals the same is equal.
        let first =
            |arm: Option<&str>| self.runs.iter().filter(of_table).find(|other| arm.is_none_or(|arm| other.arm == arm));
        if first(Some(&run.arm)).is_some_and(|other| Config { seed: run.seed, ..other.config.clone() } != run.config) {
            return Err("runs of an arm may differ in their seed only".into());
        }
        if let Some(other) = first(None).filter(|other| !run.pairs_with(other)) {
            return Err(format!("its data, batch, length or validation is not that of {}", other.arm));
        }
        match first(Some("reference")) {
            Some(reference) if run.arm != "reference" && !run.is_ablated(reference) => {
                Err("it is not the reference changed by this ablation alone".into())
            }
            _ => Ok(()),
        }
    }
}

/// True for `runs/NAME`: no run may lie in another, or outside.
fn is_run_folder(folder: &str) -> bool {
    let name = folder.strip_prefix("runs/").unwrap_or_default();
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\'])
}

fn planned(index: usize, arm: &Arm, config: Config, corpus: &Identity, budget: usize, seed: u64) -> Result<Planned> {
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
    let flops = per_token * (steps as f64 * config.batch.tokens() as f64 + read_forward / 3.0);
    Ok(Planned {
        index,
        table: arm.table.into(),
        arm: arm.name.clone(),
        corpus: corpus.name.clone(),
        budget,
        parameters: config.model.parameters()?,
        seed,
        flops,
        folder: format!("runs/{}-{}-{}-{}-seed{seed}", arm.table, arm.name, corpus.name, size(budget)),
        config,
    })
}

/// Bytes of memory that a run will hold on so many threads, besides the corpus.
pub(crate) fn planned_memory(config: &Config, threads: usize) -> Result<usize> {
    let planned = Cpu::new(threads).planned_bytes(&config.model, &config.shape());
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
