//! Threads that calls may use.

use crate::error::{Raised, Result};
use crate::whole::Whole;
use kuramoto_engine::MAX_THREADS;

/// As many as asked for, or one a core.
pub fn count(asked: Option<Whole>) -> Result<usize> {
    match asked.map(Whole::size).transpose()? {
        Some(threads @ 1..=MAX_THREADS) => Ok(threads),
        Some(threads) => {
            let allowed = format!("it must be from 1 to {MAX_THREADS}");
            Err(Raised::value(format!("threads = {threads} is not allowed: {allowed}")))
        }
        None => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
    }
}

/// Does work that would otherwise use the process-wide thread pool. A process that forks has no threads of that
/// pool in its child, where waiting for them would never end; a pool of this call's own is always there.
pub fn on_own_pool<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(pool) => pool.install(work),
        // A system without a thread left: better on this one than not at all.
        Err(_) => work(),
    }
}
