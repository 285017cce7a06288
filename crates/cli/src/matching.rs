//! `kuramoto match`: parameter-matched widths.

use crate::table::{Table, thousands};
use anyhow::Result;
use kuramoto_model::matching::{Matched, match_width, parse_budget};
use kuramoto_model::{KuramotoConfig, ModelConfig, TransformerConfig};
use serde_json::json;

#[derive(clap::Args)]
pub struct Arguments {
    /// Parameters to match, such as 1M, 250k or 1003386
    #[arg(long)]
    budget: String,
    /// Layers of both models
    #[arg(long, default_value_t = 4)]
    layers: usize,
    /// Attention heads of both models
    #[arg(long, default_value_t = 1)]
    heads: usize,
    /// Distinct bytes of the corpus (enwik8 has 205)
    #[arg(long, default_value_t = 205)]
    vocab: usize,
    /// Row of the paper's ablation table, applied to the Kuramoto model; several combine
    #[arg(long = "ablation", value_name = "NAME", value_delimiter = ',')]
    ablations: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { layers, heads, vocab, ref ablations, .. } = *arguments;
    let budget = parse_budget(&arguments.budget)?;
    let mut kuramoto =
        ModelConfig::Kuramoto(KuramotoConfig { vocab, layers, heads, width: 0, ..Default::default() });
    kuramoto.ablate(ablations)?;
    let transformer =
        ModelConfig::Transformer(TransformerConfig { vocab, layers, heads, ..Default::default() });
    let rows = [
        ("kuramoto", "k", match_width(&kuramoto, budget)?),
        ("transformer", "d", match_width(&transformer, budget)?),
    ];
    let off = |count: usize| 100.0 * (count as f64 / budget as f64 - 1.0);
    if arguments.json {
        let models: Vec<_> = rows
            .iter()
            .map(|(model, _, Matched { width, parameters })| {
                let off = off(*parameters);
                json!({"model": model, "width": width, "parameters": parameters, "percent_off": off})
            })
            .collect();
        let request = json!({
            "budget": budget, "layers": layers, "heads": heads, "vocab": vocab,
            "ablations": ablations, "models": models
        });
        return crate::print(&format!("{request}\n"));
    }
    let with = if ablations.is_empty() { String::new() } else { format!(", {}", ablations.join(" + ")) };
    let title =
        format!("budget {}: layers {layers}, heads {heads}, vocabulary {vocab}{with}", thousands(budget));
    let mut table = Table::new(&["model", "width", "parameters", "off budget"]);
    for (model, symbol, Matched { width, parameters }) in rows {
        let off = format!("{:+.2}%", off(parameters));
        table.row([model.to_string(), format!("{symbol} = {width}"), thousands(parameters), off]);
    }
    let [kuramoto, transformer] = rows.map(|(_, _, matched)| matched.parameters);
    let apart = percent_apart(transformer, kuramoto);
    crate::print(&format!(
        "{title}\n\n{table}\nthe transformer has {apart} parameters than the Kuramoto model\n"
    ))
}

/// How many more or fewer `count` is than `other`, such as `1.0% more`.
pub fn percent_apart(count: usize, other: usize) -> String {
    let percent = 100.0 * (count as f64 / other as f64 - 1.0);
    format!("{:.1}% {}", percent.abs(), if percent < 0.0 { "fewer" } else { "more" })
}
