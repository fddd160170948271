//! Accesses, locks and accumulates of a window that the network card serves: [`Card`] says what it reaches, [`card_words`] how a lock is
//! taken.

mod combine;
mod holders;
mod lookup;
mod neighbours;

use crate::card::Card;
use crate::card_words::{self, Change, Which};
use crate::elements::{Side, in_parts};
use crate::keys::{Key, Keys};
use crate::target::Ticket;
use crate::window::Window;
use crate::{Class, Error, Started};
use holders::Lookup;
use std::time::Duration;
use tern_mcm::{Direction, Run, Word, lock};

/// Of so many attempts at a lock, all but the first few are announced.
const ANNOUNCING: u32 = 64;
const FIRST_ATTEMPTS: u32 = 8;

impl Window {
    /// The keys of what was [located](Window::locate) just now at `rank`.
    pub(crate) fn keys(&self, rank: u32, key: Key) -> Keys {
        if let Key::One(key) = key {
            return Keys::One(key);
        }
        let mut pieces =
            if rank == self.rank() { self.own_pieces() } else { self.remote(rank).found.borrow().far.clone() };
        pieces.retain(|piece| piece.len > 0);
        pieces.sort_unstable_by_key(|piece| piece.start);
        Keys::Each(pieces)
    }

    /// The card, where there is one.
    pub(crate) fn card(&self) -> &Card {
        self.card.as_ref().expect("the window is served by the card")
    }

    // ---- ends

    /// True when an access by the card is over, well or not.
    pub(crate) fn is_over(&self, rank: u32, number: u64) -> bool {
        let card = self.card();
        card.ended(rank) >= number || card.is_lost(rank)
    }

    /// Waits for an access.
    ///
    /// Errors: the member is lost.
    pub(crate) fn await_card(&self, rank: u32, number: u64) -> Result<(), Error> {
        if self.card().ended(rank) >= number {
            return Ok(());
        }
        self.adi.wait_until(&mut || self.is_over(rank, number));
        if self.card().ended(rank) >= number { Ok(()) } else { Err(self.lost(rank)) }
    }

    /// As [`Window::await_card`], for a lock; `lookup` tells the user of it.
    fn await_card_for(&self, lookup: Option<&Lookup>, rank: u32, number: u64) -> Result<(), Error> {
        let Some(lookup) = lookup else { return self.await_card(rank, number) };
        if self.card().ended(rank) < number {
            let awaited = || self.awaits_by_card(lookup);
            self.adi.wait_until_telling_since(lookup.begun, &mut || self.is_over(rank, number), &awaited);
        }
        if self.card().ended(rank) >= number { Ok(()) } else { Err(self.lost(rank)) }
    }

    /// Waits for all accesses to the memory of `rank`.
    #[inline]
    pub(crate) fn flush_card(&self, rank: u32) -> Result<(), Error> {
        let Some(card) = &self.card else { return Ok(()) };
        let last = card.remote.begun(card.members[rank as usize].proc);
        if card.ended(rank) >= last { Ok(()) } else { self.await_card(rank, last) }
    }

    /// The error of an access to a member that is lost.
    #[cold]
    pub(crate) fn lost(&self, rank: u32) -> Error {
        let process = self.peers.procs[rank as usize];
        // The reason comes with the next polls.
        for _ in 0..1000 {
            if self.adi.why_lost(process).is_some() {
                break;
            }
            self.adi.progress();
            lock::outside(std::thread::yield_now);
        }
        Error::new(Class::Lost { process }, format!("rank {rank} of the window is lost"))
    }

    /// Lets others go on before the next attempt at something that somebody else has.
    pub(crate) fn pause(&self, attempt: u32) -> Result<(), Error> {
        self.adi.progress();
        self.check_lost()?;
        match attempt {
            0..20 => lock::outside(std::thread::yield_now),
            // Not in step with others that try.
            _ => {
                let nap = 50 * attempt.min(40) + 17 * (self.rank() % 16);
                lock::outside(|| std::thread::sleep(Duration::from_micros(u64::from(nap.min(1000)))));
            }
        }
        Ok(())
    }

    // ---- words

