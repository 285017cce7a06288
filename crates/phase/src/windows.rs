//! Text in windows, shared out to threads.

use crate::error::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};

/// A window of text: tokens and the token after each.
pub type Text<'a> = (&'a [u8], &'a [u8]);

/// Who reads windows. Results do not depend on the number of threads.
#[derive(Clone, Copy, Debug)]
pub struct Workers<'a> {
    /// Threads.
    pub threads: usize,
    /// Once it is true they stop after the window at hand, and the work fails with [`Error::Stopped`].
    pub stop: Option<&'a AtomicBool>,
}

impl From<usize> for Workers<'_> {
    fn from(threads: usize) -> Self {
        Workers { threads, stop: None }
    }
}

/// Does `each` for every window, on threads with a state of their own each; results are in order of windows.
pub fn over_windows<S, T: Send>(
    windows: &[Text<'_>],
    workers: Workers<'_>,
    start: impl Fn() -> S + Sync,
    each: impl Fn(&mut S, usize, Text<'_>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let threads = workers.threads.clamp(1, windows.len().max(1));
    let is_stopped = move || workers.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
    let (start, each) = (&start, &each);
    let share = move |thread: usize| -> Result<Vec<(usize, T)>> {
        let mut state = start();
        let own = (thread..windows.len()).step_by(threads);
        own.map(|index| match is_stopped() {
            true => Err(Error::Stopped),
            false => Ok((index, each(&mut state, index, windows[index])?)),
        })
        .collect()
    };
    let shares: Vec<Result<Vec<(usize, T)>>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|thread| scope.spawn(move || share(thread))).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let mut all = Vec::with_capacity(windows.len());
    for share in shares {
        all.extend(share?);
    }
    all.sort_by_key(|(index, _)| *index);
    Ok(all.into_iter().map(|(_, result)| result).collect())
}
