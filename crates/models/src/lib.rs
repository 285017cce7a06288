//! Trained models that come with the program, so that there is something to look at before anything was
//! trained.
//!
//! Each is a published run (see [`kuramoto_train::publish`]) in `trained/`, with its configuration, scores,
//! hashes and a model card. They are compiled in, and unpacked into a folder of the cache when they are used:
//! from there on a shipped model is a run folder like any other.
//!
//! ```
//! use kuramoto_train::{Run, Which};
//!
//! # fn main() -> kuramoto_train::Result<()> {
//! # let cache = tempfile::tempdir().unwrap();
//! # let cache = cache.path();
//! let model = kuramoto_models::find("tales-kuramoto").unwrap();
//! let run = Run::open(&model.unpack(cache)?)?;
//! let (weights, _) = run.kuramoto(Which::Best)?;
//! assert_eq!(weights.network().config().layers, 3);
//! # Ok(())
//! # }
//! ```

use kuramoto_train::{Error, Result, Summary, disk};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A model that comes with the program.
#[derive(Debug)]
pub struct Shipped {
    /// Its name on the command line.
    pub name: &'static str,
    /// Paths below its folder, and what they hold.
    files: &'static [(&'static str, &'static [u8])],
}

macro_rules! shipped {
    ($name:literal, $step:literal) => {
        shipped!($name, [
            "config.toml" "corpus.json" "metrics.jsonl" "summary.json" "best" "last" "README.md"
        ], $step, ["model.safetensors" "config.json" "state.json" "manifest.json"])
    };
    ($name:literal, [$($file:literal)*], $step:literal, [$($part:literal)*]) => {
        Shipped {
            name: $name,
            files: &[
                $(($file, include_bytes!(concat!("../trained/", $name, "/", $file))),)*
                $((
                    concat!("checkpoints/", $step, "/", $part),
                    include_bytes!(concat!("../trained/", $name, "/checkpoints/", $step, "/", $part)),
                ),)*
            ],
        }
    };
}

static MODELS: [Shipped; 3] = [
    shipped!("enwik8-kuramoto-1m", "step-5493"),
    shipped!("enwik8-transformer-1m", "step-5493"),
    shipped!("tales-kuramoto", "step-1400"),
];

/// Every shipped model.
pub fn all() -> &'static [Shipped] {
    &MODELS
}

/// The model of that name.
pub fn find(name: &str) -> Option<&'static Shipped> {
    MODELS.iter().find(|model| model.name == name)
}

/// Unpacks every model into one folder, and returns it.
pub fn unpack_all(cache: &Path) -> Result<PathBuf> {
    for model in &MODELS {
        model.unpack(cache)?;
    }
    Ok(folder(cache))
}

fn folder(cache: &Path) -> PathBuf {
    // Another version may ship other weights under the same name.
    cache.join(concat!("models-", env!("CARGO_PKG_VERSION")))
}

impl Shipped {
    /// What training it came to.
    pub fn summary(&self) -> Summary {
        let (_, json) = self.files.iter().find(|(path, _)| *path == "summary.json").expect("in every model");
        serde_json::from_slice(json).expect("written by this program")
    }

    /// Bytes of its files.
    pub fn bytes(&self) -> usize {
        self.files.iter().map(|(_, bytes)| bytes.len()).sum()
    }

    /// Its run folder in `cache`. A file that is missing there, or that was changed, is written again.
    pub fn unpack(&self, cache: &Path) -> Result<PathBuf> {
        let folder = folder(cache).join(self.name);
        for (path, bytes) in self.files {
            let path = folder.join(path);
            if !disk::read(&path).is_ok_and(|there| there == *bytes) {
                write(&path, bytes).map_err(|cause| Error::Io { action: "write", path, cause })?;
            }
        }
        Ok(folder)
    }
}

/// Writes a file beside and renames it, under a name that no other process uses.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = path.with_extension(format!("partial-{}", std::process::id()));
    fs::write(&beside, bytes)?;
    fs::rename(&beside, path)
}
