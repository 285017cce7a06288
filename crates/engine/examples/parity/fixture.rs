//! Reads a fixture and compares the engine with it.

use super::naive;
use kuramoto_engine::cpu::CpuEngine;
use kuramoto_engine::{Batch, Cpu, Shape, Update};
use kuramoto_kernels::Real;
use kuramoto_model::config::{FeedForward, GateActivation, Metric, Readout, Value};
use kuramoto_model::{Hooks, Kuramoto, KuramotoConfig, Network, Transformer, TransformerConfig};
use safetensors::{Dtype, SafeTensors};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::Path;

/// Which model a fixture is of.
pub enum Model {
    Kuramoto(KuramotoConfig),
    Transformer(TransformerConfig),
}

pub struct Fixture {
    pub model: Model,
    pub batch: usize,
    pub length: usize,
    pub tokens: Vec<u8>,
    pub targets: Vec<u8>,
    /// Every float tensor, by name.
    pub tensors: BTreeMap<String, Vec<f64>>,
}

/// The largest error and where it is.
#[derive(Clone, Debug, Default)]
pub struct Worst {
    pub error: f64,
    pub tensor: String,
}

/// Differences from a fixture, measured in two ways.
#[derive(Clone, Debug, Default)]
pub struct Errors {
    /// Largest difference within a tensor relative to the largest magnitude of that tensor.
    pub worst: Worst,
    /// Squared norms of the difference and of the fixture, over all tensors of a kind
    /// ("grad" for every gradient).
    norms: BTreeMap<String, [f64; 2]>,
}

impl Errors {
    pub fn take(&mut self, tensor: &str, got: &[f64], expected: &[f64]) -> Result<(), String> {
        if got.len() != expected.len() {
            let (got, expected) = (got.len(), expected.len());
            return Err(format!("{tensor} has {expected} values where this configuration has {got}"));
        }
        let norms = self.norms.entry(tensor.split('.').next().unwrap_or_default().to_string()).or_default();
        let (mut size, mut worst) = (0.0f64, 0.0f64);
        for (a, b) in got.iter().zip(expected) {
            let difference = if (a - b).is_nan() { f64::INFINITY } else { (a - b).abs() };
            (size, worst) = (size.max(b.abs()), worst.max(difference));
            norms[0] += difference * difference;
            norms[1] += b * b;
        }
        // A tensor that should be zero is compared absolutely.
        let error = if size > 1e-12 { worst / size } else { worst };
        if error > self.worst.error {
            self.worst = Worst { error, tensor: tensor.to_string() };
        }
        Ok(())
    }

    /// The largest norm of a difference relative to the norm of what was expected: what rounding does to a
    /// whole result, not to a single number that happens to be a small difference of large ones.
    pub fn worst_norm(&self) -> Worst {
        let relative = self.norms.iter().map(|(kind, [difference, size])| Worst {
            error: (difference / size.max(1e-24)).sqrt(),
            tensor: kind.clone(),
        });
        relative.fold(Worst::default(), |a, b| if b.error > a.error { b } else { a })
    }
}

/// Twice the naive error; at least a few roundings, for fixtures where the naive evaluation was lucky.
pub fn allowed_f32(naive: f64) -> f64 {
    2.0 * naive.max(2.0 * f64::from(f32::EPSILON))
}

/// Names of the fixtures in a folder.
pub fn names(folder: &Path) -> Result<Vec<String>, String> {
    let entries =
        std::fs::read_dir(folder).map_err(|e| format!("cannot read folder {}: {e}", folder.display()))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|file| file.strip_suffix(".safetensors").map(String::from))
        .collect();
    names.sort();
    if names.is_empty() {
        return Err(format!("{} holds no .safetensors file", folder.display()));
    }
    Ok(names)
}

