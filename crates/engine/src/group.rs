//! The processes that train one model together.

use std::ops::Range;

/// Processes that work in step. Every one of them must make the same calls in the same order; each returns
/// once this process' part is done. Lengths are in bytes.
pub trait Group: Send + Sync {
    /// The number of this process, from 0.
    fn rank(&self) -> usize;
    /// How many there are.
    fn size(&self) -> usize;
    /// Cuts `send` into `sent` bytes for each process, and puts what each sends to this one, `received`
    /// bytes, one after the other into `receive`.
    fn exchange(&self, send: &[u8], sent: &[usize], receive: &mut [u8], received: &[usize]);
    /// Cuts `bytes` into `lengths`, a piece for each process, and fills in the pieces of the others.
    fn gather(&self, bytes: &mut [u8], lengths: &[usize]);
    /// Replaces `bytes` by those of process 0.
    fn broadcast(&self, bytes: &mut [u8]);

    /// True everywhere if `flag` is true anywhere.
    fn any(&self, flag: bool) -> bool {
        let mut flags = vec![0; self.size()];
        flags[self.rank()] = u8::from(flag);
        self.gather(&mut flags, &vec![1; self.size()]);
        flags.contains(&1)
    }

    /// The bytes of process 0, however many.
    fn share(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        let mut length = (bytes.len() as u64).to_le_bytes();
        self.broadcast(&mut length);
        bytes.resize(u64::from_le_bytes(length) as usize, 0);
        self.broadcast(&mut bytes);
        bytes
    }

    /// Fills in the parts of the others in `bytes`, which are `count` things of `size` bytes each.
    fn gather_parts(&self, bytes: &mut [u8], count: usize, size: usize) {
        let length = |rank| part(count, rank, self.size()).len() * size;
        self.gather(bytes, &(0..self.size()).map(length).collect::<Vec<_>>());
    }

    /// The part of `count` things that is this process' to do.
    fn part(&self, count: usize) -> Range<usize> {
        part(count, self.rank(), self.size())
    }
}

/// The part of `count` things that falls to process `rank` of `size`: neighbours, and as even as can be.
pub fn part(count: usize, rank: usize, size: usize) -> Range<usize> {
    count * rank / size..count * (rank + 1) / size
}

/// A group of one: what it is to share, it has already.
pub struct SingleProcess;

impl Group for SingleProcess {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn exchange(&self, send: &[u8], _sent: &[usize], receive: &mut [u8], _received: &[usize]) {
        receive.copy_from_slice(send);
    }

    fn gather(&self, _bytes: &mut [u8], _lengths: &[usize]) {}

    fn broadcast(&self, _bytes: &mut [u8]) {}

    fn any(&self, flag: bool) -> bool {
        flag
    }
}
