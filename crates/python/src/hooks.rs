//! Python functions that read and change a forward pass.

use crate::array::{Float, array, numbers};
use crate::error::Raised;
use kuramoto_model::{Gates, Hooks};
use kuramoto_phase::intervention::Intervention;
use pyo3::prelude::*;

/// What acts on a pass.
#[derive(Default)]
pub struct Hooked {
    /// Functions and the points they are for, see [`is_for`].
    functions: Vec<(String, Py<PyAny>)>,
    /// Ready-made changes, which act before the functions.
    pub interventions: Vec<Intervention>,
}

impl Hooked {
    /// From Python: pairs of point and function, and a JSON list of interventions.
    pub fn new(functions: Vec<(String, Py<PyAny>)>, interventions: Option<&str>) -> Result<Hooked, Raised> {
        let interventions = match interventions {
            None => Vec::new(),
            Some(json) => serde_json::from_str(json).map_err(|error| {
                Raised::value(format!(
                    "interventions: {error}; give kuramoto.clamp, rotate, fade or flatten of a point"
                ))
            })?,
        };
        Ok(Hooked { functions, interventions })
    }

    /// True if nothing acts.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty() && self.interventions.is_empty()
    }
}

/// True if a function for `wanted` is called at `point` of `layer`. It names a point (`gate.query`), all gates or
/// heads (`gate`, `attention`), either in one layer (`layer.2.gate`), or everything with nothing.
fn is_for(wanted: &str, point: &str, layer: usize) -> bool {
    let in_layer = format!("layer.{layer}");
    let wanted = match wanted.strip_prefix(&in_layer) {
        Some("") => "",
        Some(rest) if rest.starts_with('.') => &rest[1..],
        _ => wanted,
    };
    let group =
        point.split_once('.').map(|(group, _)| group).filter(|group| ["gate", "attention"].contains(group));
    wanted.is_empty() || wanted == point || Some(wanted) == group
}

/// Shows a pass to Python's functions, then to other hooks. A pass cannot be broken off: after an exception
/// no function is called any more, and it is raised at the end.
pub struct PythonHooks<'a, F> {
    hooked: &'a Hooked,
    n: usize,
    /// What the state is called: phases, or the state of a transformer.
    state: [&'static str; 2],
    raised: Option<PyErr>,
    then: &'a mut dyn Hooks<F>,
}

impl<'a, F: Float> PythonHooks<'a, F> {
    /// Over a sequence of `n` tokens.
    pub fn new(hooked: &'a Hooked, n: usize, has_phases: bool, then: &'a mut dyn Hooks<F>) -> Self {
        let state = if has_phases { ["phase", "phase.mid"] } else { ["state", "state.mid"] };
        PythonHooks { hooked, n, state, raised: None, then }
    }

    /// The first exception of a function.
    pub fn raise(self) -> PyResult<()> {
        self.raised.map_or(Ok(()), Err)
    }

    /// Calls the functions for a point with `n` rows of `width` numbers, which lie `stride` apart.
    fn call(&mut self, point: &str, layer: usize, width: usize, stride: usize, values: &mut [F]) {
        for (wanted, function) in &self.hooked.functions {
            if self.raised.is_some() || !is_for(wanted, point, layer) {
                continue;
            }
            let outcome =
                Python::attach(|py| change(py, function, point, layer, self.n, width, stride, values));
            self.raised = outcome.err();
        }
    }
}

/// Gives a function an array, and takes back what it left there or returned.
fn change<F: Float>(
    py: Python<'_>,
    function: &Py<PyAny>,
    point: &str,
    layer: usize,
    n: usize,
    width: usize,
    stride: usize,
    values: &mut [F],
) -> PyResult<()> {
    let dense: Vec<F> = (0..n).flat_map(|t| values[t * stride..][..width].iter().copied()).collect();
    let shape = [n, width];
    // A copy: the function may keep it for longer than the pass lasts.
    let given = array(py, dense, &shape)?;
    let returned = function.bind(py).call1((point, layer, &given))?;
    let left = if returned.is_none() { given } else { returned };
    let what = format!("what the hook left at {point} of layer {layer}");
    let left = numbers::<F>(&what, &left, &shape)?;
    if point.starts_with("attention") {
        let ahead = (0..n).find(|&t| left[t * n + t + 1..][..n - t - 1].iter().any(|&a| a != F::ZERO));
        if let Some(t) = ahead {
            let sentence =
                format!("{what} couples token {t} with a later one: above the diagonal it must be 0");
            return Err(Raised::value(sentence).into());
        }
    }
    for (t, row) in left.chunks_exact(width).enumerate() {
        values[t * stride..][..width].copy_from_slice(row);
    }
    Ok(())
}

impl<F: Float> Hooks<F> for PythonHooks<'_, F> {
    fn changes_input(&self) -> bool {
        let at_input = |(wanted, _): &(String, Py<PyAny>)| is_for(wanted, self.state[0], 0);
        self.hooked.functions.iter().any(at_input) || self.then.changes_input()
    }

    fn state(&mut self, layer: usize, state: &mut [F]) {
        let width = state.len() / self.n;
        self.call(self.state[0], layer, width, width, state);
        self.then.state(layer, state);
    }

    fn gates(&mut self, layer: usize, gates: &mut Gates<'_, F>) {
        for (point, gate) in [("gate.query", &mut *gates.query), ("gate.key", &mut *gates.key)] {
            let width = gate.len() / self.n;
            if width > 0 {
                self.call(point, layer, width, width, gate);
            }
        }
        if !gates.value.is_empty() {
            self.call("gate.value", layer, gates.width, gates.value_stride, gates.value);
        }
        self.then.gates(layer, gates);
    }

    fn attention(&mut self, layer: usize, head: usize, stride: usize, attention: &mut [F]) {
        // Beyond the diagonal the model leaves what it never reads.
        for t in 0..self.n {
            attention[t * stride..][t + 1..self.n].fill(F::ZERO);
        }
        self.call(&format!("attention.{head}"), layer, self.n, stride, attention);
        self.then.attention(layer, head, stride, attention);
    }

    fn middle(&mut self, layer: usize, state: &mut [F]) {
        let width = state.len() / self.n;
        self.call(self.state[1], layer, width, width, state);
        self.then.middle(layer, state);
    }
}
