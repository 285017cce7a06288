//! The report of a plan: a page, Markdown and LaTeX of the same document, figures, and tables for machines.

mod against;
mod compute;
mod content;
mod csv;
mod differing;
mod equal;
mod figures;
mod lead;
mod tables;
#[cfg(test)]
mod tests;

use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::results::{FILE, Results};
use std::path::PathBuf;

/// The tables for machines, by name: CSV.
pub fn tables(results: &Results) -> [(&'static str, String); 4] {
    [
        ("cells", csv::cells(results)),
        ("claims", csv::claims(results)),
        ("runs", csv::runs(results)),
        ("curves", csv::curves(results)),
    ]
}

/// Writes `report.html`, `report.md`, `report.tex`, the figures, `cells.csv`, `claims.csv`, `runs.csv`,
/// `curves.csv` and `report.json` into the plan's folder.
pub fn write(plan: &Plan, results: &Results) -> Result<Vec<PathBuf>> {
    let figures = figures::all(results);
    let document = content::document(plan, results, figures)?;
    let json = serde_json::to_string_pretty(results).expect("results are plain data") + "\n";
    let files = [
        ("report.html", document.html()),
        ("report.md", document.markdown()),
        ("report.tex", document.latex()),
        (FILE, json),
    ];
    let files = files.map(|(name, text)| (name.to_string(), text)).into_iter();
    let tables = tables(results).map(|(name, text)| (format!("{name}.csv"), text));
    let mut written = Vec::new();
    for (name, text) in files.chain(tables) {
        let path = kuramoto_report::write(plan.folder(), &name, text);
        written.push(path.map_err(|error| Error::plan(plan.folder(), error.to_string()))?);
    }
    for figure in document.figures() {
        let saved = figure.save(plan.folder());
        written.extend(saved.map_err(|error| {
            Error::plan(plan.folder(), format!("figure {} cannot be written: {error}", figure.name))
        })?);
    }
    Ok(written)
}
