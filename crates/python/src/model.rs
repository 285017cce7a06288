//! A model, in Python's hands.

use crate::array::{array, numbers, text};
use crate::error::{Raised, Result, wrong_type};
use crate::generation::{Generation, Request};
use crate::hooks::Hooked;
use crate::networks::{AnyModel, Numbers, Start, make};
use crate::phase::Reading;
use crate::signals::watched;
use crate::threads;
use crate::whole::Whole;
use kuramoto_engine::Batch;
use kuramoto_model::ablation::{ABLATIONS, VARIANTS};
use kuramoto_model::matching::{Matched, match_width, parse_budget};
use kuramoto_model::{KuramotoConfig, ModelConfig, TransformerConfig};
use kuramoto_phase::windows::Workers;
use kuramoto_train::Identity;
use kuramoto_train::generate::{Sampling, default_prompt};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::{Arc, Mutex, PoisonError};

/// Functions and the points they are for.
type Functions = Vec<(String, Py<PyAny>)>;

/// A model with its vocabulary. Calls may overlap: each works on the parameters that were there when it began.
#[pyclass(frozen, module = "kuramoto._native")]
pub struct Model {
    config: ModelConfig,
    context: usize,
    corpus: Identity,
    /// Of its initialization, for comparison with the untrained model.
    seed: u64,
    current: Mutex<Arc<dyn AnyModel>>,
}

impl Model {
    /// Of a checkpoint.
    pub fn new(
        config: ModelConfig,
        context: usize,
        corpus: Identity,
        seed: u64,
        dtype: &str,
        start: Start<'_>,
    ) -> Result<Model> {
        if corpus.vocabulary.len() != config.vocab() {
            let (bytes, vocab) = (corpus.vocabulary.len(), config.vocab());
            return Err(Raised::value(format!(
                "vocabulary has {bytes} bytes, but the model has vocab = {vocab}: give as many"
            )));
        }
        if !corpus.vocabulary.is_sorted_by(|a, b| a < b) {
            return Err(Raised::value("vocabulary must be distinct bytes in order"));
        }
        let current = Mutex::new(make(&config, context, dtype, start)?);
        Ok(Model { config, context, corpus, seed, current })
    }

    fn model(&self) -> Arc<dyn AnyModel> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Text as tokens, at most `most` of them.
    fn tokens(&self, given: &Bound<'_, PyAny>, most: usize) -> PyResult<Vec<u8>> {
        let bytes = text("text", given)?;
        if bytes.is_empty() {
            return Err(Raised::value("the text is empty: give at least one byte").into());
        }
        if bytes.len() > most {
            return Err(Raised::value(format!(
                "the text has {} bytes, and this model reads at most {most} at a time: cut it",
                bytes.len()
            ))
            .into());
        }
        Ok(self.corpus.encode("text", &bytes).map_err(Raised::from)?)
    }

    fn check_layer(&self, layer: usize) -> Result<()> {
        if layer < self.config.layers() {
            return Ok(());
        }
        let last = self.config.layers() - 1;
        Err(Raised::value(format!("layer = {layer} is not allowed: the model has layers 0 to {last}")))
    }
}

#[pymethods]
impl Model {
    #[new]
    #[pyo3(signature = (config, context, vocabulary, seed, dtype))]
    fn create(
        py: Python<'_>,
        config: &str,
        context: Whole,
        vocabulary: Option<Vec<u8>>,
        seed: Whole,
        dtype: &str,
    ) -> PyResult<Model> {
        let (context, seed) = (context.size()?, seed.0);
        let config: ModelConfig = serde_json::from_str(config)
            .map_err(|error| Raised::value(format!("the configuration of a model: {error}")))?;
        config.validate().map_err(Raised::from)?;
        let vocabulary = vocabulary.unwrap_or_else(|| (0..config.vocab()).map(|token| token as u8).collect());
        let corpus = Identity { name: "the vocabulary".into(), vocabulary, ..Identity::default() };
        Ok(py.detach(|| Model::new(config, context, corpus, seed, dtype, Start::Seed(seed)))?)
    }

