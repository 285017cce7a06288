//! `kuramoto bench --device gpu`: a training step against what the device could do, and what others could.

use super::{Arguments, CONTEXT, Configuration};
use crate::scaling::PROTOCOL_BYTES;
use crate::table::{Table, thousands};
use anyhow::{Context, Result};
use kuramoto_engine::{Batch, Engine, Shape, Update};
use kuramoto_gpu::{CARDS, DEFAULT_LIMITS, Findings, Gpu, GpuEngine, Launch, Speeds, plan, self_test};
use kuramoto_model::{Error, ModelConfig};
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::time::Instant;

/// Steps after which parameters are hashed: as many on every device, however fast it is.
const HASHED_AFTER: u64 = 3;

/// Everything that was found, for a report.
#[derive(Serialize)]
struct Report {
    program: &'static str,
    device: String,
    kind: String,
    self_test: Tested,
    peak_flops: f64,
    bandwidth_bytes_per_s: f64,
    launch_s: f64,
    round_trip_s: f64,
    batch: usize,
    context: usize,
    training: Vec<Measured>,
    predicted: Vec<Predicted>,
}

#[derive(Serialize)]
struct Tested {
    seconds: f64,
    function_error: f64,
    function: &'static str,
    product_error: f64,
    tensor_error: f64,
    tensor: String,
    flushes_subnormal: bool,
}

/// A training step on this device.
#[derive(Serialize)]
struct Measured {
    configuration: String,
    parameters: usize,
    tokens_per_s: f64,
    tokens_per_s_median: f64,
    launches: usize,
    micro_batches: usize,
    flops: f64,
    bytes: f64,
    share_of_peak: f64,
    share_of_bandwidth: f64,
    /// Seconds of a step by the roofline of what was measured of this device.
    roofline_s: f64,
    planned_bytes: usize,
    /// Parameters after so many steps, so that reports of one device can be compared bit by bit.
    parameters_sha256: String,
    parameters_sha256_after_steps: u64,
}

/// A training step on a card, on paper.
#[derive(Serialize)]
struct Predicted {
    card: &'static str,
    matrix_units: bool,
    configuration: String,
    step_s: f64,
    tokens_per_s: f64,
}

pub fn run(arguments: &Arguments, gpu: Gpu, chosen: &[&Configuration]) -> Result<()> {
    if !(1..=4096).contains(&arguments.batch) {
        let (field, value) = ("batch", arguments.batch.to_string());
        return Err(Error::Field { field, value, allowed: "it must be from 1 to 4096".into() }.into());
    }
    // A file that cannot be written should not cost minutes of measuring.
    let mut file = arguments.report.as_deref().map(new_file).transpose()?;
    let outcome = measured(arguments, gpu, chosen).and_then(|report| {
        let printed = match arguments.json {
            true => crate::print(&(serde_json::to_string(&report)? + "\n")),
            false => crate::print(&text(&report)),
        };
        if let (Some(file), Some(path)) = (&mut file, &arguments.report) {
            let text = serde_json::to_string_pretty(&report)? + "\n";
            file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
        }
        file = None;
        printed
    });
    // What is not whole is no report.
    if let (Some(_), Some(path)) = (&file, &arguments.report) {
        fs::remove_file(path).ok();
    }
    outcome
}

fn new_file(path: &Path) -> Result<File> {
    let allowed = |error: io::Error| match error.kind() {
        ErrorKind::AlreadyExists => "it exists already: name a new file".into(),
        _ => format!("it cannot be created ({error}): name a file in a folder that may be written to"),
    };
    File::create_new(path).map_err(|error| crate::wrong("--report", path.display(), allowed(error)).into())
}

fn measured(arguments: &Arguments, gpu: Gpu, chosen: &[&Configuration]) -> Result<Report> {
    crate::note(&format!("{}: testing", gpu.name()));
    let began = Instant::now();
    let found = self_test(&gpu)?;
    let seconds = began.elapsed().as_secs_f64();
    let speeds = Speeds::measure(&gpu)?;
    let mut training = Vec::new();
    for configuration in chosen {
        crate::note(&format!("{}: measuring", configuration.name()));
        training.push(measure(arguments, &gpu, configuration, &speeds)?);
    }
    Ok(Report {
        program: concat!("kuramoto ", env!("CARGO_PKG_VERSION")),
        device: gpu.name().into(),
        kind: gpu.kind().to_string(),
        self_test: tested(seconds, found),
        peak_flops: speeds.flops,
        bandwidth_bytes_per_s: speeds.bandwidth,
        launch_s: speeds.launch,
        round_trip_s: speeds.round_trip,
        batch: arguments.batch,
        context: CONTEXT,
        training,
        predicted: predictions(chosen)?,
    })
}

fn tested(seconds: f64, found: Findings) -> Tested {
    let Findings { function, product: product_error, tensor, flushes_subnormal } = found;
    let ((function_error, function), (tensor_error, tensor)) = (function, tensor);
    Tested { seconds, function_error, function, product_error, tensor_error, tensor, flushes_subnormal }
}

