//! Who may combine elements of a member's memory now: anybody, by the processor's atomic instructions, or
//! one at a time, under a guard.
//!
//! Some elements no instruction combines, so they always need the guard. For the others it depends on
//! what is done: single elements are combined fastest by instructions, long rows by kernels, which are no
//! instructions. Since both may come at once, the member has a *mode*. In the mode of instructions a
//! process says in a line of its own that it is at the member's memory, looks at the mode, and goes on:
//! two stores and a load, none of which others write to. Who wants to change the mode holds the guard,
//! changes it, makes all processes pass a fence (`membarrier`), and then waits for those that are still
//! at the memory. In the other mode all use the guard, until only single elements have come for a while.

use crate::atomics::{AtomicU32, Ordering};

/// Single elements after which instructions are allowed again.
const CALM: u32 = 200;

/// The guard of a member's memory, and its mode. Nobody waits for anything of another process while
/// holding it, but for those that use instructions, who wait for nothing either.
#[derive(Default)]
#[repr(C, align(128))]
pub struct Guard {
    word: AtomicU32,
    /// 1: only under the guard.
    mode: AtomicU32,
    /// Single elements since the last row.
    calm: AtomicU32,
}

/// Whose memory a process is at with atomic instructions: the member's rank + 1.
#[repr(C, align(128))]
pub struct Busy(AtomicU32);

impl Guard {
    #[inline]
    pub fn try_enter(&self) -> bool {
        // Acquire: pairs with the release in `leave`.
        self.word.load(Ordering::Relaxed) == 0
            && self.word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[inline]
    pub fn leave(&self) {
        // Release: pairs with the acquire in `try_enter`.
        self.word.store(0, Ordering::Release);
    }

    /// True when instructions may be used by one who holds the guard, and so the mode.
    #[inline]
    pub fn allows_instructions(&self) -> bool {
        self.mode.load(Ordering::Relaxed) == 0
    }

    /// Forbids instructions; the caller holds the guard. The caller then makes all processes pass a
    /// fence and waits until none [`Busy::is_at`] this member's memory.
    pub fn forbid_instructions(&self) {
        self.mode.store(1, Ordering::Relaxed);
        self.calm.store(0, Ordering::Relaxed);
    }

    /// Takes back what [`Guard::forbid_instructions`] has done, if there was no fence to be had.
    pub fn allow_instructions(&self) {
        // Release: pairs with the acquire in `begin`.
        self.mode.store(0, Ordering::Release);
    }

    /// Notes what was done under the guard, which the caller holds, where instructions could have done
    /// it: a row, or single elements, after many of which instructions are allowed again.
    #[inline]
    pub fn note(&self, row: bool) {
        let calm = if row { 0 } else { self.calm.load(Ordering::Relaxed) + 1 };
        self.calm.store(calm, Ordering::Relaxed);
        if calm >= CALM {
            self.allow_instructions();
        }
    }
}

impl Busy {
    /// Begins to use instructions on the memory of member `rank`, if its guard allows it. Ends by
    /// [`Busy::end`]; nothing is waited for between.
    #[inline]
    pub fn begin(&self, rank: u32, guard: &Guard) -> bool {
        self.0.store(rank + 1, Ordering::Relaxed);
        // The other side of it is the fence of who changes the mode. The compiler must not delay the store.
        #[cfg(not(loom))]
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
        // The model checker knows no membarrier: it takes the fence that this puts here.
        #[cfg(loom)]
        loom::sync::atomic::fence(Ordering::SeqCst);
        // Acquire: pairs with the release in `note`.
        let allowed = guard.mode.load(Ordering::Acquire) == 0;
        if !allowed {
            self.end();
        }
        allowed
    }

    #[inline]
    pub fn end(&self) {
        // Release: pairs with the acquire in `is_at`.
        self.0.store(0, Ordering::Release);
    }

    /// True while instructions may be under way on the memory of member `rank`.
    pub fn is_at(&self, rank: u32) -> bool {
        // Acquire: pairs with the release in `end`.
        self.0.load(Ordering::Acquire) == rank + 1
    }
}

#[cfg(all(test, loom))]
mod model;
