//! The same locks in a job that goes on without lost members (TERN_FT). Those that share a lock are not counted there: each says so in a note of
//! its own, which nobody else changes while it lives.
//!
//! A count cannot be put right when a member is lost in the midst of changing it, for nobody knows on which side of the change that was. A note
//! says by itself whether the lost member may have had the lock, and one of the living takes it away. The word of a lock that is had
//! alone holds the rank of its owner, so the same is true of it.
//!
//! Both sides say what they want and then look for the other, as those do that want all locks and those that want one alone. Whoever wants a lock
//! alone looks at the notes of all members, which costs as many loads.

use super::{Common, Lock, Try, order};
use tern_atomics::{AtomicU8, Ordering};

/// What a member says of a lock: that it shares it, or is about to.
#[repr(transparent)]
pub struct Note(AtomicU8);

/// The notes that keep others from having a lock alone: of those that share it, and of those that share the locks of all members.
#[derive(Clone, Copy)]
pub struct Notes<'a> {
    pub one: &'a [Note],
    pub all: &'a [Note],
}

impl Notes<'_> {
    fn is_any_set(&self) -> bool {
        // SeqCst, which is an acquire too: pairs with the store of whoever gave its share up.
        self.one.iter().chain(self.all).any(|note| note.0.load(Ordering::SeqCst) != 0)
    }
}

impl Note {
    /// Sets the note as long as nobody `is_alone`.
    #[inline]
    fn try_set(&self, common: &Common, is_alone: impl Fn() -> bool) -> Try {
        if is_alone() {
            return Try::Busy;
        }
        // SeqCst: whoever wants a lock alone says so in its word and then looks here. One of the two sees the other.
        self.0.store(1, Ordering::SeqCst);
        order();
        match is_alone() {
            false => Try::Taken,
            true if self.clear(common) => Try::Disturbed,
            true => Try::Busy,
        }
    }

    /// Gives up the share that its member has. True when somebody may wait for that: wake them.
    #[inline]
    pub fn clear(&self, common: &Common) -> bool {
        // SeqCst, which is a release too: pairs with the loads of whoever takes the lock alone; see `Common::is_awaited`.
        self.0.store(0, Ordering::SeqCst);
        common.is_awaited()
    }

    /// The same, of a member that is lost.
    pub fn take(&self, common: &Common) -> bool {
        // Relaxed: the lost member has changed it before it was found to be lost.
        self.is_set() && self.clear(common)
    }

    /// Says that its member shares the lock, where that is only told to the user.
    pub fn tell(&self, shares: bool) {
        self.0.store(u8::from(shares), Ordering::Relaxed);
    }

    /// Whether its member shares the lock, or is about to.
    pub fn is_set(&self) -> bool {
        // Relaxed: it is told to the user, and nothing follows from it.
        self.0.load(Ordering::Relaxed) != 0
    }
}

impl Lock {
    /// Shares it; `note` is that of this member.
    #[inline]
    pub fn try_share_noting(&self, common: &Common, note: &Note) -> Try {
        // SeqCst, which is an acquire too: pairs with the release of who had it alone.
        note.try_set(common, || self.word.load(Ordering::SeqCst) & super::EXCLUSIVE != 0)
    }

    /// Takes it alone, for the member of rank `me`; `notes` are those of all members.
    #[inline]
    pub fn try_exclude_noted(&self, common: &Common, notes: Notes<'_>, me: u32) -> Try {
        self.try_exclude_unless(common, me, || notes.is_any_set())
    }
}

impl Common {
    /// A lock for all members, of which `locks` are the words; `note` is that of this member.
    #[inline]
    pub fn try_lock_all_noting<'a>(&self, locks: impl Iterator<Item = &'a Lock> + Clone, note: &Note) -> Try {
        note.try_set(self, || self.is_any_alone(locks.clone()))
    }
}

#[cfg(all(test, loom))]
mod model;
