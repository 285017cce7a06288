//! The runs under a few folders, and their rows.
//!
//! A run is known by its path below its folder, and only paths that a folder itself lists are ever opened:
//! what a request names is looked up in that list, never joined to a path. A run that holds a link out of its
//! folder is not in the list.

use kuramoto_train::listing::{Listed, under};
use kuramoto_train::{Row, Run, checkpoint, disk, metrics};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// How deep runs are searched for: those of a plan are two folders down.
const DEPTH: usize = 4;

#[derive(Clone, Debug)]
pub(crate) struct Catalogue {
    folders: Vec<PathBuf>,
}

/// A run in the list.
#[derive(Debug, Serialize)]
pub(crate) struct Entry {
    /// Its name in requests: the path below its folder.
    pub id: String,
    #[serde(flatten)]
    pub listed: Listed,
    /// Steps of its checkpoints, in order.
    pub checkpoints: Vec<u64>,
}

/// Rows of a run, thinned for drawing.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Rows {
    /// Bytes of the file that were read; ask from here next time.
    pub read: u64,
    /// Every row, or means over a few where there are many.
    pub steps: Vec<Step>,
    /// Rows of validations, whole.
    pub validations: Vec<Row>,
}

/// A step, or the mean of a few.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Step {
    /// The last of them.
    pub step: u64,
    /// Bits per byte of the batches.
    pub train: f64,
    /// Global norm of the gradient.
    pub gradient_norm: f64,
    /// Bytes a second.
    pub speed: f64,
    /// Share of the multiply-add peak.
    pub utilisation: Option<f64>,
    /// Bytes read so far.
    pub tokens: u64,
}

/// Steps that are sent of a run at most.
const POINTS: usize = 2000;
/// Bytes of rows that are read at a time.
const MOST: u64 = 64 << 20;

impl Catalogue {
    pub fn new(folders: &[PathBuf]) -> Catalogue {
        Catalogue { folders: folders.to_vec() }
    }

    /// Every run by its name, with its folder. Of runs of one name, the first folder's is meant.
    fn paths(&self) -> BTreeMap<String, (PathBuf, &Path)> {
        let mut found = BTreeMap::new();
        for folder in &self.folders {
            for path in under(folder, DEPTH) {
                found.entry(name(&path, folder)).or_insert((path, folder.as_path()));
            }
        }
        found
    }

    /// Every run that can be read.
    pub fn list(&self) -> Vec<Entry> {
        let entry = |(id, (path, _)): (String, (PathBuf, &Path))| {
            let mut checkpoints = checkpoint::steps(&path).ok()?;
            checkpoints.sort_unstable();
            Some(Entry { id, listed: Listed::read(&path).ok()?, checkpoints })
        };
        self.paths().into_iter().filter(|(_, (path, folder))| holds(folder, path)).filter_map(entry).collect()
    }

    pub fn find(&self, id: &str) -> Option<PathBuf> {
        self.paths().remove(id).filter(|(path, folder)| holds(folder, path)).map(|(path, _)| path)
    }

    pub fn open(&self, id: &str) -> Option<kuramoto_train::Result<Run>> {
        self.find(id).map(|path| Run::open(&path))
    }

    /// Rows of a run after the first `read` bytes of its file.
    pub fn rows(&self, id: &str, read: u64) -> Option<Rows> {
        let path = self.find(id)?.join("metrics.jsonl");
        Some(rows(&path, read).unwrap_or(Rows { read, ..Rows::default() }))
    }

    /// All rows of a run, however long their file is.
    pub fn all_rows(&self, id: &str) -> Option<Rows> {
        let mut all = self.rows(id, 0)?;
        loop {
            let more = self.rows(id, all.read)?;
            if more.read <= all.read {
                return Some(all);
            }
            all.read = more.read;
            all.steps.extend(more.steps);
            all.validations.extend(more.validations);
        }
    }
}

