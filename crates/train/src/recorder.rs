//! Writes what happens to `metrics.jsonl` and to TensorBoard's events.

use crate::disk::{Appender, Disk};
use crate::error::Result;
use crate::generate::{Sampling, default_prompt, generate};
use crate::metrics::{Rewind, Row};
use crate::run::{Run, Which};
use crate::tensorboard;
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes of a sample.
const SAMPLE: usize = 300;

/// The rows of a run.
pub(crate) const ROWS: &str = "metrics.jsonl";

/// Both files of a run.
pub(crate) struct Recorder {
    metrics: Appender,
    events: Appender,
    /// What comes before the first row of a file of events.
    hyperparameters: Vec<u8>,
    begun: bool,
}

impl Recorder {
    /// Goes on after `step`: rows in `metrics.jsonl`, a new file of events.
    pub fn resume(disk: &dyn Disk, run: &Run, step: u64, rewind: &Rewind) -> Result<Recorder> {
        let path = run.folder().join(ROWS);
        let length = rewind.apply(disk, &path)?;
        let events = run.folder().join(format!("events.out.tfevents.{:.0}.{step}", wall_time()));
        Ok(Recorder {
            metrics: Appender::new(path, length),
            events: Appender::new(events, 0),
            hyperparameters: hyperparameters(run)?,
            begun: false,
        })
    }

    /// Adds a row to both; returns what went wrong.
    pub fn add(&mut self, disk: &dyn Disk, row: &Row) -> impl Iterator<Item = String> {
        let mut events = Vec::new();
        if !std::mem::replace(&mut self.begun, true) {
            events = tensorboard::header(wall_time(), row.step);
            events.append(&mut self.hyperparameters);
        }
        events.extend(scalars(row));
        let metrics = self.metrics.add(disk, row.to_line().as_bytes());
        metrics.into_iter().chain(self.events.add(disk, &events))
    }

    /// Adds a text that the best checkpoint writes to the events of a run that ended; returns what went wrong.
    pub fn add_sample(&mut self, disk: &dyn Disk, run: &Run, step: u64) -> Option<String> {
        if !self.begun {
            return None;
        }
        let mut bytes = Vec::new();
        let sampling = Sampling { temperature: 0.8, ..Sampling::default() };
        let written =
            generate(run, Which::Best, &default_prompt(run.corpus()), SAMPLE, &sampling, &mut |byte| {
                bytes.push(byte);
                true
            });
        if let Err(error) = written {
            return Some(format!("TensorBoard gets no sample: {error}"));
        }
        // As code, so that it is shown as it is.
        let text = String::from_utf8_lossy(&bytes);
        let code: String = text.lines().map(|line| format!("    {line}\n")).collect();
        self.events.add(disk, &tensorboard::markdown(wall_time(), step, "sample", &code))
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

/// What runs are judged by.
const LOSSES: [&str; 2] = ["loss/validation_bits_per_byte", "loss/train_bits_per_byte"];

/// TensorBoard shows groups in alphabetical order, so the loss comes first.
fn scalars(row: &Row) -> Vec<u8> {
    let fixed = [
        (LOSSES[0], row.validation_bits_per_byte),
        (LOSSES[1], Some(row.train_bits_per_byte)),
        ("optimizer/gradient_norm", Some(row.gradient_norm)),
        ("optimizer/learning_rate", Some(row.learning_rate)),
        ("speed/tokens_per_second", Some(row.tokens_per_second)),
        ("speed/utilisation", row.utilisation),
    ];
    let fixed = fixed.into_iter().filter_map(|(tag, value)| Some((tag.to_string(), value?)));
    let named = row.parameters.iter().map(|(name, &value)| (format!("parameters/{name}"), value));
    tensorboard::scalars(wall_time(), row.step, fixed.chain(named))
}

/// The keys that distinguish runs, the same for every run and model.
fn hyperparameters(run: &Run) -> Result<Vec<u8>> {
    use tensorboard::Hyperparameter::{Name, Number};
    let config = run.config();
    let (model, optimizer, batch) = (&config.model, &config.optimizer, &config.batch);
    let all = [
        ("model", Name(model.kind().name().into())),
        ("corpus", Name(run.corpus().name.clone())),
        ("protocol", Name(config.protocol.to_string())),
        ("parameters", Number(model.parameters()? as f64)),
        ("width", Number(model.width() as f64)),
        ("layers", Number(model.layers() as f64)),
        ("heads", Number(model.heads() as f64)),
        ("seed", Number(config.seed as f64)),
        ("learning rate", Number(optimizer.learning_rate)),
        ("weight decay", Number(optimizer.weight_decay)),
        ("batch", Number(batch.sequences as f64)),
        ("context", Number(batch.context as f64)),
    ];
    Ok(tensorboard::hyperparameters(wall_time(), &all, &LOSSES))
}

fn wall_time() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
