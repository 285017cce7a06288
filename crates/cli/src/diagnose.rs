//! `kuramoto diagnose`: the paper's diagnostics, and others, of a run on a text.

use crate::look::{Look, write};
use crate::table::Table;
use anyhow::Result;
use kuramoto_phase::Probe;
use kuramoto_phase::circular::Resultant;
use kuramoto_phase::diagnostics::{Drift, figures, statements};
use kuramoto_phase::measure::MEASURES;
use kuramoto_phase::survey::{Estimate, Surrogate, Survey, oscillator_locking, oscillators, survey};
use kuramoto_report::statistics;
use std::fmt::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    look: Look,
    /// New or own folder of tables and figures [default: diagnostics in the run]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Surrogates to set measures against, separated by commas, or none
    #[arg(long, value_delimiter = ',', default_value = "untrained,shuffled,permuted,uniform")]
    against: Vec<String>,
    /// Of the surrogates
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let against = surrogates(&arguments.against)?;
    let subject = arguments.look.open()?;
    let windows = subject.windows();
    let threads = arguments.look.threads()?;
    let of = |surrogate| {
        // Before training means the run's own start.
        let seed = if surrogate == Some(Surrogate::Untrained) { subject.seed } else { arguments.seed };
        survey(&subject.network, &subject.parameters, &windows, surrogate, seed, threads)
    };
    let ours = of(None)?;
    let nulls = against.iter().map(|&null| Ok((null, of(Some(null))?))).collect::<Result<Vec<_>>>()?;
    let drift = Drift::of(&Probe::new(subject.network.clone(), subject.parameters.clone()));

    let folder = arguments.out.clone().unwrap_or_else(|| arguments.look.run.join("diagnostics"));
    let mut files = vec![write(&folder, "measures.csv", &csv(&ours, &nulls))?];
    let locking = oscillator_locking(&subject.network, &subject.parameters, &windows, threads)?;
    files.push(write(&folder, "oscillator-locking.csv", &locking_csv(&locking))?);
    let found = oscillators(&subject.network, &subject.parameters, &windows, threads)?;
    files.push(write(&folder, "oscillators.csv", &oscillators_csv(&found, &drift))?);
    let stated = statements(&ours, &drift);
    let json = serde_json::json!({ "statements": stated, "drift": drift, "survey": ours });
    files.push(write(&folder, "diagnostics.json", &(serde_json::to_string_pretty(&json)? + "\n"))?);
    for figure in figures(&ours, &drift) {
        files.extend(figure.save(&folder)?);
    }

    let mut text = format!(
        "{}: {} windows of {}, {:.4} bits per byte, after step {}\n\n{}\n",
        arguments.look.run.display(),
        windows.len(),
        subject.text,
        ours.bits_per_byte(),
        subject.step,
        table(&ours)
    );
    if !nulls.is_empty() {
        writeln!(
            text,
            "distance to surrogates, in standard deviations of their windows, layer by layer:\n{}",
            distances(&ours, &nulls)
        )
        .ok();
    }
    text += "what the paper says of its model, and this one:\n";
    for statement in &stated {
        writeln!(
            text,
            "  {}: {}: {}\n      {}",
            statement.place,
            statement.text,
            statement.shown.words(),
            statement.because
        )
        .ok();
    }
    text += "\nwrote\n";
    files.iter().for_each(|path| writeln!(text, "    {}", path.display()).unwrap_or_default());
    crate::print(&text)
}

fn surrogates(names: &[String]) -> Result<Vec<Surrogate>> {
    let named = |name: &String| {
        let found = Surrogate::ALL.into_iter().find(|surrogate| surrogate.name() == name);
        let allowed = "choose among untrained, shuffled, permuted, uniform, or none";
        found.ok_or_else(|| crate::wrong("--against", format!("{name:?}"), allowed))
    };
    Ok(names.iter().filter(|name| *name != "none").map(named).collect::<Result<Vec<_>, _>>()?)
}

