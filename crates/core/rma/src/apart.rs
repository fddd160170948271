//! Windows whose members do not all share memory, because they are on several nodes or of several jobs.
//!
//! There are no words that all can reach by loads and stores. Where a network card reaches them, it serves all of the window
//! ([`crate::by_card`]), but for posts and completions: who waits for these is in the library, and is told by messages.
//!
//! Without such a card a member itself knows what its words say elsewhere, and others tell it by messages: also locks (in
//! the order in which they ask, [`Turns`](crate::turns::Turns)). All access to a member's memory is then made by the
//! member, so that it is atomic whatever the type. What the members of one process's node could do faster among
//! themselves is not done: one agent for all, the card or the member.

use crate::Error;
use crate::attached::cover;
use crate::card_words;
use crate::messages::{Asked, Kind, Question, RUNS, Served};
use crate::remote::Held;
use crate::window::Window;
use std::sync::atomic::Ordering;
use tern_adi::Data;
use tern_coll::ops::Op;
use tern_layout::Basic;

mod told;

const SHARED: usize = 0;
const ALONE: usize = 1;

fn question(kind: Kind) -> Question {
    Question { kind, op: Op::Replace, basic: Basic::Byte }
}

impl Window {
    /// Asks `rank` for something; `what` goes with it.
    fn request(&self, rank: u32, kind: Kind, what: usize) -> crate::Ticket {
        let ticket = self.messages.begin(None);
        self.messages.ask(ticket, rank, question(kind), what, 0, &[], 0, |_| ());
        self.messages.end(ticket);
        ticket
    }

    // ---- the origin

    /// Waits for a lock at `rank`.
    fn take_apart(&self, rank: u32, what: usize) -> Result<(), Error> {
        let ticket = self.request(rank, Kind::Lock, what);
        let awaited = || self.awaits_apart(rank);
        if self.tells {
            self.inquiries.begin(rank);
        }
        let done = self.await_member_telling(rank, &|| self.is_granted(rank, ticket), &awaited);
        self.inquiries.end(rank);
        done
    }

    #[cold]
    pub(crate) fn lock_apart(&self, rank: u32, exclusive: bool) -> Result<(), Error> {
        match self.card {
            Some(_) => {
                self.take_by_card(rank, if exclusive { card_words::Kind::Alone } else { card_words::Kind::Shared })?
            }
            None => self.take_apart(rank, if exclusive { ALONE } else { SHARED })?,
        }
        self.remote(rank).held.set(if exclusive { Held::Alone } else { Held::Shared });
        Ok(())
    }

    /// Gives up a lock, of which nothing is under way any more.
    #[cold]
    pub(crate) fn unlock_apart(&self, rank: u32) {
        let (kind, what) = match self.remote(rank).held.replace(Held::Not) {
            Held::Not => return self.give_nothing_up(),
            Held::Shared => (card_words::Kind::Shared, SHARED),
            Held::Alone => (card_words::Kind::Alone, ALONE),
        };
        match self.card {
            Some(_) => self.give_up_by_card(rank, kind),
            None => _ = self.request(rank, Kind::Unlock, what),
        }
    }

    /// By messages one member after the other, in the order of ranks: two that do so cannot wait for each other.
    #[cold]
    pub(crate) fn lock_all_apart(&self) -> Result<(), Error> {
        match self.card {
            Some(_) => self.take_by_card(0, card_words::Kind::All)?,
            None => {
                for rank in 0..self.peers.size() {
                    // Whoever gets none of it keeps none of it.
                    let give_back = |_: &Error| (0..rank).for_each(|rank| _ = self.request(rank, Kind::Unlock, SHARED));
                    self.take_apart(rank, SHARED).inspect_err(give_back)?;
                }
            }
        }
        self.all.set(true);
        Ok(())
    }

    #[cold]
    pub(crate) fn unlock_all_apart(&self) {
        if !self.all.replace(false) {
            return self.give_nothing_up();
        }
        if self.card.is_some() {
            self.give_up_by_card(0, card_words::Kind::All);
        } else {
            for rank in 0..self.peers.size() {
                self.request(rank, Kind::Unlock, SHARED);
            }
        }
    }

    pub(crate) fn post_apart(&self, group: &[u32]) {
        for &origin in group {
            self.messages.tell(origin, question(Kind::Post));
        }
    }

    pub(crate) fn complete_apart(&self, targets: &[u32]) {
        for &target in targets {
            self.messages.tell(target, question(Kind::Complete));
        }
    }

    /// Whether `rank` has attached all of these runs (address, bytes): it is asked each time, since it may detach them.
    pub(crate) fn is_attached_apart(
        &self, rank: u32, runs: impl IntoIterator<Item = (u64, u64)>,
    ) -> Result<bool, Error> {
        let runs = tern_memory::collect(runs)?;
        if runs.iter().any(|&(start, bytes)| start.checked_add(bytes).is_none()) {
            return Ok(false);
        }
        for runs in runs.chunks(RUNS) {
            // It outlives the call where no answer comes: that is a loss.
            let found: &mut u8 = Box::leak(Box::new(0));
            let ticket = self.messages.begin(Some(Data::Bytes(found, 1)));
            self.messages.ask(ticket, rank, question(Kind::Find), 0, 1, runs, 0, |_| ());
            self.messages.end(ticket);
            self.await_member(rank, &|| self.messages.is_done(ticket))?;
            // SAFETY: ours; the answer was written there, and nobody writes any more.
            if unsafe { *Box::from_raw(found) } != 1 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    // ---- the target

    /// Gives the lock of this member to those whose turn it is.
    pub(crate) fn pass_on_turns(&self) {
        while let Some((origin, ticket)) = { self.turns.borrow_mut().next() } {
            self.messages.answer(origin, ticket);
        }
        self.tell_of_change();
    }

    /// Does what only these windows ask for.
    pub(crate) fn serve_apart(&self, asked: &Asked<'_>, answer: &mut Vec<u8>) -> Served {
        if !self.apart || (asked.kind == Kind::Find && !self.dynamic) {
            return Served::Damaged("members of this window do not ask that");
        }
        match asked.kind {
            Kind::Lock => {
                let who = (asked.origin, asked.ticket);
                let granted = self.turns.borrow_mut().ask(asked.origin, who, asked.from == ALONE as u64);
                return if granted { Served::Done } else { Served::Later };
            }
            Kind::Unlock => {
                if !self.turns.borrow_mut().give_up(asked.origin, asked.from == ALONE as u64) {
                    return match self.is_lost(asked.origin) {
                        // It was taken from it before this came.
                        true => Served::Done,
                        false => Served::Damaged("it gives up a lock that it does not have"),
                    };
                }
                self.pass_on_turns();
            }
            Kind::Holders => self.tell_holders(asked.origin),
            Kind::Held => self.inquiries.told(asked.origin, asked.from, asked.data),
            // Release: pairs with the acquires of who waits, which may be another thread of this process.
            Kind::Post => {
                self.shared.posts(self.rank(), asked.origin).fetch_add(1, Ordering::Release);
            }
            Kind::Complete => {
                let of_all = &self.shared.member(self.rank()).signals.completed;
                let count = if self.survives { self.shared.completes(asked.origin, self.rank()) } else { of_all };
                // Release: pairs with the acquires of who waits, as above.
                count.fetch_add(1, Ordering::Release);
            }
            _ => {
                let runs = asked.runs().map(|(at, len)| (at as u64, len as u64));
                answer.push(u8::from(cover(&self.own_pieces(), runs).is_some()));
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
