//! Statistics, figures, tables and documents: how results are summarized and written, whatever they are results of.
//!
//! [`statistics`] holds the arithmetic of few samples. A [`Figure`] is made of [`figure::Panel`]s and saved as SVG and
//! PNG. Tables go to a terminal ([`TextTable`]), to other programs ([`csv`]) or into a [`Document`], which is rendered as
//! a web page, Markdown and LaTeX. This crate knows nothing of models and depends on no other crate of the workspace.

pub mod csv;
pub mod document;
pub mod figure;
pub mod statistics;
pub mod table;

pub use csv::Csv;
pub use document::Document;
pub use figure::Figure;
pub use table::TextTable;

use std::path::{Path, PathBuf};
use std::{fs, io};

/// Writes a file into a folder, which is created if it does not exist. An error names the path.
pub fn write(folder: &Path, name: &str, text: &str) -> io::Result<PathBuf> {
    let path = folder.join(name);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, text));
    match written {
        Ok(()) => Ok(path),
        Err(error) => Err(io::Error::new(error.kind(), format!("{} cannot be written: {error}", path.display()))),
    }
}