/// The path of a run below its folder, which may be the run itself.
fn name(run: &Path, folder: &Path) -> String {
    let below = run.strip_prefix(folder).unwrap_or(run).to_string_lossy().replace('\\', "/");
    match folder.file_name() {
        Some(name) if below.is_empty() => name.to_string_lossy().into_owned(),
        None if below.is_empty() => "run".into(),
        _ => below,
    }
}

/// True if nothing in a run leads out of its folder.
fn holds(folder: &Path, run: &Path) -> bool {
    fs::canonicalize(folder).is_ok_and(|folder| stays(run, &folder))
}

/// True if every link below `path` leads to a file in `folder`, which is canonical. A link to a folder is
/// refused wherever it leads, because what it holds was not checked.
fn stays(path: &Path, folder: &Path) -> bool {
    let stays_at = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => stays(&entry.path(), folder),
        Ok(kind) if kind.is_symlink() => {
            fs::canonicalize(entry.path()).is_ok_and(|to| to.starts_with(folder) && to.is_file())
        }
        kind => kind.is_ok(),
    };
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().all(stays_at),
        // Folders come and go while a run trains.
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

/// Whole rows after the first `read` bytes; a file that became shorter was rewound, and is read from the
/// start.
fn rows(path: &Path, read: u64) -> std::io::Result<Rows> {
    let mut file = disk::open(path)?;
    let length = file.metadata()?.len();
    let start = if read <= length { read } else { 0 };
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes)?;
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let parsed: Vec<Row> = metrics::parse(&bytes[..whole]);
    let group = parsed.len().div_ceil(POINTS).max(1);
    Ok(Rows {
        read: start + whole as u64,
        steps: parsed.chunks(group).map(mean).collect(),
        validations: parsed.into_iter().filter(|row| row.validation_bits_per_byte.is_some()).collect(),
    })
}

fn mean(rows: &[Row]) -> Step {
    let last = &rows[rows.len() - 1];
    let of = |value: fn(&Row) -> f64| rows.iter().map(value).sum::<f64>() / rows.len() as f64;
    let shares: Vec<f64> = rows.iter().filter_map(|row| row.utilisation).collect();
    Step {
        step: last.step,
        tokens: last.tokens,
        train: of(|row| row.train_bits_per_byte),
        gradient_norm: of(|row| row.gradient_norm),
        speed: of(|row| row.tokens_per_second),
        utilisation: (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(step: u64) -> String {
        Row { step, train_bits_per_byte: step as f64, ..Row::default() }.to_line()
    }

    #[test]
    fn rows_are_read_on_from_where_they_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        fs::write(&path, line(1) + &line(2) + "{\"step\": 3, \"tor").unwrap();
        let first = rows(&path, 0).unwrap();
        assert_eq!(first.steps.iter().map(|step| step.step).collect::<Vec<_>>(), [1, 2]);
        fs::write(&path, line(1) + &line(2) + &line(3)).unwrap();
        let second = rows(&path, first.read).unwrap();
        assert_eq!(second.steps.iter().map(|step| step.step).collect::<Vec<_>>(), [3]);
        // A resumed run may have been cut back.
        fs::write(&path, line(1)).unwrap();
        assert_eq!(rows(&path, second.read).unwrap().steps.len(), 1);
    }

    #[test]
    fn many_rows_become_means() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        fs::write(&path, (1..=4000).map(line).collect::<String>()).unwrap();
        let found = rows(&path, 0).unwrap();
        assert_eq!((found.steps.len(), found.steps[0].step, found.steps[0].train), (2000, 2, 1.5));
    }

    #[test]
    fn only_what_is_listed_is_found() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("runs/a")).unwrap();
        fs::write(folder.path().join("runs/a/config.toml"), "").unwrap();
        fs::write(folder.path().join("config.toml"), "").unwrap();
        let catalogue = Catalogue::new(&[folder.path().join("runs")]);
        assert!(catalogue.find("a").is_some());
        for id in ["..", "../", "a/..", "a/../..", "/etc", "", "a/", "./a", "a\0"] {
            assert!(catalogue.find(id).is_none(), "{id:?}");
        }
    }
}