    #[getter]
    fn config(&self) -> String {
        serde_json::to_string(&self.config).expect("a configuration is plain data")
    }

    #[getter]
    fn context(&self) -> usize {
        self.context
    }

    #[getter]
    fn dtype(&self) -> &'static str {
        self.model().dtype()
    }

    #[getter]
    fn vocabulary<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.corpus.vocabulary)
    }

    #[getter]
    fn ablations(&self) -> Vec<&'static str> {
        self.config.ablations()
    }

    /// Name, shape and kind of every parameter.
    fn layout(&self) -> Vec<(String, Vec<usize>, String)> {
        let kind = |kind| format!("{kind:?}").to_lowercase();
        let tensors = self.model();
        tensors.layout().tensors().iter().map(|t| (t.name.clone(), t.shape.clone(), kind(t.kind))).collect()
    }

    /// One parameter.
    fn parameter<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let model = self.model();
        let Some(tensor) = model.layout().find(name) else { return Ok(None) };
        model.parameter(tensor.slot).array(py, &tensor.shape).map(Some)
    }

    /// Sets parameters that are all checked before the first is set.
    fn set_parameters(&self, py: Python<'_>, values: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<()> {
        // Converting arrays may run Python code, so it comes before the lock.
        let layout = self.model().layout().clone();
        let mut changes = Vec::new();
        for (name, value) in &values {
            let Some(tensor) = layout.find(name) else {
                let names: Vec<&str> = layout.tensors().iter().map(|tensor| tensor.name.as_str()).collect();
                let sentence = format!("there is no parameter {name:?}: choose from {}", names.join(", "));
                return Err(Raised::value(sentence).into());
            };
            let what = format!("parameter {name}");
            // Finite in the precision of the model, not only in the one it is kept in on the way.
            let values = match self.dtype() {
                "float32" => Numbers::Single(numbers(&what, value, &tensor.shape)?),
                _ => Numbers::Double(numbers(&what, value, &tensor.shape)?),
            };
            changes.push((tensor.slot, values.to::<f64>()));
        }
        Ok(py.detach(|| {
            let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            let mut all = current.parameters().to::<f64>();
            for (slot, values) in &changes {
                slot.slice_mut(&mut all).copy_from_slice(values);
            }
            let start = Numbers::Double(all);
            *current = make(&self.config, self.context, current.dtype(), Start::Parameters(&start))?;
            Result::Ok(())
        })?)
    }

    /// A copy in a precision.
    fn astype(&self, py: Python<'_>, dtype: &str) -> PyResult<Model> {
        let model = self.model();
        Ok(py.detach(|| {
            let parameters = model.parameters();
            let start = Start::Parameters(&parameters);
            Model::new(self.config.clone(), self.context, self.corpus.clone(), self.seed, dtype, start)
        })?)
    }

    /// Text as tokens, and the bytes it is.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyBytes>)> {
        let tokens = self.tokens(text, usize::MAX)?;
        let bytes: Vec<u8> = tokens.iter().map(|&token| self.corpus.vocabulary[usize::from(token)]).collect();
        let n = tokens.len();
        Ok((array(py, tokens, &[n])?, PyBytes::new(py, &bytes)))
    }

    /// Logits (n x vocab) of a text.
    #[pyo3(signature = (text, hooks, interventions))]
    fn logits<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        hooks: Functions,
        interventions: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (tokens, hooked) = (self.tokens(text, self.context)?, Hooked::new(hooks, interventions)?);
        let model = self.model();
        let logits = py.detach(|| model.logits(&tokens, &hooked))?;
        logits.array(py, &[tokens.len(), self.config.vocab()])
    }

    /// Nats of every byte of a text but its first.
    #[pyo3(signature = (text, hooks, interventions))]
    fn nats<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        hooks: Functions,
        interventions: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (tokens, hooked) = (self.tokens(text, self.context + 1)?, Hooked::new(hooks, interventions)?);
        if tokens.len() < 2 {
            return Err(Raised::value(
                "the text has 1 byte: give at least two, one to read and one to predict",
            )
            .into());
        }
        let (model, n) = (self.model(), tokens.len() - 1);
        let nats = py.detach(|| model.nats(&tokens[..n], &tokens[1..], &hooked))?;
        array(py, nats, &[n])
    }

    /// Mean loss in nats of a batch of tokens (sequences x n), and its gradient by name.
    fn gradient<'py>(
        &self,
        py: Python<'py>,
        tokens: &Bound<'py, PyAny>,
        targets: &Bound<'py, PyAny>,
    ) -> PyResult<(f64, Bound<'py, PyDict>)> {
        let read = |what: &str, given: &Bound<'py, PyAny>| -> PyResult<(Vec<u8>, [usize; 2])> {
            let given: PyReadonlyArray2<'_, u8> =
                given.extract().map_err(|_| wrong_type(what, given, "an array (sequences x n) of uint8"))?;
            let (rows, columns) = given.as_array().dim();
            Ok((given.as_array().iter().copied().collect(), [rows, columns]))
        };
        let ((tokens, shape), (targets, other)) = (read("tokens", tokens)?, read("targets", targets)?);
        if shape != other || tokens.is_empty() {
            return Err(Raised::value(format!(
                "tokens are {shape:?} and targets {other:?}: they must have the same shape and not be empty"
            ))
            .into());
        }
        let model = self.model();
        let batch = Batch { tokens: &tokens, targets: &targets, length: shape[1] };
        let (nats, gradient) = watched(py, |stop| model.gradient(&batch, stop))?;
        Ok((nats, by_name(py, &*model, gradient)?))
    }

    /// What a text leaves at the hook points, by name.
    #[pyo3(signature = (text, hooks, interventions))]
    fn trace<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        hooks: Functions,
        interventions: Option<&str>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (tokens, hooked) = (self.tokens(text, self.context)?, Hooked::new(hooks, interventions)?);
        let model = self.model();
        py.detach(|| model.trace(&tokens, &hooked))?.dict(py)
    }

    /// Terms (token + 1 x k) of the pulls on a byte, their scale, and a JSON list of pulls by size.
    #[pyo3(signature = (text, layer, token, hooks, interventions))]
    fn pulls<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        layer: usize,
        token: usize,
        hooks: Functions,
        interventions: Option<&str>,
    ) -> PyResult<(Bound<'py, PyAny>, f64, String)> {
        let (tokens, hooked) = (self.tokens(text, self.context)?, Hooked::new(hooks, interventions)?);
        self.check_layer(layer)?;
        if token >= tokens.len() {
            let last = tokens.len() - 1;
            return Err(Raised::value(format!(
                "token = {token} is not allowed: the text has bytes 0 to {last}"
            ))
            .into());
        }
        let model = self.model();
        let (terms, scale, pulls) = py.detach(|| model.pulls(&tokens, &hooked, layer, token))?;
        let json = serde_json::to_string(&pulls).expect("pulls are plain data");
        Ok((array(py, terms, &[token + 1, self.config.width()])?, scale, json))
    }

    /// Measures of the model and of surrogates on a text of any length, as JSON.
    fn measures(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        windows: Whole,
        against: Vec<String>,
        seed: Whole,
        threads: Option<Whole>,
    ) -> PyResult<String> {
        let (windows, seed) = (windows.size()?, seed.0);
        let (tokens, model) = (self.tokens(text, usize::MAX)?, self.model());
        let threads = threads::count(threads)?;
        watched(py, |stop| {
            let (weights, workers) = (model.kuramoto()?, Workers { threads, stop: Some(stop) });
            Reading { weights, tokens: &tokens, windows, seed, workers }.measures(&against, self.seed)
        })
    }

    /// Dose and response of a lesion on a text of any length, as JSON.
    fn lesion(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        what: &str,
        layers: Vec<Whole>,
        head: Option<Whole>,
        doses: Vec<f64>,
        windows: Whole,
        repeats: Whole,
        seed: Whole,
        threads: Option<Whole>,
    ) -> PyResult<String> {
        let (windows, seed, repeats) = (windows.size()?, seed.0, repeats.0);
        let layers = layers.into_iter().map(Whole::size).collect::<Result<Vec<usize>>>()?;
        let head = head.map(Whole::size).transpose()?;
        let (tokens, model) = (self.tokens(text, usize::MAX)?, self.model());
        let threads = threads::count(threads)?;
        watched(py, |stop| {
            let (weights, workers) = (model.kuramoto()?, Workers { threads, stop: Some(stop) });
            Reading { weights, tokens: &tokens, windows, seed, workers }
                .lesion(what, &layers, head, &doses, repeats)
        })
    }

    /// Bytes that go on from a prompt.
    fn generate(
        &self,
        prompt: Option<&Bound<'_, PyAny>>,
        count: Whole,
        temperature: f64,
        top_p: f64,
        top_k: Whole,
        seed: Whole,
    ) -> PyResult<Generation> {
        let (count, top_k, seed) = (count.size()?, top_k.size()?, seed.0);
        let prompt = match prompt {
            Some(prompt) => text("prompt", prompt)?,
            None => default_prompt(&self.corpus),
        };
        let history = self.corpus.encode("prompt", &prompt).map_err(Raised::from)?;
        if history.is_empty() {
            return Err(
                Raised::value("prompt = b\"\" is not allowed: give at least one byte to go on from").into()
            );
        }
        let sampling = Sampling { temperature, top_p, top_k, seed };
        sampling.check().map_err(Raised::from)?;
        let model = match self.model() {
            single if single.dtype() == "float32" => single,
            double => make(&self.config, self.context, "float32", Start::Parameters(&double.parameters()))?,
        };
        let vocabulary = self.corpus.vocabulary.clone();
        Ok(Generation::new(Request { model, vocabulary, history, count, sampling }))
    }
}

