//! Entering the library: is MPI up, and the library's lock.

use crate::observe::Noted;
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
    /// Up, at any level, and every call is noted ([`crate::observe`]).
    Observed,
}

static MODE: AtomicU8 = AtomicU8::new(Mode::Down as u8);

/// Tells what calls may do from now on. For initialisation and finalisation.
pub fn set_mode(mode: Mode) {
    // Relaxed: threads that call MPI at once synchronise by the lock, others by themselves.
    MODE.store(mode as u8, Ordering::Relaxed);
}

/// Held while a call is inside the library.
#[allow(dead_code, reason = "held, not read")]
pub enum Guard {
    Free,
    Locked(lock::Entered),
    Observed(Noted, Option<lock::Entered>),
}

/// Begins a call of `function` that needs MPI to be up; `None` when it is not.
#[inline(always)]
pub fn enter(function: &'static str) -> Option<Guard> {
    match MODE.load(Ordering::Relaxed) {
        mode if mode == Mode::Single as u8 => Some(Guard::Free),
        mode if mode == Mode::Multiple as u8 => Some(locked()),
        mode => observed(mode, function),
    }
}

/// The rarest modes: MPI is down, or calls are noted.
#[cold]
fn observed(mode: u8, function: &'static str) -> Option<Guard> {
    if mode != Mode::Observed as u8 {
        return None;
    }
    let lock = lock::enabled().then(lock::enter_locked);
    Some(Guard::Observed(Noted::new(function), lock))
}

/// True when a call may begin without anything held: MPI is up, below MPI_THREAD_MULTIPLE.
#[inline(always)]
pub fn is_single() -> bool {
    MODE.load(Ordering::Relaxed) == Mode::Single as u8
}

/// Begins a call that may come at any time, from any thread.
#[inline]
pub fn enter_any_time() -> Guard {
    if is_single() { Guard::Free } else { locked() }
}

#[cold]
fn locked() -> Guard {
    Guard::Locked(lock::enter_locked())
}
