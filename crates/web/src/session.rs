//! Models that are loaded, and what is being written with them.

use crate::description::{self, Description};
use kuramoto_answer::{Model, PullQuestion, Question, Simulation, SimulationQuestion, WriteQuestion, Writer};
use kuramoto_model::sampling;
use std::collections::BTreeMap;

/// Models that are kept loaded.
const KEPT: usize = 3;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The model must be loaded first.
    #[error("the model of {0} is not loaded")]
    NotLoaded(String),
    /// There is no such kind of question.
    #[error("there is no question of that kind: ask inspect, pulls, sample or simulate")]
    Unknown,
    /// The question is refused.
    #[error(transparent)]
    Answer(#[from] kuramoto_answer::Error),
    /// The model cannot be loaded.
    #[error(transparent)]
    Load(#[from] description::Error),
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Refusal>;

/// A run and the step of a checkpoint.
type Key = (String, String);

/// What one page has loaded.
#[derive(Default)]
pub struct Session {
    /// Those used last first.
    models: Vec<(Key, Model)>,
    writers: BTreeMap<u32, (Key, Writer)>,
    simulation: Simulation,
}

impl Session {
    /// Loads a model, from its [`Description`] as JSON and its weights as safetensors.
    pub fn load(&mut self, description: &[u8], weights: &[u8]) -> Result<()> {
        let description: Description = kuramoto_answer::parse(description)?;
        let key = (description.run.clone(), format!("step-{}", description.step));
        self.models.retain(|(loaded, _)| *loaded != key);
        self.models.truncate(KEPT - 1);
        let model = description.model(weights)?;
        self.models.insert(0, (key, model));
        Ok(())
    }

    /// Answers a question, which is JSON: `inspect` and `simulate` with a message, `pulls` and
    /// `sample` with JSON.
    pub fn ask(&mut self, kind: &str, question: &[u8]) -> Result<Vec<u8>> {
        match kind {
            "inspect" => {
                let asked: Question = kuramoto_answer::parse(question)?;
                Ok(kuramoto_answer::inspect(self.model(&key(&asked))?, &asked)?.encode())
            }
            "pulls" => {
                let asked: PullQuestion = kuramoto_answer::parse(question)?;
                let pulls = kuramoto_answer::pulls(self.model(&key(&asked.question))?, &asked)?;
                Ok(pulls.to_string().into_bytes())
            }
            "sample" => {
                let key: Key = kuramoto_answer::parse(question)?;
                Ok(serde_json::Value::from(sample(self.model(&key)?)?).to_string().into_bytes())
            }
            "simulate" => {
                let asked: SimulationQuestion = kuramoto_answer::parse(question)?;
                Ok(self.simulation.run(&asked)?.encode())
            }
            _ => Err(Refusal::Unknown),
        }
    }

    /// Takes what something else left of the text of a question for `inspect`; see [`Model::take`].
    pub fn computed(&mut self, question: &[u8], values: &[u8]) -> Result<()> {
        let asked: Question = kuramoto_answer::parse(question)?;
        Ok(self.model(&key(&asked))?.take(&asked, values)?)
    }

    /// Begins to write on, under a number that is the caller's to choose.
    pub fn begin(&mut self, number: u32, question: &[u8]) -> Result<()> {
        let asked: WriteQuestion = kuramoto_answer::parse(question)?;
        let key = key(&asked.question);
        let writer = Writer::new(self.model(&key)?, &asked)?;
        self.writers.insert(number, (key, writer));
        Ok(())
    }

    /// The next byte that is written under that number, as a message; None at the end.
    pub fn next(&mut self, number: u32) -> Result<Option<Vec<u8>>> {
        let Some((key, _)) = self.writers.get(&number) else { return Ok(None) };
        let key = key.clone();
        self.model(&key)?;
        let (Some((_, writer)), Some((_, model))) = (self.writers.get_mut(&number), self.models.first_mut())
        else {
            return Ok(None);
        };
        let message = writer.next(model)?;
        if message.is_none() {
            self.writers.remove(&number);
        }
        Ok(message.map(|message| message.encode()))
    }

    /// Writes no more under that number.
    pub fn stop(&mut self, number: u32) {
        self.writers.remove(&number);
    }

    fn model(&mut self, key: &Key) -> Result<&mut Model> {
        let place = self.models.iter().position(|(loaded, _)| loaded == key);
        let place = place.ok_or_else(|| Refusal::NotLoaded(key.0.clone()))?;
        let used = self.models.remove(place);
        self.models.insert(0, used);
        Ok(&mut self.models[0].1)
    }
}

fn key(question: &Question) -> Key {
    (question.run.clone(), question.checkpoint.clone())
}

fn sample(model: &Model) -> kuramoto_answer::Result<String> {
    let (weights, corpus) = (model.weights(), model.corpus());
    kuramoto_answer::sample(corpus, model.context(), |prompt, count, sampling, write| {
        let history = corpus.encode("prompt", prompt)?;
        let mut write = |token: u8| write(corpus.vocabulary[usize::from(token)]);
        Ok(sampling::write_on(weights, history, count, sampling, &mut write)?)
    })
}
