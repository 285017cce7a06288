//! Which bytes a batch is made of.
//!
//! A split is cut into windows of `context` inputs that do not overlap; the target of an input is the byte
//! after it, so the last target of one window is the first input of the next and no byte is predicted twice.
//! Each epoch visits the windows of the training split in a fresh random order; the windows that do not fill
//! a batch at the end of an epoch are left out of it. Which windows a step reads is a pure function of (seed,
//! epoch, step): there is no state.

use kuramoto_model::random;
use std::ops::Range;

/// Inputs at `start..start + len`, each predicting the byte after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Position of the first input in the corpus.
    pub start: usize,
    /// Number of inputs, and of targets.
    pub len: usize,
}

impl Window {
    /// The bytes that are predicted.
    pub fn targets(&self) -> Range<usize> {
        self.start + 1..self.start + 1 + self.len
    }
}

/// Number of whole windows in a stretch of `len` bytes.
pub fn whole(len: usize, context: usize) -> usize {
    len.saturating_sub(1) / context
}

/// Every byte of `range` but its first, as the target of exactly one window; the last window may be shorter.
pub fn all(range: Range<usize>, context: usize) -> Vec<Window> {
    let targets = range.len().saturating_sub(1);
    (0..targets)
        .step_by(context)
        .map(|at| Window { start: range.start + at, len: context.min(targets - at) })
        .collect()
}

/// `count` whole windows spread evenly over `range`, or [`all`] of it if `count` is 0 or more than there are.
pub fn sample(range: Range<usize>, context: usize, count: usize) -> Vec<Window> {
    let available = whole(range.len(), context);
    if count == 0 || count >= available {
        return all(range, context);
    }
    (0..count)
        .map(|i| Window { start: range.start + i * available / count * context, len: context })
        .collect()
}

/// Draws training batches.
#[derive(Clone, Debug)]
pub struct Sampler {
    seed: u64,
    start: usize,
    context: usize,
    batch: usize,
    windows: u32,
    /// The order of `epoch`, kept because consecutive steps share it; empty before the first.
    order: Vec<u32>,
    epoch: Option<u64>,
}

impl Sampler {
    /// Over the windows of `range`, `batch` of them at a time; None if they do not fill one batch.
    pub fn new(seed: u64, range: Range<usize>, context: usize, batch: usize) -> Option<Sampler> {
        let windows = u32::try_from(whole(range.len(), context)).ok()?;
        if batch == 0 || (windows as usize) < batch {
            return None;
        }
        Some(Sampler { seed, start: range.start, context, batch, windows, order: Vec::new(), epoch: None })
    }

    /// Steps in an epoch.
    pub fn steps_per_epoch(&self) -> u64 {
        u64::from(self.windows) / self.batch as u64
    }

    /// The windows of step `step` (from 0, counted over all epochs).
    pub fn windows(&mut self, step: u64) -> impl Iterator<Item = Window> + '_ {
        let (epoch, within) = (step / self.steps_per_epoch(), step % self.steps_per_epoch());
        if self.epoch != Some(epoch) {
            self.shuffle(epoch);
        }
        let first = within as usize * self.batch;
        self.order[first..first + self.batch]
            .iter()
            .map(|&window| Window { start: self.start + window as usize * self.context, len: self.context })
    }

    /// From the identity, so that an epoch's order does not depend on the epochs before it.
    fn shuffle(&mut self, epoch: u64) {
        self.order.clear();
        self.order.extend(0..self.windows);
        random::shuffle_u64(&mut random::stream(self.seed, epoch), &mut self.order);
        self.epoch = Some(epoch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn every_byte_but_the_first_is_a_target_once(
            start in 0usize..100, len in 0usize..2000, context in 1usize..70
        ) {
            let windows = all(start..start + len, context);
            let targets: Vec<usize> = windows.iter().flat_map(Window::targets).collect();
            prop_assert_eq!(targets, (start + 1..(start + len).max(start + 1)).collect::<Vec<_>>());
        }

        #[test]
        fn an_epoch_visits_each_window_at_most_once(
            seed: u64, len in 200usize..5000, context in 1usize..20, batch in 1usize..9
        ) {
            let mut sampler = Sampler::new(seed, 7..7 + len, context, batch).unwrap();
            let steps = sampler.steps_per_epoch();
            let mut seen = HashSet::new();
            for step in 2 * steps..3 * steps {
                for window in sampler.windows(step).collect::<Vec<_>>() {
                    prop_assert!(window.start >= 7 && window.targets().end <= 7 + len);
                    prop_assert!((window.start - 7).is_multiple_of(context) && seen.insert(window.start));
                }
            }
            prop_assert!(whole(len, context) - seen.len() < batch);
        }

        #[test]
        fn a_step_does_not_depend_on_what_was_drawn_before(seed: u64, step in 0u64..500, other in 0u64..500) {
            let sampler = Sampler::new(seed, 0..4001, 10, 7).unwrap();
            let (mut fresh, mut used) = (sampler.clone(), sampler);
            used.windows(other).for_each(drop);
            prop_assert_eq!(fresh.windows(step).collect::<Vec<_>>(), used.windows(step).collect::<Vec<_>>());
        }

        #[test]
        fn a_sample_is_part_of_the_whole(len in 1usize..5000, context in 1usize..50, count in 0usize..60) {
            let whole: HashSet<usize> = all(3..3 + len, context).iter().map(|window| window.start).collect();
            let sample = sample(3..3 + len, context, count);
            let starts: HashSet<usize> = sample.iter().map(|window| window.start).collect();
            prop_assert_eq!(starts.len(), sample.len());
            prop_assert!(starts.is_subset(&whole));
        }
    }

    #[test]
    fn epochs_and_seeds_differ() {
        let order =
            |seed, step| Sampler::new(seed, 0..4001, 10, 400).unwrap().windows(step).collect::<Vec<_>>();
        assert_ne!(order(0, 0), order(0, 1));
        assert_ne!(order(0, 0), order(1, 0));
    }

    #[test]
    fn too_little_text_for_a_batch() {
        assert!(Sampler::new(0, 0..40, 10, 4).is_none());
        assert!(Sampler::new(0, 0..41, 10, 4).is_some());
    }
}
