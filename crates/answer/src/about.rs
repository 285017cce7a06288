//! What texts a model reads.

use crate::question::MOST_TEXT;
use kuramoto_model::corpus::Identity;
use serde_json::{Value, json};

/// The bytes that a model of a corpus knows, and how many of them it is shown at a time.
pub fn about(corpus: &Identity, context: usize) -> Value {
    json!({ "vocabulary": corpus.vocabulary, "context": context.min(MOST_TEXT) })
}
