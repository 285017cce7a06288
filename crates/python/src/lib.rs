//! `kuramoto._native`: what the Python package `kuramoto` calls.
//!
//! Thin on purpose: arrays, bytes and JSON cross here, and Python makes data frames, datasets and documentation
//! of them. Whatever takes long releases the interpreter's lock while it does.
#![cfg(feature = "extension")]

mod array;
mod corpus;
mod error;
mod generation;
mod hooks;
mod lab;
mod model;
mod networks;
mod phase;
mod recipe;
mod run;
mod saving;
mod signals;
mod threads;
mod training;
mod whole;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<model::Model>()?;
    module.add_class::<generation::Generation>()?;
    module.add_class::<recipe::Recipe>()?;
    module.add_class::<run::Run>()?;
    module.add_class::<run::Lock>()?;
    module.add_class::<corpus::Corpus>()?;
    module.add_function(wrap_pyfunction!(training::train, module)?)?;
    module.add_function(wrap_pyfunction!(training::parse_budget, module)?)?;
    module.add_function(wrap_pyfunction!(training::setting_names, module)?)?;
    module.add_function(wrap_pyfunction!(training::resume, module)?)?;
    module.add_function(wrap_pyfunction!(saving::save_run, module)?)?;
    module.add_function(wrap_pyfunction!(run::models, module)?)?;
    module.add_function(wrap_pyfunction!(run::list_runs, module)?)?;
    module.add_function(wrap_pyfunction!(model::match_widths, module)?)?;
    module.add_function(wrap_pyfunction!(model::ablations, module)?)?;
    module.add_function(wrap_pyfunction!(lab::tables, module)?)?;
    module.add_function(wrap_pyfunction!(lab::planned, module)?)
}
