//! What the members of a window share besides the memory that it is about: one allocation of the first
//! member, mapped by all.
//!
//! | part | for each member |
//! |---|---|
//! | [`Common`] | |
//! | [`Member`] | its locks and counters |
//! | posts | a counter for each other member |
//! | shares | notes of all members: who shares the lock; after these one row more: who shares all. Where they lie apart: who shares the member's |
//! | completes | a counter for each other member |
//! | [`Table`] | dynamic windows: what is attached |
//! | memory | allocated windows |
//!
//! All of it begins as zeros; what nobody touches costs nothing.

use crate::attached::Table;
use crate::card_words::Words;
use crate::guard::{Busy, Guard};
use crate::request::Request;
use crate::words::{Common, Lock, Note, Notes};
use std::sync::atomic::AtomicU32;

/// Where the memory of the window begins, and the distance of the parts of its members.
pub const PAGE: usize = 4096;

/// What others need of one member.
#[repr(C)]
pub struct Member {
    pub lock: Lock,
    pub guard: Guard,
    /// Of the member itself.
    pub busy: Busy,
    pub signals: Signals,
    /// What the member is asked to do in its private memory.
    pub request: Request,
    /// Where the members lie apart: what the network card changes.
    pub card: Words,
}

/// What a member is told.
#[repr(C, align(128))]
pub struct Signals {
    /// Access epochs to this member that others have completed.
    pub completed: AtomicU32,
    /// Threads of this member that wait for locks.
    pub waiting: AtomicU32,
    /// 1 when others access this member's memory by messages, though the window was made without.
    pub messages: AtomicU32,
}

/// Where everything is.
#[derive(Clone, Copy)]
pub struct Plan {
    members: usize,
    dynamic: bool,
}

impl Plan {
    pub fn new(members: usize, dynamic: bool) -> Plan {
        Plan { members, dynamic }
    }

    #[inline(always)]
    fn member(&self, rank: usize) -> usize {
        size_of::<Common>() + rank * size_of::<Member>()
    }

    fn posts(&self) -> usize {
        self.member(self.members)
    }

    fn shares(&self) -> usize {
        (self.posts() + self.members * self.members * size_of::<AtomicU32>()).next_multiple_of(size_of::<u64>())
    }

    fn completes(&self) -> usize {
        let shares = ((self.members + 1) * self.members).max(self.notes());
        (self.shares() + shares).next_multiple_of(size_of::<u64>())
    }

    fn table(&self, rank: usize) -> usize {
        let completes = self.members * self.members * size_of::<AtomicU32>();
        (self.completes() + completes).next_multiple_of(PAGE) + rank * size_of::<Table>()
    }

    /// Bytes of whole words that have a byte for each member.
    pub fn notes(&self) -> usize {
        self.members.next_multiple_of(size_of::<u64>())
    }

    /// From the words that a card changes at `rank` to the bytes that say who shares its lock.
    pub fn notes_after_words(&self, rank: u32) -> usize {
        self.shares() - self.member(rank as usize) - std::mem::offset_of!(Member, card)
    }

    /// Where the memory of the window begins, a whole number of pages.
    pub fn memory(&self) -> usize {
        self.table(if self.dynamic { self.members } else { 0 })
    }
}

/// The mapped words of a window.
pub struct Shared {
    pub start: *mut u8,
    plan: Plan,
}

impl Shared {
    /// # Safety
    /// `start` is where this process sees memory of at least [`Plan::memory`] bytes, of zeros at first,
    /// that all members have; it stays as long as the value is used.
    pub unsafe fn new(start: *mut u8, plan: Plan) -> Shared {
        Shared { start, plan }
    }

    #[inline(always)]
    fn at<T>(&self, offset: usize) -> &T {
        // SAFETY: inside the memory that `new` was promised, aligned as the plan lays it out; the
        // types that are asked for are all made of atomics and bytes, for which zeros are values.
        unsafe { &*self.start.add(offset).cast() }
    }

    #[inline]
    pub fn common(&self) -> &Common {
        self.at(0)
    }

    #[inline(always)]
    pub fn member(&self, rank: u32) -> &Member {
        debug_assert!((rank as usize) < self.plan.members);
        self.at(self.plan.member(rank as usize))
    }

    /// How often `target` has posted for `origin`.
    pub fn posts(&self, origin: u32, target: u32) -> &AtomicU32 {
        let index = origin as usize * self.plan.members + target as usize;
        self.at(self.plan.posts() + index * size_of::<AtomicU32>())
    }

    /// How many access epochs to `target` `origin` has completed, where the job goes on without lost members.
    pub fn completes(&self, origin: u32, target: u32) -> &AtomicU32 {
        let index = origin as usize * self.plan.members + target as usize;
        self.at(self.plan.completes() + index * size_of::<AtomicU32>())
    }

    /// The notes of all members, by rank: who shares the lock of `target`; none: that of all.
    fn row(&self, target: Option<u32>) -> &[Note] {
        let members = self.plan.members;
        let first = self.at(self.plan.shares() + target.map_or(members, |target| target as usize) * members);
        // SAFETY: the plan has as many rows of as many notes, which are bytes.
        unsafe { std::slice::from_raw_parts(first, members) }
    }

    /// Whether `origin` shares the lock of `target`, or of all, if it says so: see [`crate::holders`].
    pub fn note(&self, origin: u32, target: Option<u32>) -> &Note {
        &self.row(target)[origin as usize]
    }

    /// Who may share the lock of `target`, as all members say.
    pub fn notes(&self, target: u32) -> Notes<'_> {
        Notes { one: self.row(Some(target)), all: self.row(None) }
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    pub fn is_dynamic(&self) -> bool {
        self.plan.dynamic
    }

    /// What is attached at `rank`, of a dynamic window.
    pub fn table(&self, rank: u32) -> &Table {
        debug_assert!(self.plan.dynamic);
        self.at(self.plan.table(rank as usize))
    }
}
