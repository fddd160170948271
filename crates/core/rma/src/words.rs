//! The words by which the members of a window wait for each other's locks. They lie in shared memory
//! and begin as zeros; taking one needs nobody's help.
//!
//! A lock for all members (MPI_Win_lock_all) would cost as many steps as there are members, if it
//! were as many locks. Instead one word of the window counts those who hold a lock for all. (After Gerstenberger, Besta,
//! Hoefler: Enabling highly-scalable remote memory access programming with MPI-3 one sided, SC 2013.) They and
//! those who hold a lock alone, anywhere, exclude each other: each says what it wants, then looks for the other. So a
//! lock alone costs one exchange of the member's own word, and nothing is written to what all share. Who wants all
//! looks at the words of all members, but only once somebody has wanted one alone.

mod noted;

pub use noted::{Note, Notes};

use tern_atomics::{AtomicU32, Ordering, spin_loop};

/// What all members share.
#[repr(C, align(128))]
pub struct Common {
    /// Holders of a lock for all.
    holders: AtomicU32,
    /// 1 since somebody has wanted a lock alone.
    alone: AtomicU32,
    /// Threads that wait for some lock.
    waiting: AtomicU32,
}

/// The lock of one member's memory.
#[repr(C, align(128))]
pub struct Lock {
    /// [`EXCLUSIVE`] and the rank of who has it alone, or the number of those that share it.
    word: AtomicU32,
}

const EXCLUSIVE: u32 = 1 << 31;

/// Looks of one that wants a lock alone for those that want all, and go when they see it.
const LOOKS: u32 = if cfg!(loom) { 2 } else { 50 };

/// What a try at a lock has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Try {
    Taken,
    Busy,
    /// Busy, and others may have been turned away by the attempt: wake them.
    Disturbed,
}

impl Common {
    /// A lock for all members, of which `locks` are the words.
    #[inline]
    pub fn try_lock_all<'a>(&self, locks: impl Iterator<Item = &'a Lock> + Clone) -> Try {
        if self.is_any_alone(locks.clone()) {
            return Try::Busy;
        }
        // SeqCst: who wants a lock alone says so in its word and then looks here. One of the two sees the other.
        self.holders.fetch_add(1, Ordering::SeqCst);
        order();
        if !self.is_any_alone(locks) {
            return Try::Taken;
        }
        self.holders.fetch_sub(1, Ordering::SeqCst);
        if self.is_awaited() { Try::Disturbed } else { Try::Busy }
    }

    #[inline]
    fn is_any_alone<'a>(&self, mut locks: impl Iterator<Item = &'a Lock>) -> bool {
        // SeqCst, which is an acquire too: pairs with the release of who had it alone.
        self.alone.load(Ordering::SeqCst) != 0 && locks.any(|lock| lock.word.load(Ordering::SeqCst) & EXCLUSIVE != 0)
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
            if word & EXCLUSIVE != 0 {
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

    /// Takes it alone, for the member of rank `me`.
    #[inline]
    pub fn try_exclude(&self, common: &Common, me: u32) -> Try {
        // Acquire: pairs with the release in `unlock_all`.
        self.try_exclude_unless(common, me, || common.holders.load(Ordering::SeqCst) != 0)
    }

    /// The same, unless others have a share that the word does not tell of, as `is_shared` says. What that loads is SeqCst.
    #[inline]
    fn try_exclude_unless(&self, common: &Common, me: u32, is_shared: impl Fn() -> bool) -> Try {
        if common.alone.load(Ordering::SeqCst) == 0 {
            common.alone.store(1, Ordering::SeqCst);
        }
        if self.word.load(Ordering::SeqCst) != 0 || is_shared() {
            return Try::Busy;
        }
        // Acquire: pairs with the releases of those that had it. SeqCst: see `Common::try_lock_all`.
        if self.word.compare_exchange(0, EXCLUSIVE | me, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            return Try::Busy;
        }
        order();
        if is_shared() { self.await_shares(common, is_shared) } else { Try::Taken }
    }

    /// Somebody has a share, or wants it. Then it goes when it sees this lock: so one of the two gets on.
    #[cold]
    fn await_shares(&self, common: &Common, is_shared: impl Fn() -> bool) -> Try {
        for _ in 1..LOOKS {
            spin_loop();
            if !is_shared() {
                return Try::Taken;
            }
        }
        if self.include(common) { Try::Disturbed } else { Try::Busy }
    }

    /// Takes it from the member of rank `lost`, if that one has it alone and has died. True when somebody may wait for it: wake them.
    pub fn include_lost(&self, common: &Common, lost: u32) -> bool {
        // As `include`. The lost one's word is read by no one else who could have it.
        let held = self.word.compare_exchange(EXCLUSIVE | lost, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        held && common.is_awaited()
    }

    /// The rank of who has it alone, or takes it so at this moment.
    pub fn owner(&self) -> Option<u32> {
        // Relaxed: it is told to the user, and nothing follows from it.
        let word = self.word.load(Ordering::Relaxed);
        (word & EXCLUSIVE != 0).then_some(word & !EXCLUSIVE)
    }

    /// True when somebody may wait for it: wake them.
    #[inline]
    pub fn include(&self, common: &Common) -> bool {
        // SeqCst, which is a release too: see `Common::is_awaited`.
        self.word.swap(0, Ordering::SeqCst);
        common.is_awaited()
    }
}

#[cfg(all(test, loom))]
mod model;
