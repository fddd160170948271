//! What this process knows while MPI is up: the engine and its place in the job.

use crate::guarded::Guarded;
use std::cell::Cell;
use tern_adi::{Adi, Proc};

/// Made once by initialisation, and never freed: requests of the program may outlive MPI.
pub struct Runtime {
    pub adi: Adi,
    /// This process, and its rank in MPI_COMM_WORLD.
    pub me: Proc,
    /// Processes of MPI_COMM_WORLD: numbers 0 to `world_size - 1`.
    pub world_size: u32,
    /// Node of each process of the world, numbered from 0.
    pub nodes: Vec<u32>,
    /// Number of the program that this process runs (MPI_APPNUM), if the launcher told.
    pub appnum: Option<i32>,
    /// How many processes the launcher could start (MPI_UNIVERSE_SIZE), if it told.
    pub universe_size: Option<i32>,
    /// What the launcher told, and the line to it.
    pub job: tern_pmi::Job,
}

impl Runtime {
    /// The runtime of a process of `job` that communicates by `adi`.
    pub fn new(adi: Adi, job: tern_pmi::Job) -> Runtime {
        let launched = job.control.is_some();
        Runtime {
            adi,
            me: job.rank,
            world_size: job.size,
            nodes: vec![0; job.size as usize],
            appnum: job.appnum.map(|number| number as i32),
            universe_size: launched.then_some(job.universe_size as i32),
            job,
        }
    }

    /// Tells the launcher that MPI is up again.
    pub fn hello(&self) {
        if let Some(control) = &self.job.control {
            control.hello();
        }
    }

    /// Tells the launcher that this process may exit.
    pub fn finalized(&self) {
        if let Some(control) = &self.job.control {
            control.finalized();
        }
    }
}

static RUNTIME: Guarded<Cell<Option<&'static Runtime>>> = Guarded::new(Cell::new(None));

/// Brings `runtime` up. The caller holds the library's lock.
pub fn install(runtime: Runtime) -> &'static Runtime {
    let runtime: &'static Runtime = Box::leak(Box::new(runtime));
    RUNTIME.get().set(Some(runtime));
    runtime
}

/// What [`install`] installed, if anything.
pub fn installed() -> Option<&'static Runtime> {
    RUNTIME.get().get()
}

/// The runtime of a process in which MPI is up.
///
/// # Panics
/// Before initialisation: the entry points let no call through then.
pub fn runtime() -> &'static Runtime {
    installed().expect("MPI is initialised")
}

/// The point-to-point engine.
pub fn adi() -> &'static Adi {
    &runtime().adi
}
