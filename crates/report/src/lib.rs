//! Statistics, figures, tables and documents: how results are summarized and written, whatever they are
//! results of.
//!
//! [`statistics`] holds the arithmetic of few samples. A [`Figure`] is made of [`figure::Panel`]s and saved
//! as SVG and PNG. Tables go to a terminal ([`TextTable`]), to other programs ([`csv`]) or into a
//! [`Document`], which is rendered as a web page, Markdown and LaTeX. This crate knows nothing of models and
//! depends on no other crate of the workspace.
//!
//! ```
//! use kuramoto_report::document::{Block, Cell, Document, Table};
//! use kuramoto_report::statistics::{mean, mean_interval, sign_flip};
//!
//! // Differences of eight paired runs.
//! let differences = [0.02, 0.03, 0.01, 0.02, 0.04, 0.02, 0.03, 0.02];
//! assert!(mean_interval(&differences).low > 0.0);
//! let p = sign_flip(&differences);
//! assert_eq!(p, 2.0 / 256.0);
//!
//! let row = vec![Cell::number(format!("{:+.3}", mean(&differences))), Cell::number(format!("{p:.3}"))];
//! let table =
//!     Table { caption: "Eight seeds.".into(), head: vec!["mean", "p"], rows: vec![row], result: true };
//! let document = Document { title: "A comparison".into(), blocks: vec![Block::Table(table)] };
//! assert!(document.markdown().contains("| +0.024 | 0.008 |"));
//! ```

pub mod csv;
pub mod document;
pub mod figure;
pub mod samples;
pub mod statistics;
pub mod table;
mod wrap;

pub use csv::Csv;
pub use document::Document;
pub use figure::Figure;
pub use table::TextTable;
pub use wrap::wrap;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a file into a folder, which is created if it does not exist. It is written beside and renamed, so
/// that the old or the new one is there, whole. An error names the path.
pub fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> io::Result<PathBuf> {
    let (path, beside) = (folder.join(name), folder.join(format!(".{name}.partial")));
    let written = fs::create_dir_all(folder)
        // What a killed process left, or anything else of that name, which might not even be a file.
        .and_then(|()| fs::remove_file(&beside).or_else(absent))
        .and_then(|()| File::create_new(&beside)?.write_all(content.as_ref()))
        .and_then(|()| fs::rename(&beside, &path));
    written.map_err(|error| {
        fs::remove_file(&beside).ok();
        cannot_write(&path, &error)
    })?;
    Ok(path)
}

/// The error that names what cannot be written.
pub fn cannot_write(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{} cannot be written: {error}", path.display()))
}

fn absent(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_go_into_new_folders_and_errors_name_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(&folder.path().join("new/deep"), "a.csv", "x\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "x\n");
        let error = write(&path, "b.csv", "x\n").unwrap_err().to_string();
        assert!(error.contains("b.csv cannot be written: "), "{error}");
    }
}
