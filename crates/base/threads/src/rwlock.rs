//! A lock that many may read under, or one may write under.

use crate::{ALL, sleep, wake};
use lock_api::{GuardSend, RawRwLockRecursive};
use std::sync::atomic::{AtomicU32, Ordering};

pub type RwLock<T> = lock_api::RwLock<RawRwLock, T>;
pub type RwLockReadGuard<'a, T> = lock_api::RwLockReadGuard<'a, RawRwLock, T>;

/// Somebody writes.
const WRITTEN: u32 = 1 << 31;
/// Somebody may sleep. New readers sleep too, so that a writer's turn comes.
const WAITED_FOR: u32 = 1 << 30;

/// The lock, one word: how many read, and the bits above.
pub struct RawRwLock(AtomicU32);

impl RawRwLock {
    /// Takes the lock, by adding `taken`, once none of the bits `against` are set; sleeps until then.
    #[inline]
    fn take(&self, taken: u32, against: u32) {
        loop {
            let state = self.0.load(Ordering::Relaxed);
            if state & against != 0 {
                self.wait(state);
            // Acquire: its partners are the releases of the two functions that unlock.
            } else if self.0.compare_exchange_weak(state, state + taken, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return;
            }
        }
    }

    #[cold]
    fn wait(&self, state: u32) {
        let noted = state | WAITED_FOR;
        if state == noted || self.0.compare_exchange(state, noted, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            sleep(&self.0, noted);
        }
    }

    /// After the last reader has gone, or the writer. All come again for their turn.
    #[cold]
    fn wake_all(&self) {
        self.0.fetch_and(!WAITED_FOR, Ordering::Relaxed);
        wake(&self.0, ALL);
    }
}

// SAFETY: a writer adds its bit only where nobody reads or writes, and a reader adds itself only where nobody writes.
unsafe impl lock_api::RawRwLock for RawRwLock {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: RawRwLock = RawRwLock(AtomicU32::new(0));

    type GuardMarker = GuardSend;

    #[inline]
    fn lock_shared(&self) {
        self.take(1, WRITTEN | WAITED_FOR);
    }

    fn try_lock_shared(&self) -> bool {
        let state = self.0.load(Ordering::Relaxed);
        // Acquire: as in `take`.
        state & (WRITTEN | WAITED_FOR) == 0
            && self.0.compare_exchange(state, state + 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[inline]
    unsafe fn unlock_shared(&self) {
        // Release: its partner is the acquire of `take`.
        if self.0.fetch_sub(1, Ordering::Release) == WAITED_FOR | 1 {
            self.wake_all();
        }
    }

    #[inline]
    fn lock_exclusive(&self) {
        // Others may wait for the turn too; nobody keeps it for them.
        self.take(WRITTEN, !WAITED_FOR);
    }

    fn try_lock_exclusive(&self) -> bool {
        // Acquire: as in `take`.
        self.0.compare_exchange(0, WRITTEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[inline]
    unsafe fn unlock_exclusive(&self) {
        // Release: its partner is the acquire of `take`.
        if self.0.fetch_sub(WRITTEN, Ordering::Release) & WAITED_FOR != 0 {
            self.wake_all();
        }
    }
}

// SAFETY: a thread that reads already is not kept waiting for a writer that waits for this very thread.
unsafe impl RawRwLockRecursive for RawRwLock {
    #[inline]
    fn lock_shared_recursive(&self) {
        self.take(1, WRITTEN);
    }

    fn try_lock_shared_recursive(&self) -> bool {
        let state = self.0.load(Ordering::Relaxed);
        // Acquire: as in `take`.
        state & WRITTEN == 0 && self.0.compare_exchange(state, state + 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
}
