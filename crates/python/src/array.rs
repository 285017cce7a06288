//! Arrays between Rust and NumPy.

use crate::error::wrong_type;
use kuramoto_kernels::Real;
use numpy::{Element, IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Both floating point types that models are computed in.
pub trait Float: Real + Element {
    /// NumPy's name.
    const NAME: &'static str;
}

impl Float for f32 {
    const NAME: &'static str = "float32";
}

impl Float for f64 {
    const NAME: &'static str = "float64";
}

/// Hands a vector to NumPy, without a copy, in a shape that it fills.
pub fn array<'py, T: Element>(
    py: Python<'py>,
    values: Vec<T>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    Ok(values.into_pyarray(py).reshape(shape.to_vec())?.into_any())
}

/// The numbers of any real array, as this type, if it has this shape. `what` names it in errors.
pub fn numbers<F: Float>(what: &str, value: &Bound<'_, PyAny>, shape: &[usize]) -> PyResult<Vec<F>> {
    let py = value.py();
    let numpy = py.import("numpy")?;
    let given = numpy.call_method1("asarray", (value,))?;
    let kind: String = given.getattr("dtype")?.getattr("kind")?.extract()?;
    if !matches!(kind.as_str(), "f" | "i" | "u" | "b") {
        return Err(wrong_type(what, value, "an array of real numbers"));
    }
    let found: Vec<usize> = given.getattr("shape")?.extract()?;
    if found != shape {
        return Err(crate::error::Raised::value(format!(
            "{what} has shape {}: it must be {}",
            tuple(&found),
            tuple(shape)
        ))
        .into());
    }
    // Cast here, where what is too large for float32 is noticed below, without a warning of NumPy's.
    let given: PyReadonlyArrayDyn<'_, f64> =
        numpy.call_method1("ascontiguousarray", (given, "float64"))?.extract()?;
    let values = given.as_array().iter().map(|&x| F::from_f64(x)).collect::<Vec<F>>();
    match values.iter().position(|x| !x.to_f64().is_finite()) {
        Some(at) => Err(crate::error::Raised::value(format!(
            "{what} holds {} at {at} (counted through the whole array): all numbers must be finite",
            values[at].to_f64()
        ))
        .into()),
        None => Ok(values),
    }
}

/// A shape as Python writes it.
fn tuple(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        many => format!("({})", many.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// Text: bytes as they are, a string as UTF-8, an array of uint8.
pub fn text(what: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    if let Ok(text) = value.extract::<String>() {
        return Ok(text.into_bytes());
    }
    if let Ok(array) = value.cast::<PyArray1<u8>>() {
        return Ok(array.readonly().as_array().iter().copied().collect());
    }
    if let Ok(bytes) = value.cast::<pyo3::types::PyByteArray>() {
        return Ok(bytes.to_vec());
    }
    Err(wrong_type(what, value, "bytes, a string or an array of uint8"))
}
