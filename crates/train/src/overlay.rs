//! Laying the keys of files and flags over a preset, and saying what is wrong with them.

use crate::config::{Config, Warmup, WarmupShare};
use crate::error::{Error, Result};
use crate::presets;
use kuramoto_model::{ModelConfig, ModelKind, matching};
use serde::Deserialize;
use std::str::FromStr;
use strum::VariantNames;
use toml::{Table, Value};

/// Flags of `kuramoto train` that set one key each, and their keys. Python's settings have the same names.
pub const FLAGS: [(&str, &str); 28] = [
    ("--preset", "preset"),
    ("--protocol", "protocol"),
    ("--model", "model.kind"),
    ("--data", "data.corpus"),
    ("--data-path", "data.path"),
    ("--budget", "budget"),
    ("--layers", "model.layers"),
    ("--heads", "model.heads"),
    ("--width", "model.width"),
    ("--dropout", "model.dropout"),
    ("--seed", "seed"),
    ("--steps", "length.steps"),
    ("--tokens", "length.tokens"),
    ("--epochs", "length.epochs"),
    ("--batch", "batch.sequences"),
    ("--context", "batch.context"),
    ("--learning-rate", "optimizer.learning-rate"),
    ("--warmup", "optimizer.warmup"),
    ("--schedule", "optimizer.schedule"),
    ("--weight-decay", "optimizer.weight-decay"),
    ("--clip", "optimizer.clip"),
    ("--validate-every", "validation.every"),
    ("--validation-windows", "validation.windows"),
    ("--patience", "validation.patience"),
    ("--test", "validation.test"),
    ("--checkpoint-every", "checkpoints.every"),
    ("--keep", "checkpoints.keep"),
    ("--on-bad-step", "bad-steps.policy"),
];

/// The key that a flag of [`FLAGS`] sets.
pub fn key_of(flag: &str) -> &'static str {
    let found = FLAGS.iter().find(|(name, _)| *name == flag);
    found.map(|(_, key)| *key).expect("a flag that sets a key is in the table")
}

/// The flag that sets a key, if there is one.
pub fn flag_of(key: &str) -> Option<&'static str> {
    FLAGS.iter().find(|(_, of)| *of == key).map(|(flag, _)| *flag)
}

/// Keys to lay over a configuration, and where they come from.
#[derive(Clone, Debug)]
pub struct Overlay {
    /// A file or flag, for messages.
    pub origin: String,
    /// The keys.
    pub table: Table,
}

impl Overlay {
    /// From the text of a TOML file.
    pub fn parse(origin: impl Into<String>, text: &str) -> Result<Overlay> {
        let origin = origin.into();
        match text.parse::<Table>() {
            Ok(table) => Ok(Overlay { origin, table }),
            Err(error) => Err(Error::Config {
                origin,
                why: format!("it is not TOML: {}", one_line(&error.to_string())),
            }),
        }
    }

    /// From a dotted key and the text of a value: TOML where it is, else a string.
    pub fn set(origin: impl Into<String>, key: &str, value: &str) -> Overlay {
        let parsed = format!("x = {value}").parse::<Table>().ok().and_then(|mut table| table.remove("x"));
        Overlay::value(origin.into(), key, parsed.unwrap_or_else(|| Value::String(value.into())))
    }

    /// From a dotted key and a text, taken as it is.
    pub fn text(origin: impl Into<String>, key: &str, value: &str) -> Overlay {
        Overlay::value(origin.into(), key, Value::String(value.into()))
    }

    /// From `KEY=VALUE`, as `--set` takes it.
    pub fn pair(origin: impl Into<String>, pair: &str) -> Result<Overlay> {
        let origin = origin.into();
        match pair.split_once('=') {
            Some((key, value)) => Ok(Overlay::set(origin, key.trim(), value.trim())),
            None => {
                let why = format!("{pair:?} has no value: write KEY=VALUE, such as optimizer.beta2=0.99");
                Err(Error::Config { origin, why })
            }
        }
    }

    /// A budget such as 1M. A width, as a saved configuration has one, would leave it without effect.
    pub fn budget(origin: &str, budget: &str) -> Result<[Overlay; 2]> {
        let budget = matching::parse_budget(budget)?;
        Ok([Overlay::set(origin, "budget", &budget.to_string()), Overlay::set(origin, "model.width", "0")])
    }

    fn value(origin: String, key: &str, mut value: Value) -> Overlay {
        for part in key.rsplit('.') {
            value = Value::Table(Table::from_iter([(part.to_string(), value)]));
        }
        let Value::Table(table) = value else { unreachable!("a key has at least one part") };
        Overlay { origin, table }
    }

