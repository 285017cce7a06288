//! Text in windows, shared out to threads.

use crate::error::Result;

/// A window of text: tokens and the token after each.
pub type Text<'a> = (&'a [u8], &'a [u8]);

/// Does `each` for every window, on so many threads with a state of their own each; results are in order of
/// windows.
pub fn over_windows<S, T: Send>(
    windows: &[Text<'_>],
    threads: usize,
    start: impl Fn() -> S + Sync,
    each: impl Fn(&mut S, usize, Text<'_>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let threads = threads.clamp(1, windows.len().max(1));
    let (start, each) = (&start, &each);
    let share = move |thread: usize| -> Result<Vec<(usize, T)>> {
        let mut state = start();
        let own = (thread..windows.len()).step_by(threads);
        own.map(|index| Ok((index, each(&mut state, index, windows[index])?))).collect()
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
