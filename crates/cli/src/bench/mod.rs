//! `kuramoto bench`: speed and memory against this machine's multiply-add peak.
//!
//! Each configuration is measured in a process of its own, so that peaks of resident memory do not mix. The
//! peak is measured beside each, on every thread at once, so that a busy machine lowers both sides of a
//! utilisation. Several numbers of threads are measured in turns, so that their ratios are of one time.

#[cfg(feature = "gpu")]
mod graphics;

use crate::device::DeviceArguments;
use crate::scaling::{self, MeasuredPoint};
use crate::table::{Table, thousands};
use anyhow::{Context, Result, bail, ensure};
use kuramoto_engine::scaling::Costs;
use kuramoto_engine::{Batch, Cpu, Device, Shape, Timings, Update};
use kuramoto_kernels::{arch, peak};
use kuramoto_model::{Error, KuramotoConfig, ModelConfig, Network, TransformerConfig, Weights, with_network};
use kuramoto_train::memory;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

const SEQUENCES: usize = 64;
const CONTEXT: usize = 256;
/// Fewest lanes; as many as threads, if these are more.
const LANES: usize = 8;
const ROUNDS: usize = 3;

#[derive(clap::Args)]
pub struct Arguments {
    /// Threads [default: all cores]; several (1,2,4) give a scaling table and what more cores would do
    #[arg(long, value_delimiter = ',')]
    threads: Vec<usize>,
    /// Keep each thread on a core of its own
    #[arg(long)]
    pin: bool,
    /// Times each configuration is measured, in turns; the best counts
    #[arg(long, default_value_t = ROUNDS)]
    rounds: usize,
    /// Seconds of training steps each time, after a warm-up
    #[arg(long, default_value_t = 6.0)]
    seconds: f64,
    /// Only configurations whose name (such as kuramoto-1m) contains this
    #[arg(long, default_value = "")]
    only: String,
    /// Print one JSON object on the last line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    device: DeviceArguments,
    /// Sequences of a batch on a graphics device
    #[arg(long, default_value_t = SEQUENCES)]
    batch: usize,
    /// Write the measurements to this new file as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Measure this configuration in this process and print it as JSON
    #[arg(long, hide = true)]
    child: Option<String>,
    #[arg(long, hide = true, default_value_t = LANES)]
    lanes: usize,
}

/// One measured configuration.
#[derive(Debug, Serialize, Deserialize)]
struct Measured {
    model: String,
    preset: String,
    dropout: f64,
    parameters: usize,
    /// Of the fastest step.
    tokens_per_s: f64,
    tokens_per_s_median: f64,
    /// FLOPs per token x tokens/s over the peak of all threads.
    utilisation: f64,
    flops_per_token: f64,
    planned_bytes: usize,
    peak_rss_bytes: usize,
    decode_bytes_per_s: f64,
    peak_flops_per_core: f64,
    costs: Costs,
}

impl Measured {
    /// Takes the other's figures where they are better; peaks of memory only grow.
    fn keep_better(&mut self, other: Measured) {
        let (memory, decode) = (self.peak_rss_bytes, self.decode_bytes_per_s);
        let (memory, decode) = (other.peak_rss_bytes.max(memory), other.decode_bytes_per_s.max(decode));
        if other.tokens_per_s > self.tokens_per_s {
            *self = other;
        }
        (self.peak_rss_bytes, self.decode_bytes_per_s) = (memory, decode);
    }
}

struct Configuration {
    model: &'static str,
    preset: &'static str,
    width: usize,
    dropout: f64,
}

const fn configuration(
    model: &'static str,
    preset: &'static str,
    width: usize,
    dropout: f64,
) -> Configuration {
    Configuration { model, preset, width, dropout }
}

const CONFIGURATIONS: [Configuration; 8] = [
    configuration("kuramoto", "1m", 176, 0.1),
    configuration("transformer", "1m", 120, 0.1),
    configuration("kuramoto", "1m", 176, 0.0),
    configuration("transformer", "1m", 120, 0.0),
    configuration("kuramoto", "5m", 400, 0.1),
    configuration("transformer", "5m", 276, 0.1),
    configuration("kuramoto", "5m", 400, 0.0),
    configuration("transformer", "5m", 276, 0.0),
];

impl Configuration {
    fn name(&self) -> String {
        format!("{}-{}-dropout-{}", self.model, self.preset, self.dropout)
    }

