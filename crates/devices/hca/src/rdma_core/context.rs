//! The library, and a context of it: an open device with the port that is used.

mod port;

use super::ffi::{Functions, ibv_context};
use crate::{Error, Result};
pub use port::Port;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use tern_threads::Mutex;

/// How often this process has been forked from another since the library was loaded.
static FORKS: AtomicU32 = AtomicU32::new(0);

extern "C" fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// The library, loaded at the first call.
pub fn functions() -> Result<&'static Functions> {
    static LIBRARY: OnceLock<std::result::Result<Functions, String>> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| {
        let functions = Functions::load()?;
        // SAFETY: without arguments. It lets a process with registered memory fork where the kernel does not see to
        // that itself; a failure leaves it as it is.
        unsafe { (functions.ibv_fork_init)() };
        // SAFETY: the handler touches one atomic number.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
        Ok(functions)
    });
    library.as_ref().map_err(|why| {
        Error::NoHca(format!("libibverbs cannot be loaded ({why}); install rdma-core, or take the software HCA"))
    })
}

/// An open device.
pub struct Context {
    pub functions: &'static Functions,
    pub raw: *mut ibv_context,
    pub port: Port,
    /// Why queue pairs, by number, are in error.
    pub reasons: Mutex<BTreeMap<u32, String>>,
    /// Some have ever been.
    any_failed: AtomicBool,
    forks: u32,
}

// SAFETY: libibverbs may be used from any thread.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// `raw`: a device that was opened, which ends with this.
    pub fn new(functions: &'static Functions, raw: *mut ibv_context, port: Port) -> Context {
        let forks = FORKS.load(Ordering::Relaxed);
        Context { functions, raw, port, reasons: Mutex::default(), any_failed: AtomicBool::new(false), forks }
    }

    /// False in a child of the process that made it.
    #[inline]
    pub fn is_own(&self) -> bool {
        self.forks == FORKS.load(Ordering::Relaxed)
    }

    #[inline]
    pub fn check_own(&self) -> Result<()> {
        if self.is_own() { Ok(()) } else { Err(Error::Forked) }
    }

    /// Keeps the first reason only: those that come later follow from it.
    pub fn failed(&self, queue_pair: u32, why: impl FnOnce() -> String) {
        self.reasons.lock().entry(queue_pair).or_insert_with(why);
        self.any_failed.store(true, Ordering::Relaxed);
    }

    /// Whether the queue pair is known to be in error.
    #[inline]
    pub fn has_failed(&self, queue_pair: u32) -> bool {
        self.any_failed.load(Ordering::Relaxed) && self.reasons.lock().contains_key(&queue_pair)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if self.is_own() {
            // SAFETY: everything that was made from it is gone.
            unsafe { (self.functions.ibv_close_device)(self.raw) };
        }
    }
}

/// Reading from the descriptor no longer waits.
pub fn set_nonblocking(descriptor: c_int) -> Result<()> {
    // SAFETY: the caller's descriptor is open.
    let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
    rustix::fs::fcntl_getfl(descriptor)
        .and_then(|flags| rustix::fs::fcntl_setfl(descriptor, flags | rustix::fs::OFlags::NONBLOCK))
        .map_err(|why| Error::System(format!("a descriptor that shall not block: {why}")))
}
