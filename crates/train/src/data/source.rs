//! Where the bytes of a corpus come from.

use super::codeparrot;
use super::tales;
use crate::disk;
use crate::error::{At, Error, Result};
use crate::hash::Hasher;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes of enwik8 and of the paper's part of CodeParrot.
pub const PAPER_BYTES: usize = 100_000_000;
/// Of the decompressed enwik8.
pub const ENWIK8_SHA256: &str = "2b49720ec4d78c3c9fabaee6e4179a5e997302b3a70029f30f2d582218c024a8";
/// Where enwik8 is published.
pub const ENWIK8_ADDRESS: &str = "http://mattmahoney.net/dc/enwik8.zip";

/// Where a corpus comes from. Files ending in .gz, .xz or .zip are decompressed (the members of a zip one
/// after the other); everything else is taken as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Generated.
    Tales {
        /// Which endless text.
        seed: u64,
        /// How much of it.
        bytes: usize,
    },
    /// The first 10^8 bytes of the English Wikipedia dump of 2006-03-03; without a file it must be in the
    /// cache.
    Enwik8(Option<PathBuf>),
    /// Shards of CodeParrot-clean, see [`codeparrot`].
    Codeparrot {
        /// As the user named it.
        root: PathBuf,
        /// In order.
        shards: Vec<PathBuf>,
        /// Cut here; 0 for 10^8.
        bytes: usize,
    },
    /// A file, or every file of a folder one after the other, in order of their paths.
    Files {
        /// As the user named it.
        root: PathBuf,
        /// In order.
        files: Vec<PathBuf>,
        /// Cut here; 0 for all.
        bytes: usize,
    },
}

impl Source {
    /// Understands what a user named: `tales`, `enwik8`, `codeparrot`, or a file or folder. `path` says where
    /// a named corpus lies; `bytes` cuts it, 0 for its usual length.
    pub fn find(corpus: &str, path: &str, bytes: usize) -> Result<Source> {
        if !path.is_empty() && !matches!(corpus, "enwik8" | "codeparrot") {
            let allowed = format!(
                "it says where enwik8 or codeparrot is, and the corpus is {corpus:?}: choose one of them with \
                 --data, or give a file or folder of your own as --data itself"
            );
            return Err(Error::setting("data.path", format!("{path:?}"), allowed));
        }
        let path = (!path.is_empty()).then(|| PathBuf::from(path));
        match corpus {
            "tales" => {
                Ok(Source::Tales { seed: tales::SEED, bytes: if bytes == 0 { tales::BYTES } else { bytes } })
            }
            "enwik8" if bytes != 0 => Err(Error::setting(
                "data.bytes",
                bytes,
                "enwik8 is whole or not enwik8: train on less of it with --tokens, or name a file with \
                 --data",
            )),
            "enwik8" => Ok(Source::Enwik8(path.or_else(enwik8_nearby))),
            "codeparrot" => match path {
                None => Err(Error::corpus(
                    corpus,
                    "say where its shards are with --data-path FOLDER (files named file-*.json.gz, as \
                     published)",
                )),
                Some(root) => {
                    let shards = codeparrot::shards(&root)?;
                    Ok(Source::Codeparrot { root, shards, bytes })
                }
            },
            _ => Source::at(&PathBuf::from(corpus), bytes),
        }
    }

    /// True for the corpora that have names.
    pub fn is_name(corpus: &str) -> bool {
        matches!(corpus, "tales" | "enwik8" | "codeparrot")
    }

