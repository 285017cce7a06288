//! CodeParrot-clean from its published shards.
//!
//! The rule: shards `file-*.json.gz` in order of their names; rows, one JSON object a line, in order; of each
//! row its `content`, with a line break added where it lacks one; cut at 10^8 bytes, which is what the paper
//! trains on.

use super::source::Sink;
use crate::error::{At, Error, Result};
use serde::Deserialize;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// The one field that is read. The others vary in type between copies (`hash` is a string or an integer).
#[derive(Deserialize)]
struct Row {
    content: String,
}

/// The shards of a folder in order, or the one shard that `path` is.
pub fn shards(path: &Path) -> Result<Vec<PathBuf>> {
    let is_shard = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("file-") && name.ends_with(".json.gz") && path.is_file()
    };
    if is_shard(path) {
        return Ok(vec![path.to_path_buf()]);
    }
    let entries = std::fs::read_dir(path).at("list", path)?;
    let mut shards: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| is_shard(path)).collect();
    shards.sort();
    if shards.is_empty() {
        return Err(Error::corpus(
            path,
            "there is no file-*.json.gz here, as CodeParrot-clean's shards are named",
        ));
    }
    Ok(shards)
}

/// Bytes of a row at most. Files in CodeParrot-clean have less than 1 MB; what a small shard unpacks to may
/// not fit in memory.
const LONGEST: u64 = 64 << 20;

/// The text of one row, ending in a line break.
pub fn content(line: &[u8]) -> std::result::Result<String, serde_json::Error> {
    let Row { mut content } = serde_json::from_slice(line)?;
    if !content.ends_with('\n') {
        content.push('\n');
    }
    Ok(content)
}

pub(super) fn copy<W: Write>(shards: &[PathBuf], sink: &mut Sink<W>) -> Result<()> {
    for path in shards {
        let file = BufReader::new(crate::disk::open(path).at("open", path)?);
        let mut lines = BufReader::new(flate2::bufread::MultiGzDecoder::new(file));
        let (mut line, mut number) = (Vec::new(), 0);
        loop {
            line.clear();
            let read = lines.by_ref().take(LONGEST).read_until(b'\n', &mut line).at("read", path)?;
            if read == 0 {
                break;
            }
            number += 1;
            if read as u64 == LONGEST {
                let why =
                    format!("line {number} is longer than {} MB: it is no row of CodeParrot", LONGEST >> 20);
                return Err(Error::corpus(path, why));
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            let text = content(&line).map_err(|error| {
                Error::corpus(
                    path,
                    format!("line {number} is not a JSON object with a text field `content`: {error}"),
                )
            })?;
            if !sink.take(text.as_bytes())? {
                return Ok(());
            }
        }
    }
    Ok(())
}