    /// For a new run from the configuration that another one saved: what its corpus and budget decided is left
    /// open again. Any other table stays as it is.
    pub fn for_new_run(mut self) -> Overlay {
        let Ok(config) = self.to_config() else { return self };
        if let Warmup::Share(share) = config.optimizer.warmup {
            let open = Value::String(WarmupShare { of: None, ..share }.to_string());
            if let Some(optimizer) = self.table.get_mut("optimizer").and_then(Value::as_table_mut) {
                optimizer.insert("warmup".into(), open);
            }
        }
        let mut leave_open = |section: &str, key: &str| {
            self.table.get_mut(section).and_then(Value::as_table_mut).and_then(|table| table.remove(key))
        };
        leave_open("data", "sha256");
        leave_open("model", "vocab");
        for key in ["step", "sha256", "known-bytes"] {
            leave_open("init-from", key);
        }
        // Parameters that are taken from another run have the width of that run.
        let matched = matching::match_width(&config.model, config.budget);
        if config.init_from.is_none() && matched.is_ok_and(|matched| matched.width == config.model.width()) {
            leave_open("model", "width");
        }
        self
    }

    /// The whole configuration that the table is.
    pub fn to_config(&self) -> Result<Config> {
        Config::deserialize(self.without_retired()?)
            .map_err(|error| Error::Config { origin: self.origin.clone(), why: one_line(&error.to_string()) })
    }

    /// Without keys that earlier versions had, where they have no effect.
    fn without_retired(&self) -> Result<Table> {
        let mut table = self.table.clone();
        match table
            .get_mut("batch")
            .and_then(Value::as_table_mut)
            .and_then(|batch| batch.remove("accumulate"))
        {
            None | Some(Value::Integer(1)) => Ok(table),
            Some(value) => {
                let why = format!(
                    "batch.accumulate = {value} is not supported any more: multiply batch.sequences by it, \
                     which computes the same in the same memory"
                );
                Err(Error::Config { origin: self.origin.clone(), why })
            }
        }
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.table.get(key).and_then(Value::as_str)
    }
}

impl Config {
    /// A preset with `overlays` laid over it, later ones over earlier ones.
    pub fn from_overlays(overlays: &[Overlay]) -> Result<Config> {
        let last = |key: &str| overlays.iter().rev().find_map(|overlay| Some((overlay, overlay.get(key)?)));
        let preset = match last("preset") {
            Some((_, name)) => choice("preset", name)?,
            None => presets::Preset::Quick,
        };
        let protocol = match last("protocol") {
            Some((_, name)) => choice("protocol", name)?,
            None => presets::Protocol::Tuned,
        };
        let kind =
            overlays.iter().rev().find_map(|overlay| overlay.table.get("model")?.get("kind")?.as_str());
        let kind = match kind {
            None => ModelKind::Kuramoto,
            Some(name) => choice("model.kind", name)?,
        };
        presets::config(preset, protocol, kind).overlaid(overlays)
    }

    /// With `overlays` laid over it, later ones over earlier ones.
    pub fn overlaid(&self, overlays: &[Overlay]) -> Result<Config> {
        let mut config = self.clone();
        for over in overlays {
            let mut table = every_key(&config);
            overlay(&mut table, &over.without_retired()?, "", &over.origin)?;
            // Each on its own, so that a value that is refused is laid at the right door.
            config = Overlay { origin: over.origin.clone(), table }.to_config()?;
        }
        Ok(config)
    }
}

/// All keys of a configuration, also those that are not saved because they have their usual values.
fn every_key(config: &Config) -> Table {
    let mut table = Table::try_from(config).expect("a configuration is plain data");
    let mut insert = |section: &str, key: &str, value: Value| {
        if let Some(Value::Table(section)) = table.get_mut(section) {
            section.insert(key.into(), value);
        }
    };
    insert("checkpoints", "minutes", config.checkpoints.minutes.into());
    insert("optimizer", "multipliers", Value::try_from(&config.optimizer.multipliers).expect("numbers"));
    if let ModelConfig::Kuramoto(model) = &config.model {
        insert("model", "drift", Value::try_from(model.drift).expect("a name"));
        insert("model", "drift-in-values", model.drift_in_values.into());
        insert("model", "wrapped-angles", model.wrapped_angles.into());
        insert("model", "per-layer-metric-gates", model.per_layer_metric_gates.into());
    }
    table
}