    /// A file or folder by its path; CodeParrot's shards and a file named enwik8 are recognised.
    fn at(path: &Path, bytes: usize) -> Result<Source> {
        if path.as_os_str().is_empty() {
            return Err(Error::Setting {
                key: "data.corpus".into(),
                value: "\"\"".into(),
                allowed: "name tales, enwik8, codeparrot, or a file or folder".into(),
            });
        }
        let metadata = std::fs::metadata(path).map_err(|error| {
            Error::corpus(
                path,
                format!("{error}; name tales, enwik8, codeparrot, or a file or folder that exists"),
            )
        })?;
        if let Ok(shards) = codeparrot::shards(path) {
            return Ok(Source::Codeparrot { root: path.to_path_buf(), shards, bytes });
        }
        if !metadata.is_dir() && !metadata.is_file() {
            return Err(Error::corpus(
                path,
                "it is neither a file nor a folder: save what it gives to a file first",
            ));
        }
        if !metadata.is_dir() {
            let stem = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().split('.').next();
            if stem == Some("enwik8") && bytes == 0 {
                return Ok(Source::Enwik8(Some(path.to_path_buf())));
            }
            return Ok(Source::Files { root: path.to_path_buf(), files: vec![path.to_path_buf()], bytes });
        }
        let mut files = Vec::new();
        list(path, &mut files)?;
        if files.is_empty() {
            return Err(Error::corpus(path, "there is no file in this folder (hidden ones do not count)"));
        }
        Ok(Source::Files { root: path.to_path_buf(), files, bytes })
    }

    /// What a folder of files holds; None for any other source.
    pub fn survey(&self) -> Result<Option<Survey>> {
        let Source::Files { root, files, .. } = self else { return Ok(None) };
        if !root.is_dir() {
            return Ok(None);
        }
        let mut survey = Survey { files: files.len(), bytes: 0, binary: Vec::new() };
        let mut start = Vec::new();
        for path in files {
            let file = disk::open(path).at("open", path)?;
            survey.bytes += file.metadata().at("examine", path)?.len();
            start.clear();
            file.take(PROBE).read_to_end(&mut start).at("read", path)?;
            let compressed = matches!(path.extension().and_then(|e| e.to_str()), Some("gz" | "xz" | "zip"));
            if !compressed && start.contains(&0) {
                survey.binary.push(path.clone());
            }
        }
        Ok(Some(survey))
    }

    fn limit(&self) -> usize {
        match *self {
            Source::Tales { bytes, .. } => bytes,
            // One more, so that a longer file is not taken for enwik8.
            Source::Enwik8(_) => PAPER_BYTES + 1,
            Source::Codeparrot { bytes: 0, .. } => PAPER_BYTES,
            Source::Files { bytes: 0, .. } => usize::MAX,
            Source::Codeparrot { bytes, .. } | Source::Files { bytes, .. } => bytes,
        }
    }

    /// Changes whenever the corpus would: a hash of the rule and of every file that goes into it.
    pub(super) fn fingerprint(&self) -> Result<String> {
        let mut hasher = Hasher::default();
        let files: &[PathBuf] = match self {
            Source::Tales { .. } => &[],
            Source::Enwik8(_) => return Ok(ENWIK8_SHA256.into()),
            Source::Codeparrot { shards, .. } => shards,
            Source::Files { files, .. } => files,
        };
        hasher.update(format!("{} {}", self.title(), self.limit()).as_bytes());
        let mut buffer = vec![0; 1 << 16];
        for path in files {
            let mut file = disk::open(path).at("open", path)?;
            // Names decide what is decompressed; lengths keep two files from being taken for one.
            hasher.update(path.extension().unwrap_or_default().as_encoded_bytes());
            hasher.update(&file.metadata().at("examine", path)?.len().to_le_bytes());
            loop {
                match file.read(&mut buffer).at("read", path)? {
                    0 => break,
                    n => hasher.update(&buffer[..n]),
                }
            }
        }
        Ok(hasher.finish())
    }

