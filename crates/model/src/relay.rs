//! Where the lanes of a process meet to add finished blocks of their gradients, without waiting for each other: of two whose
//! sums are to be added, the first leaves its own and goes on, the second adds. The order of sums is that of the tree.

use crate::reduction::Addition;
use kuramoto_kernels::{Real, reduce};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

/// For one step.
pub(crate) struct Relay<'g, F> {
    additions: Vec<Addition>,
    /// Of every block and addition, what came first.
    waiting: Vec<Mutex<Vec<Option<&'g mut [F]>>>>,
    sums: Sender<(usize, &'g mut [F])>,
}

impl<'g, F: Real> Relay<'g, F> {
    /// For so many blocks. What the additions leave comes out with the number of its lane, the blocks of a lane in order.
    pub(crate) fn new(additions: Vec<Addition>, blocks: usize) -> (Self, Receiver<(usize, &'g mut [F])>) {
        let empty = || Mutex::new(additions.iter().map(|_| None).collect());
        let (sums, out) = channel();
        (Relay { waiting: (0..blocks).map(|_| empty()).collect(), additions, sums }, out)
    }

    /// Takes a block of a lane, and adds what can be added: on this thread alone, as a thread that waits for others of its
    /// pool may begin another lane meanwhile, and this one holds its workspace.
    pub(crate) fn take(&self, mut lane: usize, index: usize, mut block: &'g mut [F]) {
        for (i, &Addition { left, right, .. }) in self.additions.iter().enumerate() {
            if lane != left && lane != right {
                continue;
            }
            let other = {
                let mut waiting = self.waiting[index].lock().unwrap_or_else(PoisonError::into_inner);
                match waiting[i].take() {
                    Some(other) => other,
                    None => {
                        waiting[i] = Some(block);
                        return;
                    }
                }
            };
            let (sum, addend) = if lane == left { (block, other) } else { (other, block) };
            reduce::add(sum, addend);
            (lane, block) = (left, sum);
        }
        // Nobody to take it means that the thread that should has panicked, and the step with it.
        self.sums.send((lane, block)).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reduction::tree;

    /// Lanes that come in any order: each sum once, in order of blocks, with the bits of the tree.
    #[test]
    fn whoever_comes_second_adds() {
        let lanes = 7;
        let value = |lane: usize, block: usize| 0.1f32 * (lane * lane + 3 * block + 1) as f32;
        let expected = |block: usize| {
            let mut sums: Vec<f32> = (0..lanes).map(|lane| value(lane, block)).collect();
            tree(lanes).iter().for_each(|a| sums[a.left] += sums[a.right]);
            sums[0]
        };
        for turn in 0..lanes {
            let mut gradients: Vec<[f32; 2]> = (0..lanes).map(|lane| [value(lane, 0), value(lane, 1)]).collect();
            let (relay, sums) = Relay::new(tree(lanes), 2);
            std::thread::scope(|scope| {
                for (lane, gradient) in gradients.iter_mut().enumerate() {
                    let relay = &relay;
                    scope.spawn(move || {
                        std::thread::sleep(std::time::Duration::from_millis(((lane + turn) % lanes) as u64));
                        let (first, second) = gradient.split_at_mut(1);
                        relay.take(lane, 0, first);
                        relay.take(lane, 1, second);
                    });
                }
            });
            drop(relay);
            let sums: Vec<(usize, f32)> = sums.iter().map(|(lane, block)| (lane, block[0])).collect();
            assert_eq!(sums, [(0, expected(0)), (0, expected(1))]);
        }
    }
}
