//! Entering the library: is MPI up, the library's lock, and what a call has to do besides in rare modes.

use crate::observe::Noted;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
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
    /// As `Single`, and events wait to be handed on: so the next call takes the longer way, and no other
    /// call looks for events.
    Events,
}

static MODE: AtomicU8 = AtomicU8::new(Mode::Down as u8);

/// Events wait to be handed on.
static EVENTS: AtomicBool = AtomicBool::new(false);

/// Tells what calls may do from now on. For initialisation and finalisation.
pub fn set_mode(mode: Mode) {
    let mode = match mode {
        Mode::Single if EVENTS.load(Ordering::Relaxed) => Mode::Events,
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
        mode if mode == Mode::Down as u8 => None,
        mode => Some(enter_slowly(mode, function)),
    }
}

/// In the other modes.
#[cold]
fn enter_slowly(mode: u8, function: &'static str) -> Guard {
    let lock = lock::enabled().then(lock::enter_locked);
    if EVENTS.load(Ordering::Relaxed) {
        // Nothing of the core is borrowed here.
        crate::tool::hand_on();
    }
    match lock {
        lock if mode == Mode::Observed as u8 => Guard::Observed(Noted::new(function), lock),
        Some(lock) => Guard::Locked(lock),
        None => Guard::Free,
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
    let mode = MODE.load(Ordering::Relaxed);
    if mode == Mode::Single as u8 || mode == Mode::Events as u8 { Guard::Free } else { locked() }
}

#[cold]
fn locked() -> Guard {
    Guard::Locked(lock::enter_locked())
}
