//! The processes that `mpirun` or a batch system started.
//!
//! Without the feature `mpi` there is one, and a program that was started as several says so.

use crate::error::{Error, Result};
use crate::group::Group;
use std::sync::Arc;

/// The processes that this one belongs to. MPI ends when it is dropped.
pub struct Processes {
    group: Arc<dyn Group>,
    #[cfg(feature = "mpi")]
    _universe: mpi::environment::Universe,
}

impl Processes {
    /// How they work together.
    pub fn group(&self) -> Arc<dyn Group> {
        self.group.clone()
    }

    /// True for the process that reads, writes and prints.
    pub fn leads(&self) -> bool {
        self.group.rank() == 0
    }
}

fn refuse(origin: &str, why: impl Into<String>) -> Error {
    Error::Processes { origin: origin.into(), why: why.into() }
}

/// The variable that says this process was started as one of several, as Open MPI, MPICH,
/// MVAPICH and Slurm set it.
fn started_as_several() -> Option<&'static str> {
    let several =
        |name: &&str| std::env::var(name).is_ok_and(|count| count.parse().is_ok_and(|count: u32| count > 1));
    ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"]
        .into_iter()
        .find(several)
}

#[cfg(not(feature = "mpi"))]
impl Processes {
    /// Joins the other processes, of which there must be none.
    pub fn join() -> Result<Processes> {
        match started_as_several() {
            None => Ok(Processes { group: Arc::new(crate::group::SingleProcess) }),
            Some(name) => Err(refuse(
                name,
                "this was started as several processes, but the program was built without MPI: build it with \
                 `cargo build --release --features mpi`",
            )),
        }
    }

    /// Ends this process and all others at once, where there is no way to tell them why.
    pub fn abort(&self, code: u8) -> ! {
        std::process::exit(code.into())
    }
}

#[cfg(feature = "mpi")]
impl Processes {
    /// Joins the other processes.
    pub fn join() -> Result<Processes> {
        use mpi::environment::Threading;
        // Only the thread that sums sends (and a panic ends all from where it happens).
        match mpi::initialize_with_threading(Threading::Serialized) {
            Some((universe, Threading::Serialized | Threading::Multiple)) => {
                let world = message_passing::World::new();
                match started_as_several() {
                    Some(name) if world.size() == 1 => Err(refuse(
                        name,
                        "this was started as several processes, but MPI knows of one: start it with mpirun, \
                         or with srun --mpi=pmix",
                    )),
                    _ => {
                        compute_alike(&world);
                        Ok(Processes { group: Arc::new(world), _universe: universe }.abort_on_panic())
                    }
                }
            }
            Some(_) => {
                Err(refuse("MPI", "its library does not allow threads to take turns (MPI_THREAD_SERIALIZED)"))
            }
            None => Err(refuse("MPI", "it could not be started")),
        }
    }

    /// A process that panics would leave MPI and wait for the others, which wait for it.
    fn abort_on_panic(self) -> Processes {
        use mpi::topology::Communicator;
        if self.group.size() > 1 {
            let usual = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                usual(panic);
                mpi::topology::SimpleCommunicator::world().abort(101)
            }));
        }
        self
    }

    /// Ends this process and all others at once, where there is no way to tell them why.
    pub fn abort(&self, code: u8) -> ! {
        use mpi::topology::Communicator;
        mpi::topology::SimpleCommunicator::world().abort(code.into())
    }
}

/// Machines may differ in their instructions, and these in rounding: all use what all have.
#[cfg(feature = "mpi")]
fn compute_alike(group: &dyn Group) {
    use kuramoto_kernels::arch::{self, Level};
    let mut levels = vec![arch::level() as u8; group.size()];
    group.gather_parts(&mut levels, group.size(), 1);
    let everywhere = |level: &Level| levels.iter().all(|&other| *level as u8 <= other);
    arch::limit([Level::Avx512, Level::Avx2].into_iter().find(everywhere).unwrap_or(Level::Portable));
}

#[cfg(feature = "mpi")]
mod message_passing {
    use crate::group::Group;
    use mpi::Count;
    use mpi::collective::{CommunicatorCollectives, Root};
    use mpi::datatype::{Partition, PartitionMut};
    use mpi::topology::{Communicator, SimpleCommunicator};

    /// All processes of an MPI job.
    #[derive(Clone, Copy)]
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

    /// For what is empty: the address of an empty vector may mean something else to MPI.
    static NOTHING: [u8; 1] = [0];

    /// Lengths and where each piece begins, as MPI counts.
    fn pieces(lengths: &[usize]) -> (Vec<Count>, Vec<Count>) {
        let count = |length: usize| {
            Count::try_from(length).expect("gradients are far below the 2 GB of an MPI message")
        };
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
            let send = if send.is_empty() { &NOTHING[..0] } else { send };
            let (send, mut receive) =
                (Partition::new(send, sent, from), PartitionMut::new(receive, received, to));
            SimpleCommunicator::world().all_to_all_varcount_into(&send, &mut receive);
        }

        fn gather(&self, bytes: &mut [u8], lengths: &[usize]) {
            let (counts, begins) = pieces(lengths);
            let own = bytes[begins[self.rank] as usize..][..lengths[self.rank]].to_vec();
            let mut all = PartitionMut::new(bytes, counts, begins);
            let own = if own.is_empty() { &NOTHING[..0] } else { &own[..] };
            SimpleCommunicator::world().all_gather_varcount_into(own, &mut all);
        }

        fn broadcast(&self, bytes: &mut [u8]) {
            if !bytes.is_empty() {
                SimpleCommunicator::world().process_at_rank(0).broadcast_into(bytes);
            }
        }
    }
}
