//! One side of a copy: a region, or memory of this process.

use super::layout::Piece;
use super::shared::Shared;
use super::table::Found;
use super::{Cookie, Error, Protection, Spot};
use crate::cma::{Failed, Pid, Run};
use crate::heap::Place;
use crate::view::Views;
use std::sync::Arc;

/// Most runs that are gathered at once.
const RUNS: usize = 1024;

/// How bytes of a side are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// They are mapped here.
    Local,
    /// By the kernel module, which knows the region by this cookie.
    Declared(u64),
    /// By cross memory attach.
    Remote(Pid),
    /// Their owner must be asked.
    Ask,
}

/// Where a side has come to.
pub struct Side {
    pub owner: u32,
    /// The next byte, from the start of the region.
    pub at: u64,
    memory: Memory,
    /// The piece with that byte.
    index: usize,
    /// The kernel module does not have the region any more.
    undeclared: bool,
}

enum Memory {
    Region(Held),
    Local(Vec<Piece>),
}

/// A region that this process uses; free for its owner to take back when dropped.
pub struct Held {
    shared: Arc<Shared>,
    hold: usize,
    cookie: Cookie,
    about: super::table::About,
    once: bool,
}

impl Held {
    /// Begins to use the region: checks that it is there, that it may be used in this way, and that the
    /// range lies inside. A single use is not taken yet.
    pub fn enter(shared: &Arc<Shared>, spot: Spot, len: u64, access: Protection) -> Result<Held, Error> {
        let cookie = spot.cookie;
        let slot = shared.tables.slot(cookie.member(), cookie.slot()).ok_or(Error::NoRegion)?;
        let hold = shared.take_hold().ok_or(Error::Busy)?;
        let (about, once) = match slot.enter(&shared.member().holds[hold], cookie) {
            Some(Found::Region(about)) => (about, false),
            Some(Found::Once(about)) => (about, true),
            None => {
                shared.free_hold(hold);
                return Err(Error::NoRegion);
            }
        };
        let held = Held { shared: shared.clone(), hold, cookie, about, once };
        if spot.offset.checked_add(len).is_none_or(|end| end > about.len) {
            return Err(Error::Bounds { offset: spot.offset, bytes: len, len: about.len });
        }
        if !access.allowed_by(about.access) {
            return Err(Error::Protection);
        }
        Ok(held)
    }

    /// Takes the single use, if it is one; false when somebody else has.
    pub fn claim(&self) -> bool {
        let slot = self.shared.tables.slot(self.cookie.member(), self.cookie.slot());
        !self.once || slot.is_some_and(|slot| slot.claim(self.cookie))
    }

    /// Gives the single use back.
    pub fn unclaim(&self) {
        if let Some(slot) = self.shared.tables.slot(self.cookie.member(), self.cookie.slot())
            && self.once
        {
            slot.unclaim(self.cookie);
        }
    }

    fn pieces(&self) -> &[Piece] {
        self.shared.pieces(self.cookie.member(), &self.about).unwrap_or(&[])
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.shared.free_hold(self.hold);
    }
}

impl Side {
    /// A region from `offset` on.
    pub fn region(held: Held, offset: u64) -> Side {
        let index = held.pieces().partition_point(|piece| piece.start + piece.len <= offset);
        Side { owner: held.cookie.member(), at: offset, memory: Memory::Region(held), index, undeclared: false }
    }

    /// Memory of this process.
    pub fn local(me: u32, pieces: Vec<Piece>) -> Side {
        Side { owner: me, at: 0, memory: Memory::Local(pieces), index: 0, undeclared: false }
    }

    pub fn cookie(&self) -> Option<Cookie> {
        match &self.memory {
            Memory::Region(held) => Some(held.cookie),
            Memory::Local(_) => None,
        }
    }

    /// After bytes were copied in that way.
    pub fn worked(&self, shared: &Shared, class: Class) {
        if let Class::Declared(_) = class {
            shared.module_works(self.owner);
        }
    }

    /// After a copy has failed: an error if this side is reached in that way and there is no other. A region that the module
    /// does not have any more (its pages were replaced, say) is reached without it from here on.
    pub fn failed(&mut self, shared: &Shared, class: Class, failed: Failed) -> Result<(), Error> {
        match class {
            Class::Declared(_) => self.undeclared = true,
            Class::Remote(_) => shared.cma_failed(self.owner, failed)?,
            Class::Local | Class::Ask => {}
        }
        Ok(())
    }

    /// The region's cookie in the module, which has the same bytes at the same offsets.
    fn declared(&self, shared: &Shared) -> Option<u64> {
        let Memory::Region(held) = &self.memory else { return None };
        (shared.module.is_some() && !self.undeclared && held.about.module != 0).then_some(held.about.module)
    }

    fn pieces(&self) -> &[Piece] {
        match &self.memory {
            Memory::Region(held) => held.pieces(),
            Memory::Local(pieces) => pieces,
        }
    }

    pub fn advance(&mut self, len: u64) {
        self.at += len;
        while self.pieces().get(self.index).is_some_and(|piece| piece.start + piece.len <= self.at) {
            self.index += 1;
        }
    }

    /// Fills `runs` with the next bytes, at most `most`, as far as they are reached in the same way;
    /// returns which way and how many.
    pub fn gather(&self, shared: &Shared, views: &Views, most: u64, runs: &mut Vec<Run>) -> (Class, u64) {
        runs.clear();
        let mut class = None;
        let mut len = 0;
        for piece in &self.pieces()[self.index..] {
            if len == most || runs.len() == RUNS {
                break;
            }
            let skipped = self.at + len - piece.start;
            let part = (piece.len - skipped).min(most - len);
            let (way, run) = self.reach(shared, views, piece, skipped, part);
            if *class.get_or_insert(way) != way {
                break;
            }
            runs.extend(run);
            len += part;
        }
        (class.unwrap_or(Class::Local), len)
    }

    fn reach(&self, shared: &Shared, views: &Views, piece: &Piece, skipped: u64, len: u64) -> (Class, Option<Run>) {
        let run = Run::new((piece.address + skipped) as *const u8, len as usize);
        if self.owner == shared.me {
            return (Class::Local, Some(run));
        }
        if shared.options.mapped && shared.is_in_heap(self.owner, piece) {
            match views.at(Place(piece.place + skipped), len as usize) {
                Ok(at) => return (Class::Local, Some(Run::new(at, len as usize))),
                Err(error) => shared.not_mapped(self.owner, &error),
            }
        }
        if let Some(cookie) = self.declared(shared) {
            return (Class::Declared(cookie), None);
        }
        match shared.cma(self.owner) {
            Some(pid) => (Class::Remote(pid), Some(run)),
            None => (Class::Ask, None),
        }
    }
}

impl Shared {
    /// Whether a piece is shared memory, where its owner's must lie.
    fn is_in_heap(&self, owner: u32, piece: &Piece) -> bool {
        let shape = self.tables.shape();
        let start = self.base + shape.heap(owner);
        piece.place >= start && piece.len <= shape.span && piece.place - start <= shape.span - piece.len
    }
}
