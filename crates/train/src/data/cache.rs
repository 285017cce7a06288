//! Prepared corpora: plain bytes in a cache folder beside what identifies them, memory-mapped.
//!
//! A prepared corpus is a folder with `bytes` and `corpus.json`, made beside and renamed when whole, so that
//! it is there completely or not at all. Its hash is checked every time it is opened.

use super::source::{ENWIK8_ADDRESS, ENWIK8_SHA256, PAPER_BYTES};
use super::{Identity, Source, listed, vocabulary};
use crate::disk;
use crate::error::{At, Error, Result};
use crate::hash;
use memmap2::Mmap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// `$KURAMOTO_CACHE`, or `kuramoto` in the user's cache folder.
pub fn default_cache() -> PathBuf {
    match std::env::var_os("KURAMOTO_CACHE") {
        Some(folder) if !folder.is_empty() => folder.into(),
        _ => dirs::cache_dir().unwrap_or_else(std::env::temp_dir).join("kuramoto"),
    }
}

pub(super) fn open(source: &Source, cache: &Path) -> Result<(Identity, Mmap)> {
    let key = source.fingerprint()?;
    let name =
        source.name().replace(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_' && c != '.', "_");
    let name: String = name.chars().take(100).collect();
    let folder = cache.join(format!("{name}-{}", &key[..16]));
    if !folder.exists() {
        prepare(source, &folder)?;
    }
    map(&folder)
}

/// A prepared corpus with these bytes, whatever it was prepared from; None if there is none that is good.
pub(super) fn find(sha256: &str, cache: &Path) -> Option<(Identity, Mmap)> {
    let is_it = |folder: &PathBuf| {
        let json = disk::read(&folder.join("corpus.json")).ok();
        let identity: Option<Identity> = json.and_then(|json| serde_json::from_slice(&json).ok());
        identity.is_some_and(|identity| identity.sha256 == sha256)
    };
    fs::read_dir(cache)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .filter(is_it)
        .find_map(|folder| map(&folder).ok())
}

fn prepare(source: &Source, folder: &Path) -> Result<()> {
    let beside = disk::hidden(folder, &format!("partial-{}", std::process::id()));
    fs::create_dir_all(&beside).at("create", &beside)?;
    let made = fill(source, &beside).and_then(|()| match fs::rename(&beside, folder) {
        // Another process prepared the same corpus meanwhile.
        Err(_) if folder.join("corpus.json").exists() => Ok(()),
        renamed => renamed.at("create", folder),
    });
    if beside.exists() {
        // What is half done is worth nothing; if it cannot be removed, it is not in the way either.
        fs::remove_dir_all(&beside).ok();
    }
    made
}

fn fill(source: &Source, folder: &Path) -> Result<()> {
    let path = folder.join("bytes");
    let file = File::create(&path).at("create", &path)?;
    let copied = source.copy_to(&file)?;
    let sha256 = copied.hasher.finish();
    if matches!(source, Source::Enwik8(_)) && sha256 != ENWIK8_SHA256 {
        let found = match copied.bytes {
            bytes if bytes > PAPER_BYTES => format!("more than {PAPER_BYTES} bytes"),
            bytes => format!("{bytes} bytes with sha256 {sha256}"),
        };
        return Err(Error::corpus(
            "enwik8",
            format!(
                "the file holds {found}, but enwik8 is {PAPER_BYTES} bytes with sha256 {ENWIK8_SHA256}: get \
                 it anew from {ENWIK8_ADDRESS}, or give the file another name to train on it as it is"
            ),
        ));
    }
    if copied.bytes == 0 {
        return Err(Error::corpus(source.name(), "it is empty; there is nothing to learn from"));
    }
    let vocabulary = listed(&copied.seen);
    // The opening is read off the bytes whenever they are opened.
    let identity =
        Identity { name: source.name(), bytes: copied.bytes, sha256, vocabulary, opening: Vec::new() };
    file.sync_all().at("write", &path)?;
    let path = folder.join("corpus.json");
    let json = serde_json::to_vec_pretty(&identity).expect("an identity is plain data");
    fs::write(&path, json).at("write", &path)?;
    File::open(&path).and_then(|file| file.sync_all()).at("write", &path)
}

fn map(folder: &Path) -> Result<(Identity, Mmap)> {
    let advice = format!("remove {} and run again to prepare it anew", folder.display());
    let path = folder.join("corpus.json");
    let json = disk::read(&path).at("read", &path)?;
    let identity: Identity = serde_json::from_slice(&json).map_err(|error| {
        Error::corpus(&path, format!("it does not describe a corpus ({error}): {advice}"))
    })?;
    let path = folder.join("bytes");
    let file = disk::open(&path).at("open", &path)?;
    let length = file.metadata().at("examine", &path)?.len();
    if length != identity.bytes as u64 {
        let why = format!("it has {length} bytes, but {} were prepared: {advice}", identity.bytes);
        return Err(Error::corpus(&path, why));
    }
    // SAFETY: the file is private to the cache, is never written after it was renamed into place, and its
    // length and hash have just been or are about to be checked. Whoever changes it under a running program
    // gets other bytes.
    let map = unsafe { Mmap::map(&file) }.at("map", &path)?;
    if hash::of(&map) != identity.sha256 || vocabulary(&map) != identity.vocabulary {
        return Err(Error::corpus(&path, format!("its bytes are not those that were prepared: {advice}")));
    }
    Ok((identity, map))
}
