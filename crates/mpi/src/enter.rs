//! Entering the library: is MPI up, and the library's lock.

use std::sync::atomic::{AtomicU8, Ordering};
use tern_mcm::lock;

/// Whether MPI may be called, and whether calls need the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// Neither initialised nor in a session; or finalised.
    Down,
    /// Up; the program keeps its threads apart.
    Single,
    /// Up with MPI_THREAD_MULTIPLE.
    Multiple,
}

static MODE: AtomicU8 = AtomicU8::new(Mode::Down as u8);

/// Tells what calls may do from now on. For initialisation and finalisation.
pub fn set_mode(mode: Mode) {
    // Relaxed: threads that call MPI at once synchronise by the lock, others by themselves.
    MODE.store(mode as u8, Ordering::Relaxed);
}

/// Held while a call is inside the library.
pub struct Guard(#[allow(dead_code)] Option<lock::Entered>);

/// Begins a call that needs MPI to be up; `None` when it is not.
#[inline(always)]
pub fn enter() -> Option<Guard> {
    match MODE.load(Ordering::Relaxed) {
        mode if mode == Mode::Single as u8 => Some(Guard(None)),
        mode if mode == Mode::Multiple as u8 => Some(locked()),
        _ => None,
    }
}

/// True when a call may begin without anything held: MPI is up, below MPI_THREAD_MULTIPLE.
#[inline(always)]
pub fn is_single() -> bool {
    MODE.load(Ordering::Relaxed) == Mode::Single as u8
}

/// Begins a call that may come at any time, from any thread.
#[inline]
pub fn enter_any_time() -> Guard {
    if MODE.load(Ordering::Relaxed) == Mode::Single as u8 { Guard(None) } else { locked() }
}

#[cold]
fn locked() -> Guard {
    Guard(Some(lock::enter_locked()))
}
