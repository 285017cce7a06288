//! The sum of all lanes' gradients, the same bits for any number of threads and processes.
//!
//! Lanes are summed in a fixed binary tree. A process owns neighbouring lanes and does the additions of the tree that
//! need no others. What is left, few lanes a process (one, where lanes and processes are powers of two), is cut into as
//! many shares as there are processes; each does the rest of the tree for its share, and the shares are gathered. So the
//! order of every sum is that of the tree, and with one sum a process as much is sent as in a ring all-reduce.

use crate::group::{Group, part};
use kuramoto_kernels::{AlignedVec, Real, reduce};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// Elements a thread works on at a time in reductions and updates; part of the order of sums.
pub(crate) const CHUNK: usize = 1 << 15;

/// Shares begin at multiples of this, so that vector loads are aligned.
const GRAIN: usize = 64;

/// Lanes `right..end` are added to lanes `left..right`; their sums are in `left` and `right`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Addition {
    left: usize,
    right: usize,
    end: usize,
}

/// The additions of the tree, in order.
fn tree(lanes: usize) -> Vec<Addition> {
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
    shares: Vec<Range<usize>>,
    /// The sums of all processes, this process' share of each, in order of (turn, process).
    received: AlignedVec<F>,
    /// Of each lane, its place in `received`, if it is there.
    places: Vec<usize>,
    /// Seconds that the last sum spent on sending and receiving.
    pub(crate) exchange_seconds: f64,
}

impl<F: Real> Reduction<F> {
    /// Over `lanes` lanes of `len` elements.
    pub(crate) fn new(group: Arc<dyn Group>, lanes: usize, len: usize) -> Self {
        let size = group.size();
        let own = group.part(lanes);
        let (local, shared) = divide(lanes, size, &own);
        let roots: Vec<Vec<usize>> = (0..size).map(|rank| roots(lanes, part(lanes, rank, size))).collect();
        let shares: Vec<Range<usize>> = (0..size).map(|rank| share(len, rank, size)).collect();
        let (mut places, mut count) = (vec![0; lanes], 0);
        for turn in 0..turns(&roots) {
            for lane in roots.iter().filter_map(|roots| roots.get(turn)) {
                places[*lane] = count;
                count += 1;
            }
        }
        Reduction {
            received: AlignedVec::zeros(Self::planned(&*group, lanes, len)),
            exchange_seconds: 0.0,
            group,
            lanes,
            own,
            local,
            shared,
            roots,
            shares,
            places,
        }
    }

    /// Elements it will hold: its share of every process' sums.
    pub(crate) fn planned(group: &dyn Group, lanes: usize, len: usize) -> usize {
        let (rank, size) = (group.rank(), group.size());
        let count: usize = (0..size).map(|rank| roots(lanes, part(lanes, rank, size)).len()).sum();
        if size > 1 { count * share(len, rank, size).len() } else { 0 }
    }

    /// The processes.
    pub(crate) fn group(&self) -> &Arc<dyn Group> {
        &self.group
    }

    /// The lanes of all processes, counted.
    pub(crate) fn lanes(&self) -> usize {
        self.lanes
    }

    /// The lanes of this process.
    pub(crate) fn own(&self) -> Range<usize> {
        self.own.clone()
    }

    /// Sums the gradients of all lanes of all processes; `gradients` are those of this one. The sum is left in the first.
    pub(crate) fn sum(&mut self, gradients: &mut [AlignedVec<F>]) {
        let first = self.own.start;
        for addition in &self.local {
            let (left, right) = gradients.split_at_mut(addition.right - first);
            add(&mut left[addition.left - first], &right[0]);
        }
        self.exchange_seconds = 0.0;
        if self.group.size() == 1 {
            return;
        }
        let started = Instant::now();
        self.exchange(gradients);
        self.exchange_seconds += started.elapsed().as_secs_f64();
        let share = self.shares[self.group.rank()].clone();
        for addition in &self.shared {
            let (left, right) = (self.places[addition.left], self.places[addition.right]);
            let (low, high) = self.received.split_at_mut(left.max(right) * share.len());
            let (low, high) = (&mut low[left.min(right) * share.len()..][..share.len()], &mut high[..share.len()]);
            if left < right { add(low, high) } else { add(high, low) }
        }
        let sum = &self.received[self.places[0] * share.len()..][..share.len()];
        gradients[0][share].copy_from_slice(sum);
        let started = Instant::now();
        self.group.gather(bytemuck::cast_slice_mut(&mut gradients[0]), &self.share_bytes());
        self.exchange_seconds += started.elapsed().as_secs_f64();
    }

    /// Every process sends its sums, one a turn, to those whose shares they are.
    fn exchange(&mut self, gradients: &[AlignedVec<F>]) {
        let rank = self.group.rank();
        let (shares, nothing) = (self.share_bytes(), vec![0; self.roots.len()]);
        let mut room = &mut self.received[..];
        for turn in 0..turns(&self.roots) {
            let (send, sent): (&[F], _) = match self.roots[rank].get(turn) {
                Some(&lane) => (&gradients[lane - self.own.start], &shares),
                None => (&[], &nothing),
            };
            let received = |roots: &Vec<usize>| if roots.len() > turn { shares[rank] } else { 0 };
            let received: Vec<usize> = self.roots.iter().map(received).collect();
            let (receive, later) = room.split_at_mut(received.iter().sum::<usize>() / size_of::<F>());
            self.group.exchange(bytemuck::cast_slice(send), sent, bytemuck::cast_slice_mut(receive), &received);
            room = later;
        }
    }

    fn share_bytes(&self) -> Vec<usize> {
        self.shares.iter().map(|share| share.len() * size_of::<F>()).collect()
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

/// left += right, on all threads.
fn add<F: Real>(left: &mut [F], right: &[F]) {
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
                assert_eq!(drawn(&done, lanes), drawn(&tree(lanes), lanes), "{lanes} lanes, {size} processes");
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
