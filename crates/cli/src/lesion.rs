//! `kuramoto lesion`: dose-response curves of a run.

use crate::inspect::{Inspect, one_of, written};
use crate::wrong;
use anyhow::{Context, Result};
use kuramoto_phase::intervention::{Change, Intervention};
use kuramoto_phase::lesion::{Lesion, Site, Trial, csv, figure, table};
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
    let top = if lesion == Lesion::Tau { f64::INFINITY } else { 1.0 };
    if let Some(dose) = arguments.doses.iter().find(|dose| !(0.0..=top).contains(*dose) || dose.is_infinite())
    {
        return Err(wrong(
            "--doses",
            dose,
            if top == 1.0 { "a dose is from 0 to 1" } else { "a dose is at least 0" },
        )
        .into());
    }
    if !(1..=MAX_REPEATS).contains(&arguments.repeats) {
        return Err(
            wrong("--repeats", arguments.repeats, format!("it must be from 1 to {MAX_REPEATS}")).into()
        );
    }
    let doses = if arguments.doses.is_empty() { lesion.doses() } else { &arguments.doses };
    let chosen = arguments.inspect.chosen()?;
    let subject = arguments.inspect.open(&chosen)?;
    let sites = sites(arguments, lesion, subject.weights.network().config())?;
    let windows = subject.windows();
    let trial = Trial {
        weights: &subject.weights,
        windows: &windows,
        repeats: arguments.repeats,
        seed: arguments.seed,
        threads: arguments.inspect.threads()?,
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

fn sites(
    arguments: &Arguments,
    lesion: Lesion,
    config: &kuramoto_model::KuramotoConfig,
) -> Result<Vec<Site>> {
    let (layers, heads, k) = (config.layers, config.heads, config.width);
    if let Some(head) = arguments.head.filter(|_| !lesion.is_of_oscillators()) {
        return Err(
            wrong("--head", head, format!("{} acts on all heads: leave it out", lesion.name())).into()
        );
    }
    if let Some(head) = arguments.head.filter(|&head| head >= heads) {
        return Err(wrong("--head", head, format!("the model has heads 0 to {}", heads - 1)).into());
    }
    if let Some(layer) = arguments.layers.iter().find(|&&layer| layer >= layers) {
        return Err(wrong("--layers", layer, format!("the model has layers 0 to {}", layers - 1)).into());
    }
    let oscillators = arguments.head.map(|head| (head * k / heads..(head + 1) * k / heads).collect());
    let chosen = match (&arguments.layers[..], lesion.is_of_a_layer()) {
        (_, false) => vec![0],
        ([], true) => (0..layers).collect(),
        (some, true) => some.to_vec(),
    };
    Ok(chosen.into_iter().map(|layer| Site { layer, oscillators: oscillators.clone() }).collect())
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
