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

/// The variable that says this process was started as one of several, as Open MPI, MPICH, MVAPICH and Slurm set it.
fn started_as_several() -> Option<&'static str> {
    let several = |name: &&str| std::env::var(name).is_ok_and(|count| count.parse().is_ok_and(|count: u32| count > 1));
    ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"].into_iter().find(several)
}

#[cfg(not(feature = "mpi"))]
impl Job {
    /// Joins the other processes, of which there must be none.
    pub fn join() -> Result<Job> {
        if let Some(name) = started_as_several() {
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
        // Whichever thread sums sends, one at a time (only a panic ends all from where it happens).
        let refuse = |why: &str| Err(crate::Error::Config { origin: "MPI".into(), why: why.into() });
        match mpi::initialize_with_threading(Threading::Serialized) {
            Some((universe, Threading::Serialized | Threading::Multiple)) => {
                let world = message_passing::World::new();
                match started_as_several() {
                    Some(name) if world.size() == 1 => refuse(&format!(
                        "{name} says that this was started as several processes, but MPI knows of one: start it with mpirun, \
                         or with srun --mpi=pmix"
                    )),
                    _ => Ok(Job { group: Arc::new(world), _universe: universe }.abort_on_panic()),
                }
            }
            Some(_) => refuse("its library does not allow threads to take turns (MPI_THREAD_SERIALIZED)"),
            None => refuse("it could not be started"),
        }
    }

    /// A process that panics would take its leave of MPI and wait for the others, who wait for it.
    fn abort_on_panic(self) -> Job {
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
    use mpi::request::{Request, Scope, scope};
    use mpi::topology::{Communicator, SimpleCommunicator};
    use std::sync::Arc;
    use std::time::Duration;

    /// All processes of an MPI job.
    #[derive(Clone, Copy)]
    pub struct World {
        rank: usize,
        size: usize,
        /// Sleeps while it waits. MPI would ask without pause, which is faster, and keeps a core from those who compute.
        sleeps: bool,
    }

    /// Between two looks at what has come: longer ones delay the end of an exchange, shorter ones cost the cores more.
    const PAUSE: Duration = Duration::from_micros(100);

    impl World {
        pub fn new() -> World {
            let world = SimpleCommunicator::world();
            World { rank: world.rank() as usize, size: world.size() as usize, sleeps: false }
        }
    }

    fn sleep_until_done<'a, D: ?Sized, S: Scope<'a>>(mut request: Request<'a, D, S>) {
        while let Err(unfinished) = request.test() {
            request = unfinished;
            std::thread::sleep(PAUSE);
        }
    }

    /// For what is empty: the address of an empty vector may mean something else to MPI.
    static NOTHING: [u8; 1] = [0];

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
            let send = if send.is_empty() { &NOTHING[..0] } else { send };
            let (send, mut receive) = (Partition::new(send, sent, from), PartitionMut::new(receive, received, to));
            let world = SimpleCommunicator::world();
            if self.sleeps {
                scope(|scope| sleep_until_done(world.immediate_all_to_all_varcount_into(scope, &send, &mut receive)));
            } else {
                world.all_to_all_varcount_into(&send, &mut receive);
            }
        }

        fn gather(&self, bytes: &mut [u8], lengths: &[usize]) {
            let (counts, begins) = pieces(lengths);
            let own = bytes[begins[self.rank] as usize..][..lengths[self.rank]].to_vec();
            let mut all = PartitionMut::new(bytes, counts, begins);
            let own = if own.is_empty() { &NOTHING[..0] } else { &own[..] };
            let world = SimpleCommunicator::world();
            if self.sleeps {
                scope(|scope| sleep_until_done(world.immediate_all_gather_varcount_into(scope, own, &mut all)));
            } else {
                world.all_gather_varcount_into(own, &mut all);
            }
        }

        fn beside(&self) -> Arc<dyn Group> {
            Arc::new(World { sleeps: true, ..*self })
        }

        fn broadcast(&self, bytes: &mut [u8]) {
            if !bytes.is_empty() {
                SimpleCommunicator::world().process_at_rank(0).broadcast_into(bytes);
            }
        }
    }
}
