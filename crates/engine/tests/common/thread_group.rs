//! A group whose processes are threads of one process: what groups do can be tested
//! without starting processes.

use kuramoto_engine::Group;
use std::sync::{Arc, Barrier, Mutex, PoisonError};

#[derive(Clone)]
pub struct ThreadGroup {
    rank: usize,
    size: usize,
    board: Arc<Board>,
}

struct Board {
    posted: Mutex<Vec<Vec<u8>>>,
    barrier: Barrier,
}

impl ThreadGroup {
    /// A group of `size`, one for each thread.
    pub fn new_group(size: usize) -> Vec<ThreadGroup> {
        let board =
            Arc::new(Board { posted: Mutex::new(vec![Vec::new(); size]), barrier: Barrier::new(size) });
        (0..size).map(|rank| ThreadGroup { rank, size, board: board.clone() }).collect()
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

impl Group for ThreadGroup {
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
                let start =
                    message[8 * self.rank..][..8].try_into().map(u64::from_le_bytes).unwrap_or(0) as usize;
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
}
