//! A text for a model, and how to change the model.

use crate::error::{Error, Result};
use crate::model::Model;
use crate::reading::{Reading, Touched};
use kuramoto_phase::intervention::{Change, Intervention};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Reads a question from JSON.
pub fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T> {
    Ok(serde_json::from_slice(json)?)
}

/// A text for a model, and how to change the model.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The run that the model is of.
    pub run: String,
    /// At most as long as the context.
    text: String,
    /// best, last or step-N.
    #[serde(default = "best")]
    pub checkpoint: String,
    /// Of the forward pass.
    #[serde(default)]
    interventions: Vec<Intervention>,
    /// Of parameters.
    #[serde(default)]
    changes: Vec<Change>,
    /// What is wanted of the text, if not all of it.
    #[serde(default = "Part::all")]
    pub(crate) parts: Vec<Part>,
}

/// What can be asked of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Bits of each next byte.
    Bits,
    /// The likeliest next bytes and their probabilities.
    Likely,
    /// Phases of every state.
    Phase,
    /// Couplings of every layer.
    Coupling,
    /// Local order and alignment of every byte, global order of every state.
    Order,
    /// Drift rates of every layer.
    Omega,
    /// Phases after each layer's synchronization step. These and what follows come only if they are asked for: no
    /// panel shows them.
    Middle,
    /// Query, key and value gates of every layer, where the model has them.
    Gates,
    /// Logits of every position.
    Logits,
}

impl Part {
    /// What the page shows.
    fn all() -> Vec<Part> {
        vec![Part::Bits, Part::Likely, Part::Phase, Part::Coupling, Part::Order, Part::Omega]
    }
}

fn best() -> String {
    "best".into()
}

/// Bytes of a text that can be shown; couplings grow with its square.
pub(crate) const MOST_TEXT: usize = 1024;
/// Changes of either kind that one question may ask for.
const MOST_CHANGES: usize = 64;

/// Bytes of a text that a model can show.
pub(crate) fn context(model: &Model) -> usize {
    model.context().min(MOST_TEXT)
}

impl Question {
    /// The text as tokens.
    pub(crate) fn tokens(&self, model: &Model) -> Result<Vec<u8>> {
        match self.text.len() {
            0 => Err(kuramoto_model::Error::Empty.into()),
            length if length > context(model) => Err(Error::Long { length, context: context(model) }),
            _ => Ok(model.corpus.encode("text", self.text.as_bytes())?),
        }
    }

    /// Checks that the model has what is to be changed.
    pub(crate) fn check(&self, model: &Model) -> Result<()> {
        if self.interventions.len() + self.changes.len() > MOST_CHANGES {
            return Err(Error::Changes { most: MOST_CHANGES });
        }
        let network = model.weights.network();
        self.changes.iter().try_for_each(|change| change.check(network)).map_err(Error::Change)?;
        self.interventions.iter().try_for_each(|change| change.check(network)).map_err(Error::Change)
    }

    pub(crate) fn is_touched(&self) -> bool {
        !self.interventions.is_empty() || !self.changes.is_empty()
    }

    /// The same of the model as it is.
    pub(crate) fn untouched(&self) -> Question {
        Question { interventions: vec![], changes: vec![], ..self.clone() }
    }

    /// The first tokens are gone: what is done to others stays with them.
    pub(crate) fn forget(&mut self, gone: usize) {
        for tokens in self.interventions.iter_mut().filter_map(|change| change.tokens.as_mut()) {
            *tokens = tokens.iter().filter_map(|token| token.checked_sub(gone)).collect();
        }
    }

    /// Runs the model as the question wants it.
    pub(crate) fn run<'m>(&self, model: &'m mut Model, tokens: &[u8]) -> Result<&'m Reading> {
        let Model { weights, original, touched, .. } = model;
        if self.is_touched() {
            let touched = touched.get_or_insert_with(|| Touched::new(weights));
            return touched.read(weights, &self.interventions, &self.changes, tokens);
        }
        original.update(weights, &[], tokens)?;
        Ok(original)
    }
}
