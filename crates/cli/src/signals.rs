//! Ctrl-C and SIGTERM: the first asks to finish the step and save, the second leaves at once.

use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Which signal came, if one did.
#[derive(Clone, Default)]
pub struct Signals {
    came: Arc<AtomicBool>,
    which: Arc<AtomicUsize>,
}

/// What a shell reports of a process that a signal ended; also the exit code of a run that was saved for one.
const fn code(signal: i32) -> u8 {
    128 + signal as u8
}

/// The exit code after SIGTERM.
pub const TERMINATED: u8 = code(SIGTERM);

impl Signals {
    /// Listens from now on.
    pub fn listen() -> std::io::Result<Signals> {
        let signals = Signals::default();
        for signal in [SIGINT, SIGTERM] {
            // In this order: a signal that finds the flag up leaves at once; then the flag goes up.
            signal_hook::flag::register_conditional_shutdown(
                signal,
                code(signal).into(),
                signals.came.clone(),
            )?;
            signal_hook::flag::register_usize(signal, signals.which.clone(), signal as usize)?;
            signal_hook::flag::register(signal, signals.came.clone())?;
        }
        Ok(signals)
    }

    /// True once a signal came.
    pub fn came(&self) -> bool {
        self.came.load(Ordering::Relaxed)
    }

    /// 130 after Ctrl-C, 143 after SIGTERM; 141, as for a broken pipe, if training stopped without a signal.
    pub fn exit_code(&self) -> u8 {
        match self.which.load(Ordering::Relaxed) {
            0 => 141,
            signal => code(signal as i32),
        }
    }
}
