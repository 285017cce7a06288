//! What texts a model reads.

use crate::question::MOST_TEXT;
use kuramoto_model::corpus::Identity;
use serde_json::{Value, json};

/// The bytes that a model of a corpus knows, how many of them it is shown at a time, and its layers.
pub fn about(corpus: &Identity, context: usize, layers: usize) -> Value {
    json!({ "vocabulary": corpus.vocabulary, "context": context.min(MOST_TEXT), "layers": layers })
}
