//! A model that answers.

use crate::elsewhere::Elsewhere;
use crate::reading::{Reading, Touched};
use kuramoto_model::Network;
use kuramoto_model::corpus::Identity;
use kuramoto_phase::KuramotoWeights;

/// A model with what it needs to speak, and with the texts it read last.
pub struct Model {
    pub(crate) weights: KuramotoWeights,
    /// The text that the model as it is read last.
    pub(crate) original: Reading,
    /// None before the first intervention.
    pub(crate) touched: Option<Touched>,
    /// The text that something else read for it last.
    pub(crate) elsewhere: Option<Elsewhere>,
    pub(crate) corpus: Identity,
    pub(crate) step: u64,
}

impl Model {
    /// Of weights that were saved after `step`, trained on `corpus`.
    pub fn new(weights: KuramotoWeights, corpus: Identity, step: u64) -> Model {
        Model { original: Reading::new(&weights), touched: None, elsewhere: None, weights, corpus, step }
    }

    /// The weights.
    pub fn weights(&self) -> &KuramotoWeights {
        &self.weights
    }

    /// Bytes that it reads at a time.
    pub fn context(&self) -> usize {
        Network::<f32>::context(self.weights.network())
    }

    /// The corpus it was trained on.
    pub fn corpus(&self) -> &Identity {
        &self.corpus
    }
}
