//! Bytes as they are drawn.

use crate::error::{Raised, Result};
use crate::networks::AnyModel;
use kuramoto_train::generate::Sampling;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::process;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// Bytes drawn ahead of what is asked for.
const AHEAD: usize = 16;

/// What is to be drawn.
pub struct Request {
    /// In single precision.
    pub model: Arc<dyn AnyModel>,
    /// The byte of each token.
    pub vocabulary: Vec<u8>,
    /// Tokens to go on from.
    pub history: Vec<u8>,
    /// How many to draw.
    pub count: usize,
    /// How they are drawn.
    pub sampling: Sampling,
}

enum Stage {
    /// Nothing was asked for yet.
    Before(Request),
    /// A thread draws, and ends with the iterator.
    Drawing { drawn: Receiver<Result<u8>>, worker: JoinHandle<()> },
    /// All is drawn.
    After,
}

/// An iterator over bytes.
#[pyclass(frozen, module = "kuramoto._native")]
pub struct Generation {
    stage: Mutex<Stage>,
    /// The process that made it: the thread that draws is not in its children.
    process: u32,
}

impl Generation {
    /// Draws nothing until it is asked to.
    pub fn new(request: Request) -> Generation {
        Generation { stage: Mutex::new(Stage::Before(request)), process: process::id() }
    }

    /// The next byte; None at the end.
    fn next(&self) -> Result<Option<u8>> {
        if self.process != process::id() {
            return Err(Raised::failed(
                "this generator was made before the process was forked: call generate again",
            ));
        }
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        if let Stage::Before(_) = &*stage {
            let Stage::Before(request) = std::mem::replace(&mut *stage, Stage::After) else {
                return Ok(None);
            };
            *stage = begin(request)?;
        }
        let Stage::Drawing { drawn, .. } = &*stage else { return Ok(None) };
        if let Ok(next) = drawn.recv() {
            return next.map(Some);
        }
        let Stage::Drawing { worker, .. } = std::mem::replace(&mut *stage, Stage::After) else {
            return Ok(None);
        };
        match worker.join() {
            Ok(()) => Ok(None),
            Err(_) => Err(Raised::failed("the thread that draws has failed, most likely for want of memory")),
        }
    }
}

fn begin(request: Request) -> Result<Stage> {
    let (send, drawn) = sync_channel(AHEAD);
    let draw = move || {
        let Request { model, vocabulary, history, count, sampling } = request;
        let mut write = |token: u8| send.send(Ok(vocabulary[usize::from(token)])).is_ok();
        if let Err(error) = model.generate(history, count, &sampling, &mut write) {
            // Nobody may be listening any more.
            send.send(Err(error)).ok();
        }
    };
    let worker = thread::Builder::new().spawn(draw);
    let worker =
        worker.map_err(|error| Raised::failed(format!("no thread can be started to draw: {error}")))?;
    Ok(Stage::Drawing { drawn, worker })
}

#[pymethods]
impl Generation {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        // list(..) and bytes.join run no Python code between two bytes that would notice Ctrl-C.
        py.check_signals()?;
        let next = py.detach(|| self.next())?;
        Ok(next.map(|byte| PyBytes::new(py, &[byte])))
    }
}
