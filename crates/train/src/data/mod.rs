//! What models are trained on: a corpus is bytes, their vocabulary and three splits.
//!
//! The vocabulary is the distinct bytes of the whole corpus in order, and a token is an index into it. The
//! splits are by position: the first 90% to train on, the next 5% to validate, the last 5% to test.

mod cache;
pub mod codeparrot;
mod download;
pub mod naming;
pub mod source;
pub mod tales;

pub use cache::default_cache;
pub use download::download;
pub use kuramoto_model::corpus::Identity;
pub use source::Source;

use crate::error::{Error, Result};
use crate::hash;
use crate::memory;
use crate::run::Run;
use crate::windows::Window;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::Path;
use tales::Tales;

/// Part of a corpus.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::VariantNames,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Split {
    /// The first 90%.
    Train,
    /// The next 5%.
    Validation,
    /// The last 5%.
    Test,
}

impl Split {
    /// The part of a corpus of `len` bytes.
    pub fn range(self, len: usize) -> Range<usize> {
        // In this order nothing overflows and the parts touch.
        let (first, second) = (len - len.div_ceil(10), len - len.div_ceil(20));
        match self {
            Split::Train => 0..first,
            Split::Validation => first..second,
            Split::Test => second..len,
        }
    }
}

enum Bytes {
    Read(Vec<u8>),
    Generated(Tales),
}

/// A corpus, ready to read.
pub struct Corpus {
    identity: Identity,
    bytes: Bytes,
    tokens: [u8; 256],
}

impl Corpus {
    /// Opens a source, preparing it in the cache folder first if it is new there. The whole corpus is checked
    /// against its hash.
    pub fn open(source: &Source, cache: &Path) -> Result<Corpus> {
        let (identity, bytes) = match source {
            Source::Tales { seed, bytes } => {
                // The text and, for its code length, every choice.
                memory::check("the corpus", (*bytes as u64).saturating_mul(6), "less text")?;
                let tales = Tales::generate(*seed, *bytes);
                let identity = Identity {
                    name: "tales".into(),
                    bytes: tales.text().len(),
                    sha256: hash::of(tales.text()),
                    vocabulary: vocabulary(tales.text()),
                    opening: opening(tales.text()),
                };
                (identity, Bytes::Generated(tales))
            }
            _ => {
                let (mut identity, bytes) = cache::open(source, cache)?;
                identity.opening = opening(&bytes);
                (identity, Bytes::Read(bytes))
            }
        };
        let tokens = identity.tokens().map(Option::unwrap_or_default);
        Ok(Corpus { identity, bytes, tokens })
    }

    /// A corpus with this hash, if one was prepared, whatever from.
    pub fn prepared(sha256: &str, cache: &Path) -> Option<Corpus> {
        let (mut identity, bytes) = cache::find(sha256, cache)?;
        identity.opening = opening(&bytes);
        let tokens = identity.tokens().map(Option::unwrap_or_default);
        Some(Corpus { identity, bytes: Bytes::Read(bytes), tokens })
    }

    /// What identifies a prepared corpus with this hash, if there is one; its bytes are not read.
    pub fn look_up(sha256: &str, cache: &Path) -> Option<Identity> {
        cache::look_up(sha256, cache)
    }

    /// Opens the corpus of a run: from the cache if it was prepared there, else from where it came from.
    pub fn of_run(run: &Run, cache: &Path) -> Result<Corpus> {
        let corpus = match Corpus::prepared(&run.corpus().sha256, cache) {
            Some(corpus) => corpus,
            None => Corpus::open(&run.config().source()?, cache)?,
        };
        corpus.check_same(run.corpus())?;
        Ok(corpus)
    }

