//! What the sessions of several tests need.

use std::path::Path;

/// A folder for a test, in memory where the system has such a place: small steps are saved often.
pub fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}
