//! Who has the locks of a window: told to those that wait for one, when the user wants to know what they wait for (TERN_STALL).

use crate::remote::Held;
use crate::window::Window;
use std::sync::atomic::Ordering;
use tern_adi::{Awaited, Holding};

impl Window {
    /// Notes for others whether this process shares the lock of `rank`.
    pub(crate) fn note_share(&self, rank: u32, shares: bool) {
        if self.tells && !self.apart {
            // Relaxed: it is told to the user, and nothing follows from it.
            self.shared.shares(self.rank(), rank).store(u8::from(shares), Ordering::Relaxed);
        }
    }

    /// The same for all members.
    pub(crate) fn note_shares(&self, shares: bool) {
        if self.tells {
            (0..self.peers.size()).for_each(|rank| self.note_share(rank, shares));
        }
    }

    /// What a call waits for that wants the lock of `rank`, or of all members.
    pub(crate) fn awaited_lock(&self, rank: Option<u32>) -> Awaited {
        let lock = |rank: u32| &self.shared.member(rank).lock;
        let one = rank.or_else(|| (0..self.peers.size()).find(|&rank| lock(rank).owner().is_some()));
        let owner = one.and_then(|rank| lock(rank).owner());
        let mut ranks = Vec::from_iter(owner);
        if let (None, Some(rank)) = (owner, one) {
            let shares = |&origin: &u32| self.shared.shares(origin, rank).load(Ordering::Relaxed) == 1;
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
