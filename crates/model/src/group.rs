//! The processes that train one model together.

use std::ops::Range;
use std::sync::{Arc, Barrier, Mutex, PoisonError};

/// Processes that work in step. Every one of them must make the same calls in the same order; each returns once this
/// process' part is done. Lengths are in bytes.
pub trait Group: Send + Sync {
    /// The number of this process, from 0.
    fn rank(&self) -> usize;
    /// How many there are.
    fn size(&self) -> usize;
    /// Cuts `send` into `sent` bytes for each process, and puts what each sends to this one, `received` bytes, one after
    /// the other into `receive`.
    fn exchange(&self, send: &[u8], sent: &[usize], receive: &mut [u8], received: &[usize]);
    /// Cuts `bytes` into `lengths`, a piece for each process, and fills in the pieces of the others.
    fn gather(&self, bytes: &mut [u8], lengths: &[usize]);
    /// Replaces `bytes` by those of process 0.
    fn broadcast(&self, bytes: &mut [u8]);

    /// The same processes, for a thread beside those that compute: it waits without keeping a core from them.
    fn beside(&self) -> Arc<dyn Group>;

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

/// A single process.
pub struct Alone;

impl Group for Alone {
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

    fn beside(&self) -> Arc<dyn Group> {
        Arc::new(Alone)
    }

    fn any(&self, flag: bool) -> bool {
        flag
    }
}

/// Threads of one process that stand for processes: what a group does can be tried without starting any.
#[derive(Clone)]
pub struct Played {
    rank: usize,
    size: usize,
    board: Arc<Board>,
}

struct Board {
    posted: Mutex<Vec<Vec<u8>>>,
    barrier: Barrier,
}

impl Played {
    /// A group of `size`, one for each thread.
    pub fn cast(size: usize) -> Vec<Played> {
        let board = Arc::new(Board { posted: Mutex::new(vec![Vec::new(); size]), barrier: Barrier::new(size) });
        (0..size).map(|rank| Played { rank, size, board: board.clone() }).collect()
    }

    /// Posts `bytes` for all to read, and reads once all have posted.
    fn post(&self, bytes: &[u8], read: impl FnOnce(&[Vec<u8>])) {
        let posted = || self.board.posted.lock().unwrap_or_else(PoisonError::into_inner);
        posted()[self.rank] = bytes.to_vec();
        self.board.barrier.wait();
        read(&posted());
        self.board.barrier.wait();
    }
}

impl Group for Played {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn exchange(&self, send: &[u8], sent: &[usize], receive: &mut [u8], received: &[usize]) {
        // A message is preceded by where the pieces begin.
        let mut message: Vec<u8> = Vec::new();
        let mut at = 0;
        for length in sent {
            message.extend((at as u64).to_le_bytes());
            at += length;
        }
        let header = message.len();
        message.extend(send);
        self.post(&message, |posted| {
            let mut filled = 0;
            for (message, &length) in posted.iter().zip(received) {
                let start = message[8 * self.rank..][..8].try_into().map(u64::from_le_bytes).unwrap_or(0) as usize;
                receive[filled..filled + length].copy_from_slice(&message[header + start..][..length]);
                filled += length;
            }
        });
    }

    fn gather(&self, bytes: &mut [u8], lengths: &[usize]) {
        let own = bytes.to_vec();
        self.post(&own, |posted| {
            let mut at = 0;
            for (posted, &length) in posted.iter().zip(lengths) {
                bytes[at..at + length].copy_from_slice(&posted[at..at + length]);
                at += length;
            }
        });
    }

    fn broadcast(&self, bytes: &mut [u8]) {
        let own = bytes.to_vec();
        self.post(&own, |posted| bytes.copy_from_slice(&posted[0]));
    }

    fn beside(&self) -> Arc<dyn Group> {
        Arc::new(self.clone())
    }
}
