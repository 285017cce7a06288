//! What runs there are, as far as their files tell.

use crate::difference::Keys;
use crate::disk;
use crate::error::Result;
use crate::metrics::{self, Glance};
use crate::notes::Notes;
use crate::presets::{Preset, Protocol};
use crate::run::Run;
use chrono::{DateTime, Utc};
use serde::Serialize;
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// One run.
#[derive(Clone, Debug, Serialize)]
pub struct Listed {
    /// Its folder.
    #[serde(serialize_with = "disk::as_text")]
    pub run: PathBuf,
    /// `training`, `finished`, `stopped early`, `interrupted`, `not finite from step N` or `broken off`.
    pub status: String,
    /// `kuramoto` or `transformer`.
    pub model: &'static str,
    /// The corpus.
    pub corpus: String,
    /// Exact count.
    pub parameters: usize,
    /// Its seed.
    pub seed: u64,
    /// When it was started, as its files say: UTC, RFC 3339.
    pub started: Option<String>,
    /// What its configuration started from.
    pub preset: Preset,
    /// Its recipe.
    pub protocol: Protocol,
    /// Rows of the ablation table that its model is switched by.
    pub ablations: Vec<&'static str>,
    /// Keys of its configuration that are not as the preset has them.
    pub changes: Keys,
    /// The ablations and changes in a line.
    pub changes_in_words: String,
    /// What was written about it.
    #[serde(flatten)]
    pub notes: Notes,
    /// Of its corpus.
    pub corpus_sha256: String,
    /// Steps taken.
    pub steps: u64,
    /// Bytes read.
    pub tokens: u64,
    /// The best so far.
    pub validation_bits_per_byte: Option<f64>,
    /// Fewest that were possible, where that is known.
    pub floor_bits_per_byte: Option<f64>,
    /// Of the test split, where it was asked for.
    pub test_bits_per_byte: Option<f64>,
}

impl Listed {
    /// From the files of a run folder.
    pub fn read(folder: &Path) -> Result<Listed> {
        let run = Run::open(folder)?;
        let config = run.config();
        let training = run.is_training();
        // A run that goes on after an old summary is described by its rows.
        let summary = run.summary().filter(|_| !training);
        let rows = match (&summary, disk::open(&folder.join("metrics.jsonl"))) {
            (None, Ok(file)) => metrics::glance(BufReader::with_capacity(1 << 18, file)),
            _ => Glance::default(),
        };
        let (last, best) = (rows.last.as_ref(), rows.best);
        Ok(Listed {
            status: match &summary {
                _ if training => "training".into(),
                Some(summary) => summary.ended_in_words(),
                None => "broken off".into(),
            },
            model: config.model.kind().name(),
            corpus: run.corpus().name.clone(),
            parameters: config.model.parameters()?,
            seed: config.seed,
            started: started(folder),
            preset: config.preset,
            protocol: config.protocol,
            ablations: config.model.ablations(),
            changes: config.changes(),
            changes_in_words: config.changes_in_words(),
            // Notes that cannot be read are an error for those who write them.
            notes: run.notes().unwrap_or_default(),
            corpus_sha256: run.corpus().sha256.clone(),
            steps: summary.as_ref().map_or_else(|| last.map_or(0, |row| row.step), |summary| summary.steps),
            tokens: summary
                .as_ref()
                .map_or_else(|| last.map_or(0, |row| row.tokens), |summary| summary.tokens),
            validation_bits_per_byte: summary
                .as_ref()
                .map_or(best, |summary| summary.validation_bits_per_byte),
            floor_bits_per_byte: summary.as_ref().map_or_else(
                || rows.first.as_ref().and_then(|row| row.floor_bits_per_byte),
                |summary| summary.floor_bits_per_byte,
            ),
            test_bits_per_byte: summary.as_ref().and_then(|summary| summary.test_bits_per_byte),
            run: folder.to_path_buf(),
        })
    }
}

/// When a run was started, from the name of its first file of events, which a copy of the run keeps. A
/// published model has none.
fn started(folder: &Path) -> Option<String> {
    let seconds = |entry: fs::DirEntry| -> Option<i64> {
        let name = entry.file_name();
        name.to_str()?.strip_prefix("events.out.tfevents.")?.split('.').next()?.parse().ok()
    };
    let first = fs::read_dir(folder).ok()?.flatten().filter_map(seconds).min()?;
    Some(DateTime::<Utc>::from_timestamp(first, 0)?.format("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// Every run folder at or below `folder`, at most `depth` folders down, in order of their paths. Links are
/// not followed.
pub fn under(folder: &Path, depth: usize) -> Vec<PathBuf> {
    if folder.join("config.toml").is_file() {
        return vec![folder.to_path_buf()];
    }
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let is_folder = |entry: &fs::DirEntry| depth > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir());
    let mut inside: Vec<PathBuf> = entries.flatten().filter(is_folder).map(|entry| entry.path()).collect();
    inside.sort();
    inside.iter().flat_map(|folder| under(folder, depth - 1)).collect()
}
