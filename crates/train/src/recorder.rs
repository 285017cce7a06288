//! Writes what happens to `metrics.jsonl` and to TensorBoard's events.

use crate::disk::{Appender, Disk};
use crate::error::Result;
use crate::metrics::{Rewind, Row};
use crate::tensorboard;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The rows of a run.
pub(crate) const ROWS: &str = "metrics.jsonl";

/// Both files of a run.
pub(crate) struct Recorder {
    metrics: Appender,
    events: Appender,
    begun: bool,
}

impl Recorder {
    /// Goes on after `step`: rows in `metrics.jsonl`, a new file of events.
    pub fn resume(disk: &dyn Disk, run: &Path, step: u64, rewind: &Rewind) -> Result<Recorder> {
        let path = run.join(ROWS);
        let length = rewind.apply(disk, &path)?;
        let events = run.join(format!("events.out.tfevents.{:.0}.{step}", wall_time()));
        Ok(Recorder { metrics: Appender::new(path, length), events: Appender::new(events, 0), begun: false })
    }

    /// Adds a row to both; returns what went wrong.
    pub fn add(&mut self, disk: &dyn Disk, row: &Row) -> impl Iterator<Item = String> {
        let mut events = Vec::new();
        if !std::mem::replace(&mut self.begun, true) {
            events = tensorboard::header(wall_time(), row.step);
        }
        events.extend(scalars(row));
        let metrics = self.metrics.add(disk, row.to_line().as_bytes());
        metrics.into_iter().chain(self.events.add(disk, &events))
    }

    /// Waits until all rows are safe.
    pub fn sync(&self, disk: &dyn Disk) -> Result<()> {
        self.metrics.sync(disk)
    }

    /// True if all rows are written.
    pub fn is_done(&self) -> bool {
        self.metrics.is_done()
    }
}

fn scalars(row: &Row) -> Vec<u8> {
    let fixed = [
        ("train/bits_per_byte", Some(row.train_bits_per_byte)),
        ("train/gradient_norm", Some(row.gradient_norm)),
        ("train/learning_rate", Some(row.learning_rate)),
        ("speed/tokens_per_second", Some(row.tokens_per_second)),
        ("speed/utilisation", row.utilisation),
        ("validation/bits_per_byte", row.validation_bits_per_byte),
    ];
    let fixed = fixed.into_iter().filter_map(|(tag, value)| Some((tag.to_string(), value?)));
    let named = row.parameters.iter().map(|(name, &value)| (format!("parameters/{name}"), value));
    tensorboard::scalars(wall_time(), row.step, fixed.chain(named))
}

fn wall_time() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
