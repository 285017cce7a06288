//! Plans of experiments and what they came to.

use crate::error::Result;
use kuramoto_lab::results::Results;
use kuramoto_lab::{Plan, report};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// A plan's results: from its finished runs, or from the report that was kept where the runs are not there.
fn results(folder: &Path) -> Result<Results> {
    let plan = Plan::open(folder)?;
    let gathered = Results::gather(&plan);
    Ok(if gathered.progress.0 == 0 { Results::reread(&plan).unwrap_or(gathered) } else { gathered })
}

/// The tables of a plan's results as CSV: runs, cells, claims, curves.
#[pyfunction]
pub fn tables(py: Python<'_>, folder: PathBuf) -> PyResult<Vec<(&'static str, String)>> {
    let tables = py.detach(|| Result::Ok(report::tables(&results(&folder)?)))?;
    Ok(tables.to_vec())
}

/// Every run of a plan as JSON: what was planned, and its folder.
#[pyfunction]
pub fn planned(py: Python<'_>, folder: PathBuf) -> PyResult<String> {
    let plan = py.detach(|| Result::Ok(Plan::open(&folder)?))?;
    Ok(serde_json::to_string(&plan.runs).expect("a plan is plain data"))
}
