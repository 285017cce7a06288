//! What a corpus is called. The names of published corpora are kept for these alone: results under them are set
//! beside the paper's numbers.

use super::source::PAPER_BYTES;
use super::{Identity, Source};
use std::path::Path;

/// The paper's second corpus.
pub const CODEPARROT: &str = "codeparrot";
/// Distinct bytes of the paper's part of CodeParrot.
pub const CODEPARROT_DISTINCT: usize = 201;

/// True if a text may be the paper's part of CodeParrot. Which part it took is not published, but these two
/// numbers are.
fn is_codeparrot(bytes: usize, distinct: usize) -> bool {
    (bytes, distinct) == (PAPER_BYTES, CODEPARROT_DISTINCT)
}

impl Source {
    /// A name for people, of a text with so many bytes and distinct ones.
    pub fn name(&self, bytes: usize, distinct: usize) -> String {
        let title = self.title();
        let root = match self {
            Source::Tales { .. } | Source::Enwik8(_) => return title,
            Source::Codeparrot { root, .. } | Source::Files { root, .. } => root,
        };
        if title == CODEPARROT && is_codeparrot(bytes, distinct) {
            return title;
        }
        match file_name(root) {
            name if Source::is_name(&name) => other(&name),
            name => name,
        }
    }

    /// What it would be called by its place or its files alone.
    pub(super) fn title(&self) -> String {
        match self {
            Source::Tales { .. } => "tales".into(),
            Source::Enwik8(_) => "enwik8".into(),
            Source::Codeparrot { .. } => CODEPARROT.into(),
            Source::Files { root, .. } => file_name(root),
        }
    }

    /// Why the text that was found has another name than its place or its files suggest, if so.
    pub fn why_renamed(&self, found: &Identity) -> Option<String> {
        let (title, distinct) = (self.title(), found.vocabulary.len());
        let name = self.name(found.bytes, distinct);
        let held = format!("it is held under the name {name}, and the paper's numbers are not set beside it");
        match self {
            _ if name == title => None,
            Source::Codeparrot { root, .. } | Source::Files { root, .. } if title == CODEPARROT => {
                Some(format!(
                    "{}: it has {} bytes with {distinct} distinct values, but the paper's part of CodeParrot \
                     has {PAPER_BYTES} with {CODEPARROT_DISTINCT}: {held}",
                    root.display(),
                    found.bytes
                ))
            }
            Source::Codeparrot { root, .. } | Source::Files { root, .. } => {
                Some(format!("{}: it is not the corpus {title}: {held}", root.display()))
            }
            Source::Tales { .. } | Source::Enwik8(_) => None,
        }
    }
}

/// Versions before this one called any folder of shards codeparrot.
pub(crate) fn with_its_name(mut identity: Identity) -> Identity {
    if identity.name == CODEPARROT && !is_codeparrot(identity.bytes, identity.vocabulary.len()) {
        identity.name = other(CODEPARROT);
    }
    identity
}

fn other(name: &str) -> String {
    format!("{name}-other")
}

fn file_name(root: &Path) -> String {
    let name = root.canonicalize().ok().and_then(|path| path.file_name().map(|name| name.to_owned()));
    name.map_or_else(|| "files".into(), |name| name.to_string_lossy().into_owned())
}
