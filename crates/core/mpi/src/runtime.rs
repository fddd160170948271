//! What this process knows while MPI is up: the engine and its place in the job.

use crate::constants::MPI_ERR_SPAWN;
use crate::error::{Error, Result};
use crate::guarded::Guarded;
use std::cell::{Cell, OnceCell, RefCell};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use tern_adi::{Adi, Proc};
use tern_pmi::Control;

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
    /// The memory that is shared with the processes that spawned this one, until they are met.
    pub parents: RefCell<Option<OwnedFd>>,
    /// The line to a launcher that this process has started for itself.
    attended: OnceCell<Control>,
}

impl Runtime {
    /// The runtime of a process of `job` that communicates by `adi`.
    pub fn new(adi: Adi, mut job: tern_pmi::Job) -> Runtime {
        let launched = job.launch != tern_pmi::Launch::Singleton;
        Runtime {
            adi,
            me: job.rank,
            world_size: job.size,
            nodes: (0..job.size).map(|rank| job.nodes.of(rank)).collect(),
            appnum: job.appnum.map(|number| number as i32),
            universe_size: launched.then_some(job.universe_size as i32).filter(|&size| size > 0),
            parents: RefCell::new(job.parents.take()),
            attended: OnceCell::new(),
            job,
        }
    }

    /// The line to the launcher, if there is one.
    pub fn control(&self) -> Option<&Control> {
        self.job.control.as_ref().or_else(|| self.attended.get())
    }

    /// The launcher; a process that was started without one starts it now. MPI_ERR_SPAWN when that fails.
    pub fn launcher(&self) -> Result<&Control> {
        if let Some(control) = self.control() {
            return Ok(control);
        }
        let control = tern_pmi::attend().map_err(|error| Error::new(MPI_ERR_SPAWN, error.to_string()))?;
        Ok(self.attended.get_or_init(|| control))
    }

    /// Tells the launcher that MPI is up again.
    pub fn hello(&self) {
        if let Some(control) = self.control() {
            control.hello();
        }
    }

    /// Tells the launcher that this process may exit.
    pub fn finalized(&self) {
        if let Some(control) = self.control() {
            control.finalized();
        }
        tern_pmi::foreign::finalize();
    }
}

/// Readable without the library's lock.
static INSTALLED: AtomicBool = AtomicBool::new(false);

/// True once MPI was initialised, by any means.
pub fn is_installed() -> bool {
    INSTALLED.load(Ordering::Relaxed)
}

static RUNTIME: Guarded<Cell<Option<&'static Runtime>>> = Guarded::new(Cell::new(None));

/// Brings `runtime` up. The caller holds the library's lock.
pub fn install(runtime: Runtime) -> &'static Runtime {
    let runtime: &'static Runtime = Box::leak(Box::new(runtime));
    RUNTIME.get().set(Some(runtime));
    INSTALLED.store(true, Ordering::Relaxed);
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
