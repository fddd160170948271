//! Who has the locks of a window. Those that wait for one are told, when the user wants to know what they wait for (TERN_STALL). Where the job
//! goes on without processes that are lost (TERN_FT), the living take the locks of these.
//!
//! Who has a lock alone stands in its word. Those that share it are only counted there, so each notes it in a byte of its own. What a lost one has
//! noted says what the others have to take from the count; who is lost while it takes or gives up a lock leaves that in doubt.

use crate::Error;
use crate::remote::Held;
use crate::window::Window;
use crate::words::Try;
use std::sync::atomic::Ordering;
use tern_adi::{Awaited, Holding};

/// What a process notes of the lock of a member: it does not share it,
pub(crate) const NONE: u8 = 0;
/// it shares it,
pub(crate) const ONE: u8 = 1;
/// it shares that of all members,
pub(crate) const ALL: u8 = 2;
/// or it is about to take it, or to give it up.
pub(crate) const PASSING: u8 = 3;

impl Window {
    /// Notes for others how this process shares the lock of `rank`.
    fn note_share(&self, rank: u32, note: u8) {
        // Release: pairs with the acquires of those that take it from a lost member; else it is told to the user, and nothing follows from it.
        self.shared.shares(self.rank(), rank).store(note, Ordering::Release);
    }

    fn note_shares(&self, note: u8) {
        (0..self.peers.size()).for_each(|rank| self.note_share(rank, note));
    }

    /// Shares the lock of `rank`, and notes it. While it waits it notes nothing.
    ///
    /// Errors: a lost member may have it.
    pub(crate) fn share_noting(&self, rank: u32) -> Result<(), Error> {
        self.take(Some(rank), || {
            self.note_share(rank, PASSING);
            let tried = self.shared.member(rank).lock.try_share();
            self.note_share(rank, if tried == Try::Taken { ONE } else { NONE });
            tried
        })
    }

    /// Gives up what [`Window::share_noting`] has taken. True when somebody may wait for it: wake them.
    pub(crate) fn unshare_noting(&self, rank: u32) -> bool {
        self.note_share(rank, PASSING);
        let awaited = self.shared.member(rank).lock.unshare(self.shared.common());
        self.note_share(rank, NONE);
        awaited
    }

    /// Locks all members' memory, not alone, and notes it. While it waits it notes nothing.
    ///
    /// Errors: a lost member may have it.
    pub(crate) fn share_all_noting(&self) -> Result<(), Error> {
        self.take(None, || {
            self.note_shares(PASSING);
            let tried = self.shared.common().try_lock_all(self.locks());
            self.note_shares(if tried == Try::Taken { ALL } else { NONE });
            tried
        })
    }

    /// Gives up what [`Window::share_all_noting`] has taken. True when somebody may wait for it: wake them.
    pub(crate) fn unshare_all_noting(&self) -> bool {
        self.note_shares(PASSING);
        let awaited = self.shared.common().unlock_all();
        self.note_shares(NONE);
        awaited
    }

    /// What a call waits for that wants the lock of `rank`, or of all members.
    pub(crate) fn awaited_lock(&self, rank: Option<u32>) -> Awaited {
        let lock = |rank: u32| &self.shared.member(rank).lock;
        let one = rank.or_else(|| (0..self.peers.size()).find(|&rank| lock(rank).owner().is_some()));
        let owner = one.and_then(|rank| lock(rank).owner());
        let mut ranks = Vec::from_iter(owner);
        if let (None, Some(rank)) = (owner, one) {
            let shares = |&origin: &u32| matches!(self.shared.shares(origin, rank).load(Ordering::Relaxed), ONE | ALL);
            ranks.extend((0..self.peers.size()).filter(shares));
        }
        let held = match (owner, one) {
            (Some(_), _) => Holding::Alone,
            (None, Some(_)) => Holding::Shared,
            (None, None) => Holding::Unknown,
        };
        self.awaits_lock(one, held, &ranks)
    }

    /// The same, where who has it, by rank, and how is found elsewhere.
    pub(crate) fn awaits_lock(&self, rank: Option<u32>, held: Holding, ranks: &[u32]) -> Awaited {
        let holders = ranks.iter().filter_map(|&rank| self.peers.procs.get(rank as usize).copied()).collect();
        Awaited::Lock { context: self.peers.context, rank, held, holders }
    }

    /// The locks that this process has: of which rank, or of all, and whether alone.
    pub fn held_locks(&self) -> Vec<(Option<u32>, bool)> {
        let of_one = |(rank, held): (u32, Held)| (held != Held::Not).then_some((Some(rank), held == Held::Alone));
        let ones = (0..).zip(self.remotes.iter().map(|remote| remote.held.get())).filter_map(of_one);
        self.all.get().then_some((None, false)).into_iter().chain(ones).collect()
    }
}
