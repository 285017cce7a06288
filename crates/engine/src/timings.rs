//! What a step spends its time on.

use std::time::Instant;

/// Seconds that the parts of the last step took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timings {
    /// Packing the parameters after an update, shared out by layers.
    pub prepare: f64,
    /// Forward and backward over the sequences.
    pub lanes: f64,
    /// Summing the lanes, without the exchange.
    pub sum: f64,
    /// Sending, receiving, and waiting for other processes.
    pub exchange: f64,
    /// Finishing the gradient, on one thread.
    pub finish: f64,
    /// Squares and their sum over the whole gradient.
    pub norm: f64,
    /// AdamW.
    pub update: f64,
}

/// A stopwatch that starts again with every lap.
pub(crate) struct Clock(Instant);

impl Clock {
    pub fn start() -> Clock {
        Clock(Instant::now())
    }

    /// Seconds since the last lap.
    pub fn lap(&mut self) -> f64 {
        let now = Instant::now();
        (now - std::mem::replace(&mut self.0, now)).as_secs_f64()
    }
}
