//! The window: who is in it, where its memory lies, and how each of its members is reached.

use crate::attached::{Piece, is_covered};
use crate::card::Card;
use crate::inquiries::Inquiries;
use crate::memory::{Belongings, shared_in_place};
use crate::messages::Messages;
use crate::remote::{Means, Remote};
use crate::shared::Shared;
use crate::turns::Turns;
use crate::{Class, Error};
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use tern_adi::Adi;
use tern_coll::Peers;
use tern_mcm::{Direct, Lease, Memory};
use tern_policy::Gauge;

/// The memory that this process brings into a window. All members bring the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// Fresh memory of so many bytes (MPI_Win_allocate).
    Allocate { bytes: usize },
    /// Fresh memory that all members map (MPI_Win_allocate_shared). `contiguous`: each member's
    /// part follows that of the rank before without a gap.
    Shared { bytes: usize, contiguous: bool },
    /// The program's memory (MPI_Win_create).
    Existing { base: *mut u8, bytes: usize },
    /// What will be attached (MPI_Win_create_dynamic).
    Dynamic,
}

impl Exposure {
    pub(crate) fn bytes(&self) -> usize {
        match *self {
            Exposure::Allocate { bytes } | Exposure::Shared { bytes, .. } | Exposure::Existing { bytes, .. } => bytes,
            Exposure::Dynamic => 0,
        }
    }

    /// The window allocates it.
    pub(crate) fn is_allocated(&self) -> bool {
        matches!(self, Exposure::Allocate { .. } | Exposure::Shared { .. })
    }
}

/// Memory that this process has attached.
pub(crate) struct Attached {
    pub start: usize,
    pub bytes: usize,
    /// What was made shared in place for it.
    pinned: Option<Memory>,
}

/// Memory that the members of a group expose to each other.
pub struct Window {
    pub(crate) adi: &'static Adi,
    pub(crate) peers: Rc<Peers>,
    pub(crate) shared: Shared,
    pub(crate) remotes: Box<[Remote]>,
    pub(crate) messages: Messages,
    pub(crate) dynamic: bool,
    /// The kernel may be asked, where TERN_MECHANISM allows it.
    pub(crate) kernel: bool,
    /// Owners of private memory may be asked for short accesses, which the kernel could make.
    pub(crate) owners: bool,
    /// Shared memory may be used as such.
    pub(crate) map: bool,
    /// All memory of all members is mapped, for good: every access is over when its call returns.
    pub(crate) at_once: bool,
    /// Not all members share memory: words and memory of each are its own.
    pub(crate) apart: bool,
    /// Then: the network card, if it serves all of the window.
    pub(crate) card: Option<Card>,
    /// Then: who has locks on this member's memory. A request for one is answered by its origin and ticket.
    pub(crate) turns: RefCell<Turns<(u32, u64)>>,
    /// Then: who asks, and is told, who has a lock that it waits for.
    pub(crate) inquiries: Inquiries,
    /// All members can make all processes pass a fence, which a change of a guard's mode needs.
    pub(crate) fences: bool,
    /// This process tells others which locks it shares (TERN_STALL).
    pub(crate) tells: bool,
    /// The job goes on when a member is lost (TERN_FT).
    pub(crate) survives: bool,
    /// This process notes how it shares locks, for one of the two.
    pub(crate) notes: bool,
    /// Locks, posts and completions are more than words in shared memory.
    pub(crate) aside: bool,
    /// What guards have inside that this process holds: its rank + 1.
    pub(crate) mark: u32,
    pub(crate) over: Cell<bool>,
    /// Messages are looked for.
    pub(crate) attends: Cell<bool>,
    /// Itself, for that.
    pub(crate) weak: Weak<Window>,
    /// What has to be given back.
    pub(crate) belongings: Belongings,
    /// Memory that this process has attached.
    pub(crate) attached: RefCell<Vec<Attached>>,
    /// Ranks of the access epoch of [`Window::start`].
    pub(crate) started: RefCell<Vec<u32>>,
    /// Members for which puts are gathered.
    pub(crate) gathered: Cell<u32>,
    /// Memory for elements that the kernel brings, kept for the next time.
    pub(crate) room: Cell<Vec<u128>>,
    /// Of long puts and long gets of mapped memory.
    pub(crate) gauges: [RefCell<Gauge>; 2],
    /// Accesses that owners of private memory have made for this process.
    pub(crate) by_owner: Cell<u64>,
    /// Something was written by plain stores since the last full fence.
    pub(crate) stored: Cell<bool>,
    /// Completions that end the exposure epoch.
    pub(crate) awaited: Cell<u32>,
    /// The lock for all is held.
    pub(crate) all: Cell<bool>,
}

impl Window {
    /// The members.
    pub fn peers(&self) -> &Rc<Peers> {
        &self.peers
    }

    #[inline]
    pub(crate) fn rank(&self) -> u32 {
        self.peers.rank
    }

    #[inline]
    pub(crate) fn remote(&self, rank: u32) -> &Remote {
        &self.remotes[rank as usize]
    }

    /// True when the window has a member of that rank.
    #[inline(always)]
    pub fn has(&self, rank: i32) -> bool {
        (rank as u32 as usize) < self.remotes.len()
    }

