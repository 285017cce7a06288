//! The processes of a job that `mpirun` or a batch system started.
//!
//! Without the feature `mpi` a job is one process, and a program that was started as several says so.

use crate::error::Result;
use kuramoto_model::Group;
use std::sync::Arc;

/// What this process is part of. MPI ends when it is dropped.
pub struct Job {
    group: Arc<dyn Group>,
    #[cfg(feature = "mpi")]
    _universe: mpi::environment::Universe,
}

impl Job {
    /// The processes.
    pub fn group(&self) -> Arc<dyn Group> {
        self.group.clone()
    }

    /// True for the process that reads, writes and speaks.
    pub fn leads(&self) -> bool {
        self.group.rank() == 0
    }
}

#[cfg(not(feature = "mpi"))]
impl Job {
    /// Joins the other processes.
    pub fn join() -> Result<Job> {
        // As Open MPI, MPICH and MVAPICH tell their processes how many there are.
        let several =
            |name: &&str| std::env::var(name).is_ok_and(|count| count.parse().is_ok_and(|count: u32| count > 1));
        if let Some(name) = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"].into_iter().find(several) {
            let why = "this was started as several processes, but the program was built without MPI: build it with \
                       `cargo build --release --features mpi`";
            return Err(crate::Error::Config { origin: name.into(), why: why.into() });
        }
        Ok(Job { group: Arc::new(kuramoto_model::Alone) })
    }

    /// Ends this process and all others at once, for want of a way to tell them why.
    pub fn abort(&self, code: u8) -> ! {
        std::process::exit(code.into())
    }
}

#[cfg(feature = "mpi")]
impl Job {
    /// Joins the other processes.
    pub fn join() -> Result<Job> {
        use mpi::environment::Threading;
        // Whichever thread reduces sends, one at a time.
        let refuse = |why: &str| Err(crate::Error::Config { origin: "MPI".into(), why: why.into() });
        match mpi::initialize_with_threading(Threading::Serialized) {
            Some((universe, Threading::Serialized | Threading::Multiple)) => {
                Ok(Job { group: Arc::new(message_passing::World::new()), _universe: universe })
            }
            Some(_) => refuse("its library does not allow threads to take turns (MPI_THREAD_SERIALIZED)"),
            None => refuse("it could not be started"),
        }
    }

    /// Ends this process and all others at once, for want of a way to tell them why.
    pub fn abort(&self, code: u8) -> ! {
        use mpi::topology::Communicator;
        mpi::topology::SimpleCommunicator::world().abort(code.into())
    }
}

#[cfg(feature = "mpi")]
mod message_passing {
    use kuramoto_model::Group;
    use mpi::Count;
    use mpi::collective::{CommunicatorCollectives, Root};
    use mpi::datatype::{Partition, PartitionMut};
    use mpi::topology::{Communicator, SimpleCommunicator};

    /// All processes of an MPI job.
    pub struct World {
        rank: usize,
        size: usize,
    }

    impl World {
        pub fn new() -> World {
            let world = SimpleCommunicator::world();
            World { rank: world.rank() as usize, size: world.size() as usize }
        }
    }

    /// Lengths and where each piece begins, as MPI counts.
    fn pieces(lengths: &[usize]) -> (Vec<Count>, Vec<Count>) {
        let count =
            |length: usize| Count::try_from(length).expect("gradients are far below the 2 GB of an MPI message");
        let begins = lengths.iter().scan(0, |end, &length| Some(std::mem::replace(end, *end + length)));
        (lengths.iter().map(|&length| count(length)).collect(), begins.map(count).collect())
    }

    impl Group for World {
        fn rank(&self) -> usize {
            self.rank
        }

        fn size(&self) -> usize {
            self.size
        }

        fn exchange(&self, send: &[u8], sent: &[usize], receive: &mut [u8], received: &[usize]) {
            let ((sent, from), (received, to)) = (pieces(sent), pieces(received));
            let (send, mut receive) = (Partition::new(send, sent, from), PartitionMut::new(receive, received, to));
            SimpleCommunicator::world().all_to_all_varcount_into(&send, &mut receive);
        }

        fn gather(&self, bytes: &mut [u8], lengths: &[usize]) {
            let (counts, begins) = pieces(lengths);
            let own = bytes[begins[self.rank] as usize..][..lengths[self.rank]].to_vec();
            let mut all = PartitionMut::new(bytes, counts, begins);
            SimpleCommunicator::world().all_gather_varcount_into(&own[..], &mut all);
        }

        fn broadcast(&self, bytes: &mut [u8]) {
            // An empty slice has no address that MPI would take.
            if !bytes.is_empty() {
                SimpleCommunicator::world().process_at_rank(0).broadcast_into(bytes);
            }
        }
    }
}
