//! Running a model on a text for the page: phases, couplings, order and probabilities, with and without
//! interventions.

use crate::error::{Answer, Refusal};
use crate::message::Message;
use kuramoto_phase::coalition::coalitions;
use kuramoto_phase::intervention::{Change, Intervening, Intervention};
use kuramoto_phase::order::{Attended, global_order};
use kuramoto_phase::prediction::{likeliest, probabilities};
use kuramoto_phase::pull::Pulls;
use kuramoto_phase::survey::radii;
use kuramoto_phase::{KuramotoWeights, KuramotoWorkspace, Trace};
use kuramoto_train::generate::{Drawer, Sampling, default_prompt, generate};
use kuramoto_train::{Run, Which, checkpoint};
use serde::Deserialize;
use serde_json::{Value, json};
use std::f64::consts::LN_2;
use std::sync::{Mutex, PoisonError};

/// A text for a model, and how to change the model.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    pub run: String,
    /// At most as long as the context.
    text: String,
    /// best, last or step-N.
    #[serde(default = "best")]
    checkpoint: String,
    /// Of the forward pass.
    #[serde(default)]
    interventions: Vec<Intervention>,
    /// Of parameters.
    #[serde(default)]
    changes: Vec<Change>,
}

fn best() -> String {
    "best".into()
}

/// Bytes of a text that can be shown; couplings grow with its square.
const MOST_TEXT: usize = 1024;
/// Changes of either kind that one question may ask for.
const MOST_CHANGES: usize = 64;
/// Probabilities that are sent of every position.
const LIKELY: usize = 8;
/// Models that are kept loaded.
const KEPT: usize = 3;

struct Loaded {
    /// Of the checkpoint's manifest: another run in the same folder is another model.
    identity: String,
    step: u64,
    model: Model,
}

/// A model with room for one text.
struct Model {
    weights: KuramotoWeights,
    work: KuramotoWorkspace,
}

/// Models that were loaded, to be used again; a model in use is not in it.
#[derive(Default)]
pub(crate) struct Models {
    idle: Mutex<Vec<Loaded>>,
}

impl Models {
    /// Does something with a model, and keeps it for the next time.
    fn with<T>(
        &self,
        run: &Run,
        checkpoint: &str,
        work: impl FnOnce(&mut Model, u64) -> Answer<T>,
    ) -> Answer<T> {
        let which: Which = checkpoint.parse()?;
        let mut loaded = match self.kept(run, which) {
            Some(loaded) => loaded,
            None => {
                let (weights, state) = run.kuramoto(which)?;
                let step = state.step;
                let identity = checkpoint::identity(&checkpoint::folder(run.folder(), step))?;
                Loaded { identity, step, model: Model { work: weights.workspace(), weights } }
            }
        };
        let answer = work(&mut loaded.model, loaded.step);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.insert(0, loaded);
        idle.truncate(KEPT);
        answer
    }

    /// A model that is loaded and still what the checkpoint's files say.
    fn kept(&self, run: &Run, which: Which) -> Option<Loaded> {
        let step = run.step(which)?;
        let identity = checkpoint::identity(&checkpoint::folder(run.folder(), step)).ok()?;
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let place = idle.iter().position(|loaded| loaded.identity == identity)?;
        Some(idle.remove(place))
    }
}

impl Question {
    fn tokens(&self, run: &Run) -> Answer<Vec<u8>> {
        let context = run.config().batch.context.min(MOST_TEXT);
        match self.text.len() {
            0 => Err(Refusal::bad("the text is empty: give at least one byte")),
            length if length > context => {
                Err(Refusal::bad(format!("the text has {length} bytes, {context} can be shown: give less")))
            }
            _ => Ok(run.corpus().encode("text", self.text.as_bytes())?),
        }
    }

    fn check(&self, model: &Model) -> Answer<()> {
        if self.interventions.len() + self.changes.len() > MOST_CHANGES {
            return Err(Refusal::bad(format!("at most {MOST_CHANGES} changes are made at a time")));
        }
        let network = model.weights.network();
        self.changes.iter().try_for_each(|change| change.check(network)).map_err(Refusal::bad)?;
        self.interventions.iter().try_for_each(|change| change.check(network)).map_err(Refusal::bad)
    }

    fn is_touched(&self) -> bool {
        !self.interventions.is_empty() || !self.changes.is_empty()
    }

    /// The same of the model as it is.
    fn untouched(&self) -> Question {
        Question { interventions: vec![], changes: vec![], ..self.clone() }
    }

