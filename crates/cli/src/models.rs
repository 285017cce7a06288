//! `kuramoto models`: the models that come with the program.

use crate::table::{Table, thousands};
use anyhow::Result;
use kuramoto_models::all;
use kuramoto_train::data::default_cache;

#[derive(clap::Args)]
pub struct Arguments {
    /// Print one JSON array, with the folders that the models are unpacked into
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    if arguments.json {
        let mut models = Vec::new();
        for model in all() {
            let mut object = serde_json::to_value(model.summary())?;
            object["name"] = model.name.into();
            object["run"] = model.unpack(&default_cache())?.to_string_lossy().into();
            models.push(object);
        }
        return crate::print(&format!("{}\n", serde_json::to_string(&models)?));
    }
    let mut table =
        Table::new(&["name", "model", "corpus", "parameters", "bytes read", "validation", "test"]);
    let bits = |value: Option<f64>| value.map_or_else(|| "-".into(), |bits| format!("{bits:.3}"));
    for model in all() {
        let summary = model.summary();
        table.row([
            model.name.into(),
            summary.model,
            summary.corpus,
            thousands(summary.parameters),
            thousands(summary.tokens as usize),
            bits(summary.validation_bits_per_byte),
            bits(summary.test_bits_per_byte),
        ]);
    }
    crate::print(&format!(
        "{table}\nbits per byte; a name stands for a run folder in generate, pulls, diagnose, lesion, eval and export\n"
    ))
}
