//! A run in a few lines, before it is trained.

use crate::table::{counted, thousands};
use kuramoto_model::ModelKind;
use kuramoto_train::Config;
use kuramoto_train::config::{Length, Warmup};

/// The device, with the threads of the processor if it is that.
pub fn device(name: &str, threads: usize) -> String {
    match name.starts_with("cpu") {
        true => format!("{} ({name})", counted(threads, "thread")),
        false => name.into(),
    }
}

/// The model, what was changed of its preset, and where its parameters come from.
pub fn model(config: &Config, parameters: usize) -> String {
    let (kind, symbol) = match config.model.kind() {
        ModelKind::Kuramoto => ("Kuramoto model", "k"),
        ModelKind::Transformer => ("transformer", "d"),
    };
    let ablations = config.model.ablations().iter().map(|name| format!(", {name}")).collect::<String>();
    let mut text = format!(
        "{kind}{ablations}: {} parameters ({symbol} = {}, {}), {} protocol, seed {}\n",
        thousands(parameters),
        config.model.width(),
        counted(config.model.layers(), "layer"),
        config.protocol.name(),
        config.seed,
    );
    let mut changes = config.changes();
    // Told below.
    changes.retain(|key, _| !key.starts_with("init-from."));
    let changes: Vec<String> = changes.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    if !changes.is_empty() {
        text += &format!("changed from the preset {}: {}\n", config.preset, changes.join(", "));
    }
    if let Some(from) = &config.init_from {
        let vocabulary = config.model.vocab();
        let fresh = match vocabulary - from.known_bytes {
            0 => format!("all {vocabulary} bytes are known there"),
            fresh => format!("{fresh} of {} start anew", counted(vocabulary, "byte")),
        };
        text += &format!("starts from step {} of {}: {fresh}\n", thousands(from.step as usize), from.run);
    }
    text
}

/// The corpus and its splits.
pub fn corpus(name: &str, vocabulary: usize, splits: [usize; 3]) -> String {
    let [train, validation, test] = splits.map(thousands);
    let distinct = counted(vocabulary, "distinct byte");
    format!("{name}: {distinct}; {train} to train, {validation} to validate, {test} to test\n")
}

/// How long it is trained.
pub fn length(config: &Config, steps: u64, steps_per_epoch: u64) -> String {
    let epochs = match (config.length, steps as f64 / steps_per_epoch as f64) {
        (Length::Epochs(epochs), _) => counted(epochs as usize, "epoch"),
        (_, epochs) if epochs < 0.01 => "less than 0.01 epochs".into(),
        (_, epochs) => format!("{epochs:.2} epochs"),
    };
    let (batch, optimizer) = (&config.batch, &config.optimizer);
    let warmup = match optimizer.warmup {
        Warmup::Steps(_) => String::new(),
        Warmup::Share(share) => {
            let steps = counted(optimizer.warmup_steps(steps) as usize, "step");
            format!(", with a warm-up of {steps} ({share})")
        }
    };
    format!(
        "{} of {} x {} bytes ({epochs}){warmup}",
        counted(steps as usize, "step"),
        batch.sequences,
        batch.context
    )
}

/// How far a result is from the fewest bits per byte that are possible.
pub fn above_floor(bits: f64, floor: f64) -> String {
    match bits / floor {
        ratio if ratio < 2.0 => format!("{:.1}% above the best possible, {floor:.3}", 100.0 * (ratio - 1.0)),
        ratio => format!("{ratio:.1} times the best possible, {floor:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_readable_near_and_far() {
        assert_eq!(above_floor(0.535, 0.475), "12.6% above the best possible, 0.475");
        assert_eq!(above_floor(5.775, 0.475), "12.2 times the best possible, 0.475");
    }
}