    /// Writes the corpus.
    pub(super) fn copy_to(&self, out: impl Write) -> Result<Copied> {
        let mut sink = Sink { out: BufWriter::new(out), left: self.limit(), copied: Copied::default() };
        match self {
            Source::Tales { .. } => unreachable!("tales are generated, not copied"),
            Source::Enwik8(None) => {
                return Err(Error::corpus(
                    "enwik8",
                    format!(
                        "it is not prepared yet: say where it is with --data-path FILE (raw, .gz, .xz or \
                         .zip), or add --download to fetch it from {ENWIK8_ADDRESS}"
                    ),
                ));
            }
            Source::Enwik8(Some(path)) => copy_file(path, &mut sink)?,
            Source::Codeparrot { shards, .. } => codeparrot::copy(shards, &mut sink)?,
            Source::Files { files, .. } => {
                for path in files {
                    copy_file(path, &mut sink)?;
                }
            }
        }
        sink.out.flush().at("write", Path::new("the prepared corpus"))?;
        Ok(sink.copied)
    }
}

/// What a folder of files holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// How many files.
    pub files: usize,
    /// As they are on disk, compressed or not.
    pub bytes: u64,
    /// Those that hold a zero byte near their start, which text does not.
    pub binary: Vec<PathBuf>,
}

/// Bytes of a file that are searched for a zero byte.
const PROBE: u64 = 8 << 10;

/// enwik8 where people put it: the working folder or its `data` folder.
fn enwik8_nearby() -> Option<PathBuf> {
    let names = ["enwik8", "enwik8.xz", "enwik8.gz", "enwik8.zip"];
    names
        .iter()
        .flat_map(|name| [PathBuf::from(name), Path::new("data").join(name)])
        .find(|path| path.is_file())
}

/// Every file under `folder`, in byte order of their paths; hidden ones and links are passed over.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let mut entries = std::fs::read_dir(folder)
        .and_then(|entries| entries.collect::<io::Result<Vec<_>>>())
        .at("list", folder)?;
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type().at("examine", folder)?);
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if kind.is_dir() {
            list(&path, files)?;
        } else if kind.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

/// What was learned about bytes while they were written.
pub(super) struct Copied {
    pub hasher: Hasher,
    pub seen: [bool; 256],
    pub bytes: usize,
}

impl Default for Copied {
    fn default() -> Self {
        Copied { hasher: Hasher::default(), seen: [false; 256], bytes: 0 }
    }
}

/// Takes bytes up to a limit.
pub(super) struct Sink<W: Write> {
    out: BufWriter<W>,
    left: usize,
    copied: Copied,
}

impl<W: Write> Sink<W> {
    /// Takes bytes; false when no more are wanted.
    pub fn take(&mut self, bytes: &[u8]) -> Result<bool> {
        let bytes = &bytes[..bytes.len().min(self.left)];
        self.out.write_all(bytes).at("write", Path::new("the prepared corpus"))?;
        self.copied.hasher.update(bytes);
        bytes.iter().for_each(|&byte| self.copied.seen[usize::from(byte)] = true);
        self.copied.bytes += bytes.len();
        self.left -= bytes.len();
        Ok(self.left > 0)
    }
}

fn copy_file<W: Write>(path: &Path, sink: &mut Sink<W>) -> Result<()> {
    let file = BufReader::new(disk::open(path).at("open", path)?);
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("gz") => copy_reader(path, flate2::bufread::MultiGzDecoder::new(file), sink),
        Some("xz") => copy_reader(path, lzma_rust2::XzReader::new(file, true), sink),
        Some("zip") => {
            let bad = |error: zip::result::ZipError| {
                Error::corpus(path, format!("it is not a readable zip: {error}"))
            };
            let mut archive = zip::ZipArchive::new(file).map_err(bad)?;
            for member in 0..archive.len() {
                copy_reader(path, archive.by_index(member).map_err(bad)?, sink)?;
            }
            Ok(())
        }
        _ => copy_reader(path, file, sink),
    }
}

fn copy_reader<W: Write>(path: &Path, mut reader: impl Read, sink: &mut Sink<W>) -> Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match reader.read(&mut buffer).at("read", path)? {
            0 => return Ok(()),
            n if !sink.take(&buffer[..n])? => return Ok(()),
            _ => {}
        }
    }
}