impl Fixture {
    pub fn read(folder: &Path, name: &str) -> Result<Fixture, String> {
        let json_path = folder.join(format!("{name}.json"));
        let text =
            std::fs::read_to_string(&json_path).map_err(|e| format!("{}: {e}", json_path.display()))?;
        let json: Json = serde_json::from_str(&text).map_err(|e| format!("{}: {e}", json_path.display()))?;
        let path = folder.join(format!("{name}.safetensors"));
        let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let file = SafeTensors::deserialize(&bytes).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut tensors = BTreeMap::new();
        let mut indices = BTreeMap::new();
        for (name, view) in file.tensors() {
            let words = view.data().chunks_exact(8).map(|w| <[u8; 8]>::try_from(w).expect("eight bytes"));
            match view.dtype() {
                Dtype::F64 => drop(tensors.insert(name, words.map(f64::from_le_bytes).collect())),
                Dtype::I64 => drop(indices.insert(name, words.map(i64::from_le_bytes).collect::<Vec<_>>())),
                other => {
                    return Err(format!(
                        "{}: {name} is {other:?}; fixtures hold F64 and I64",
                        path.display()
                    ));
                }
            }
        }
        let mut bytes_of = |name: &str| -> Result<Vec<u8>, String> {
            let values =
                indices.remove(name).ok_or_else(|| format!("{}: {name} is missing", path.display()))?;
            values
                .iter()
                .map(|&v| u8::try_from(v).map_err(|_| format!("{name} holds {v}, outside 0..=255")))
                .collect()
        };
        let (tokens, targets) = (bytes_of("tokens")?, bytes_of("targets")?);
        let size = |key: &str| {
            json[key].as_u64().map(|x| x as usize).ok_or(format!("{key} is missing in {name}.json"))
        };
        let model = read_config(&json).map_err(|e| format!("{}: {e}", json_path.display()))?;
        let (batch, length) = (size("B")?, size("T")?);
        if length == 0 || tokens.len() != batch * length || targets.len() != tokens.len() {
            let (tokens, targets) = (tokens.len(), targets.len());
            return Err(format!(
                "{name}: {tokens} tokens and {targets} targets are not B = {batch} by T = {length}"
            ));
        }
        Ok(Fixture { model, batch, length, tokens, targets, tensors })
    }

    /// Runs the engine in `F` and compares everything the fixture holds.
    pub fn compare<F: Real>(&self) -> Result<Errors, String>
    where
        Kuramoto: Network<F>,
        Transformer: Network<F>,
    {
        let context = self.length;
        match &self.model {
            Model::Kuramoto(config) => {
                let network = Kuramoto::new(config.clone(), context).map_err(|e| e.to_string())?;
                self.compare_network::<F, _>(network, config.heads, ["theta", "theta_mid"])
            }
            Model::Transformer(config) => {
                let network = Transformer::new(config.clone(), context).map_err(|e| e.to_string())?;
                self.compare_network::<F, _>(network, config.heads, ["hidden", "hidden_mid"])
            }
        }
    }

    fn compare_network<F: Real, N: Network<F>>(
        &self,
        network: N,
        heads: usize,
        [state, middle]: [&str; 2],
    ) -> Result<Errors, String> {
        let shape = Shape { sequences: self.batch, context: self.length, lanes: 2 };
        let mut engine = CpuEngine::new(network, &shape, &Cpu::new(1)).map_err(|e| e.to_string())?;
        self.load(&mut engine)?;
        let mut errors = Errors::default();
        let seen = self.observe(&mut engine, heads)?;
        for (name, values) in [
            (state, &seen.states),
            (middle, &seen.middles),
            ("attn", &seen.attention),
            ("logits", &seen.logits),
        ] {
            errors.take(name, values, self.tensor(name)?)?;
        }
        let batch = Batch { tokens: &self.tokens, targets: &self.targets, length: self.length };
        let loss = engine.mean_gradient(&batch, 0, 0).map_err(|e| e.to_string())?;
        errors.take("loss", &[loss], self.tensor("loss")?)?;
        for tensor in engine.weights().network().layout().tensors() {
            let name = format!("grad.{}", tensor.name);
            errors.take(&name, &floats(tensor.slot.slice(engine.last_gradient())), self.tensor(&name)?)?;
        }
        // AdamW divides by the gradient's own size: in f32 it would turn rounding into steps.
        if self.tensors.contains_key("losses8") && size_of::<F>() == 8 {
            self.eight_steps(&mut engine, &batch, &mut errors)?;
        }
        Ok(errors)
    }