    /// The device's part; it is there, or the window could not have been made.
    pub(crate) fn direct(&self) -> &'static dyn Direct {
        self.adi.mcm().direct().expect("a window has shared memory")
    }

    /// This process's memory; null for a dynamic window.
    pub fn base(&self) -> *mut u8 {
        self.remote(self.rank()).here
    }

    /// Bytes of the memory of `rank`; 0 for a dynamic window.
    pub fn bytes(&self, rank: u32) -> usize {
        self.remote(rank).bytes
    }

    pub fn disp_unit(&self, rank: u32) -> i64 {
        self.remote(rank).unit
    }

    /// Where this process can load and store the memory of `rank`: address here, bytes, displacement
    /// unit. `None` where it cannot.
    pub fn shared(&self, rank: u32) -> Option<(*mut u8, usize, i64)> {
        let remote = self.remote(rank);
        let mapped = remote.way.get() == Means::Mapped && !self.dynamic;
        mapped.then_some((remote.here, remote.bytes, remote.unit))
    }

    /// Wakes `rank` if it sleeps.
    #[inline]
    pub(crate) fn ring(&self, rank: u32) {
        self.adi.mcm().ring(self.peers.procs[rank as usize]);
    }

    /// Whether so many bytes from this address on lie in this process's memory of the window.
    pub(crate) fn has_own(&self, at: u64, bytes: u64) -> bool {
        if self.dynamic {
            return self.has_attached(at, bytes);
        }
        let own = self.remote(self.rank());
        at.checked_sub(own.address)
            .and_then(|start| start.checked_add(bytes))
            .is_some_and(|end| end <= own.bytes as u64)
    }

    // ---- dynamic windows

    /// True when all of it is attached to this dynamic window.
    pub(crate) fn has_attached(&self, at: u64, bytes: u64) -> bool {
        // Changed by a call that waits for nothing while it does so.
        let Ok(attached) = self.attached.try_borrow() else { return false };
        is_covered((at, bytes), |at| {
            let mut ends =
                attached.iter().map(|piece| (piece.start as u64, piece.start.saturating_add(piece.bytes) as u64));
            ends.find(|&(start, end)| start <= at && at < end).map(|(_, end)| end)
        })
    }

    /// Adds memory to a dynamic window (MPI_Win_attach).
    ///
    /// Errors: it overlaps memory that is attached, or too much is attached.
    pub fn attach(&self, base: *mut u8, bytes: usize) -> Result<(), Error> {
        let start = base as usize;
        let mut attached = self.attached.borrow_mut();
        let overlaps =
            |old: &&Attached| old.start == start || (old.start < start + bytes && start < old.start + old.bytes);
        if let Some(&Attached { start: at, bytes: len, .. }) = attached.iter().find(overlaps) {
            let what = format!("{bytes} bytes at {start:#x} overlap the {len} bytes at {at:#x} that are attached");
            return Err(Error::new(Class::Attach, what));
        }
        let mut pinned = None;
        if bytes > 0 {
            let place;
            (place, pinned) = if self.map { self.share_all(base, bytes) } else { (None, None) };
            let key = self.card.as_ref().map(|card| card.attach(base, bytes));
            let own = Memory::dense(base, bytes);
            let exposed = if place.is_none() {
                self.direct().expose(&own, tern_mcm::Exposure::ByKernel(Lease::Lasting))
            } else {
                None
            };
            let cookie = exposed.map_or(0, |exposed| exposed.cookie);
            let piece = Piece { start: start as u64, len: bytes as u64, place: place.or(key).unwrap_or(0), cookie };
            if !self.shared.table(self.rank()).add(piece) {
                self.card.iter().for_each(|card| card.detach(start));
                exposed.iter().chain(&pinned).for_each(|memory| self.direct().release(memory));
                let most = crate::attached::ENTRIES;
                let what = format!("{most} pieces of memory are attached, which is the most; detach some");
                return Err(Error::new(Class::Attach, what));
            }
        }
        attached.push(Attached { start, bytes, pinned });
        Ok(())
    }

    /// Where memory of this process lies in what all share, if all of it does or can be put there; then, which addresses
    /// that was done for.
    fn share_all(&self, base: *mut u8, bytes: usize) -> (Option<u64>, Option<Memory>) {
        let (place, within, pinned) = shared_in_place(self.direct(), base, bytes);
        // What only a part of was put there for stays pinned as well: a fork must not replace pages that peers write to.
        ((within == (0..bytes)).then_some(place), pinned)
    }

    /// Takes memory that was attached at `base` out again (MPI_Win_detach).
    ///
    /// Errors: nothing is attached there.
    pub fn detach(&self, base: *const u8) -> Result<(), Error> {
        let start = base as usize;
        let mut attached = self.attached.borrow_mut();
        let Some(index) = attached.iter().position(|old| old.start == start) else {
            return Err(Error::new(Class::Attach, format!("no memory is attached at {start:#x}")));
        };
        let old = attached.swap_remove(index);
        drop(attached);
        self.detached(&old);
        Ok(())
    }

    pub(crate) fn detached(&self, old: &Attached) {
        let &Attached { start, bytes, .. } = old;
        if bytes == 0 {
            return;
        }
        if let Some(piece) = self.shared.table(self.rank()).remove(start as u64)
            && (piece.place == 0 || self.card.is_some())
        {
            self.card.iter().for_each(|card| card.detach(start));
            let exposed = Memory { cookie: piece.cookie, ..Memory::dense(start as *const u8, bytes) };
            self.direct().release(&exposed);
        }
        old.pinned.iter().for_each(|memory| self.direct().release(memory));
    }
}
