//! Zarr, version 2: a folder of chunks, opened by xarray, zarr-python and others with its dimensions named.
//!
//! Chunks are raw and one window long, so a window is written once and nothing is held. Written by hand: the
//! format of raw chunks is three small JSON files, a library for all of Zarr a hundred crates.

use super::{Array, Described, Store, Workplace};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What is made, within the folder to work in.
const WHOLE: &str = "whole";

/// A folder in the making.
pub struct Zarr {
    path: PathBuf,
    folder: Workplace,
    /// Metadata of every file, for readers that want it in one.
    metadata: serde_json::Map<String, Value>,
    chunks: HashMap<&'static str, Chunk>,
}

/// Of one array.
struct Chunk {
    stretch: usize,
    /// Bytes of a whole chunk.
    bytes: usize,
    /// Dimensions after `position`; each is one chunk wide.
    trailing: usize,
}

impl Zarr {
    /// Will be at `path`, which must not be there yet.
    pub fn new(path: &Path) -> io::Result<Zarr> {
        let folder = Workplace::beside(path)?;
        fs::create_dir(folder.path().join(WHOLE))?;
        Ok(Zarr { path: path.to_path_buf(), folder, metadata: Default::default(), chunks: HashMap::new() })
    }

    /// A file or folder within the whole.
    fn place(&self, name: &str) -> PathBuf {
        self.folder.path().join(WHOLE).join(name)
    }

    fn describe(&mut self, name: &str, value: Value) -> io::Result<()> {
        fs::write(self.place(name), serde_json::to_vec_pretty(&value)?)?;
        self.metadata.insert(name.into(), value);
        Ok(())
    }
}

fn array_metadata(shape: &[usize], chunks: &[usize], kind: &str, fill: Value) -> Value {
    json!({
        "zarr_format": 2,
        "shape": shape,
        "chunks": chunks,
        "dtype": kind,
        "compressor": null,
        "filters": null,
        "fill_value": fill,
        "order": "C",
    })
}

impl Store for Zarr {
    fn path(&self) -> &Path {
        &self.path
    }

    fn create(&mut self, described: &Described<'_>) -> io::Result<()> {
        let array = described.array;
        let name = array.name();
        fs::create_dir(self.place(name))?;
        let at = array.dimensions().iter().position(|dimension| *dimension == "position").unwrap_or(0);
        let chunk: Vec<usize> = described
            .shape
            .iter()
            .enumerate()
            .map(|(i, &size)| match i {
                i if i < at => 1,
                i if i == at => described.stretch,
                _ => size.max(1),
            })
            .collect();
        let is_text = array == Array::Byte;
        // A fill value of 0 would make readers take zero bytes for missing ones.
        let (kind, fill) = if is_text { ("|u1", Value::Null) } else { ("<f4", json!("NaN")) };
        self.describe(&format!("{name}/.zarray"), array_metadata(described.shape, &chunk, kind, fill))?;
        self.describe(&format!("{name}/.zattrs"), described.attributes())?;
        let bytes = chunk.iter().product::<usize>() * described.element();
        self.chunks.insert(name, Chunk { stretch: described.stretch, bytes, trailing: chunk.len() - at - 1 });
        Ok(())
    }

    fn write(&mut self, array: Array, leading: &[usize], first: usize, bytes: &[u8]) -> io::Result<()> {
        let chunk = &self.chunks[array.name()];
        let mut place: Vec<usize> = leading.to_vec();
        place.push(first / chunk.stretch);
        place.extend(std::iter::repeat_n(0, chunk.trailing));
        let key: Vec<String> = place.iter().map(usize::to_string).collect();
        // Chunks are always whole; the last is filled up with what readers cut off.
        let mut whole = bytes.to_vec();
        whole.resize(chunk.bytes, 0);
        fs::write(self.place(array.name()).join(key.join(".")), whole)
    }

    fn coordinate(&mut self, dimension: &str, values: &[i32]) -> io::Result<()> {
        fs::create_dir(self.place(dimension))?;
        let shape = [values.len()];
        self.describe(&format!("{dimension}/.zarray"), array_metadata(&shape, &shape, "<i4", Value::Null))?;
        self.describe(&format!("{dimension}/.zattrs"), json!({ "_ARRAY_DIMENSIONS": [dimension] }))?;
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        fs::write(self.place(dimension).join("0"), bytes)
    }

    fn finish(mut self: Box<Self>, attributes: &Value) -> io::Result<()> {
        self.describe(".zgroup", json!({ "zarr_format": 2 }))?;
        self.describe(".zattrs", attributes.clone())?;
        let all = json!({ "zarr_consolidated_format": 1, "metadata": self.metadata });
        fs::write(self.place(".zmetadata"), serde_json::to_vec_pretty(&all)?)?;
        fs::rename(self.place(""), &self.path)
    }
}
