//! The library's lock: one, re-entrant, around everything.
//!
//! The core is single-threaded. At thread levels below MPI_THREAD_MULTIPLE the program keeps
//! threads apart itself (MPI 5.0 section 11.6.2) and entering costs one load. At MULTIPLE every
//! entry takes the lock; a thread that waits lets the others in between two looks.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tern_threads::RawMutex;
use tern_threads::lock_api::{RawMutex as _, RawMutexFair as _};

static MULTIPLE: AtomicBool = AtomicBool::new(false);
static LOCK: RawMutex = RawMutex::INIT;
/// Identity of the thread inside, 0 for none.
static OWNER: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// How often this thread has entered.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// The address of a thread's own variable tells it from the other threads.
fn identity() -> usize {
    DEPTH.with(|depth| depth as *const Cell<u32> as usize)
}

/// Says that several threads may call at once, from now on. Called during initialisation, when
/// only one does.
pub fn enable() {
    MULTIPLE.store(true, Ordering::Relaxed);
}

/// True when several threads may call at once.
#[inline]
pub fn enabled() -> bool {
    MULTIPLE.load(Ordering::Relaxed)
}

/// Held while a thread is inside the library with its lock.
pub struct Entered(());

/// Takes the lock; waits for other threads to leave. Also before [`enable`], for calls that may
/// come from any thread before MPI is up.
pub fn enter_locked() -> Entered {
    lock();
    Entered(())
}

fn lock() {
    let me = identity();
    // Relaxed: only this thread can have stored its own identity.
    if OWNER.load(Ordering::Relaxed) != me {
        LOCK.lock();
        OWNER.store(me, Ordering::Relaxed);
    }
    DEPTH.with(|depth| depth.set(depth.get() + 1));
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        unlock();
    }
}

fn unlock() {
    let left = DEPTH.with(|depth| {
        depth.set(depth.get() - 1);
        depth.get()
    });
    if left == 0 {
        OWNER.store(0, Ordering::Relaxed);
        // SAFETY: this thread took the lock at depth 0 and has not given it back since.
        unsafe { LOCK.unlock() };
    }
}

/// In the child of a fork: who was inside, and is not this thread, does not exist there.
pub fn forget_others() {
    if OWNER.load(Ordering::Relaxed) != identity() {
        OWNER.store(0, Ordering::Relaxed);
        // Whether or not it is taken already.
        LOCK.try_lock();
        // SAFETY: it is taken, by this thread or by one that does not exist.
        unsafe { LOCK.unlock() };
    }
}

/// Runs `pause` with the lock given up, whatever the depth; others may enter meanwhile. The
/// caller is inside, and holds no borrow of the core's state.
pub fn outside<R>(pause: impl FnOnce() -> R) -> R {
    if !enabled() {
        return pause();
    }
    OWNER.store(0, Ordering::Relaxed);
    // SAFETY: the caller is inside, so this thread holds the lock.
    unsafe { LOCK.unlock_fair() };
    let result = pause();
    LOCK.lock();
    OWNER.store(identity(), Ordering::Relaxed);
    result
}

/// Lets a waiting thread in, if there is one. As [`outside`] otherwise.
#[inline]
pub fn bump() {
    if enabled() {
        OWNER.store(0, Ordering::Relaxed);
        // SAFETY: the caller is inside, so this thread holds the lock.
        unsafe { LOCK.bump() };
        OWNER.store(identity(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_finds_the_lock_free_but_keeps_its_own() {
        // A thread that is gone, and has never left.
        std::thread::spawn(|| std::mem::forget(enter_locked())).join().expect("it ends");
        assert!(!LOCK.try_lock());
        forget_others();
        let own = enter_locked();
        forget_others();
        assert!(!LOCK.try_lock(), "this thread is inside");
        drop(own);
        assert!(LOCK.try_lock());
    }
}
