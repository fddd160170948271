//! A mutex that can be handed to a thread which waits for it.

use crate::{sleep, wake};
use lock_api::{GuardSend, RawMutex as _, RawMutexFair};
use std::sync::atomic::{AtomicU32, Ordering};

pub type Mutex<T> = lock_api::Mutex<RawMutex, T>;
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, RawMutex, T>;

/// Somebody has the lock, or it is handed over.
const LOCKED: u32 = 1;
/// Somebody may sleep; whoever has slept keeps this bit for the others when he takes the lock.
const WAITED_FOR: u32 = 2;
/// The lock is for one who has waited; nobody has it.
const HANDED: u32 = 4;

/// Looks, with longer and longer pauses, before a thread sleeps; the last ones pass the core on.
const LOOKS: u32 = 10;
const SHORT_LOOKS: u32 = 3;

/// The lock, one word.
pub struct RawMutex(pub(crate) AtomicU32);

// SAFETY: a thread returns from `lock` only after an exchange that has set LOCKED, or has taken HANDED away, and no two threads succeed in
// that before the first one has given the lock up.
unsafe impl lock_api::RawMutex for RawMutex {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: RawMutex = RawMutex(AtomicU32::new(0));

    type GuardMarker = GuardSend;

    #[inline]
    fn lock(&self) {
        if !self.try_lock() {
            self.wait();
        }
    }

    #[inline]
    fn try_lock(&self) -> bool {
        // Acquire: its partners are the releases of `unlock` and `hand_over`.
        self.0.compare_exchange(0, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[inline]
    unsafe fn unlock(&self) {
        // Release: its partners are the acquires of `try_lock` and `wait`.
        if self.0.swap(0, Ordering::Release) & WAITED_FOR != 0 {
            wake(&self.0, 1);
        }
    }
}

// SAFETY: as above; whoever takes the bit HANDED away has the lock.
unsafe impl RawMutexFair for RawMutex {
    #[inline]
    unsafe fn unlock_fair(&self) {
        // Release: as in `unlock`.
        if self.0.compare_exchange(LOCKED, 0, Ordering::Release, Ordering::Relaxed).is_err() {
            self.hand_over();
        }
    }

    #[inline]
    unsafe fn bump(&self) {
        if self.0.load(Ordering::Relaxed) & WAITED_FOR != 0 {
            self.hand_over();
            self.lock();
        }
    }
}

impl RawMutex {
    /// Gives the lock to one who has waited; if there is none, to nobody. The caller has the lock, and WAITED_FOR is set: only the one
    /// who has the lock takes that bit away.
    #[cold]
    fn hand_over(&self) {
        // Release: its partner is the acquire of `wait`.
        self.0.store(LOCKED | WAITED_FOR | HANDED, Ordering::Release);
        if wake(&self.0, 1) > 0 {
            return;
        }
        let handed = LOCKED | WAITED_FOR | HANDED;
        // Release: as above. If it fails, one who was about to sleep has seen the bit and taken the lock.
        if self.0.compare_exchange(handed, 0, Ordering::Release, Ordering::Relaxed).is_ok() {
            // Who has come in between the two, and sleeps, would not be known any more.
            wake(&self.0, 1);
        }
    }

    #[cold]
    fn wait(&self) {
        let mut looks = 0;
        // WAITED_FOR, once this thread may have slept.
        let mut waited = 0;
        loop {
            let state = self.0.load(Ordering::Relaxed);
            if state & LOCKED == 0 || (state & HANDED != 0 && waited != 0) {
                let taken = (state | LOCKED | waited) & !HANDED;
                // Acquire: its partners are the releases of `unlock` and `hand_over`.
                if self.0.compare_exchange_weak(state, taken, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    return;
                }
            } else if state & WAITED_FOR == 0 && looks < LOOKS {
                looks += 1;
                match looks {
                    ..=SHORT_LOOKS => (0..1 << looks).for_each(|_| std::hint::spin_loop()),
                    _ => std::thread::yield_now(),
                }
            } else {
                let noted = state | WAITED_FOR;
                if state == noted
                    || self.0.compare_exchange_weak(state, noted, Ordering::Relaxed, Ordering::Relaxed).is_ok()
                {
                    waited = WAITED_FOR;
                    sleep(&self.0, noted);
                    looks = 0;
                }
            }
        }
    }
}
