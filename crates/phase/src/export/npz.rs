//! NumPy's `.npz`: an uncompressed archive of `.npy` files.
//!
//! Arrays are filled out of order (every window adds to every layer), so each is first a file of its own
//! beside the archive, written in place, and packed at the end.

use super::{Array, Described, Store, Workplace, strides};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use zip::write::SimpleFileOptions;

/// An archive in the making.
pub struct Npz {
    path: PathBuf,
    folder: Workplace,
    arrays: Vec<(Array, File, Place)>,
    found: HashMap<&'static str, usize>,
    /// Whole files, which are small.
    coordinates: Vec<(String, Vec<u8>)>,
}

/// Where elements lie in a file.
struct Place {
    header: usize,
    leading: Vec<usize>,
    within: usize,
    element: usize,
}

impl Npz {
    /// Will be at `path`, which must not be there yet.
    pub fn new(path: &Path) -> io::Result<Npz> {
        Ok(Npz {
            path: path.to_path_buf(),
            folder: Workplace::beside(path)?,
            arrays: Vec::new(),
            found: HashMap::new(),
            coordinates: Vec::new(),
        })
    }
}

/// The header of a `.npy` file of version 1: padded so that the data begins at a multiple of 64.
fn header(kind: &str, shape: &[usize]) -> Vec<u8> {
    let shape: String = shape.iter().map(|size| format!("{size}, ")).collect();
    let mut text =
        format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({}), }}", shape.trim_end());
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes
}

impl Store for Npz {
    fn path(&self) -> &Path {
        &self.path
    }

    fn create(&mut self, described: &Described<'_>) -> io::Result<()> {
        let array = described.array;
        let mut file = File::create_new(self.folder.path().join(array.name()))?;
        let header = header(if array == Array::Byte { "|u1" } else { "<f4" }, described.shape);
        file.write_all(&header)?;
        let elements: usize = described.shape.iter().product();
        file.set_len((header.len() + elements * described.element()) as u64)?;
        let (leading, within) = strides(described.shape, array.dimensions());
        self.found.insert(array.name(), self.arrays.len());
        self.arrays.push((
            array,
            file,
            Place { header: header.len(), leading, within, element: described.element() },
        ));
        Ok(())
    }

    fn write(&mut self, array: Array, leading: &[usize], first: usize, bytes: &[u8]) -> io::Result<()> {
        let (_, file, place) = &mut self.arrays[self.found[array.name()]];
        let index: usize = leading.iter().zip(&place.leading).map(|(i, stride)| i * stride).sum();
        let at = place.header + (index + first * place.within) * place.element;
        file.seek(SeekFrom::Start(at as u64))?;
        file.write_all(bytes)
    }

    fn coordinate(&mut self, dimension: &str, values: &[i32]) -> io::Result<()> {
        let mut bytes = header("<i4", &[values.len()]);
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        self.coordinates.push((dimension.into(), bytes));
        Ok(())
    }

    fn finish(self: Box<Self>, attributes: &serde_json::Value) -> io::Result<()> {
        let packed = self.folder.path().join("packed");
        let mut archive = zip::ZipWriter::new(File::create_new(&packed)?);
        let options =
            SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored).large_file(true);
        // What has no place in .npy, as text: np.load(..)["attributes"].item().decode()
        let mut whole = attributes.clone();
        for (array, ..) in &self.arrays {
            whole["dimensions"][array.name()] = array.dimensions().into();
        }
        let text = whole.to_string();
        archive.start_file("attributes.npy", options)?;
        archive.write_all(&header(&format!("|S{}", text.len()), &[]))?;
        archive.write_all(text.as_bytes())?;
        for (dimension, bytes) in &self.coordinates {
            archive.start_file(format!("{dimension}.npy"), options)?;
            archive.write_all(bytes)?;
        }
        for (array, file, _) in self.arrays {
            drop(file);
            archive.start_file(format!("{}.npy", array.name()), options)?;
            io::copy(&mut File::open(self.folder.path().join(array.name()))?, &mut archive)?;
        }
        archive.finish()?.sync_all()?;
        fs::rename(packed, &self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::header;

    #[test]
    fn headers_are_what_numpy_writes() {
        let found = header("<f4", &[3, 5]);
        assert_eq!(found.len() % 64, 0);
        assert!(found.starts_with(
            b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3, 5,), }"
        ));
        assert!(header("|S3", &[]).windows(12).any(|part| part == b"'shape': (),"));
    }
}
