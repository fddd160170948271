//! Whether MPI may be called now, and what its calls have to do for that.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

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
    /// As `Single`, and events wait to be handed on: so the next call takes the longer way, and no other
    /// call looks for events.
    Events,
    /// As `Single`, and the short ways are closed: a communicator is revoked, which they do not look at.
    Revoked,
}

pub(crate) static MODE: AtomicU8 = AtomicU8::new(Mode::Down as u8);

/// Events wait to be handed on.
pub(crate) static EVENTS: AtomicBool = AtomicBool::new(false);

/// A communicator is revoked.
static REVOKED: AtomicBool = AtomicBool::new(false);

/// From now on calls take the longer way, which looks whether a communicator is revoked.
pub fn take_the_long_way() {
    REVOKED.store(true, Ordering::Relaxed);
    if is_single() {
        set_mode(Mode::Single);
    }
}

/// Whether there is such a one.
pub fn has_revoked() -> bool {
    REVOKED.load(Ordering::Relaxed)
}

/// Tells what calls may do from now on. For initialisation and finalisation.
pub fn set_mode(mode: Mode) {
    let mode = match mode {
        Mode::Single if EVENTS.load(Ordering::Relaxed) => Mode::Events,
        Mode::Single if REVOKED.load(Ordering::Relaxed) => Mode::Revoked,
        _ => mode,
    };
    // Relaxed: threads that call MPI at once synchronise by the lock, others by themselves.
    MODE.store(mode as u8, Ordering::Relaxed);
}

/// Something has happened that a tool waits for; said from inside the library.
pub fn note_events() {
    EVENTS.store(true, Ordering::Relaxed);
    if is_single() {
        set_mode(Mode::Single);
    }
}

/// All events that have happened are being handed on.
pub fn forget_events() {
    EVENTS.store(false, Ordering::Relaxed);
    if MODE.load(Ordering::Relaxed) == Mode::Events as u8 {
        set_mode(Mode::Single);
    }
}

/// True when a call may begin without anything held: MPI is up, below MPI_THREAD_MULTIPLE.
#[inline(always)]
pub fn is_single() -> bool {
    MODE.load(Ordering::Relaxed) == Mode::Single as u8
}
