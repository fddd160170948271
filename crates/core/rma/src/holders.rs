//! Who has the locks of a window. Those that wait for one are told, when the user wants to know what they wait for (TERN_STALL). Where the job
//! goes on without processes that are lost (TERN_FT), the living take the locks of these.
//!
//! Who has a lock alone stands in its word. Those that share it are only counted there, so each notes it in a byte of its own. Where the job goes on
//! without lost members the notes alone say who shares a lock ([`crate::words::Note`]).

use crate::remote::Held;
use crate::window::Window;
use crate::words::Note;
use tern_adi::{Awaited, Holding};

impl Window {
    /// What this process notes of the lock of `rank`, or of all members.
    fn own_note(&self, rank: Option<u32>) -> &Note {
        self.shared.note(self.rank(), rank)
    }

    /// Takes the lock of `rank` for this process alone.
    pub(crate) fn exclude(&self, rank: u32) {
        let (lock, common) = (&self.shared.member(rank).lock, self.shared.common());
        match self.survives {
            false => self.take(Some(rank), || lock.try_exclude(common, self.rank())),
            true => self.take(Some(rank), || lock.try_exclude_noted(common, self.shared.notes(rank), self.rank())),
        }
    }

    /// Shares the lock of `rank`, and notes it. While it waits it notes nothing.
    pub(crate) fn share_noting(&self, rank: u32) {
        let (lock, note) = (&self.shared.member(rank).lock, self.own_note(Some(rank)));
        if self.survives {
            return self.take(Some(rank), || lock.try_share_noting(self.shared.common(), note));
        }
        self.take(Some(rank), || lock.try_share());
        note.tell(true);
    }

    /// Gives up what [`Window::share_noting`] has taken. True when somebody may wait for it: wake them.
    pub(crate) fn unshare_noting(&self, rank: u32) -> bool {
        let (common, note) = (self.shared.common(), self.own_note(Some(rank)));
        if self.survives {
            return note.clear(common);
        }
        note.tell(false);
        self.shared.member(rank).lock.unshare(common)
    }

    /// Locks all members' memory, not alone, and notes it. While it waits it notes nothing.
    pub(crate) fn share_all_noting(&self) {
        let (common, note) = (self.shared.common(), self.own_note(None));
        if self.survives {
            return self.take(None, || common.try_lock_all_noting(self.locks(), note));
        }
        self.take(None, || common.try_lock_all(self.locks()));
        note.tell(true);
    }

    /// Gives up what [`Window::share_all_noting`] has taken. True when somebody may wait for it: wake them.
    pub(crate) fn unshare_all_noting(&self) -> bool {
        let (common, note) = (self.shared.common(), self.own_note(None));
        if self.survives {
            return note.clear(common);
        }
        note.tell(false);
        common.unlock_all()
    }

    /// What a call waits for that wants the lock of `rank`, or of all members.
    pub(crate) fn awaited_lock(&self, rank: Option<u32>) -> Awaited {
        let lock = |rank: u32| &self.shared.member(rank).lock;
        let one = rank.or_else(|| (0..self.peers.size()).find(|&rank| lock(rank).owner().is_some()));
        let owner = one.and_then(|rank| lock(rank).owner());
        let mut ranks = Vec::from_iter(owner);
        if let (None, Some(rank)) = (owner, one) {
            let is_set = |origin: u32, rank: Option<u32>| self.shared.note(origin, rank).is_set();
            let shares = |&origin: &u32| is_set(origin, Some(rank)) || is_set(origin, None);
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
