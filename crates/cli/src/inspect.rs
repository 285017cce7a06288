//! Arguments shared by the commands that measure a run: which run, which checkpoint, which text.

use crate::checkpoint::Checkpoint;
use crate::chosen::{Chosen, FOR_CORPUS};
use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use kuramoto_phase::{Subject, TextSource};
use kuramoto_train::data::default_cache;
use std::path::PathBuf;
use std::str::FromStr;
use strum::VariantNames;

#[derive(clap::Args)]
pub struct Inspect {
    /// Run folder of a Kuramoto model, or shipped model [default: tales-kuramoto]
    run: Option<PathBuf>,
    /// Read this text instead of the validation split
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
    /// Windows of text, spread evenly; 0 for all of it
    #[arg(long, default_value_t = 64)]
    windows: usize,
    #[command(flatten)]
    checkpoint: Checkpoint,
    /// Location of the corpus, if it is neither in the cache nor where the run found it
    #[arg(long, value_name = "PATH")]
    data_path: Option<String>,
    /// Folder of prepared corpora
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
    /// Worker threads [default: all cores]
    #[arg(long)]
    threads: Option<usize>,
}

impl Inspect {
    pub fn threads(&self) -> Result<usize> {
        Ok(crate::threads(self.threads)?)
    }

    pub fn chosen(&self) -> Result<Chosen> {
        Chosen::new(self.run.as_deref(), FOR_CORPUS)
    }

    pub fn open(&self, chosen: &Chosen) -> Result<Subject> {
        let cache = self.cache.clone().unwrap_or_else(default_cache);
        let source = match &self.text {
            Some(path) => TextSource::File(path),
            None => TextSource::Validation { cache: &cache, data_path: self.data_path.as_deref() },
        };
        let run = chosen.open()?;
        let which = self.checkpoint.of(&run)?;
        Ok(Subject::open(run, which, source, self.windows, self.threads()?)?)
    }
}

/// Parses the name of a variant; `--help` lists them.
pub fn one_of<T>() -> impl TypedValueParser<Value = T>
where
    T: VariantNames + FromStr<Err = strum::ParseError> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(T::VARIANTS).try_map(|name| name.parse())
}

/// The paths that a command wrote, as the end of what it prints.
pub fn written(files: &[PathBuf]) -> String {
    let lines: Vec<String> = files.iter().map(|path| format!("    {}\n", path.display())).collect();
    format!("wrote\n{}", lines.concat())
}
