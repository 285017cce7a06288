//! What distinguishes a configuration from its preset, and two configurations from each other.

use crate::config::Config;
use crate::presets;
use kuramoto_model::matching;
use serde::Serialize;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// Dotted keys and their values.
pub type Keys = BTreeMap<String, Value>;

/// Keys that name the starting point or are derived, so that no preset sets them.
const NOT_OF_A_PRESET: [&str; 11] = [
    "preset",
    "protocol",
    "seed",
    "data.corpus",
    "data.path",
    "data.sha256",
    "model.kind",
    "model.vocab",
    "init-from.step",
    "init-from.sha256",
    "init-from.known-bytes",
];

/// A key that has two values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Dotted.
    pub key: String,
    /// In the first configuration; None if it has no such key.
    pub first: Option<Value>,
    /// In the second.
    pub second: Option<Value>,
}

impl Config {
    /// Keys that are not as the preset has them, besides those that its ablations switch.
    pub fn changes(&self) -> Keys {
        let mut preset = presets::config(self.preset, self.protocol, self.model.kind());
        // Switches that contradict each other are shown key by key.
        preset.model.ablate(&self.model.ablations()).ok();
        let matched = matching::match_width(&self.model, self.budget);
        if matched.is_ok_and(|matched| matched.width == self.model.width()) {
            *preset.model.width_mut() = self.model.width();
        } else {
            // A width that was given leaves the budget without effect.
            preset.budget = self.budget;
        }
        let preset = preset.keys();
        let mut keys = self.keys();
        keys.retain(|key, value| !NOT_OF_A_PRESET.contains(&key.as_str()) && preset.get(key) != Some(value));
        keys
    }

    /// Ablations and changed keys in a line; empty if all is as the preset has it.
    pub fn changes_in_words(&self) -> String {
        let ablations = self.model.ablations().into_iter().map(String::from);
        let changes = self.changes().into_iter().map(|(key, value)| format!("{key}={value}"));
        ablations.chain(changes).collect::<Vec<_>>().join(", ")
    }

    /// Keys whose values are not the same in both.
    pub fn differences(&self, other: &Config) -> Vec<Difference> {
        let (first, second) = (self.keys(), other.keys());
        let all: std::collections::BTreeSet<&String> = first.keys().chain(second.keys()).collect();
        let difference = |key: &String| Difference {
            key: key.clone(),
            first: first.get(key).cloned(),
            second: second.get(key).cloned(),
        };
        all.into_iter().map(difference).filter(|found| found.first != found.second).collect()
    }

    fn keys(&self) -> Keys {
        let mut keys = Keys::new();
        flatten(&Table::try_from(self).expect("a configuration is plain data"), "", &mut keys);
        keys
    }
}

fn flatten(table: &Table, prefix: &str, keys: &mut Keys) {
    for (key, value) in table {
        let dotted = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Value::Table(inside) => flatten(inside, &dotted, keys),
            value => drop(keys.insert(dotted, value.clone())),
        }
    }
}