fn measure(
    arguments: &Arguments,
    gpu: &Gpu,
    configuration: &Configuration,
    speeds: &Speeds,
) -> Result<Measured> {
    let (model, sequences) = (configuration.config(), arguments.batch);
    let shape = Shape { sequences, context: CONTEXT, lanes: 1 };
    let mut engine = gpu.gpu_engine(&model, &shape)?;
    engine.start(1)?;
    let tokens = sequences * CONTEXT;
    let text = super::text(tokens, &model);
    let batch = Batch { tokens: &text[..tokens], targets: &text[1..], length: CONTEXT };
    let take = |engine: &mut GpuEngine, step: u64| -> Result<()> {
        engine.gradient(&batch, 1, step)?;
        let norm = engine.norm()?;
        Ok(engine.update(&Update { step, ..Update::default() }, norm)?)
    };
    for step in 1..=HASHED_AFTER {
        take(&mut engine, step)?;
    }
    let parameters: Vec<u8> = engine.parameters()?.iter().flat_map(|x| x.to_le_bytes()).collect();
    // An update runs while the next step is prepared: it counts as part of that one, so one more goes ahead.
    let mut step = HASHED_AFTER + 1;
    take(&mut engine, step)?;
    let (mut times, began) = (Vec::new(), Instant::now());
    while times.len() < 2 || began.elapsed().as_secs_f64() < arguments.seconds {
        step += 1;
        let started = Instant::now();
        take(&mut engine, step)?;
        times.push(started.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let (plan, micro_batches) = (engine.plan(), engine.micro_batches_of(sequences));
    let over_batch = |of: fn(&Launch) -> f64| plan.batch(micro_batches).map(of).sum::<f64>();
    let (flops, bytes) = (over_batch(|launch| launch.flops), over_batch(|launch| launch.bytes));
    let (launches, roofline_s) = (plan.batch(micro_batches).count(), speeds.step(plan, micro_batches));
    let planned_bytes = plan.bytes();
    Ok(Measured {
        configuration: configuration.name(),
        parameters: parameters.len() / 4,
        tokens_per_s: tokens as f64 / times[0],
        tokens_per_s_median: tokens as f64 / times[times.len() / 2],
        launches,
        micro_batches,
        flops,
        bytes,
        share_of_peak: flops / times[0] / speeds.flops,
        share_of_bandwidth: bytes / times[0] / speeds.bandwidth,
        roofline_s,
        planned_bytes,
        parameters_sha256: kuramoto_train::hash::of(&parameters),
        parameters_sha256_after_steps: HASHED_AFTER,
    })
}

/// Steps of 64 sequences on cards that are known by their makers' figures alone.
fn predictions(chosen: &[&Configuration]) -> Result<Vec<Predicted>> {
    let mut all = Vec::new();
    for configuration in chosen {
        let model: ModelConfig = configuration.config();
        let (_, plan) = plan(&model, super::SEQUENCES, CONTEXT, &DEFAULT_LIMITS)?;
        for card in &CARDS {
            for (matrix_units, speeds) in
                [(false, Some(card.speeds())), (true, card.speeds_with_matrix_units())]
            {
                let Some(speeds) = speeds else { continue };
                let step_s = speeds.step(&plan, 1);
                let tokens_per_s = (super::SEQUENCES * CONTEXT) as f64 / step_s;
                let (card, configuration) = (card.name, configuration.name());
                all.push(Predicted { card, matrix_units, configuration, step_s, tokens_per_s });
            }
        }
    }
    Ok(all)
}

fn text(report: &Report) -> String {
    let Tested { seconds, function_error, function, product_error, tensor_error, tensor, .. } =
        &report.self_test;
    let mut table = Table::new(&[
        "configuration",
        "tokens/s",
        "median",
        "launches",
        "GFLOP",
        "GB",
        "of peak",
        "of bandwidth",
        "of roofline",
        "MB",
    ]);
    for m in &report.training {
        let percent = |share: f64| format!("{:.1}%", 100.0 * share);
        let step = (report.batch * report.context) as f64 / m.tokens_per_s;
        table.row([
            m.configuration.clone(),
            thousands(m.tokens_per_s as usize),
            thousands(m.tokens_per_s_median as usize),
            m.launches.to_string(),
            format!("{:.1}", m.flops / 1e9),
            format!("{:.2}", m.bytes / 1e9),
            percent(m.share_of_peak),
            percent(m.share_of_bandwidth),
            percent(m.roofline_s / step),
            (m.planned_bytes / 1_000_000).to_string(),
        ]);
    }
    let mut cards =
        Table::new(&["predicted for", "configuration", "step ms", "tokens/s", "50 epochs of enwik8"]);
    for p in &report.predicted {
        cards.row([
            format!("{}{}", p.card, if p.matrix_units { ", matrix units" } else { "" }),
            p.configuration.clone(),
            format!("{:.1}", 1e3 * p.step_s),
            thousands(p.tokens_per_s as usize),
            format!("{:.1} h", PROTOCOL_BYTES / p.tokens_per_s / 3600.0),
        ]);
    }
    format!(
        "\n{}, {}\nself-test passed in {seconds:.1} s: functions within {function_error:.0e} ({function}), \
         products within {product_error:.0e}, gradients within {tensor_error:.0e} ({tensor})\nmultiply-add peak \
         {:.1} GFLOP/s, memory {:.1} GB/s, a launch {:.1} us, a round trip {:.0} us\n\nbatches of {} x {}:\n\n{table}\nof peak: operations of products over the multiply-add \
         peak; of roofline: the least time that peak, memory and launches allow, over the measured\n\n{cards}\npredicted, \
         never measured: batches of 64 x {}, half of the makers' peak, 80% of their bandwidth, 5 us a launch; \
         with matrix units three f16 products for one, or the time to split their operands if that is longer\n",
        report.device,
        report.kind,
        report.peak_flops / 1e9,
        report.bandwidth_bytes_per_s / 1e9,
        1e6 * report.launch_s,
        1e6 * report.round_trip_s,
        report.batch,
        report.context,
        report.context,
    )
}