    /// Changes a word and waits for what was there.
    fn change(&self, rank: u32, which: Which, change: Change) -> Result<u64, Error> {
        self.change_for(None, rank, which, change)
    }

    /// The same for a lock, of which `lookup` tells the user.
    fn change_for(&self, lookup: Option<&Lookup>, rank: u32, which: Which, change: Change) -> Result<u64, Error> {
        let at = self.card().word(rank, which);
        let rank = if which == Which::Home { 0 } else { rank };
        let mut was = 0u64;
        // SAFETY: it lives until the access has ended; one that has failed is not answered.
        let begun = unsafe { self.begin_change(at, change, &mut was) };
        self.await_card_for(lookup, rank, begun.map_err(|_| self.lost(rank))?)?;
        // SAFETY: the card has written it.
        Ok(unsafe { std::ptr::read_volatile(&was) })
    }

    /// # Safety
    /// `was` is null, or lives until the access has ended.
    unsafe fn begin_change(&self, at: Word, change: Change, was: *mut u64) -> Result<u64, tern_mcm::Lost> {
        let remote = self.card().remote;
        // SAFETY: contract of this function.
        unsafe {
            match change {
                Change::Add(add) => remote.fetch_add(at, add, was),
                Change::Swap { compare, swap } => remote.compare_swap(at, compare, swap, was),
            }
        }
    }

    /// Changes a word; nobody waits for it.
    fn change_later(&self, rank: u32, which: Which, change: Change) {
        // SAFETY: there is no answer. Towards a member that is lost nothing is to be changed.
        let _ = unsafe { self.begin_change(self.card().word(rank, which), change, std::ptr::null_mut()) };
    }

    // ---- locks

    /// Takes a lock.
    ///
    /// Errors: a member is lost.
    pub(crate) fn take_by_card(&self, rank: u32, kind: card_words::Kind) -> Result<(), Error> {
        let mut taking = card_words::Taking::new(kind, self.rank());
        let mut lookup = self.tells.then(|| Lookup::new(rank, kind));
        for attempt in 0.. {
            let mut was = 0;
            let taken = loop {
                match taking.next(was) {
                    card_words::Step::Change(which, change) => {
                        was = self.change_for(lookup.as_ref(), rank, which, change)?;
                    }
                    card_words::Step::Taken => break true,
                    card_words::Step::Busy => break false,
                }
            };
            if taken {
                break;
            }
            self.pause(attempt)?;
            if let Some(lookup) = &mut lookup {
                self.tell_by_card(lookup, taking.found())?;
            }
            taking.again((attempt + 1) % ANNOUNCING > FIRST_ATTEMPTS);
        }
        self.note_share_by_card(rank, kind, true);
        Ok(())
    }

    /// Gives up a lock. What was done under it has ended.
    pub(crate) fn give_up_by_card(&self, rank: u32, kind: card_words::Kind) {
        self.note_share_by_card(rank, kind, false);
        for (which, change) in card_words::give_up(kind, self.rank()) {
            self.change_later(rank, which, change);
        }
    }

    // ---- bytes

    /// Moves `len` bytes between own memory and that of `rank` with these keys, from the given bytes of both on. Own memory
    /// belongs to it until the access with that number has ended.
    ///
    /// Errors: the member is lost.
    pub(crate) fn card_copy(
        &self, (rank, keys): (u32, &Keys), own: (&Side<'_>, usize), theirs: (&Side<'_>, usize), len: usize,
        way: Direction,
    ) -> Result<u64, Error> {
        let (remote, peer) = (self.card().remote, self.peers.procs[rank as usize]);
        let mut last = 0;
        keys.stretches(theirs, len, |key, done, len| {
            in_parts((own.0, own.1 + done), (theirs.0, theirs.1 + done), len, |own: &[Run], theirs: &[Run]| {
                // SAFETY: own memory is the program's, which leaves it to the access; that of the member lies in the
                // window.
                last = unsafe { remote.transfer(peer, own, theirs, key, way) }.map_err(|_| self.lost(rank))?;
                Ok::<(), Error>(())
            })
        })?;
        Ok(last)
    }

    /// An access by the card that has begun.
    pub(crate) fn begun(&self, rank: u32, number: u64) -> Started {
        Started::Pending(Ticket(number, Some(rank)))
    }
}