/// The variant of that name, or which names there are.
fn choice<T: FromStr + VariantNames>(key: &str, name: &str) -> Result<T> {
    name.parse().map_err(|_| {
        let (last, others) = T::VARIANTS.split_last().expect("an enumeration to choose from has variants");
        Error::setting(key, format!("{name:?}"), format!("choose {} or {last}", others.join(", ")))
    })
}

/// Lays `over` on `base`, refusing keys that `base` does not have.
fn overlay(base: &mut Table, over: &Table, prefix: &str, origin: &str) -> Result<()> {
    for (key, value) in over {
        let dotted = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        // The one section whose keys exclude each other: epochs, steps or tokens. A new one replaces the old.
        if let ("length", Value::Table(over)) = (dotted.as_str(), value) {
            let mut length: Table = ["epochs", "steps", "tokens"]
                .map(|key| (key.into(), Value::Integer(0)))
                .into_iter()
                .collect();
            overlay(&mut length, over, &dotted, origin)?;
            length.retain(|key, _| over.contains_key(key));
            if length.len() != 1 {
                let why = "length takes one of epochs, steps and tokens".into();
                return Err(Error::Config { origin: origin.into(), why });
            }
            base.insert(key.clone(), Value::Table(length));
            continue;
        }
        match (base.get_mut(key), value) {
            // A section that presets do not have.
            (None, Value::Table(_)) if dotted == "init-from" => drop(base.insert(key.clone(), value.clone())),
            // Its keys are parts of names of tensors, which are known once the model is.
            (None, value) if prefix == MULTIPLIERS => {
                let multiplier = like(&Value::Float(1.0), value)
                    .ok_or_else(|| Error::setting(dotted, value, "it must be a number, such as 0.1"))?;
                base.insert(key.clone(), multiplier);
            }
            (None, _) => return Err(unknown_key(base, &dotted, key, origin)),
            (Some(Value::Table(base)), Value::Table(over)) => overlay(base, over, &dotted, origin)?,
            (Some(Value::Table(_)), value) => {
                let why = format!("{dotted} = {value} is not allowed: it is a section with keys of its own");
                return Err(Error::Config { origin: origin.into(), why });
            }
            (Some(slot), value) if dotted == WARMUP => {
                *slot = warmup(slot, value).map_err(|allowed| Error::setting(WARMUP, value, allowed))?;
            }
            (Some(slot), value) => {
                *slot = like(slot, value).ok_or_else(|| {
                    let allowed = format!("it must be of type {}, such as {slot}", slot.type_str());
                    Error::setting(dotted, value, allowed)
                })?;
            }
        }
    }
    Ok(())
}

/// The one section with keys that no preset has.
const MULTIPLIERS: &str = "optimizer.multipliers";

/// The one key with values of two types.
const WARMUP: &str = "optimizer.warmup";

/// Steps of warm-up, or a share of the run.
fn warmup(now: &Value, value: &Value) -> std::result::Result<Value, &'static str> {
    let Value::String(text) = value else {
        let steps = like(&Value::Integer(0), value).filter(|steps| steps.as_integer() >= Some(0));
        return steps.ok_or(WarmupShare::ALLOWED);
    };
    let share: WarmupShare = text.parse()?;
    // The share of a run that has started is of the steps it was started with, also if it is given again.
    let is_same = |now: &WarmupShare| share.of.is_none() && now.percent == share.percent;
    let now = now.as_str().and_then(|now| now.parse().ok()).filter(is_same);
    Ok(Value::String(now.unwrap_or(share).to_string()))
}

/// `value` in the type of `slot`; whole numbers are numbers too.
fn like(slot: &Value, value: &Value) -> Option<Value> {
    match (slot, value) {
        (Value::Float(_), Value::Integer(whole)) => Some(Value::Float(*whole as f64)),
        // 1e6 is how people write a million.
        (Value::Integer(_), Value::Float(x)) if x.fract() == 0.0 && x.abs() < 9e15 => {
            Some(Value::Integer(*x as i64))
        }
        (slot, value) if slot.same_type(value) => Some(value.clone()),
        _ => None,
    }
}

fn unknown_key(base: &Table, dotted: &str, key: &str, origin: &str) -> Error {
    let near = |name: &&String| strsim::jaro_winkler(&key.replace('_', "-"), name) > 0.8;
    let best = base
        .keys()
        .filter(near)
        .max_by(|a, b| strsim::jaro_winkler(key, a).total_cmp(&strsim::jaro_winkler(key, b)));
    let hint = match best {
        Some(name) => format!("; did you mean {name}?"),
        None => format!("; there are {}", base.keys().cloned().collect::<Vec<_>>().join(", ")),
    };
    Error::UnknownKey { origin: origin.into(), key: dotted.into(), hint }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