/// Measures down, layers across.
fn table(ours: &Survey) -> Table {
    let head: Vec<String> = (0..ours.layers).map(|layer| format!("layer {layer}")).collect();
    let mut table = Table::new(&["measure"].into_iter().chain(head.iter().map(String::as_str)).collect::<Vec<_>>());
    for (place, measure) in MEASURES.iter().enumerate() {
        let cell = |layer: usize| match statistics::mean(ours.values(place, layer)) {
            value if value.is_nan() => "-".into(),
            value => format!("{value:.3}"),
        };
        table.row([measure.name.to_string()].into_iter().chain((0..ours.layers).map(cell)));
    }
    table
}

/// Measures down, surrogates across: the distance to each, from the first layer to the last.
fn distances(ours: &Survey, nulls: &[(Surrogate, Survey)]) -> Table {
    let mut table =
        Table::new(&["z against"].into_iter().chain(nulls.iter().map(|(null, _)| null.name())).collect::<Vec<_>>());
    for (place, measure) in MEASURES.iter().enumerate() {
        let cell = |(_, null): &(Surrogate, Survey)| {
            let z = |layer: usize| match ours.z(null, place, layer) {
                z if z.is_nan() => "-".to_string(),
                z => format!("{z:+.1}"),
            };
            (0..ours.layers).map(z).collect::<Vec<_>>().join(" ")
        };
        table.row([measure.name.to_string()].into_iter().chain(nulls.iter().map(cell)));
    }
    table
}

/// Circular statistics of every oscillator over all tokens that were read.
fn oscillators_csv(found: &[Vec<Resultant>], drift: &Drift) -> String {
    let mut text = "layer,oscillator,rate,length,mean,variance,deviation,rayleigh_z,rayleigh_p\n".to_string();
    for (layer, resultants) in found.iter().enumerate() {
        for (j, resultant) in resultants.iter().enumerate() {
            // The last state enters no layer and drifts no further.
            let rate = drift.rates.get(layer).map(|rates| rates[j].to_string()).unwrap_or_default();
            let (length, mean) = (resultant.length(), resultant.mean());
            let (variance, deviation, (z, p)) = (resultant.variance(), resultant.deviation(), resultant.rayleigh());
            writeln!(text, "{layer},{j},{rate},{length:.6},{mean:.6},{variance:.6},{deviation:.6},{z:.3},{p:.3e}").ok();
        }
    }
    text
}

fn locking_csv(locking: &[Vec<f64>]) -> String {
    let mut text = "layer,oscillator,other,locking\n".to_string();
    for (layer, matrix) in locking.iter().enumerate() {
        let k = matrix.len().isqrt();
        for (i, j) in (0..k).flat_map(|i| (0..i).map(move |j| (i, j))) {
            writeln!(text, "{layer},{i},{j},{:.5}", matrix[i * k + j]).ok();
        }
    }
    text
}

fn csv(ours: &Survey, nulls: &[(Surrogate, Survey)]) -> String {
    let mut text = "measure,layer,mean,sd,low,high".to_string();
    nulls.iter().for_each(|(null, _)| write!(text, ",z_{0},{0}_mean", null.name()).unwrap_or_default());
    text.push('\n');
    for (place, measure) in MEASURES.iter().enumerate() {
        for layer in 0..ours.layers {
            let found = Estimate::of(ours.values(place, layer));
            write!(
                text,
                "{},{layer},{},{},{},{}",
                measure.name, found.mean, found.sd, found.interval.low, found.interval.high
            )
            .ok();
            for (_, null) in nulls {
                write!(text, ",{},{}", ours.z(null, place, layer), statistics::mean(null.values(place, layer))).ok();
            }
            text.push('\n');
        }
    }
    // JSON, NumPy and pandas read "nan"; spreadsheets read an empty field.
    text.replace("NaN", "")
}