/// A gradient by name.
fn by_name<'py>(py: Python<'py>, model: &dyn AnyModel, all: Numbers) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for tensor in model.layout().tensors() {
        dict.set_item(&tensor.name, all.part(tensor.slot).array(py, &tensor.shape)?)?;
    }
    Ok(dict)
}

/// Widths at which both models have about `budget` parameters: (model, width, parameters).
#[pyfunction]
pub fn match_widths(
    budget: &str,
    layers: Whole,
    heads: Whole,
    vocab: Whole,
    ablations: Vec<String>,
) -> PyResult<Vec<(&'static str, usize, usize)>> {
    let (layers, heads, vocab) = (layers.size()?, heads.size()?, vocab.size()?);
    let matched = || -> Result<_> {
        let budget = parse_budget(budget)?;
        let mut kuramoto =
            ModelConfig::Kuramoto(KuramotoConfig { vocab, layers, heads, width: 0, ..Default::default() });
        kuramoto.ablate(&ablations)?;
        let transformer =
            ModelConfig::Transformer(TransformerConfig { vocab, layers, heads, ..Default::default() });
        let row = |model: &ModelConfig| -> Result<_> {
            let Matched { width, parameters } = match_width(model, budget)?;
            Ok((model.kind().name(), width, parameters))
        };
        Ok(vec![row(&kuramoto)?, row(&transformer)?])
    };
    Ok(matched()?)
}

/// Name, title, and whether the paper has it, of every ablation.
#[pyfunction]
pub fn ablations() -> Vec<(&'static str, &'static str, bool)> {
    let rows = |rows: &[kuramoto_model::Ablation], in_paper| -> Vec<_> {
        rows.iter().map(|row| (row.name, row.title, in_paper)).collect()
    };
    [rows(&ABLATIONS, true), rows(&VARIANTS, false)].concat()
}
