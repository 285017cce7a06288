//! A tiny run, and a disk that fails on purpose.

#![allow(dead_code)]

use kuramoto_engine::Cpu;
use kuramoto_model::with_network;
use kuramoto_train::data::Source;
use kuramoto_train::disk::{Disk, System};
use kuramoto_train::{Config, Corpus, Observer, Overlay, Result, Row, Run, Session, Setting, State, Summary};
use kuramoto_train::{checkpoint, metrics};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub const TINY: &str = r#"
seed = 5
length = { steps = 12 }
data.bytes = 30000
batch = { sequences = 5, context = 24, lanes = 4 }
optimizer = { learning-rate = 0.01, warmup = 3 }
validation = { every = 4, windows = 20 }
checkpoints = { every = 3 }
model = { width = 8, layers = 2, heads = 2, dropout = 0.2 }
"#;

/// A folder for a test, in memory where the system has such a place: hundreds of runs sync thousands of
/// files.
pub fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

/// The tiny configuration with changes laid over it, and its corpus.
pub fn tiny(changes: &str) -> (Config, Arc<Corpus>) {
    let overlays = [Overlay::parse("tiny", TINY).unwrap(), Overlay::parse("changes", changes).unwrap()];
    let mut config = Config::from_overlays(&overlays).unwrap();
    let corpus =
        Corpus::open(&Source::find("tales", "", config.data.bytes).unwrap(), Path::new("unused")).unwrap();
    config.resolve(corpus.identity()).unwrap();
    (config, Arc::new(corpus))
}

/// Trains a new run in `folder`.
pub fn train_new(changes: &str, folder: &Path, threads: usize) -> Summary {
    let (config, corpus) = tiny(changes);
    let run = Run::create(&System, folder, &config, corpus.identity()).unwrap();
    train(&run, &corpus, &System, threads, &mut ()).unwrap()
}

/// Trains a run from where it is.
pub fn train(
    run: &Run,
    corpus: &Arc<Corpus>,
    disk: &dyn Disk,
    threads: usize,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    let device = Cpu::new(threads);
    let setting = Setting { disk, ..Setting::new(&device) };
    Session::open(run.clone(), corpus.clone(), setting)?.expect("no other process trains it").train(observer)
}

/// Everything of a run that must be the same bits in every repetition.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    parameters: Vec<u32>,
    first: Vec<u32>,
    second: Vec<u32>,
    state: State,
    rows: Vec<Row>,
    best: String,
}

pub fn outcome(folder: &Path) -> Outcome {
    let run = Run::open(folder).unwrap();
    let layout = layout(&run);
    let last = std::fs::read_to_string(folder.join("last")).unwrap();
    let step = last.trim().strip_prefix("step-").unwrap().parse().unwrap();
    let loaded = checkpoint::load(&checkpoint::folder(folder, step), &run, &layout, true).unwrap();
    let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let mut rows = metrics::read(&folder.join("metrics.jsonl")).unwrap();
    rows.iter_mut().for_each(|row| (row.seconds, row.tokens_per_second) = (0.0, 0.0));
    Outcome {
        parameters: bits(&loaded.parameters),
        first: bits(&loaded.moments.0),
        second: bits(&loaded.moments.1),
        state: State { seconds: 0.0, ..loaded.state },
        rows,
        best: std::fs::read_to_string(folder.join("best")).unwrap(),
    }
}

pub fn layout(run: &Run) -> kuramoto_model::Layout {
    let layout =
        || -> Result<_> { Ok(with_network!(&run.config().model, 8, |network| network.layout().clone())) };
    layout().unwrap()
}

/// Asks to stop after so many steps.
pub struct StopAfter(pub u64);

impl Observer for StopAfter {
    fn step(&mut self, _: &Row, _: &State) {
        self.0 = self.0.saturating_sub(1);
    }

    fn stop(&mut self) -> bool {
        self.0 == 0
    }
}

/// Asks to stop in the middle of the `nth` stretch of work of that kind, such as the second validation.
pub struct StopWhile {
    pub busy: &'static str,
    pub nth: usize,
    pub now: bool,
}

impl StopWhile {
    pub fn new(busy: &'static str, nth: usize) -> StopWhile {
        StopWhile { busy, nth, now: false }
    }
}

impl Observer for StopWhile {
    fn busy(&mut self, with: &str) {
        if with == self.busy {
            self.nth -= 1;
            self.now = self.nth == 0;
        }
    }

    fn step(&mut self, _: &Row, _: &State) {
        assert!(!self.now, "it was asked to stop before this step was done");
    }

    fn stop(&mut self) -> bool {
        self.now
    }
}

/// Collects warnings, and stops when the disk is dead.
#[derive(Default)]
pub struct Watch<'a> {
    pub warnings: Vec<String>,
    pub disk: Option<&'a Faulty>,
}

impl Observer for Watch<'_> {
    fn warning(&mut self, text: &str) {
        self.warnings.push(text.into());
    }

    fn stop(&mut self) -> bool {
        self.disk.is_some_and(|disk| disk.is_dead())
    }
}

/// Works until operation `from`, counted over all operations; fails `length` of them; then works again.
pub struct Faulty {
    done: AtomicUsize,
    from: usize,
    length: usize,
}

impl Faulty {
    pub fn new(from: usize, length: usize) -> Faulty {
        Faulty { done: AtomicUsize::new(0), from, length }
    }

    /// Operations so far.
    pub fn count(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    /// True if it failed and will not work again.
    pub fn is_dead(&self) -> bool {
        self.length == usize::MAX && self.count() > self.from
    }

    fn fails(&self) -> bool {
        let at = self.done.fetch_add(1, Ordering::Relaxed);
        at >= self.from && at - self.from < self.length
    }

    fn run(&self, operation: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        if self.fails() { Err(io::Error::from(io::ErrorKind::StorageFull)) } else { operation() }
    }
}

impl Disk for Faulty {
    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.run(|| System.create_folder(path))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if self.fails() {
            // Half of it is there, as after a crash or on a disk that has just become full.
            System.write(path, &bytes[..bytes.len() / 2]).ok();
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        System.write(path, bytes)
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if self.fails() {
            System.append(path, &bytes[..bytes.len() / 2]).ok();
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        System.append(path, bytes)
    }

    fn truncate(&self, path: &Path, length: u64) -> io::Result<()> {
        self.run(|| System.truncate(path, length))
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        self.run(|| System.sync(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.run(|| System.rename(from, to))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.run(|| System.remove_file(path))
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        if self.fails() {
            // One file is gone.
            if let Some(entry) = std::fs::read_dir(path).ok().and_then(|mut entries| entries.next()) {
                std::fs::remove_file(entry?.path()).ok();
            }
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        System.remove_folder(path)
    }
}

/// Training loss, gradient norm and validation of every row.
pub fn outcome_curve(folder: &Path) -> Vec<f64> {
    let rows = metrics::read(&folder.join("metrics.jsonl")).unwrap();
    let numbers =
        |row: Row| [Some(row.train_bits_per_byte), Some(row.gradient_norm), row.validation_bits_per_byte];
    rows.into_iter().flat_map(numbers).flatten().collect()
}
