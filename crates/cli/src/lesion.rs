//! `kuramoto lesion`: dose-response curves of a run.

use crate::inspect::{Inspect, one_of, written};
use crate::wrong;
use anyhow::{Context, Result};
use kuramoto_phase::intervention::{Change, Intervention};
use kuramoto_phase::lesion::{Lesion, Trial, csv, figure, table};
use kuramoto_report::write;
use kuramoto_train::disk;
use serde::Deserialize;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    inspect: Inspect,
    /// What to take away
    #[arg(long, default_value = "synchronization", value_parser = one_of::<Lesion>())]
    what: Lesion,
    /// Layers, from 0, separated by commas [default: each in turn]
    #[arg(long, value_delimiter = ',')]
    layers: Vec<usize>,
    /// Only the oscillators of this head, from 0
    #[arg(long)]
    head: Option<usize>,
    /// Doses, separated by commas: shares from 0 to 1, or multiples of tau
    #[arg(long, value_delimiter = ',')]
    doses: Vec<f64>,
    /// Draws of lesions that are drawn at random
    #[arg(long, default_value_t = 3)]
    repeats: u64,
    /// Seed of the draws
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// File with interventions and changes to apply instead (docs/phase.md)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["what", "layers", "head", "doses"])]
    interventions: Option<PathBuf>,
    /// Folder of the table and the figure [default: lesions in the run]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// Most draws of a lesion.
const MAX_REPEATS: u64 = 10_000;

pub fn run(arguments: &Arguments) -> Result<()> {
    let lesion = arguments.what;
    if !(1..=MAX_REPEATS).contains(&arguments.repeats) {
        return Err(
            wrong("--repeats", arguments.repeats, format!("it must be from 1 to {MAX_REPEATS}")).into()
        );
    }
    let doses = if arguments.doses.is_empty() { lesion.doses() } else { &arguments.doses };
    lesion.check_doses(doses)?;
    let chosen = arguments.inspect.chosen()?;
    let subject = arguments.inspect.open(&chosen)?;
    let sites = lesion.sites(subject.weights.network().config(), &arguments.layers, arguments.head)?;
    let windows = subject.windows();
    let trial = Trial {
        weights: &subject.weights,
        windows: &windows,
        repeats: arguments.repeats,
        seed: arguments.seed,
        workers: arguments.inspect.threads()?.into(),
    };
    if let Some(path) = &arguments.interventions {
        return own(path, &trial);
    }
    let responses = trial.respond(lesion, &sites, doses)?;
    let folder = arguments.out.clone().unwrap_or_else(|| chosen.output("lesions"));
    // What was confined has a name of its own, so that it replaces nothing else.
    let layers = arguments.layers.iter().map(|layer| format!("-layer{layer}")).collect::<String>();
    let head = arguments.head.map(|head| format!("-head{head}")).unwrap_or_default();
    let file = format!("lesion-{}{layers}{head}", lesion.name());
    let mut files = vec![write(&folder, &format!("{file}.csv"), csv(lesion, &responses))?];
    files.extend(figure(&file, lesion, &responses).save(&folder)?);
    crate::print(&format!(
        "{}, {} windows of {}, after step {}: {lesion}\n\n{}\n{}",
        chosen.name(),
        windows.len(),
        subject.text,
        subject.step,
        table(&responses),
        written(&files)
    ))
}

/// What one's own file asks for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Own {
    #[serde(default)]
    interventions: Vec<Intervention>,
    #[serde(default)]
    changes: Vec<Change>,
}

/// Interventions and changes of one's own, beside the intact model.
fn own(path: &Path, trial: &Trial<'_>) -> Result<()> {
    let text = disk::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let own: Own =
        serde_json::from_slice(&text).with_context(|| format!("{} is not understood", path.display()))?;
    let (network, file) = (trial.weights.network(), path.display().to_string());
    for change in &own.interventions {
        change.check(network).map_err(|why| wrong(&file, change.at, why))?;
    }
    for change in &own.changes {
        change.check(network).map_err(|why| wrong(&file, serde_json::json!(change), why))?;
    }
    let [intact, changed] = trial.compare(&own.interventions, &own.changes)?;
    crate::print(&format!(
        "intact {:.4} bits per byte, changed {:.4}: rise {:+.4} (95% interval {})\n",
        intact.bits_per_byte, changed.bits_per_byte, changed.rise, changed.interval
    ))
}
