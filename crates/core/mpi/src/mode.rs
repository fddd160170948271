//! Whether MPI may be called now, and what its calls have to do for that.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

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
    /// As `Single`, and the short ways are closed: there is a communicator that is revoked, which they do not look at.
    Revoked,
}

pub(crate) static MODE: AtomicU8 = AtomicU8::new(Mode::Down as u8);

/// Events wait to be handed on.
pub(crate) static EVENTS: AtomicBool = AtomicBool::new(false);

/// How many communicators there are that are revoked.
static REVOKED: AtomicU32 = AtomicU32::new(0);

/// There are so many revoked communicators. While there is one calls take the longer way, which looks at that.
pub fn set_revoked(number: usize) {
    REVOKED.store(number as u32, Ordering::Relaxed);
    let mode = MODE.load(Ordering::Relaxed);
    if [Mode::Single, Mode::Revoked].map(|mode| mode as u8).contains(&mode) {
        set_mode(Mode::Single);
    }
}

/// Whether there is a revoked communicator.
pub fn has_revoked() -> bool {
    REVOKED.load(Ordering::Relaxed) > 0
}

/// Tells what calls may do from now on. For initialisation and finalisation.
pub fn set_mode(mode: Mode) {
    let mode = match mode {
        Mode::Single if EVENTS.load(Ordering::Relaxed) => Mode::Events,
        Mode::Single if has_revoked() => Mode::Revoked,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_take_the_longer_way_while_a_communicator_is_revoked() {
        // One test at a time looks at what is guarded, and then at the mode.
        assert!(!crate::fault::has_left());
        set_mode(Mode::Single);
        set_revoked(2);
        assert!(!is_single() && has_revoked());
        set_revoked(1);
        assert!(!is_single());
        set_revoked(0);
        assert!(is_single() && !has_revoked());
        set_mode(Mode::Down);
        set_revoked(1);
        set_revoked(0);
        assert_eq!(MODE.load(Ordering::Relaxed), Mode::Down as u8);
    }
}
