//! Prepared corpora: plain bytes in a cache folder beside what identifies them.
//!
//! A prepared corpus is a folder with `bytes` and `corpus.json`, made beside and renamed when whole, so that
//! it is there completely or not at all. It is read into memory, and its hash is checked, every time it is
//! opened: whatever happens to the file afterwards, the bytes are those that were proven.

use super::naming::with_its_name;
use super::source::{ENWIK8_ADDRESS, ENWIK8_SHA256, PAPER_BYTES};
use super::{Identity, Source, listed, vocabulary};
use crate::disk;
use crate::error::{At, Error, Result};
use crate::hash;
use crate::memory;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// `$KURAMOTO_CACHE`, or `kuramoto` in the user's cache folder.
pub fn default_cache() -> PathBuf {
    match std::env::var_os("KURAMOTO_CACHE") {
        Some(folder) if !folder.is_empty() => folder.into(),
        _ => dirs::cache_dir().unwrap_or_else(std::env::temp_dir).join("kuramoto"),
    }
}

pub(super) fn open(source: &Source, cache: &Path) -> Result<(Identity, Vec<u8>)> {
    let key = source.fingerprint()?;
    let name =
        source.title().replace(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_' && c != '.', "_");
    let name: String = name.chars().take(100).collect();
    let folder = cache.join(format!("{name}-{}", &key[..16]));
    if !folder.exists() {
        prepare(source, &folder)?;
    }
    let (mut identity, bytes) = read(&folder)?;
    // The same bytes may lie in folders of several names.
    identity.name = source.name(identity.bytes, identity.vocabulary.len());
    Ok((identity, bytes))
}

/// A prepared corpus with these bytes, whatever it was prepared from; None if there is none that is good.
pub(super) fn find(sha256: &str, cache: &Path) -> Option<(Identity, Vec<u8>)> {
    with_hash(sha256, cache)?.find_map(|(folder, _)| read(&folder).ok())
}

/// What identifies such a corpus, without reading its bytes.
pub(super) fn look_up(sha256: &str, cache: &Path) -> Option<Identity> {
    with_hash(sha256, cache)?.next().map(|(_, identity)| with_its_name(identity))
}

/// Prepared corpora that are said to have this hash.
fn with_hash(sha256: &str, cache: &Path) -> Option<impl Iterator<Item = (PathBuf, Identity)>> {
    let described = move |folder: PathBuf| {
        let json = disk::read(&folder.join("corpus.json")).ok()?;
        let identity: Identity = serde_json::from_slice(&json).ok()?;
        (identity.sha256 == sha256).then_some((folder, identity))
    };
    Some(fs::read_dir(cache).ok()?.flatten().filter_map(move |entry| described(entry.path())))
}

fn prepare(source: &Source, folder: &Path) -> Result<()> {
    let beside = disk::hidden(folder, &format!("partial-{}", std::process::id()));
    fs::create_dir_all(&beside).at("create", &beside)?;
    remove_abandoned(beside.parent().unwrap_or(Path::new(".")));
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

fn get_anew() -> String {
    format!("remove it and get it anew from {ENWIK8_ADDRESS}, which --download does")
}

/// Says what to do about a file of enwik8 that cannot be unpacked, wherever it was found.
fn unreadable_enwik8(source: &Source, error: Error) -> Error {
    let why = match &error {
        Error::Corpus { why, .. } => why.clone(),
        Error::Io { action: "read", cause, .. } => format!("it cannot be read: {cause}"),
        _ => return error,
    };
    match source {
        Source::Enwik8(Some(path)) => Error::corpus(path, format!("{why}; {}", get_anew())),
        _ => error,
    }
}

/// Removes what processes left that died while they prepared a corpus or fetched one: nobody holds its lock.
/// What cannot be removed is not in the way.
pub(super) fn remove_abandoned(cache: &Path) {
    let Ok(entries) = fs::read_dir(cache) else { return };
    let unlocked = |path: &Path| {
        disk::open_to_write(path, File::options().write(true)).is_ok_and(|file| file.try_lock().is_ok())
    };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if !(name.starts_with('.') && name.contains(".partial-")) {
            continue;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && unlocked(&path.join("bytes")) => fs::remove_dir_all(&path).ok(),
            Ok(kind) if kind.is_file() && unlocked(&path) => fs::remove_file(&path).ok(),
            _ => None,
        };
    }
}

fn fill(source: &Source, folder: &Path) -> Result<()> {
    let path = folder.join("bytes");
    let file = File::create(&path).at("create", &path)?;
    // The system releases it when the process dies; where it cannot lock, what is left behind stays.
    file.try_lock().ok();
    let copied = source.copy_to(&file).map_err(|error| unreadable_enwik8(source, error))?;
    let sha256 = copied.hasher.finish();
    if let Source::Enwik8(Some(path)) = source
        && sha256 != ENWIK8_SHA256
    {
        let found = match copied.bytes {
            bytes if bytes > PAPER_BYTES => format!("more than {PAPER_BYTES} bytes"),
            bytes => format!("{bytes} bytes with sha256 {sha256}"),
        };
        let why = format!(
            "it holds {found}, but enwik8 is {PAPER_BYTES} bytes with sha256 {ENWIK8_SHA256}: {}, or give the \
             file another name to train on it as it is",
            get_anew()
        );
        return Err(Error::corpus(path, why));
    }
    if copied.bytes == 0 {
        return Err(Error::corpus(source.title(), "it is empty; there is nothing to learn from"));
    }
    let vocabulary = listed(&copied.seen);
    let name = source.name(copied.bytes, vocabulary.len());
    // The opening is read off the bytes whenever they are opened.
    let identity = Identity { name, bytes: copied.bytes, sha256, vocabulary, opening: Vec::new() };
    file.sync_all().at("write", &path)?;
    let path = folder.join("corpus.json");
    let json = serde_json::to_vec_pretty(&identity).expect("an identity is plain data");
    fs::write(&path, json).at("write", &path)?;
    File::open(&path).and_then(|file| file.sync_all()).at("write", &path)
}

fn read(folder: &Path) -> Result<(Identity, Vec<u8>)> {
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
    memory::check("the corpus", length, "less text")?;
    let mut bytes = Vec::with_capacity(identity.bytes);
    // No more than that: it may be growing.
    file.take(length).read_to_end(&mut bytes).at("read", &path)?;
    if hash::of(&bytes) != identity.sha256 || vocabulary(&bytes) != identity.vocabulary {
        return Err(Error::corpus(&path, format!("its bytes are not those that were prepared: {advice}")));
    }
    Ok((with_its_name(identity), bytes))
}
