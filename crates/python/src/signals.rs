//! Ctrl-C while Rust works.

use pyo3::prelude::*;

/// What Python has to raise, if a signal came.
#[derive(Default)]
pub struct Interrupted(Option<PyErr>);

impl Interrupted {
    /// True once a signal came whose handler raised, or a callback did.
    pub fn came(&mut self) -> bool {
        if self.0.is_none() {
            // Only Python's main thread sees signals; elsewhere this is always fine.
            self.0 = Python::attach(|py| py.check_signals()).err();
        }
        self.0.is_some()
    }

    /// Keeps the first error of a callback.
    pub fn keep(&mut self, result: PyResult<()>) {
        if let Err(error) = result {
            self.0.get_or_insert(error);
        }
    }

    /// Raises what was kept.
    pub fn raise(self) -> PyResult<()> {
        self.0.map_or(Ok(()), Err)
    }
}
