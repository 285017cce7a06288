//! Fetching a corpus over the network, on request only.

use super::cache::remove_abandoned;
use crate::error::{At, Error, Result};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Fetches `address` into `folder` under its own name and returns the path; a file that is there already is
/// used.
pub fn download(address: &str, folder: &Path) -> Result<PathBuf> {
    let name = address.rsplit('/').next().unwrap_or_default();
    let path = folder.join(name);
    if path.exists() {
        return Ok(path);
    }
    fs::create_dir_all(folder).at("create", folder)?;
    remove_abandoned(folder);
    let failed = |error: ureq::Error| Error::corpus(address, format!("it could not be fetched: {error}"));
    let mut response = ureq::get(address).call().map_err(failed)?;
    let beside = folder.join(format!(".{name}.partial-{}", std::process::id()));
    let copied = File::create(&beside).and_then(|mut file| {
        // The system releases it when the process dies; where it cannot lock, what is left behind stays.
        file.try_lock().ok();
        io::copy(&mut response.body_mut().as_reader(), &mut file)?;
        file.sync_all()
    });
    if let Err(cause) = copied.and_then(|()| fs::rename(&beside, &path)) {
        fs::remove_file(&beside).ok();
        return Err(Error::Io { action: "fetch", path, cause });
    }
    Ok(path)
}