    fn config(&self) -> ModelConfig {
        let &Configuration { width, dropout, .. } = self;
        match self.model {
            "kuramoto" => KuramotoConfig { width, dropout, ..Default::default() }.into(),
            _ => TransformerConfig { width, dropout, ..Default::default() }.into(),
        }
    }
}

/// How to measure.
#[derive(Clone, Copy)]
struct How {
    threads: usize,
    lanes: usize,
    seconds: f64,
    pin: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let graphics = arguments.device.graphics()?;
    let (needed, of_the_other) = match graphics {
        None => {
            ("gpu", vec![("--report", arguments.report.is_some()), ("--batch", arguments.batch != SEQUENCES)])
        }
        Some(_) => (
            "cpu",
            vec![
                ("--threads", !arguments.threads.is_empty()),
                ("--rounds", arguments.rounds != ROUNDS),
                ("--pin", arguments.pin),
            ],
        ),
    };
    if let Some((flag, _)) = of_the_other.into_iter().find(|(_, given)| *given) {
        let why = format!("it requires --device {needed}");
        return Err(kuramoto_train::Error::Config { origin: flag.into(), why }.into());
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(SEQUENCES);
    let threads = if arguments.threads.is_empty() { vec![cores] } else { arguments.threads.clone() };
    let refuse = |field, value: String, allowed: String| Err(Error::Field { field, value, allowed }.into());
    if let Some(threads) = threads.iter().find(|threads| !(1..=SEQUENCES).contains(*threads)) {
        let allowed = format!("the benchmark's batch has {SEQUENCES} sequences: from 1 to {SEQUENCES}");
        return refuse("threads", threads.to_string(), allowed);
    }
    if arguments.rounds == 0 {
        return refuse("rounds", "0".into(), "measure at least once".into());
    }
    if !(0.0..=3600.0).contains(&arguments.seconds) {
        return refuse("seconds", arguments.seconds.to_string(), "it must be from 0 to 3600".into());
    }
    let most = threads.iter().copied().max().unwrap_or(1);
    let lanes = arguments.lanes.max(most);
    let how = How { threads: most, lanes, seconds: arguments.seconds, pin: arguments.pin };
    if let Some(name) = &arguments.child {
        let measured = measure(name, how)?;
        return crate::print(&format!("{}\n", serde_json::to_string(&measured)?));
    }
    #[cfg(not(feature = "gpu"))]
    let _ = graphics;
    let chosen: Vec<_> = CONFIGURATIONS.iter().filter(|c| c.name().contains(&arguments.only)).collect();
    if chosen.is_empty() {
        let names = CONFIGURATIONS.iter().map(Configuration::name).collect::<Vec<_>>().join(", ");
        return refuse("only", format!("{:?}", arguments.only), format!("it names none of {names}"));
    }
    #[cfg(feature = "gpu")]
    if let Some(gpu) = graphics {
        return graphics::run(arguments, gpu, &chosen);
    }
    if !arguments.json {
        let level = arch::level();
        let threads = threads.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        crate::print(&format!(
            "instructions {level:?}, threads {threads}, batch {SEQUENCES} x {CONTEXT}, {lanes} lanes\n\
             best of {} rounds; other work on this machine lowers every number\n\n",
            arguments.rounds
        ))?;
    }
    if threads.len() > 1 {
        return scaling(arguments, &chosen, threads, how);
    }
    let all = best_of(arguments.rounds, &chosen, &[how.threads], how)?.remove(0);
    let peak = all.iter().map(|m| m.peak_flops_per_core).fold(0.0, f64::max);
    if arguments.json {
        let report = serde_json::json!({
            "peak_flops_per_core": peak, "threads": how.threads, "training": all,
            "kuramoto_over_transformer": ratios(&all)
        });
        crate::print(&format!("{report}\n"))
    } else {
        crate::print(&report_text(&all, peak, how.threads))
    }
}

/// Measures every configuration with every number of threads, in turns; the best counts.
fn best_of(
    rounds: usize,
    chosen: &[&Configuration],
    threads: &[usize],
    how: How,
) -> Result<Vec<Vec<Measured>>> {
    let mut all: Vec<Vec<Option<Measured>>> =
        threads.iter().map(|_| chosen.iter().map(|_| None).collect()).collect();
    for round in 1..=rounds {
        for (i, configuration) in chosen.iter().enumerate() {
            for (&threads, all) in threads.iter().zip(&mut all) {
                let name = configuration.name();
                crate::note(&format!("round {round} of {rounds}: {name}, threads {threads}"));
                let measured = in_child(&name, How { threads, ..how })?;
                match &mut all[i] {
                    Some(best) => best.keep_better(measured),
                    none => *none = Some(measured),
                }
            }
        }
    }
    Ok(all.into_iter().map(|all| all.into_iter().flatten().collect()).collect())
}

/// One thread first, then the others, and what follows for more.
fn scaling(
    arguments: &Arguments,
    chosen: &[&Configuration],
    mut threads: Vec<usize>,
    how: How,
) -> Result<()> {
    threads.push(1);
    threads.sort_unstable();
    threads.dedup();
    let all = best_of(arguments.rounds, chosen, &threads, how)?;
    if arguments.json {
        let points: Vec<_> = threads
            .iter()
            .zip(&all)
            .map(|(threads, measured)| serde_json::json!({ "threads": threads, "training": measured }))
            .collect();
        return crate::print(&format!("{}\n", serde_json::json!({ "lanes": how.lanes, "scaling": points })));
    }
    for (i, configuration) in chosen.iter().enumerate() {
        let point = |(&threads, all): (&usize, &Vec<Measured>)| MeasuredPoint {
            threads,
            tokens_per_s: all[i].tokens_per_s,
            costs: all[i].costs,
        };
        let points: Vec<MeasuredPoint> = threads.iter().zip(&all).map(point).collect();
        crate::print(&scaling::report(&configuration.name(), SEQUENCES, CONTEXT, how.lanes, &points))?;
    }
    Ok(())
}

fn in_child(name: &str, how: How) -> Result<Measured> {
    let program = std::env::current_exe().context("cannot find this program to start it again")?;
    let mut command = Command::new(program);
    command.args(["bench", "--child", name, "--threads", &how.threads.to_string()]);
    command.args(["--lanes", &how.lanes.to_string(), "--seconds", &how.seconds.to_string()]);
    command.args(how.pin.then_some("--pin"));
    let output = command.output().with_context(|| format!("cannot start a process to measure {name}"))?;
    ensure!(
        output.status.success(),
        "measuring {name} failed: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    serde_json::from_slice(&output.stdout).with_context(|| format!("measuring {name} printed no result"))
}

/// Kuramoto step time over transformer step time.
#[derive(Serialize)]
struct Ratio {
    preset: String,
    dropout: f64,
    time_ratio: f64,
}

/// For each preset and dropout that has both models.
fn ratios(all: &[Measured]) -> Vec<Ratio> {
    let find = |model: &str, like: &Measured| {
        all.iter().find(|m| m.model == model && m.preset == like.preset && m.dropout == like.dropout)
    };
    let pairs =
        all.iter().filter(|m| m.model == "kuramoto").filter_map(|k| Some((k, find("transformer", k)?)));
    let ratio = |(k, t): (&Measured, &Measured)| Ratio {
        preset: k.preset.clone(),
        dropout: k.dropout,
        time_ratio: t.tokens_per_s / k.tokens_per_s,
    };
    pairs.map(ratio).collect()
}

fn report_text(all: &[Measured], peak: f64, threads: usize) -> String {
    let mut table = Table::new(&[
        "configuration",
        "dropout",
        "parameters",
        "tokens/s",
        "median",
        "utilisation",
        "MFLOP/token",
        "planned MB",
        "peak MB",
        "decode B/s",
    ]);
    for m in all {
        table.row([
            format!("{} {}", m.model, m.preset),
            m.dropout.to_string(),
            thousands(m.parameters),
            thousands(m.tokens_per_s as usize),
            thousands(m.tokens_per_s_median as usize),
            format!("{:.1}%", 100.0 * m.utilisation),
            format!("{:.1}", m.flops_per_token / 1e6),
            format!("{:.0}", m.planned_bytes as f64 / 1e6),
            format!("{:.0}", m.peak_rss_bytes as f64 / 1e6),
            thousands(m.decode_bytes_per_s as usize),
        ]);
    }
    let mut text = format!("\nmultiply-add peak {:.1} GFLOP/s a core\n\n{table}\n", peak / 1e9);
    for Ratio { preset, dropout, time_ratio } in ratios(all) {
        text +=
            &format!("Kuramoto step / transformer step at {preset}, dropout {dropout}: {time_ratio:.2}\n");
    }
    text + &format!(
        "utilisation = FLOPs of the mathematical model per token x tokens/s / (peak x {threads} threads)\n"
    )
}

fn measure(name: &str, how: How) -> Result<Measured> {
    let Some(configuration) = CONFIGURATIONS.iter().find(|c| c.name() == name) else {
        bail!("there is no configuration {name:?}");
    };
    let (model, dropout) = (configuration.config(), configuration.dropout);
    let How { threads, lanes, seconds, pin } = how;
    let (shape, cpu) =
        (Shape { sequences: SEQUENCES, context: CONTEXT, lanes }, Cpu { pin, ..Cpu::new(threads) });
    let planned_bytes = cpu.planned_bytes(&model, &shape)?;
    memory::check("the benchmark", planned_bytes as u64, "fewer threads")?;
    let mut engine = cpu.engine(&model, &shape)?;
    engine.start(1)?;
    let text = text(SEQUENCES * CONTEXT, &model);
    let batch = Batch { tokens: &text[..SEQUENCES * CONTEXT], targets: &text[1..], length: CONTEXT };
    let mut times = Vec::new();
    let (mut peak, mut timings) = (0.0f64, Timings::default());
    let (begin, mut step) = (Instant::now(), 0);
    while times.len() < 2 || begin.elapsed().as_secs_f64() < seconds {
        step += 1;
        peak = peak.max(peak_on_all_threads(threads));
        let start = Instant::now();
        engine.gradient(&batch, 1, step)?;
        let norm = engine.norm()?;
        engine.update(&Update { step, ..Update::default() }, norm)?;
        let seconds = start.elapsed().as_secs_f64();
        if step > 1 {
            if times.iter().all(|&other| seconds < other) {
                timings = engine.timings();
            }
            times.push(seconds);
        }
    }
    times.sort_by(f64::total_cmp);
    let rate = |seconds: f64| (SEQUENCES * CONTEXT) as f64 / seconds;
    let (tokens_per_s, flops_per_token) = (rate(times[0]), model.flops(CONTEXT).training);
    let peak_rss_bytes = peak_resident_bytes();
    let parameters = engine.parameters()?.to_vec();
    let (decode_bytes_per_s, gradient_len) = with_network!(&model, CONTEXT, |network| {
        let gradient_len = Network::<f32>::gradient_len(&network);
        (decoding_rate(&Weights::new(network, &parameters)?, &text[..CONTEXT])?, gradient_len)
    });
    Ok(Measured {
        model: configuration.model.to_string(),
        preset: configuration.preset.to_string(),
        dropout,
        parameters: parameters.len(),
        tokens_per_s,
        tokens_per_s_median: rate(times[times.len() / 2]),
        utilisation: flops_per_token * tokens_per_s / (peak * threads as f64),
        flops_per_token,
        planned_bytes,
        peak_rss_bytes,
        decode_bytes_per_s,
        peak_flops_per_core: peak,
        costs: Costs {
            sequence: timings.lanes / SEQUENCES as f64,
            addition: timings.sum / (lanes - 1) as f64,
            update: timings.norm + timings.update,
            rest: timings.prepare + timings.finish,
            gradient_bytes: (gradient_len * size_of::<f32>()) as f64,
            pieces: Costs::pieces(parameters.len()),
        },
    })
}

/// So many bytes and one more, which no model learns soon.
fn text(len: usize, model: &ModelConfig) -> Vec<u8> {
    (0..=len).map(|i| ((i * 7919 + i / 13) % model.vocab()) as u8).collect()
}

/// Peak FLOP/s a core while every thread runs the same loop.
fn peak_on_all_threads(threads: usize) -> f64 {
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(|| peak::measure(0.1))).collect();
        started.into_iter().filter_map(|thread| thread.join().ok()).sum::<f64>() / threads as f64
    })
}

/// Bytes per second over a whole context, best of a few.
fn decoding_rate<N: Network<f32>>(weights: &Weights<f32, N>, text: &[u8]) -> Result<f64> {
    let mut decoder = weights.decoder();
    let mut best = 0.0f64;
    for _ in 0..5 {
        decoder.clear();
        let start = Instant::now();
        for &token in text {
            std::hint::black_box(decoder.push(token)?);
        }
        best = best.max(text.len() as f64 / start.elapsed().as_secs_f64());
    }
    Ok(best)
}

/// The most memory this process ever held, from the system; 0 where it does not say.
fn peak_resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<usize>().ok())
        .map_or(0, |kib| kib * 1024)
}
