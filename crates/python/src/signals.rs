//! Ctrl-C while Rust works.

use crate::error::Result;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

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

/// How long Ctrl-C may go unnoticed.
const PAUSE: Duration = Duration::from_millis(50);

/// Does work on a thread of its own, which is asked to stop by its flag once a signal comes.
pub fn watched<T: Send>(py: Python<'_>, work: impl FnOnce(&AtomicBool) -> Result<T> + Send) -> PyResult<T> {
    let (stop, mut interrupted) = (AtomicBool::new(false), Interrupted::default());
    let outcome = py.detach(|| {
        thread::scope(|scope| {
            let (done, wait) = sync_channel::<()>(1);
            let stop = &stop;
            let worker = scope.spawn(move || {
                let outcome = work(stop);
                // Dropped, it wakes the thread that waits.
                drop(done);
                outcome
            });
            while wait.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                if interrupted.came() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    });
    interrupted.raise()?;
    Ok(outcome?)
}
