//! The sum of all lanes' gradients, the same bits for any number of threads and processes.
//!
//! Lanes are summed in a fixed binary tree. A process owns neighbouring lanes and does the additions of the
//! tree that need no others. What is left, few lanes a process (one, where lanes and processes are powers of
//! two), is cut into as many shares as there are processes; each does the rest of the tree for its share, and
//! the shares are gathered. So the order of every sum is that of the tree, and with one sum a process as much
//! is sent as in a ring all-reduce.

use crate::group::{Group, part};
use crate::optimizer::CHUNK;
use crate::timings::Clock;
use kuramoto_kernels::{AlignedVec, Real, reduce};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Shares are cut at multiples of this, so that each begins with a cache line where it is received.
const GRAIN: usize = 64;

/// Lanes `right..end` are added to lanes `left..right`; their sums are in `left` and `right`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Addition {
    pub(crate) left: usize,
    pub(crate) right: usize,
    end: usize,
}

/// The additions of the tree, in order.
pub(crate) fn tree(lanes: usize) -> Vec<Addition> {
    let mut additions = Vec::new();
    let mut reach = 1;
    while reach < lanes {
        for left in (0..lanes - reach).step_by(2 * reach) {
            additions.push(Addition { left, right: left + reach, end: (left + 2 * reach).min(lanes) });
        }
        reach *= 2;
    }
    additions
}

/// True if the lanes of an addition are among `own`.
fn within(addition: &Addition, own: &Range<usize>) -> bool {
    own.start <= addition.left && addition.end <= own.end
}

/// What is summed where, and room for what others send.
pub(crate) struct Reduction<F> {
    group: Arc<dyn Group>,
    lanes: usize,
    own: Range<usize>,
    /// Additions that this process does for whole lanes, and those of which every process does a share.
    local: Vec<Addition>,
    shared: Vec<Addition>,
    /// Of each process, the lanes that hold its sums.
    roots: Vec<Vec<usize>>,
    /// The sums of all processes, this process' share of each, in order of (turn, process).
    received: AlignedVec<F>,
    /// Of each lane, its place in `received`, if it is there.
    places: Vec<usize>,
}

impl<F: Real> Reduction<F> {
    /// Over `lanes` lanes of `len` elements.
    pub(crate) fn new(group: Arc<dyn Group>, lanes: usize, len: usize) -> Self {
        let size = group.size();
        let own = group.part(lanes);
        let (local, shared) = divide(lanes, size, &own);
        let roots: Vec<Vec<usize>> = (0..size).map(|rank| roots(lanes, part(lanes, rank, size))).collect();
        let (mut places, mut count) = (vec![0; lanes], 0);
        for turn in 0..turns(&roots) {
            for lane in roots.iter().filter_map(|roots| roots.get(turn)) {
                places[*lane] = count;
                count += 1;
            }
        }
        Reduction {
            received: AlignedVec::zeros(Self::planned(&*group, lanes, len)),
            group,
            lanes,
            own,
            local,
            shared,
            roots,
            places,
        }
    }

    /// Elements it will hold: its share of every process' sums.
    pub(crate) fn planned(group: &dyn Group, lanes: usize, len: usize) -> usize {
        let size = group.size();
        let count: usize = (0..size).map(|rank| roots(lanes, part(lanes, rank, size)).len()).sum();
        // Of a part of the gradient the share is never larger than that.
        if size > 1 { count * len.div_ceil(GRAIN).div_ceil(size) * GRAIN } else { 0 }
    }

    /// The lanes of all processes, counted.
    pub(crate) fn lanes(&self) -> usize {
        self.lanes
    }

    /// Which lanes this process sums; they are neighbours.
    pub(crate) fn own(&self) -> Range<usize> {
        self.own.clone()
    }

    /// Sums the gradients of all lanes of all processes; `lanes` are those of this one. The sum is left in
    /// the first. Returns the seconds spent on sending and receiving.
    pub(crate) fn sum(&mut self, lanes: &mut [AlignedVec<F>]) -> f64 {
        let first = self.own.start;
        for addition in &self.local {
            let (left, right) = lanes.split_at_mut(addition.right - first);
            add_on_all_threads(&mut left[addition.left - first], &right[0]);
        }
        if self.group.size() == 1 {
            return 0.0;
        }
        let roots = &self.roots[self.group.rank()];
        let sums = lanes.iter_mut().zip(first..).filter(|(_, lane)| roots.contains(lane));
        let mut sums: Vec<&mut [F]> = sums.map(|(gradient, _)| &mut gradient[..]).collect();
        self.sum_of_all(&mut sums)
    }

