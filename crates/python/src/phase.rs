//! What is measured on a model: traces, surveys with surrogates, lesions.

use crate::array::Float;
use crate::error::{Raised, Result};
use crate::networks::Numbers;
use crate::threads::on_own_pool;
use kuramoto_phase::lesion::{Lesion, Trial};
use kuramoto_phase::measure::MEASURES;
use kuramoto_phase::order::{Attended, global_order};
use kuramoto_phase::subject::check_memory;
use kuramoto_phase::surrogate::Surrogate;
use kuramoto_phase::survey::{Estimate, Survey, SurveyRequest, survey};
use kuramoto_phase::windows::{Text, Workers};
use kuramoto_phase::{KuramotoWeights, Trace};
use kuramoto_train::windows::sample;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use std::str::FromStr;
use strum::VariantNames;

/// A trace and what follows from it, ready to be arrays.
pub struct Traced {
    arrays: Vec<(&'static str, Numbers, Vec<usize>)>,
}

impl Traced {
    /// Of a sequence whose logits (n x vocab) are these.
    pub fn new<F: Float>(trace: Trace<F>, logits: Vec<F>) -> Traced {
        let (n, k, heads, layers) = (trace.n, trace.k, trace.heads, trace.layers());
        let attended: Vec<Attended<F>> = (0..layers).map(|layer| Attended::of(&trace, layer)).collect();
        let parts = |part: fn((f64, f64)) -> f64| {
            let of = |a: &Attended<F>| -> Vec<F> {
                (0..n * k).map(|i| F::from_f64(part(a.at(i / k, i % k)))).collect()
            };
            Numbers::of(attended.iter().flat_map(of).collect::<Vec<F>>())
        };
        let by_token = |of: fn(&Attended<F>, usize) -> f64| {
            Numbers::Double(attended.iter().flat_map(|a| (0..n).map(move |t| of(a, t))).collect())
        };
        let global = trace.states.iter().map(|state| global_order(state, k)).collect();
        let (by_layer, vocab) = (vec![layers, n, k], logits.len() / n);
        let mut arrays = vec![
            ("resultant_re", parts(|g| g.0), by_layer.clone()),
            ("resultant_im", parts(|g| g.1), by_layer.clone()),
            ("local_order", by_token(Attended::local_order), vec![layers, n]),
            ("alignment", by_token(Attended::alignment), vec![layers, n]),
            ("global_order", Numbers::Double(global), vec![layers + 1]),
            ("logits", Numbers::of(logits), vec![n, vocab]),
        ];
        let recorded = [
            ("phase", trace.states, vec![layers + 1, n, k]),
            ("phase_mid", trace.middles, by_layer.clone()),
            ("coupling", trace.attention, vec![layers, heads, n, n]),
            ("query_gate", trace.query, by_layer.clone()),
            ("key_gate", trace.key, by_layer.clone()),
            ("value_gate", trace.value, by_layer),
        ];
        // A gate that the configuration does not have is empty.
        let there = recorded.into_iter().filter(|(_, layers, _)| !layers[0].is_empty());
        arrays.extend(there.map(|(name, layers, shape)| (name, Numbers::of(layers.concat()), shape)));
        Traced { arrays }
    }

    /// By name.
    pub fn dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let dict = PyDict::new(py);
        for (name, numbers, shape) in self.arrays {
            dict.set_item(name, numbers.array(py, &shape)?)?;
        }
        Ok(dict)
    }
}

/// Tokens in windows, at most `count` of them, spread evenly; 0 for all.
fn windows(tokens: &[u8], context: usize, count: usize) -> Result<Vec<Text<'_>>> {
    if tokens.len() < 2 {
        let sentence =
            format!("the text has {} bytes: give at least two, one to read and one to predict", tokens.len());
        return Err(Raised::value(sentence));
    }
    let window =
        |w: kuramoto_train::windows::Window| (&tokens[w.start..][..w.len], &tokens[w.start + 1..][..w.len]);
    Ok(sample(0..tokens.len(), context, count).into_iter().map(window).collect())
}

fn named<T: FromStr + VariantNames>(what: &str, name: &str) -> Result<T> {
    name.parse().map_err(|_| {
        Raised::value(format!("{what} = {name:?} is not allowed: choose from {}", T::VARIANTS.join(", ")))
    })
}

/// What a survey reads.
pub struct Reading<'a> {
    /// The model.
    pub weights: &'a KuramotoWeights,
    /// A text of any length.
    pub tokens: &'a [u8],
    /// Windows of it at most; 0 for all.
    pub windows: usize,
    /// Seed of draws.
    pub seed: u64,
    /// Who reads the windows.
    pub workers: Workers<'a>,
}

impl Reading<'_> {
    fn texts(&self) -> Result<Vec<Text<'_>>> {
        let network = self.weights.network();
        let context = kuramoto_model::Network::<f32>::context(network);
        let texts = windows(self.tokens, context, self.windows)?;
        check_memory(network, context, self.workers.threads.min(texts.len()))?;
        Ok(texts)
    }

    /// Rows of every measure in every layer, of the model and of surrogates, as JSON.
    pub fn measures(&self, against: &[String], initial_seed: u64) -> Result<String> {
        let against =
            against.iter().map(|name| named("against", name)).collect::<Result<Vec<Surrogate>>>()?;
        let texts = self.texts()?;
        let request = SurveyRequest {
            weights: self.weights,
            windows: &texts,
            against: &against,
            seed: self.seed,
            initial_seed,
            workers: self.workers,
        };
        let surveys = on_own_pool(|| survey(&request))?;
        let rows = |name: &str, of: &Survey| -> Vec<serde_json::Value> {
            let each = (0..MEASURES.len()).flat_map(|m| (0..of.layers).map(move |layer| (m, layer)));
            each.map(|(m, layer)| {
                let Estimate { mean, sd, interval } = Estimate::of(of.values(m, layer));
                json!({ "of": name, "measure": MEASURES[m].name, "layer": layer, "mean": mean, "sd": sd,
                        "low": interval.low, "high": interval.high })
            })
            .collect()
        };
        let mut all = rows("model", &surveys.trained);
        for (surrogate, survey) in &surveys.against {
            all.extend(rows(surrogate.name(), survey));
        }
        Ok(serde_json::Value::from(all).to_string())
    }

    /// Dose and response of a lesion, as JSON.
    pub fn lesion(
        &self,
        what: &str,
        layers: &[usize],
        head: Option<usize>,
        doses: &[f64],
        repeats: u64,
    ) -> Result<String> {
        let lesion: Lesion = named("lesion", what)?;
        let sites = lesion.sites(self.weights.network().config(), layers, head)?;
        let doses = if doses.is_empty() { lesion.doses() } else { doses };
        lesion.check_doses(doses)?;
        let texts = self.texts()?;
        let trial =
            Trial { weights: self.weights, windows: &texts, repeats, seed: self.seed, workers: self.workers };
        let responses = on_own_pool(|| trial.respond(lesion, &sites, doses))?;
        Ok(serde_json::to_string(&responses).expect("responses are plain data"))
    }
}