    /// The first tokens are gone: what is done to others stays with them.
    fn forget(&mut self, gone: usize) {
        for tokens in self.interventions.iter_mut().filter_map(|change| change.tokens.as_mut()) {
            *tokens = tokens.iter().filter_map(|token| token.checked_sub(gone)).collect();
        }
    }

    /// Runs the model as the question wants it. Parameters that were changed are put back, whatever happens.
    fn run(&self, model: &mut Model, tokens: &[u8], trace: &mut Trace<f32>) -> Answer<Vec<f32>> {
        let Model { weights, work } = model;
        let before = (!self.changes.is_empty()).then(|| weights.parameters().to_vec());
        self.changes.iter().for_each(|change| change.apply(weights));
        let ran = weights.forward(
            tokens,
            work,
            &mut Intervening::new(weights.network(), &self.interventions, trace),
        );
        let logits = ran.map(|()| weights.logits(tokens.len(), work));
        if let Some(before) = before {
            weights.edit(|_, parameters| parameters.copy_from_slice(&before));
        }
        Ok(logits.map_err(kuramoto_phase::Error::from)?)
    }
}

/// Everything the page shows of a text, as a message.
pub(crate) fn inspect(models: &Models, run: &Run, question: &Question) -> Answer<Vec<u8>> {
    let tokens = question.tokens(run)?;
    models.with(run, &question.checkpoint, |model, step| {
        question.check(model)?;
        let mut message = Message::default();
        let mut trace = Trace::new(model.weights.network());
        let logits = question.untouched().run(model, &tokens, &mut trace)?;
        add(&mut message, "", &trace, &logits, &tokens, run);
        let radii = radii(&model.weights);
        let config = model.weights.network().config();
        let network = model.weights.network();
        let omega = |layer: usize| network.omega(model.weights.parameters(), layer).into_owned();
        message.floats("omega", &[config.layers, config.width], (0..config.layers).flat_map(omega));
        message.meta(json!({
            "step": step,
            "n": trace.n,
            "k": trace.k,
            "heads": trace.heads,
            "layers": trace.layers(),
            "tau": model.weights.parameter("tau").map(|tau| tau[0]),
            "radii": radii,
            "touched": question.is_touched(),
        }));
        if question.is_touched() {
            let logits = question.run(model, &tokens, &mut trace)?;
            add(&mut message, "touched.", &trace, &logits, &tokens, run);
        }
        Ok(message.encode())
    })
}

fn add(message: &mut Message, prefix: &str, trace: &Trace<f32>, logits: &[f32], tokens: &[u8], run: &Run) {
    let (n, k, layers) = (trace.n, trace.k, trace.layers());
    let name = |name: &str| format!("{prefix}{name}");
    message.floats(&name("phase"), &[layers + 1, n, k], trace.states.iter().flatten().copied());
    message.floats(
        &name("coupling"),
        &[layers, trace.heads, n, n],
        trace.attention.iter().flatten().copied(),
    );
    let attended: Vec<Attended<f32>> = (0..layers).map(|layer| Attended::of(trace, layer)).collect();
    let each = |of: fn(&Attended<f32>, usize) -> f64| {
        attended.iter().flat_map(move |layer| (0..n).map(move |t| of(layer, t) as f32)).collect::<Vec<f32>>()
    };
    message.floats(&name("local"), &[layers, n], each(Attended::local_order));
    message.floats(&name("alignment"), &[layers, n], each(Attended::alignment));
    message.floats(
        &name("global"),
        &[layers + 1],
        trace.states.iter().map(|state| global_order(state, k) as f32),
    );
    let chances: Vec<Vec<f64>> = logits.chunks_exact(logits.len() / n).map(probabilities).collect();
    let bits = |t: usize| match tokens.get(t + 1) {
        Some(&next) => (-chances[t][usize::from(next)].ln() / LN_2) as f32,
        None => f32::NAN,
    };
    message.floats(&name("bits"), &[n], (0..n).map(bits));
    let vocabulary = &run.corpus().vocabulary;
    let likely: Vec<(f32, f32)> =
        chances.iter().flat_map(|chances| likeliest_bytes(chances, vocabulary)).collect();
    message.floats(&name("likely"), &[n, LIKELY], likely.iter().map(|pair| pair.0));
    message.floats(&name("chance"), &[n, LIKELY], likely.iter().map(|pair| pair.1));
}

/// Bytes and their probabilities, likeliest first; filled up with -1 if the vocabulary is smaller.
fn likeliest_bytes(chances: &[f64], vocabulary: &[u8]) -> Vec<(f32, f32)> {
    let pair = |(token, chance): (usize, f64)| (f32::from(vocabulary[token]), chance as f32);
    let mut pairs: Vec<(f32, f32)> = likeliest(chances).into_iter().map(pair).collect();
    pairs.resize(LIKELY, (-1.0, 0.0));
    pairs
}