    fn eight_steps<F: Real, N: Network<F>>(
        &self,
        engine: &mut CpuEngine<F, N>,
        batch: &Batch<'_>,
        errors: &mut Errors,
    ) -> Result<(), String> {
        let (mut losses, mut norms) = (Vec::new(), Vec::new());
        for step in 1..=8 {
            losses.push(engine.mean_gradient(batch, 0, step).map_err(|e| e.to_string())?);
            norms.push(engine.gradient_norm());
            engine.apply(&Update { learning_rate: 1e-2, step, ..Update::default() }, norms[norms.len() - 1]);
        }
        errors.take("losses8", &losses, self.tensor("losses8")?)?;
        errors.take("norms8", &norms, self.tensor("norms8")?)?;
        for tensor in engine.weights().network().layout().tensors() {
            let name = format!("after8.{}", tensor.name);
            errors.take(
                &name,
                &floats(tensor.slot.slice(engine.weights().parameters())),
                self.tensor(&name)?,
            )?;
        }
        Ok(())
    }

    fn load<F: Real, N: Network<F>>(&self, engine: &mut CpuEngine<F, N>) -> Result<(), String> {
        let layout = engine.weights().network().layout().clone();
        let known = self.tensors.keys().filter_map(|name| name.strip_prefix("param."));
        for name in known {
            layout.find(name).ok_or_else(|| format!("parameter {name} is not part of this configuration"))?;
        }
        for tensor in layout.tensors() {
            let values = self.tensor(&format!("param.{}", tensor.name))?;
            if values.len() != tensor.slot.len {
                return Err(format!(
                    "param.{} has {} values, expected {:?}",
                    tensor.name,
                    values.len(),
                    tensor.shape
                ));
            }
            engine.edit(|_, parameters| {
                let to = tensor.slot.slice_mut(parameters);
                to.iter_mut().zip(values).for_each(|(to, &x)| *to = F::from_f64(x));
            });
        }
        Ok(())
    }

    pub fn tensor(&self, name: &str) -> Result<&[f64], String> {
        self.tensors.get(name).map(Vec::as_slice).ok_or_else(|| format!("tensor {name} is missing"))
    }

    /// States, attention and logits of every sequence, in the fixture's order of dimensions.
    fn observe<F: Real, N: Network<F>>(
        &self,
        engine: &mut CpuEngine<F, N>,
        heads: usize,
    ) -> Result<Seen, String> {
        let n = self.length;
        let mut recorders = Vec::new();
        let mut logits = Vec::new();
        for tokens in self.tokens.chunks(n) {
            let mut recorder = Recorder { n, ..Recorder::default() };
            let mut work = engine.weights().workspace();
            engine.weights().forward(tokens, &mut work, &mut recorder).map_err(|e| e.to_string())?;
            logits.extend(floats(&engine.weights().logits(tokens.len(), &work)));
            recorders.push(recorder);
        }
        // Recorded by sequence, wanted with layers outermost.
        let layers = recorders[0].middles.len();
        let gather = |count: usize, pick: &dyn Fn(&Recorder, usize) -> Vec<f64>| -> Vec<f64> {
            (0..count).flat_map(|layer| recorders.iter().flat_map(move |r| pick(r, layer))).collect()
        };
        Ok(Seen {
            states: gather(layers + 1, &|r, layer| r.states[layer].clone()),
            middles: gather(layers, &|r, layer| r.middles[layer].clone()),
            attention: gather(layers, &|r, layer| r.attention[layer * heads..(layer + 1) * heads].concat()),
            logits,
        })
    }

    /// Worst norm error of a naive f32 evaluation; none if it would take too long.
    pub fn naive_f32_error(&self) -> Result<Option<f64>, String> {
        let is_parameter = |(name, _): &(&String, &Vec<f64>)| name.starts_with("param.");
        let parameters: usize =
            self.tensors.iter().filter(is_parameter).map(|(_, values)| values.len()).sum();
        if parameters * self.tokens.len() > 5_000_000 {
            return Ok(None);
        }
        // Rounding depends on the order of sums; two orders make a yardstick that luck does not shorten.
        let first = self.naive_errors::<f32>(naive::Order::First)?.worst_norm();
        let last = self.naive_errors::<f32>(naive::Order::Last)?.worst_norm();
        Ok(Some(first.error.max(last.error)))
    }

