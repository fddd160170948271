//! Windows whose members do not all share memory, because they are on several nodes or of several jobs.
//!
//! There are no words that all can reach. What a member's words say elsewhere, the member itself knows here, and others
//! tell it by messages: locks (in the order in which they ask, [`Turns`](crate::turns::Turns)), posts and completions. All access
//! to a member's memory is made by the member, so that it is atomic whatever the type. What the
//! members of one process's node could do faster among themselves is not done: one agent for all.

use crate::Error;
use crate::attached::Piece;
use crate::messages::{Asked, Kind, Question, Served};
use crate::window::{Held, Window};
use std::sync::atomic::Ordering;
use tern_adi::Data;
use tern_coll::ops::Op;
use tern_layout::Basic;

const SHARED: usize = 0;
const ALONE: usize = 1;

fn question(kind: Kind) -> Question {
    Question { kind, op: Op::Replace, basic: Basic::Byte }
}

impl Window {
    /// Tells `rank` something; `what` goes with it.
    fn tell(&self, rank: u32, kind: Kind, what: usize) -> crate::Ticket {
        let ticket = self.messages.begin(None);
        self.messages.ask(ticket, rank, question(kind), what, 0, &[], 0, |_| ());
        self.messages.end(ticket);
        ticket
    }

    // ---- the origin

    /// Waits for a lock at `rank`.
    fn take_apart(&self, rank: u32, what: usize) {
        let ticket = self.tell(rank, Kind::Lock, what);
        self.adi.wait_until(&mut || self.messages.is_done(ticket));
    }

    #[cold]
    pub(crate) fn lock_apart(&self, rank: u32, exclusive: bool) {
        self.take_apart(rank, if exclusive { ALONE } else { SHARED });
        self.remote(rank).held.set(if exclusive { Held::Alone } else { Held::Shared });
    }

    /// Gives up a lock, of which nothing is under way any more.
    #[cold]
    pub(crate) fn unlock_apart(&self, rank: u32) {
        match self.remote(rank).held.replace(Held::Not) {
            Held::Not => {}
            Held::Shared => {
                self.tell(rank, Kind::Unlock, SHARED);
            }
            Held::Alone => {
                self.tell(rank, Kind::Unlock, ALONE);
            }
        }
    }

    /// One member after the other, in the order of ranks: two that do so cannot wait for each other.
    #[cold]
    pub(crate) fn lock_all_apart(&self) {
        (0..self.peers.size()).for_each(|rank| self.take_apart(rank, SHARED));
        self.all.set(true);
    }

    #[cold]
    pub(crate) fn unlock_all_apart(&self) {
        if self.all.replace(false) {
            for rank in 0..self.peers.size() {
                self.tell(rank, Kind::Unlock, SHARED);
            }
        }
    }

    pub(crate) fn post_apart(&self, group: &[u32]) {
        for &origin in group {
            self.tell(origin, Kind::Post, 0);
        }
    }

    pub(crate) fn complete_apart(&self, targets: &[u32]) {
        for &target in targets {
            self.tell(target, Kind::Complete, 0);
        }
    }

    /// Whether `rank` has attached memory that holds these addresses: it is asked each time, since it may detach it.
    pub(crate) fn is_attached_apart(&self, rank: u32, first: u64, end: u64) -> bool {
        if end < first {
            return false;
        }
        let mut found = [0u8];
        let ticket = self.messages.begin(Some(Data::Bytes(found.as_mut_ptr(), 1)));
        self.messages.ask(ticket, rank, question(Kind::Find), 0, 1, &[(first, end - first)], 0, |_| ());
        self.messages.end(ticket);
        self.adi.wait_until(&mut || self.messages.is_done(ticket));
        // SAFETY: ours; the answer was written there.
        unsafe { std::ptr::read_volatile(&found[0]) == 1 }
    }

    // ---- the target

    /// Does what only these windows ask for.
    pub(crate) fn serve_apart(&self, asked: &Asked<'_>, answer: &mut Vec<u8>) -> Served {
        match asked.kind {
            Kind::Lock => {
                let granted = self.turns.borrow_mut().ask((asked.origin, asked.ticket), asked.from == ALONE as u64);
                return if granted { Served::Done } else { Served::Later };
            }
            Kind::Unlock => {
                let mut turns = self.turns.borrow_mut();
                turns.give_up(asked.from == ALONE as u64);
                while let Some((origin, ticket)) = turns.next() {
                    self.messages.answer(origin, ticket);
                }
            }
            // Release: pairs with the acquires of who waits, which may be another thread of this process.
            Kind::Post => {
                self.shared.posts(self.rank(), asked.origin).fetch_add(1, Ordering::Release);
            }
            Kind::Complete => {
                self.shared.member(self.rank()).signals.completed.fetch_add(1, Ordering::Release);
            }
            _ => {
                let holds = |piece: &Piece| asked.runs().all(|(at, len)| piece.holds(at as u64, at as u64 + len as u64));
                // Its owner is this process: it does not change meanwhile.
                let found = self.shared.table(self.rank()).find(holds);
                answer.push(u8::from(matches!(found, Some((Some(_), _)))));
            }
        }
        Served::Done
    }
}

/// For windows that cannot be made of memory that lies apart.
pub(crate) fn needs_shared_memory() -> Error {
    let what = "the processes of a shared window share no memory: they are on several nodes or of several jobs; \
                MPI_Comm_split_type gives those of one node";
    Error::new(crate::Class::Shared, what)
}