/// Bytes of a sample.
const SAMPLE: usize = 96;

/// A text to begin with, written by the model itself, so that every byte of it is known.
pub(crate) fn sample(run: &Run) -> Answer<String> {
    let prompt = default_prompt(run.corpus());
    let sampling = Sampling { temperature: 0.7, top_p: 0.95, ..Default::default() };
    // The whole text is to fit the context; a line break is no text.
    let mut bytes = prompt.trim_ascii().to_vec();
    let room = run.config().batch.context.saturating_sub(bytes.len());
    generate(run, Which::Best, &prompt, SAMPLE.min(room), &sampling, &mut |byte| {
        bytes.push(byte);
        true
    })?;
    // What is no whole letter has no place in a page's text.
    Ok(bytes.utf8_chunks().map(|chunk| chunk.valid()).collect())
}

/// Who pulls a byte.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PullQuestion {
    pub question: Question,
    token: usize,
    /// Locking from which tokens form a coalition.
    locking: f64,
}

/// The pulls on a token in every layer, and the coalition it is in; if the model is touched, of both.
pub(crate) fn pulls(models: &Models, run: &Run, asked: &PullQuestion) -> Answer<Value> {
    let tokens = asked.question.tokens(run)?;
    if asked.token >= tokens.len() {
        return Err(Refusal::bad(format!(
            "token {} does not exist: the text has {}",
            asked.token,
            tokens.len()
        )));
    }
    models.with(run, &asked.question.checkpoint, |model, _| {
        asked.question.check(model)?;
        Pulls::check(model.weights.network())?;
        let mut trace = Trace::new(model.weights.network());
        let radii = radii(&model.weights);
        let mut of = |question: &Question| -> Answer<Value> {
            question.run(model, &tokens, &mut trace)?;
            let layers = (0..trace.layers()).map(|layer| {
                let pulls = Pulls::on(&trace, layer, asked.token, radii[layer].0);
                pulls.strongest(&trace, layer)
            });
            let groups = coalitions(&trace, asked.locking);
            let own =
                groups.iter().map(|groups| groups.iter().find(|group| group.tokens.contains(&asked.token)));
            Ok(json!({ "layers": layers.collect::<Vec<_>>(), "coalition": own.collect::<Vec<_>>() }))
        };
        let mut answer = of(&asked.question.untouched())?;
        if asked.question.is_touched() {
            answer["touched"] = of(&asked.question)?;
        }
        Ok(answer)
    })
}

/// How to write on.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteQuestion {
    pub question: Question,
    pub bytes: usize,
    pub sampling: Sampling,
}

/// Bytes that one request may generate.
const MOST_BYTES: usize = 2000;

impl WriteQuestion {
    /// Says what is wrong, if anything, before the first byte is written.
    pub fn check(&self, models: &Models, run: &Run) -> Answer<()> {
        if self.bytes > MOST_BYTES {
            return Err(Refusal::bad(format!(
                "{} bytes are asked for: at most {MOST_BYTES} are written",
                self.bytes
            )));
        }
        self.question.tokens(run)?;
        Drawer::new(&self.sampling)?;
        models.with(run, &self.question.checkpoint, |model, _| self.question.check(model))
    }

    /// Continues a text. `write` gets a message for each byte, with `byte` (1) and `phase` (L + 1 x k), until
    /// it returns false.
    pub fn write_on(&self, models: &Models, run: &Run, write: &mut dyn FnMut(Message) -> bool) -> Answer<()> {
        let mut question = self.question.clone();
        let mut history = question.tokens(run)?;
        let mut drawer = Drawer::new(&self.sampling)?;
        let context = run.config().batch.context.min(MOST_TEXT);
        models.with(run, &self.question.checkpoint, |model, _| {
            let mut trace = Trace::new(model.weights.network());
            for _ in 0..self.bytes {
                // A full context goes on with its second half, as `kuramoto generate` does.
                if history.len() >= context {
                    history.drain(..context / 2);
                    question.forget(context / 2);
                }
                let logits = question.run(model, &history, &mut trace)?;
                let (n, k) = (trace.n, trace.k);
                let token = drawer.draw(&logits[(n - 1) * logits.len() / n..]);
                history.push(token);
                let mut message = Message::default();
                let phases = trace.states.iter().flat_map(|state| &state[(n - 1) * k..]);
                message.bytes("byte", &[1], &[run.corpus().vocabulary[usize::from(token)]]);
                message.floats("phase", &[trace.states.len(), k], phases.copied());
                if !write(message) {
                    break;
                }
            }
            Ok(())
        })
    }
}
