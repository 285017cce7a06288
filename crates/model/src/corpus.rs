//! What tokens mean: the identity of the corpus that a model was trained on, and its bytes.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// What identifies a corpus; saved in every run, so that a model can speak without its corpus.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// `tales`, `enwik8`, `codeparrot`, or the name of the file or folder.
    pub name: String,
    /// Number of bytes.
    pub bytes: usize,
    /// Of all bytes.
    pub sha256: String,
    /// Distinct bytes, in order: token i is `vocabulary[i]`.
    pub vocabulary: Vec<u8>,
    /// How a paragraph of the training split begins, to generate from; version 0.1 did not save it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opening: Vec<u8>,
}

impl Identity {
    /// The token of each byte, where it has one.
    pub fn tokens(&self) -> [Option<u8>; 256] {
        let mut tokens = [None; 256];
        for (token, &byte) in self.vocabulary.iter().enumerate() {
            tokens[usize::from(byte)] = Some(token as u8);
        }
        tokens
    }

    /// Text as tokens; an error that names the first byte which the corpus does not have. `what` is what the
    /// text is.
    pub fn encode(&self, what: &str, text: &[u8]) -> Result<Vec<u8>> {
        let known = self.tokens();
        let encode = |(at, &byte): (usize, &u8)| {
            known[usize::from(byte)].ok_or_else(|| Error::Byte {
                what: what.into(),
                byte,
                character: character(text, at),
                at,
                corpus: self.name.clone(),
            })
        };
        text.iter().enumerate().map(encode).collect()
    }
}

/// The character that the byte at `at` belongs to, for people; the byte itself where there is none.
fn character(text: &[u8], at: usize) -> char {
    let start = text[..=at].iter().rposition(|byte| byte & 0xc0 != 0x80).unwrap_or(at);
    let whole = text[start..].utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
    whole.filter(|c| start + c.len_utf8() > at).unwrap_or(char::from(text[at]))
}

/// Bytes to begin with when nothing is said: how a paragraph of the corpus begins. Of a run that did not save
/// that, a line break, which most texts hold.
pub fn default_prompt(corpus: &Identity) -> Vec<u8> {
    if !corpus.opening.is_empty() {
        return corpus.opening.clone();
    }
    let start = if corpus.vocabulary.contains(&b'\n') { b'\n' } else { corpus.vocabulary[0] };
    vec![start]
}
