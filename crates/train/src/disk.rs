//! Every change to a run folder goes through here, so that tests can make each of them fail.

use crate::error::{At, Result};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// What the training loop does to files.
pub trait Disk: Send + Sync {
    /// Makes a folder and those above it.
    fn create_folder(&self, path: &Path) -> io::Result<()>;
    /// Makes a file of these bytes, in place of one that is there.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Adds bytes to the end of a file, which is made if it is not there.
    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Cuts a file at a length.
    fn truncate(&self, path: &Path, length: u64) -> io::Result<()>;
    /// Waits until a file or folder is safe on the medium.
    fn sync(&self, path: &Path) -> io::Result<()>;
    /// Gives a file or folder its name, in place of a file that had it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes a folder and what is in it.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;
}

/// The system's files.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Disk for System {
    fn create_folder(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        open_to_write(path, OpenOptions::new().write(true).create(true).truncate(true))?.write_all(bytes)
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        open_to_write(path, OpenOptions::new().append(true).create(true))?.write_all(bytes)
    }

    fn truncate(&self, path: &Path, length: u64) -> io::Result<()> {
        open_to_write(path, OpenOptions::new().write(true))?.set_len(length)
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        // Folders cannot be opened as files on Windows, and need no sync there.
        if cfg!(windows) && path.is_dir() {
            return Ok(());
        }
        File::open(path)?.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir_all(path)
    }
}

/// Opens a regular file to read. A pipe, socket or device in the place of a file would wait for ever.
pub fn open(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_file() { File::open(path) } else { Err(not_regular()) }
}

/// Opens a regular file to write, or makes it.
pub(crate) fn open_to_write(path: &Path, options: &OpenOptions) -> io::Result<File> {
    match fs::metadata(path) {
        Ok(there) if !there.is_file() => Err(not_regular()),
        _ => options.open(path),
    }
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")
}

/// Reads a regular file.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a regular file of text.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Writes a file so that either the old or the new one is there, whole, whatever happens.
pub fn replace(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> Result<()> {
    let beside = hidden(path, "partial");
    let written = disk.write(&beside, bytes).and_then(|()| disk.sync(&beside)).at("write", &beside);
    let renamed = written.and_then(|()| disk.rename(&beside, path).at("write", path));
    if renamed.is_err() {
        // It only takes room, which may be what is missing.
        disk.remove_file(&beside).ok();
    }
    renamed?;
    sync_parent(disk, path)
}

/// Serializes a path as text; what is not UTF-8 in it is replaced.
pub(crate) fn as_text<S: serde::Serializer>(
    path: &Path,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// Makes a name that was just given or changed in a folder last.
pub(crate) fn sync_parent(disk: &dyn Disk, path: &Path) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    disk.sync(folder).at("write", folder)
}

/// `.NAME.SUFFIX` beside `path`.
pub(crate) fn hidden(path: &Path, suffix: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{suffix}"))
}

/// Adds to the end of a file. What cannot be written, because the disk is full or the folder has become
/// read-only, waits in memory and is tried again with the next.
pub(crate) struct Appender {
    path: PathBuf,
    /// Bytes of the file that are good.
    length: u64,
    waiting: Vec<u8>,
    failing: bool,
}

/// Bytes that wait at most.
const MOST_WAITING: usize = 64 << 20;

impl Appender {
    /// To a file of this length.
    pub fn new(path: PathBuf, length: u64) -> Appender {
        Appender { path, length, waiting: Vec::new(), failing: false }
    }

    /// Adds bytes; on the first of several failures says why.
    pub fn add(&mut self, disk: &dyn Disk, bytes: &[u8]) -> Option<String> {
        if self.waiting.len() + bytes.len() <= MOST_WAITING {
            self.waiting.extend_from_slice(bytes);
        }
        // What a failed attempt left behind is half a piece.
        let cleared = if self.failing { disk.truncate(&self.path, self.length) } else { Ok(()) };
        match cleared.and_then(|()| disk.append(&self.path, &self.waiting)) {
            Ok(()) => {
                self.length += self.waiting.len() as u64;
                self.waiting.clear();
                self.failing = false;
                None
            }
            Err(error) => {
                let first = !std::mem::replace(&mut self.failing, true);
                first.then(|| {
                    format!(
                        "cannot write {}: {error}; what belongs there waits in memory",
                        self.path.display()
                    )
                })
            }
        }
    }

    /// True if all is written.
    pub fn is_done(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Waits until all that was added is safe; an error if some of it still waits.
    pub fn sync(&self, disk: &dyn Disk) -> Result<()> {
        if !self.is_done() {
            return Err(io::Error::from(io::ErrorKind::StorageFull)).at("write", &self.path);
        }
        // Before the first row there is no file.
        if self.length == 0 { Ok(()) } else { disk.sync(&self.path).at("write", &self.path) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_replaced_leaves_nothing_beside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("last");
        fs::create_dir(&path).unwrap();
        assert!(replace(&System, &path, b"step-1").unwrap_err().to_string().contains("last"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
