//! Small models and batches, for tests.

#![allow(dead_code)]

#[path = "../../../model/tests/common/mod.rs"]
mod model;
pub mod thread_group;

use kuramoto_engine::Batch;
pub use model::{small, text};

/// A batch over a text of one more token than it has inputs.
pub fn batch(text: &[u8], length: usize) -> Batch<'_> {
    Batch { tokens: &text[..text.len() - 1], targets: &text[1..], length }
}
