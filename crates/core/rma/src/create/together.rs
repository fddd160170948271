//! What the members of a window tell each other while it is made, and what it has taken by then.

use crate::card::Card;
use crate::memory::Belongings;
use crate::{Class, Error};
use std::rc::Rc;
use tern_adi::{Adi, Proc};
use tern_coll::lines::Mismatch;
use tern_coll::{Failure, Peers};
use tern_mcm::{AfterFork, Direct, Lease, Memory};

/// What a window that is being made has taken. It is given back if the window is not finished.
pub(super) struct Unfinished<'a> {
    pub direct: &'a dyn Direct,
    pub belongings: Belongings,
    pub card: Option<Card>,
}

impl<'a> Unfinished<'a> {
    pub fn new(direct: &'a dyn Direct) -> Unfinished<'a> {
        Unfinished { direct, belongings: Belongings::default(), card: None }
    }

    pub fn finish(mut self) -> (Belongings, Option<Card>) {
        (std::mem::take(&mut self.belongings), self.card.take())
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.card.iter().for_each(Card::end);
        self.belongings.give_back(self.direct);
        if let Some(at) = self.belongings.allocated {
            // SAFETY: there is no window that anybody could use it by.
            unsafe { self.direct.free(at) };
        }
    }
}

/// Tells all members some numbers, and returns those of all.
///
/// Errors: one of them is lost. None of the others waits for this one in what they tell each other later.
pub(super) fn tell<const N: usize>(adi: &Adi, peers: &Rc<Peers>, mine: [u64; N]) -> Result<Vec<[u64; N]>, Error> {
    tern_coll::together(adi, peers, mine).map_err(lost)
}

fn lost(process: Proc) -> Error {
    Error::new(Class::Lost { process }, "a member of the window is lost")
}

/// Waits for all members.
///
/// Errors: one of them is lost.
pub(crate) fn barrier(adi: &Adi, peers: &Rc<Peers>) -> Result<(), Error> {
    match tern_coll::fast::barrier(adi, peers).done {
        Some(Err(Mismatch::Lost { process })) => Err(lost(process)),
        Some(done) => {
            done.expect("all members meet");
            Ok(())
        }
        None => tern_coll::run(adi, peers, tern_coll::barrier(peers)).map_err(|failure| match failure {
            Failure::Lost(process) => lost(process),
            Failure::Truncated(_) | Failure::Refused(_) | Failure::Lack(_) => unreachable!("no data is sent"),
        }),
    }
}

/// The memory that all share, as this process sees it.
pub(super) struct Common {
    pub start: *mut u8,
    /// It holds the memory of the window too.
    pub holds_memory: bool,
    pub owned: bool,
    pub len: usize,
}

/// The first member allocates `words` bytes and `memory` bytes behind them, or `words` alone where there is no room for both. All map.
/// `None`: there is no room, or one of them could not map it.
pub(super) fn allocate(
    adi: &Adi, peers: &Rc<Peers>, direct: &dyn Direct, words: usize, memory: usize,
) -> Result<Option<Common>, Error> {
    let first = peers.rank == 0;
    let whole = words.checked_add(memory);
    let take = |len: usize| direct.allocate(len, AfterFork::Shared).map(|at| (at, len));
    let mine = if first { whole.and_then(take).or_else(|| take(words)) } else { None };
    let place = mine.and_then(|(at, len)| direct.place(at, len));
    let told = tell(adi, peers, [place.unwrap_or(0), mine.map_or(0, |(_, len)| len as u64)]);
    let told = told.inspect_err(|_| {
        // SAFETY: nobody has used it.
        mine.iter().for_each(|(start, _)| _ = unsafe { direct.free(*start) });
    })?;
    let [place, len] = told[0];
    let len = len as usize;
    let start = match mine {
        Some((at, _)) => Some(at),
        None if place == 0 => None,
        None => direct.map(&Memory::at_place(place, len), Lease::Lasting),
    };
    let well = tell(adi, peers, [u64::from(start.is_some())]).map(|all| all.iter().all(|[well]| *well == 1));
    if let Ok(true) = well {
        return Ok(start.map(|start| Common { start, holds_memory: memory == 0 || len > words, owned: first, len }));
    }
    match (start, first) {
        // SAFETY: nobody has used it.
        (Some(start), true) => drop(unsafe { direct.free(start) }),
        // SAFETY: mapped above, and not used.
        (Some(start), false) => unsafe { tern_mcm::unmap(start, len) },
        (None, _) => {}
    }
    well.map(|_| None)
}
