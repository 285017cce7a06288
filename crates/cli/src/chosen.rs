//! Which model a command is about: a run folder, or a model that comes with the program.

use anyhow::Result;
use kuramoto_models::Shipped;
use kuramoto_train::Run;
use kuramoto_train::data::default_cache;
use std::path::{Path, PathBuf};

/// The model of commands that read a text that is given to them.
pub const FOR_TEXT: &str = "enwik8-kuramoto-1m";
/// The model of commands that read its corpus, which the program itself can generate.
pub const FOR_CORPUS: &str = "tales-kuramoto";

/// A run folder that was chosen.
pub struct Chosen {
    pub folder: PathBuf,
    shipped: Option<&'static Shipped>,
}

impl Chosen {
    /// The run folder or shipped model that was given, or else the shipped model `default`.
    pub fn new(given: Option<&Path>, default: &str) -> Result<Chosen> {
        if given.is_none() {
            crate::note(&format!("no run given: this is {default}, which comes with the program"));
        }
        let path = given.unwrap_or(Path::new(default));
        // A folder of that name is the user's own.
        let named = || path.to_str().and_then(kuramoto_models::find);
        let shipped = if given.is_some() && path.exists() { None } else { named() };
        let folder = match shipped {
            Some(model) => model.unpack(&default_cache())?,
            None => path.to_path_buf(),
        };
        Ok(Chosen { folder, shipped })
    }

    pub fn open(&self) -> Result<Run> {
        Ok(Run::open(&self.folder)?)
    }

    /// Its name in what is printed.
    pub fn name(&self) -> String {
        self.shipped.map_or_else(|| self.folder.display().to_string(), |model| model.name.into())
    }

    /// Where a command writes `what` if no other folder is given: in the run, or for a shipped model in the
    /// working folder.
    pub fn output(&self, what: &str) -> PathBuf {
        match self.shipped {
            Some(model) => format!("{}-{what}", model.name).into(),
            None => self.folder.join(what),
        }
    }
}
