//! A text to begin with.

use kuramoto_model::corpus::{Identity, default_prompt};
use kuramoto_model::sampling::Sampling;

/// Bytes of a sample.
const SAMPLE: usize = 96;

/// A text to begin with, written by the model itself, so that every byte of it is known. `generate` writes so
/// many bytes after a prompt, and hands each to the last argument until that returns false.
pub fn sample<E>(
    corpus: &Identity,
    context: usize,
    generate: impl FnOnce(&[u8], usize, &Sampling, &mut dyn FnMut(u8) -> bool) -> Result<(), E>,
) -> Result<String, E> {
    let prompt = default_prompt(corpus);
    let sampling = Sampling { temperature: 0.7, top_p: 0.95, ..Default::default() };
    // The whole text is to fit the context; a line break is no text.
    let mut bytes = prompt.trim_ascii().to_vec();
    let room = context.saturating_sub(bytes.len());
    generate(&prompt, SAMPLE.min(room), &sampling, &mut |byte| {
        bytes.push(byte);
        true
    })?;
    // What is no whole letter has no place in a page's text.
    Ok(bytes.utf8_chunks().map(|chunk| chunk.valid()).collect())
}
