//! What people write about a run: a note and tags, in `notes.json` of its folder.

use crate::disk::{self, Disk};
use crate::error::{Error, Result};
use crate::run::Run;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;

const FILE: &str = "notes.json";

/// A note and tags.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notes {
    /// Free text; empty for none.
    #[serde(default)]
    pub note: String,
    /// In order.
    #[serde(default)]
    pub tags: BTreeSet<String>,
}

impl Run {
    /// What was written about it. A file that does not hold notes is an error: it would be lost when notes are
    /// saved.
    pub fn notes(&self) -> Result<Notes> {
        let path = self.folder().join(FILE);
        match disk::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| Error::run(path, format!("it holds no notes ({error}): move it away"))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Notes::default()),
            Err(cause) => Err(Error::Io { action: "read", path, cause }),
        }
    }

    /// Saves what is written about it.
    pub fn save_notes(&self, disk: &dyn Disk, notes: &Notes) -> Result<()> {
        let json = serde_json::to_vec_pretty(notes).expect("notes are plain data");
        disk::replace(disk, &self.folder().join(FILE), &json)
    }

    /// Removes the folder and all that is in it; refused while a process trains it.
    pub fn remove(self) -> Result<()> {
        let Some(lock) = self.lock()? else {
            return Err(Error::run(self.folder(), "a process is training this run: stop it first"));
        };
        let removed = fs::remove_dir_all(self.folder());
        drop(lock);
        removed.map_err(|cause| Error::Io { action: "remove", path: self.folder().to_path_buf(), cause })
    }
}
