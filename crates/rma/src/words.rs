//! The words by which the members of a window wait for each other's locks. They lie in shared memory
//! and begin as zeros; taking one needs nobody's help.
//!
//! A lock for all members (MPI_Win_lock_all) would cost as many steps as there are members, if it
//! were as many locks. Instead there is one word for the whole window that counts those who hold a
//! lock for all, and those who hold one alone, anywhere: the two exclude each other. A shared lock for
//! one member excludes only the exclusive ones there. (After Gerstenberger, Besta, Hoefler: Enabling
//! highly-scalable remote memory access programming with MPI-3 one sided, SC 2013.)

use crate::atomics::{AtomicU32, AtomicU64, Ordering};

/// What all members share.
#[repr(C, align(128))]
pub struct Common {
    /// Holders of a lock for all; holders of an exclusive lock, times [`ALONE`].
    holders: AtomicU64,
    /// Threads that wait for some lock.
    waiting: AtomicU32,
}

const ALONE: u64 = 1 << 32;

/// The lock of one member's memory.
#[repr(C, align(128))]
pub struct Lock {
    /// [`EXCLUSIVE`], or the number of those that share it.
    word: AtomicU32,
}

const EXCLUSIVE: u32 = 1 << 31;

/// What a try at a lock has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Try {
    Taken,
    Busy,
    /// Busy, and others may have been turned away by the attempt: wake them.
    Disturbed,
}

impl Common {
    /// A lock for all members.
    pub fn try_lock_all(&self) -> Try {
        let mut holders = self.holders.load(Ordering::SeqCst);
        loop {
            if holders >= ALONE {
                return Try::Busy;
            }
            // Acquire: pairs with the releases of those that held a lock alone.
            match self.exchange(holders, holders + 1) {
                Ok(()) => return Try::Taken,
                Err(now) => holders = now,
            }
        }
    }

    #[inline]
    fn exchange(&self, from: u64, to: u64) -> Result<(), u64> {
        self.holders.compare_exchange_weak(from, to, Ordering::SeqCst, Ordering::SeqCst).map(drop)
    }

    /// True when somebody may wait for it: wake them.
    pub fn unlock_all(&self) -> bool {
        // SeqCst, which is a release too: see `is_awaited`.
        self.holders.fetch_sub(1, Ordering::SeqCst);
        self.is_awaited()
    }

    /// Says that this thread waits for a lock. It tries once more after this, at least.
    pub fn begin_waiting(&self) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        order();
    }

    pub fn end_waiting(&self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// One who gives up a lock changes its word and then looks here; one who waits counts itself here
    /// and then looks at the word. Both steps of both are in the one order of SeqCst, so that one of
    /// them sees the other.
    #[inline]
    fn is_awaited(&self) -> bool {
        order();
        self.waiting.load(Ordering::SeqCst) > 0
    }
}

/// Stands where the one order of SeqCst is relied on. The model checker takes SeqCst for acquire and
/// release, but for fences.
#[inline(always)]
fn order() {
    #[cfg(loom)]
    loom::sync::atomic::fence(Ordering::SeqCst);
}

impl Lock {
    /// Shares it.
    #[inline]
    pub fn try_share(&self) -> Try {
        // SeqCst, as all on these words: see `Common::is_awaited`.
        let mut word = self.word.load(Ordering::SeqCst);
        loop {
            if word == EXCLUSIVE {
                return Try::Busy;
            }
            // Acquire: pairs with the release of the last one that had it alone.
            match self.word.compare_exchange_weak(word, word + 1, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => return Try::Taken,
                Err(now) => word = now,
            }
        }
    }

    /// True when somebody may wait for it: wake them.
    #[inline]
    pub fn unshare(&self, common: &Common) -> bool {
        self.word.fetch_sub(1, Ordering::SeqCst);
        common.is_awaited()
    }

    /// Takes it alone.
    #[inline]
    pub fn try_exclude(&self, common: &Common) -> Try {
        if self.word.load(Ordering::SeqCst) != 0 {
            return Try::Busy;
        }
        let mut holders = common.holders.load(Ordering::SeqCst);
        loop {
            if !holders.is_multiple_of(ALONE) {
                return Try::Busy;
            }
            match common.exchange(holders, holders + ALONE) {
                Ok(()) => break,
                Err(now) => holders = now,
            }
        }
        match self.word.compare_exchange(0, EXCLUSIVE, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => Try::Taken,
            Err(_) => {
                common.holders.fetch_sub(ALONE, Ordering::SeqCst);
                if common.is_awaited() { Try::Disturbed } else { Try::Busy }
            }
        }
    }

    /// True when somebody may wait for it: wake them.
    #[inline]
    pub fn include(&self, common: &Common) -> bool {
        // Release: pairs with the acquire of who takes it next. It is before what follows, which is a release too,
        // in the order that `Common::is_awaited` needs.
        self.word.store(0, Ordering::Release);
        common.holders.fetch_sub(ALONE, Ordering::SeqCst);
        common.is_awaited()
    }
}

#[cfg(all(test, loom))]
mod model;