    /// Errors of the naive evaluation.
    pub fn naive_errors<F: Real>(&self, order: naive::Order) -> Result<Errors, String> {
        let mut errors = Errors::default();
        let result = naive::evaluate::<F>(self, order);
        errors.take("loss", &[result.loss], self.tensor("loss")?)?;
        errors.take("logits", &result.logits, self.tensor("logits")?)?;
        for (name, gradient) in &result.gradients {
            let name = format!("grad.{name}");
            errors.take(&name, gradient, self.tensor(&name)?)?;
        }
        Ok(errors)
    }
}

struct Seen {
    states: Vec<f64>,
    middles: Vec<f64>,
    attention: Vec<f64>,
    logits: Vec<f64>,
}

#[derive(Default)]
struct Recorder {
    n: usize,
    states: Vec<Vec<f64>>,
    middles: Vec<Vec<f64>>,
    /// Layer by layer, head by head.
    attention: Vec<Vec<f64>>,
}

impl<F: Real> Hooks<F> for Recorder {
    fn state(&mut self, _layer: usize, state: &mut [F]) {
        self.states.push(floats(state));
    }
    fn middle(&mut self, _layer: usize, state: &mut [F]) {
        self.middles.push(floats(state));
    }
    fn attention(&mut self, _layer: usize, _head: usize, stride: usize, attention: &mut [F]) {
        let rows = attention.chunks(stride).take(self.n);
        self.attention.push(rows.flat_map(|row| floats(&row[..self.n])).collect());
    }
}

fn floats<F: Real>(values: &[F]) -> Vec<f64> {
    values.iter().map(|x| x.to_f64()).collect()
}

fn read_config(json: &Json) -> Result<Model, String> {
    let config = &json["config"];
    let size = |key: &str| config[key].as_u64().map(|x| x as usize).ok_or(format!("config.{key} is missing"));
    let flag = |key: &str, default: bool| config[key].as_bool().unwrap_or(default);
    let word = |key: &str, default: &'static str| config[key].as_str().unwrap_or(default).to_string();
    let unknown = |key: &str, value: &str| Err(format!("config.{key} = {value:?} is not known"));
    let (vocab, layers, heads) = (size("V")?, size("L")?, size("h")?);
    let rotary_base = config["rope_base"].as_f64().unwrap_or(10_000.0);
    match json["kind"].as_str() {
        Some("transformer") => {
            let width = size("d")?;
            let config = TransformerConfig {
                vocab,
                width,
                layers,
                heads,
                rotary_base,
                dropout: 0.0,
                ..Default::default()
            };
            Ok(Model::Transformer(config))
        }
        Some("ka") => {
            let rank = config["transport_rank"].as_u64().unwrap_or(0) as usize;
            let metric = match (rank > 0, flag("qk_gates", true)) {
                (true, true) => return Err("transport_rank and qk_gates exclude each other".into()),
                (true, false) => Metric::Transport,
                (false, true) => Metric::Gates,
                (false, false) => Metric::None,
            };
            let gate_activation = match word("gate_act", "softplus").as_str() {
                "softplus" => GateActivation::Softplus,
                "sigmoid" => GateActivation::Sigmoid,
                "linear" => GateActivation::Linear,
                other => return unknown("gate_act", other),
            };
            let value = match word("value", "circular").as_str() {
                "circular" => Value::Circular,
                "dense" => Value::Projection,
                other => return unknown("value", other),
            };
            let feed_forward = match word("ffn", "swiglu").as_str() {
                "swiglu" => FeedForward::Swiglu,
                "linear" => FeedForward::Linear,
                "none" => FeedForward::None,
                other => return unknown("ffn", other),
            };
            let readout = match word("readout", "phase").as_str() {
                "phase" => Readout::Phase,
                "linear" => Readout::Linear,
                other => return unknown("readout", other),
            };
            Ok(Model::Kuramoto(KuramotoConfig {
                vocab,
                width: size("k")?,
                layers,
                heads,
                dropout: 0.0,
                metric,
                gate_activation,
                gate_normalization: flag("gate_norm", true),
                transport_rank: rank.max(1),
                per_layer_gates: flag("per_layer_gates", false),
                value,
                value_gate: flag("value_gate", true),
                value_bound: flag("value_bound", true),
                feed_forward,
                shared_feed_forward: flag("shared_ffn", false) && feed_forward != FeedForward::None,
                readout,
                rotary_base,
                ..Default::default()
            }))
        }
        other => Err(format!("kind {other:?} is not known; it is \"ka\" or \"transformer\"")),
    }
}
