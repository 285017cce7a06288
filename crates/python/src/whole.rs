//! Whole numbers from Python, with a sentence about others.

use crate::error::{Raised, Result, wrong_type};
use pyo3::prelude::*;

/// A whole number of at least 0, also one of NumPy's.
#[derive(Clone, Copy)]
pub struct Whole(pub u64);

impl Whole {
    /// As a size of this machine.
    pub fn size(self) -> Result<usize> {
        usize::try_from(self.0)
            .map_err(|_| Raised::value(format!("{} is too large for this machine", self.0)))
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Whole {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Whole> {
        let index =
            object.call_method0("__index__").map_err(|_| wrong_type("a value", &object, "a whole number"))?;
        match index.extract::<u64>() {
            Ok(value) => Ok(Whole(value)),
            Err(_) => {
                let allowed = format!("give a whole number from 0 to {}", u64::MAX);
                Err(Raised::value(format!("{} is not allowed: {allowed}", index.str()?)).into())
            }
        }
    }
}
