//! A lane's gradient while a backward pass writes it, of which finished blocks can be sent while others are at work.

use crate::layout::Slot;

/// Which parts of a gradient a backward pass finishes before its end: neighbouring blocks, the last one first.
#[derive(Clone, Debug)]
pub struct Blocks {
    /// Where they begin, in the order in which they are finished. A block ends where the one before it begins.
    pub starts: Vec<usize>,
    /// Where the first one ends.
    pub end: usize,
}

impl Blocks {
    /// Of parts that begin at `starts`, the last one ending at `end`, all but the first.
    pub(crate) fn after_first(mut starts: Vec<usize>, end: usize) -> Blocks {
        starts.remove(0);
        starts.reverse();
        Blocks { starts, end }
    }

    /// The elements of all.
    pub fn elements(&self) -> usize {
        self.end - self.starts.last().copied().unwrap_or(self.end)
    }

    /// What is finished last: the elements before and after the blocks.
    pub(crate) fn rest(&self, len: usize) -> [std::ops::Range<usize>; 2] {
        [0..self.end - self.elements(), self.end..len]
    }
}

/// Takes the blocks of a gradient as they are finished, with their number.
pub(crate) type Taker<'g, 't, F> = &'t dyn Fn(usize, &'g mut [F]);

/// A lane's gradient.
pub struct Gradient<'g, 't, F> {
    /// What is before `end`, without the blocks that were taken.
    front: &'g mut [F],
    back: &'g mut [F],
    end: usize,
    /// Of all blocks, and how many of them are finished.
    starts: &'t [usize],
    finished: usize,
    taker: Option<Taker<'g, 't, F>>,
}

impl<'g, 't, F> Gradient<'g, 't, F> {
    pub(crate) fn new(gradient: &'g mut [F], blocks: &'t Blocks) -> Self {
        let (front, back) = gradient.split_at_mut(blocks.end);
        Gradient { front, back, end: blocks.end, starts: &blocks.starts, finished: 0, taker: None }
    }

    /// From now on, blocks are final when they are finished, and `taker` gets them.
    pub(crate) fn hand_to(&mut self, taker: Option<Taker<'g, 't, F>>) {
        self.taker = taker;
    }

    /// Says that the next of the blocks is finished; false if there is none, or no one to take it.
    pub(crate) fn finish_block(&mut self) -> bool {
        let (Some(taker), Some(&start)) = (self.taker, self.starts.get(self.finished)) else { return false };
        let (front, block) = std::mem::take(&mut self.front).split_at_mut(start);
        self.front = front;
        taker(self.finished, block);
        self.finished += 1;
        true
    }

    /// One element, to write.
    pub(crate) fn at(&mut self, index: usize) -> &mut F {
        &mut self.of(Slot { start: index, len: 1 })[0]
    }

    /// The part of a slot, to write.
    #[inline]
    pub(crate) fn of(&mut self, slot: Slot) -> &mut [F] {
        if slot.start < self.end {
            slot.of_mut(self.front)
        } else {
            Slot { start: slot.start - self.end, len: slot.len }.of_mut(self.back)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn finished_blocks_are_taken_from_the_last_to_the_first() {
        let blocks = Blocks { starts: vec![6, 4], end: 8 };
        assert_eq!(blocks.rest(10), [0..4, 8..10]);
        let mut values = [0; 10];
        let taken = RefCell::new(Vec::new());
        let taker = |index: usize, block: &mut [i32]| taken.borrow_mut().push((index, block.to_vec()));
        let mut gradient = Gradient::new(&mut values, &blocks);
        gradient.of(Slot { start: 8, len: 2 }).fill(4);
        gradient.of(Slot { start: 6, len: 2 }).fill(1);
        assert!(!gradient.finish_block(), "nobody takes it");
        gradient.hand_to(Some(&taker));
        gradient.of(Slot { start: 0, len: 8 })[7] += 1;
        assert!(gradient.finish_block());
        gradient.of(Slot { start: 3, len: 2 }).fill(2);
        assert!(gradient.finish_block());
        gradient.of(Slot { start: 3, len: 1 }).fill(3);
        assert!(!gradient.finish_block(), "the rest is no block");
        assert_eq!(*taken.borrow(), [(0, vec![1, 2]), (1, vec![2, 0])]);
        assert_eq!(values, [0, 0, 0, 3, 2, 0, 1, 2, 4, 4]);
    }
}
