//! The most memory that a run had in use while it trained.
//!
//! The system counts for the whole process, and forgets when it is asked to. Several runs may train in one
//! process at a time: whenever one of them begins or ends, all are told what was counted until then, so each
//! gets the highest of its own time.

use std::fs;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What was seen while one run trained.
#[derive(Default)]
struct Seen {
    /// Resident bytes of the process at most; 0 if the system does not say.
    bytes: AtomicU64,
    /// Runs that trained in it at a time, at most.
    runs: AtomicUsize,
}

/// Of the runs that train in this process now.
static TRAINING: Mutex<Vec<Arc<Seen>>> = Mutex::new(Vec::new());

/// Watches until it is dropped.
pub(crate) struct PeakMemory(Arc<Seen>);

impl PeakMemory {
    /// Begins to watch.
    pub fn watch() -> PeakMemory {
        let mut training = TRAINING.lock().unwrap_or_else(PoisonError::into_inner);
        tell(&training);
        forget();
        let seen = Arc::new(Seen::default());
        training.push(seen.clone());
        for seen in &*training {
            seen.runs.fetch_max(training.len(), Ordering::Relaxed);
        }
        PeakMemory(seen)
    }

    /// Resident bytes of the process at most; None if the system does not say.
    pub fn bytes(&self) -> Option<u64> {
        tell(&TRAINING.lock().unwrap_or_else(PoisonError::into_inner));
        Some(self.0.bytes.load(Ordering::Relaxed)).filter(|&bytes| bytes > 0)
    }

    /// Runs that trained in the process at a time, at most.
    pub fn runs(&self) -> usize {
        self.0.runs.load(Ordering::Relaxed)
    }
}

impl Drop for PeakMemory {
    fn drop(&mut self) {
        let mut training = TRAINING.lock().unwrap_or_else(PoisonError::into_inner);
        training.retain(|seen| !Arc::ptr_eq(seen, &self.0));
    }
}

/// Tells all what was counted so far.
fn tell(training: &[Arc<Seen>]) {
    let bytes = high_water().unwrap_or(0);
    for seen in training {
        seen.bytes.fetch_max(bytes, Ordering::Relaxed);
    }
}

/// Most bytes of this process that were in memory since the system last forgot.
fn high_water() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(1024 * kilobytes)
}

/// Asks the system to count anew from what is in memory now. Where it refuses, what was counted since the
/// process began stays in.
fn forget() {
    const PEAK: &str = "5";
    fs::write("/proc/self/clear_refs", PEAK).ok();
}