    /// Adds the sums of this process to those of the others; the sum of all is left in the first. Returns the
    /// seconds spent on sending and receiving.
    fn sum_of_all(&mut self, sums: &mut [&mut [F]]) -> f64 {
        let (rank, size) = (self.group.rank(), self.group.size());
        let shares: Vec<Range<usize>> = (0..size).map(|rank| share(sums[0].len(), rank, size)).collect();
        let bytes: Vec<usize> = shares.iter().map(|share| share.len() * size_of::<F>()).collect();
        let mut clock = Clock::start();
        self.exchange(sums, &bytes);
        let mut seconds = clock.lap();
        let share = shares[rank].clone();
        for addition in &self.shared {
            let (left, right) = (self.places[addition.left], self.places[addition.right]);
            let (low, high) = self.received.split_at_mut(left.max(right) * share.len());
            let (low, high) =
                (&mut low[left.min(right) * share.len()..][..share.len()], &mut high[..share.len()]);
            if left < right { add_on_all_threads(low, high) } else { add_on_all_threads(high, low) }
        }
        let sum = &self.received[self.places[0] * share.len()..][..share.len()];
        sums[0][share].copy_from_slice(sum);
        clock.lap();
        self.group.gather(bytemuck::cast_slice_mut(sums[0]), &bytes);
        seconds += clock.lap();
        seconds
    }

    /// Every process sends its sums, one a turn, to those whose shares they are; `shares` in bytes.
    fn exchange(&mut self, sums: &[&mut [F]], shares: &[usize]) {
        let (rank, nothing) = (self.group.rank(), vec![0; shares.len()]);
        let mut room = &mut self.received[..];
        for turn in 0..turns(&self.roots) {
            let (send, sent): (&[F], _) = match sums.get(turn) {
                Some(sum) => (sum, shares),
                None => (&[], &nothing[..]),
            };
            let received = |roots: &Vec<usize>| if roots.len() > turn { shares[rank] } else { 0 };
            let received: Vec<usize> = self.roots.iter().map(received).collect();
            let (receive, later) = room.split_at_mut(received.iter().sum::<usize>() / size_of::<F>());
            self.group.exchange(
                bytemuck::cast_slice(send),
                sent,
                bytemuck::cast_slice_mut(receive),
                &received,
            );
            room = later;
        }
    }
}

/// The additions among `own` lanes, and those that are among the lanes of no process.
fn divide(lanes: usize, size: usize, own: &Range<usize>) -> (Vec<Addition>, Vec<Addition>) {
    let (mut local, mut shared) = (Vec::new(), Vec::new());
    for addition in tree(lanes) {
        if within(&addition, own) {
            local.push(addition);
        } else if !(0..size).any(|rank| within(&addition, &part(lanes, rank, size))) {
            shared.push(addition);
        }
    }
    (local, shared)
}

/// Lanes among `own` that hold a sum once the additions within are done.
fn roots(lanes: usize, own: Range<usize>) -> Vec<usize> {
    let added: Vec<usize> = tree(lanes).iter().filter(|a| within(a, &own)).map(|a| a.right).collect();
    own.filter(|lane| !added.contains(lane)).collect()
}

fn turns(roots: &[Vec<usize>]) -> usize {
    roots.iter().map(Vec::len).max().unwrap_or(0)
}

fn share(len: usize, rank: usize, size: usize) -> Range<usize> {
    let grains = part(len.div_ceil(GRAIN), rank, size);
    grains.start * GRAIN..(grains.end * GRAIN).min(len)
}

fn add_on_all_threads<F: Real>(left: &mut [F], right: &[F]) {
    left.par_chunks_mut(CHUNK).zip(right.par_chunks(CHUNK)).for_each(|(a, b)| reduce::add(a, b));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tree, drawn: lanes as leaves, sums in brackets.
    fn drawn(additions: &[Addition], lanes: usize) -> String {
        let mut sums: Vec<String> = (0..lanes).map(|lane| lane.to_string()).collect();
        for addition in additions {
            sums[addition.left] = format!("({} {})", sums[addition.left], sums[addition.right]);
        }
        sums[0].clone()
    }

    #[test]
    fn lanes_are_summed_in_a_binary_tree() {
        assert_eq!(drawn(&tree(1), 1), "0");
        assert_eq!(drawn(&tree(4), 4), "((0 1) (2 3))");
        assert_eq!(drawn(&tree(7), 7), "(((0 1) (2 3)) ((4 5) 6))");
    }

    /// Whatever the number of processes, their additions are those of the one tree, each done once.
    #[test]
    fn processes_divide_the_tree_among_them() {
        for lanes in 1..40 {
            for size in 1..=lanes {
                let parts: Vec<_> = (0..size).map(|rank| part(lanes, rank, size)).collect();
                let mut done = Vec::new();
                parts.iter().for_each(|own| done.extend(divide(lanes, size, own).0));
                done.extend(divide(lanes, size, &parts[0]).1);
                assert_eq!(
                    drawn(&done, lanes),
                    drawn(&tree(lanes), lanes),
                    "{lanes} lanes, {size} processes"
                );
                let mut covered: Vec<usize> = parts.into_iter().flatten().collect();
                covered.sort_unstable();
                assert_eq!(covered, (0..lanes).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn shares_cover_every_element_once() {
        for (len, size) in [(0, 3), (1, 4), (1000, 7), (64 * 9, 3), (1_003_386, 4)] {
            let all: Vec<usize> = (0..size).flat_map(|rank| share(len, rank, size)).collect();
            assert_eq!(all, (0..len).collect::<Vec<_>>());
        }
    }
}
