//! `kuramoto pulls`: what the model expects after a byte, who pulled it, layer by layer, and which tokens lock.

use crate::checkpoint::Checkpoint;
use crate::chosen::{Chosen, FOR_TEXT};
use crate::table::Table;
use crate::text::quoted;
use anyhow::Result;
use kuramoto_phase::Trace;
use kuramoto_phase::coalition::coalitions;
use kuramoto_phase::prediction::{likeliest, probabilities};
use kuramoto_phase::pull::{Pull, Pulls};
use kuramoto_phase::radius::radii;
use kuramoto_phase::subject::check_memory;
use std::fmt::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// Run folder of a Kuramoto model, or shipped model [default: enwik8-kuramoto-1m]
    run: Option<PathBuf>,
    /// Text to run through the model, no longer than its context
    #[arg(long)]
    prompt: String,
    /// The byte that is pulled, from 0 [default: the last]
    #[arg(long)]
    token: Option<usize>,
    /// Pulls to list in each layer, and predictions
    #[arg(long, default_value_t = 5)]
    top: usize,
    /// Also list groups of bytes whose mean locking is at least this, from 0 to 1
    #[arg(long, value_name = "LOCKING")]
    coalitions: Option<f64>,
    #[command(flatten)]
    checkpoint: Checkpoint,
    /// Print one JSON object with all pulls on the byte
    #[arg(long)]
    json: bool,
}

/// A byte and its probability.
fn likely((byte, chance): &(u8, f64)) -> String {
    let percent = 100.0 * chance;
    let digits = if percent < 1.0 { 2 } else { 0 };
    format!("{} {percent:.digits$}%", quoted(&[*byte]))
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let run = Chosen::new(arguments.run.as_deref(), FOR_TEXT)?.open()?;
    let (weights, _) = run.kuramoto(arguments.checkpoint.of(&run)?)?;
    Pulls::check(weights.network())?;
    if arguments.prompt.is_empty() {
        return Err(crate::wrong("--prompt", "\"\"", "give at least one byte").into());
    }
    let tokens = run.corpus().encode("--prompt", arguments.prompt.as_bytes())?;
    let context = run.config().batch.context;
    if tokens.len() > context {
        let allowed = format!("this model reads at most {context} at a time; give the last of them");
        return Err(crate::wrong("--prompt", format!("{} bytes", tokens.len()), allowed).into());
    }
    check_memory(weights.network(), tokens.len(), 1)?;
    let (mut trace, mut work) = (Trace::new(weights.network()), weights.workspace());
    weights.forward(&tokens, &mut work, &mut trace)?;
    let pulled = arguments.token.unwrap_or(tokens.len() - 1);
    if pulled >= tokens.len() {
        return Err(
            crate::wrong("--token", pulled, format!("the text has bytes 0 to {}", tokens.len() - 1)).into()
        );
    }
    let logits = weights.logits(tokens.len(), &work);
    let vocabulary = &run.corpus().vocabulary;
    let probabilities = probabilities(&logits[pulled * vocabulary.len()..][..vocabulary.len()]);
    let expected: Vec<(u8, f64)> =
        likeliest(&probabilities).into_iter().map(|(token, chance)| (vocabulary[token], chance)).collect();
    let radii = radii(&weights);
    let layers: Vec<(f64, Vec<Pull>)> = (0..trace.layers())
        .map(|layer| {
            let pulls = Pulls::on(&trace, layer, pulled, radii[layer].0);
            let squares: f64 = (0..trace.k).map(|j| pulls.increment(j).powi(2)).sum();
            ((squares / trace.k as f64).sqrt(), pulls.strongest(&trace, layer))
        })
        .collect();
    let groups = arguments.coalitions.map(|threshold| coalitions(&trace, threshold));
    if arguments.json {
        let layers: Vec<_> =
            layers.iter().map(|(step, pulls)| serde_json::json!({ "step": step, "pulls": pulls })).collect();
        let next: Vec<_> = expected
            .iter()
            .map(|(byte, chance)| serde_json::json!({ "byte": byte, "probability": chance }))
            .collect();
        let object =
            serde_json::json!({ "token": pulled, "next": next, "layers": layers, "coalitions": groups });
        return crate::print(&format!("{object}\n"));
    }
    let bytes = arguments.prompt.as_bytes();
    let list: Vec<String> = expected.iter().take(arguments.top).map(likely).collect();
    let mut text = format!(
        "byte {pulled}, {}, in {}\npredicted next: {}\n",
        quoted(&bytes[pulled..=pulled]),
        quoted(bytes),
        list.join(", ")
    );
    if let Some(next) = bytes.get(pulled + 1) {
        let chance = expected.iter().find(|(byte, _)| byte == next).map_or(0.0, |pair| pair.1);
        writeln!(text, "the text goes on with {}", likely(&(*next, chance))).ok();
    }
    writeln!(text, "\nwho pulled it, strongest first:").ok();
    for (layer, (step, pulls)) in layers.iter().enumerate() {
        writeln!(text, "\nlayer {layer}: the step is {step:.4} radians (root mean square over oscillators)")
            .ok();
        let mut table = Table::new(&["byte", "at", "back", "coupling", "pull", "attraction"]);
        for pull in pulls.iter().take(arguments.top) {
            table.row([
                quoted(&bytes[pull.by..=pull.by]),
                pull.by.to_string(),
                (pulled - pull.by).to_string(),
                format!("{:.3}", pull.coupling),
                format!("{:.4}", pull.size),
                format!("{:+.2}", pull.attraction),
            ]);
        }
        write!(text, "{table}").ok();
    }
    for (layer, groups) in groups.iter().flatten().enumerate() {
        let place = if layer < layers.len() {
            format!("entering layer {layer}")
        } else {
            "after the last layer".into()
        };
        writeln!(text, "\ncoalitions {place}:").ok();
        for (place, group) in groups.iter().enumerate().filter(|(_, group)| group.tokens.len() > 1) {
            let letters: Vec<u8> = group.tokens.iter().map(|&t| bytes[t]).collect();
            let from = group.from.map(|from| format!(", from group {from}")).unwrap_or_default();
            writeln!(text, "  group {place} (locking {:.3}{from}): {}", group.locking, quoted(&letters)).ok();
        }
    }
    crate::print(&text)
}