    /// What it is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Read(bytes) => bytes,
            Bytes::Generated(tales) => tales.text(),
        }
    }

    /// Where a split lies.
    pub fn split(&self, split: Split) -> Range<usize> {
        split.range(self.bytes().len())
    }

    /// Copies a window's inputs and targets as tokens: tokens, targets (window.len each)
    pub fn read(&self, window: Window, tokens: &mut [u8], targets: &mut [u8]) {
        let bytes = self.bytes();
        let encode = |start: usize, out: &mut [u8]| {
            for (token, &byte) in out.iter_mut().zip(&bytes[start..start + window.len]) {
                *token = self.tokens[usize::from(byte)];
            }
        };
        encode(window.start, tokens);
        encode(window.start + 1, targets);
    }

    /// Fewest bits per byte any model can reach on the targets of these windows, given all text before them;
    /// known for generated corpora only.
    pub fn floor(&self, windows: &[Window]) -> Option<f64> {
        let Bytes::Generated(tales) = &self.bytes else { return None };
        let bits: f64 = windows.iter().map(|window| tales.bits(window.targets())).sum();
        let bytes: usize = windows.iter().map(|window| window.len).sum();
        Some(bits / bytes.max(1) as f64)
    }

    /// Says what is wrong if this is not the corpus a run was started on.
    pub fn check_same(&self, expected: &Identity) -> Result<()> {
        let same =
            (&self.identity.sha256, &self.identity.vocabulary) == (&expected.sha256, &expected.vocabulary);
        if same && self.identity.bytes == expected.bytes {
            return Ok(());
        }
        Err(Error::corpus(
            &self.identity.name,
            format!(
                "this corpus (sha256 {}, {} bytes) is not the one the run was started on (sha256 {}, {} \
                 bytes): give the same data",
                self.identity.sha256, self.identity.bytes, expected.sha256, expected.bytes
            ),
        ))
    }
}

/// Bytes of an opening at most.
const OPENING: usize = 32;

/// How the second paragraph of the training split begins: whole words of its first line, at most [`OPENING`]
/// bytes. A text without paragraphs gives its own beginning.
fn opening(bytes: &[u8]) -> Vec<u8> {
    let text = &bytes[Split::Train.range(bytes.len())];
    let after = |separator: &[u8]| memchr::memmem::find(text, separator).map(|at| at + separator.len());
    // In a text of only a few lines, or of none, separators are data like all else.
    let start = after(b"\n\n").or_else(|| after(b"\n")).unwrap_or(0);
    let rest = match text[start..].trim_ascii_start() {
        [] => text.trim_ascii_start(),
        rest => rest,
    };
    let line = rest.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let mut opening = &line[..line.len().min(OPENING)];
    if opening.len() < line.len()
        && let Some(space) = opening.iter().rposition(|&byte| byte == b' ')
    {
        opening = &opening[..space];
    }
    // No half character.
    while !opening.is_empty() && std::str::from_utf8(opening).is_err_and(|error| error.error_len().is_none())
    {
        opening = &opening[..opening.len() - 1];
    }
    opening.to_vec()
}

fn vocabulary(bytes: &[u8]) -> Vec<u8> {
    let mut seen = [false; 256];
    bytes.iter().for_each(|&byte| seen[usize::from(byte)] = true);
    listed(&seen)
}

fn listed(seen: &[bool; 256]) -> Vec<u8> {
    (0..=255).filter(|&byte| seen[usize::from(byte)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_are_whole_words_of_a_paragraph() {
        let of = |text: &str| String::from_utf8(opening(text.as_bytes())).unwrap();
        let filler = "x".repeat(200);
        assert_eq!(
            of(&format!("One.\n\nTwo was a merry baker who lived far away.\n\n{filler}")),
            "Two was a merry baker who lived"
        );
        assert_eq!(of(&format!("first line\nsecond line\n{filler}")), "second line");
        assert_eq!(of(&"ab".repeat(100)), "ab".repeat(16));
        assert_eq!(of(&"é".repeat(100)), "é".repeat(16));
        assert_eq!(of(&"\n".repeat(100)), "");
        assert_eq!(of(""), "");
    }

    #[test]
    fn an_unknown_byte_is_shown_as_its_character() {
        let identity = Identity { name: "t".into(), vocabulary: b"ab".to_vec(), ..Default::default() };
        let message = identity.encode("prompt", "aé".as_bytes()).unwrap_err().to_string();
        assert!(message.contains("byte 0xc3 ('é') at 1"), "{message}");
        assert!(identity.encode("prompt", b"a\xff").unwrap_err().to_string().contains("0xff"));
    }
}
