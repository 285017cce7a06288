//! What a model is besides its weights, as a file beside them.

use kuramoto_answer::Model;
use kuramoto_model::corpus::Identity;
use kuramoto_model::{Kuramoto, KuramotoConfig, Network, Weights, weight_file};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A checkpoint of a Kuramoto model. Who reads its weights believes only what this proves.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The run, as questions name it.
    pub run: String,
    /// The step after which it was saved.
    pub step: u64,
    /// The model.
    pub model: KuramotoConfig,
    /// Bytes that it reads at a time.
    pub context: usize,
    /// What its tokens mean.
    pub corpus: Identity,
    /// Length of the file of its weights.
    pub bytes: usize,
    /// Of that file.
    pub sha256: String,
}

/// Why weights are not the ones that were described.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// They were cut short, or are something else.
    #[error("the weights of {run} have {found} bytes where {expected} are expected: reload the page")]
    Length {
        /// The run.
        run: String,
        /// Bytes that were fetched.
        found: usize,
        /// Bytes that were described.
        expected: usize,
    },
    /// They were changed.
    #[error("the weights of {run} are damaged (their sha256 is not the expected one): reload the page")]
    Damaged {
        /// The run.
        run: String,
    },
    /// They are not of such a model.
    #[error("the weights of {run} cannot be used: {cause}")]
    Weights {
        /// The run.
        run: String,
        /// What is wrong with them.
        cause: kuramoto_model::Error,
    },
}

impl Description {
    /// The model with these weights, a safetensors file.
    pub fn model(self, weights: &[u8]) -> Result<Model, Error> {
        let run = || self.run.clone();
        if weights.len() != self.bytes {
            return Err(Error::Length { run: run(), found: weights.len(), expected: self.bytes });
        }
        if hash(weights) != self.sha256 {
            return Err(Error::Damaged { run: run() });
        }
        let read = || {
            let network = Kuramoto::new(self.model.clone(), self.context)?;
            let parameters = weight_file::arena(weights, Network::<f32>::layout(&network), "")?;
            Weights::new(network, &parameters)
        };
        let weights = read().map_err(|cause| Error::Weights { run: run(), cause })?;
        Ok(Model::new(weights, self.corpus, self.step))
    }
}

/// sha256 in hexadecimal.
fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
