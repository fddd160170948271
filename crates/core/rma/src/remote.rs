//! A member of a window as this process sees it: how its memory is reached, and what is known of it.

use crate::attached::Piece;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use tern_mcm::{Name, Run};
use tern_policy::Responsiveness;

pub(crate) use tern_policy::one_sided::Means;

/// A member's memory as this process sees it.
pub(crate) struct Remote {
    /// [`Means::Kernel`] becomes [`Means::Messages`] when the kernel refuses.
    pub way: Cell<Means>,
    /// Elements of these bytes are combined by atomic instructions where these exist: all processes can map them. The
    /// others always under the member's guard, by everybody.
    pub atomic: Range<usize>,
    /// Where it begins here, if mapped; or would begin, if some of it is.
    pub here: *mut u8,
    /// Where it begins in its own process.
    pub address: u64,
    /// The cookie of its region, which begins there; 0: there is none.
    pub cookie: u64,
    pub bytes: usize,
    /// Bytes that loads and stores reach at `here`: all, none, or the whole pages in the middle, where [`Means::Kernel`]
    /// reaches the rest; none in a dynamic window.
    pub near: Range<usize>,
    pub unit: i64,
    /// The lock that this process has there.
    pub held: Cell<Held>,
    /// Posts of that member that were answered by a start.
    pub taken: Cell<u32>,
    /// Posts of this process to that member, where the job goes on without lost members.
    pub posted: Cell<u32>,
    /// Of a dynamic window: what was found last.
    pub found: RefCell<Found>,
    /// Whether its owner is asked for what the kernel could do.
    pub responsiveness: Responsiveness,
    /// Puts that the kernel is asked for together.
    pub puts: RefCell<Puts>,
}

impl Remote {
    /// By what the kernel's module knows these runs of its memory, in a dynamic window if all lie in the piece that was found last.
    pub fn name(&self, dynamic: bool, runs: &[Run]) -> Name {
        if !dynamic {
            return Name { cookie: self.cookie, start: self.address };
        }
        match self.found.borrow().last {
            Some((piece, _)) if runs.iter().all(|run| piece.holds(run.address, run.address + run.len)) => piece.name(),
            _ => Name::NONE,
        }
    }
}

/// A lock that this process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    Not,
    Shared,
    Alone,
}

/// What this process knows of the memory that a member has attached.
#[derive(Default)]
pub(crate) struct Found {
    /// Of the member's table.
    pub version: u32,
    pub last: Option<(Piece, *mut u8)>,
    /// What is mapped here, and where.
    pub mapped: Vec<(Piece, *mut u8)>,
    /// What the card has read: all of it.
    pub far: Vec<Piece>,
}

/// Runs of this process's memory, and where they go.
#[derive(Default)]
pub(crate) struct Puts {
    pub own: Vec<Run>,
    pub theirs: Vec<Run>,
}

impl Puts {
    /// Adds one, joined with the last where it continues that on both sides.
    pub fn add(&mut self, own: u64, theirs: u64, len: u64) {
        if let (Some(last), Some(there)) = (self.own.last_mut(), self.theirs.last_mut())
            && last.address + last.len == own
            && there.address + there.len == theirs
        {
            last.len += len;
            there.len += len;
            return;
        }
        self.own.push(Run { address: own, len });
        self.theirs.push(Run { address: theirs, len });
    }
}
