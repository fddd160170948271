//! The window: who is in it and where its memory lies.

use crate::{Error, Started, Target, Ticket};
use std::rc::Rc;
use tern_adi::{Adi, Data};
use tern_coll::Peers;
use tern_coll::ops::Op;

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

/// Memory that the members of a group expose to each other.
pub struct Window {}

impl Window {
    /// Makes a window; collective over `peers`, an intracommunicator that only this window uses, with
    /// its collective context `peers.context` and the point-to-point context below it,
    /// `peers.context - 1`. `disp_unit` may differ from rank to rank.
    ///
    /// Errors, the same at all members: no memory, or the members cannot share it.
    pub fn new(adi: &'static Adi, peers: Rc<Peers>, exposure: Exposure, disp_unit: i64) -> Result<Rc<Window>, Error> {
        let _ = (adi, peers, exposure, disp_unit);
        todo!()
    }

    /// Ends the window: collective, after all accesses have been flushed. What it allocated is gone.
    pub fn free(&self) {
        todo!()
    }

    /// The members.
    pub fn peers(&self) -> &Rc<Peers> {
        todo!()
    }

    /// This process's memory; null for a dynamic window.
    pub fn base(&self) -> *mut u8 {
        todo!()
    }

    /// Bytes of the memory of `rank`; 0 for a dynamic window.
    pub fn bytes(&self, rank: u32) -> usize {
        let _ = rank;
        todo!()
    }

    pub fn disp_unit(&self, rank: u32) -> i64 {
        let _ = rank;
        todo!()
    }

    /// Where this process can load and store the memory of `rank`: address here, bytes, displacement
    /// unit. `None` where it cannot.
    pub fn shared(&self, rank: u32) -> Option<(*mut u8, usize, i64)> {
        let _ = rank;
        todo!()
    }

    /// Adds memory to a dynamic window (MPI_Win_attach).
    ///
    /// Errors: it overlaps memory that is attached, or too much is attached.
    pub fn attach(&self, base: *mut u8, bytes: usize) -> Result<(), Error> {
        let _ = (base, bytes);
        todo!()
    }

    /// Takes memory that was attached at `base` out again (MPI_Win_detach).
    ///
    /// Errors: nothing is attached there.
    pub fn detach(&self, base: *const u8) -> Result<(), Error> {
        let _ = base;
        todo!()
    }

    // ---- access. Memory of the origin may be reused after `Done`, else when the ticket is done or
    // the target was flushed, locally at least.

    /// Moves `origin` to the target.
    pub fn put(&self, origin: &Data, target: &Target<'_>) -> Result<Started, Error> {
        let _ = (origin, target);
        todo!()
    }

    /// Moves the target to `origin`.
    pub fn get(&self, origin: &Data, target: &Target<'_>) -> Result<Started, Error> {
        let _ = (origin, target);
        todo!()
    }

    /// `target = origin op target`, one element after the other, each atomically. [`Op::Replace`]
    /// and [`Op::NoOp`] are allowed.
    pub fn accumulate(&self, origin: &Data, target: &Target<'_>, op: Op) -> Result<Started, Error> {
        let _ = (origin, target, op);
        todo!()
    }

    /// As [`Window::accumulate`]; what was at the target before goes to `result`. With
    /// [`Op::NoOp`] `origin` is not looked at.
    pub fn get_accumulate(
        &self,
        origin: &Data,
        result: &Data,
        target: &Target<'_>,
        op: Op,
    ) -> Result<Started, Error> {
        let _ = (origin, result, target, op);
        todo!()
    }

    /// [`Window::get_accumulate`] of one element of a predefined type (`target.count` is 1).
    pub fn fetch_and_op(
        &self,
        origin: *const u8,
        result: *mut u8,
        target: &Target<'_>,
        op: Op,
    ) -> Result<Started, Error> {
        let _ = (origin, result, target, op);
        todo!()
    }

    /// Where the target's element, of a predefined type, has the same bytes as `compare`, it becomes
    /// `origin`; what it was goes to `result` (`target.count` is 1).
    pub fn compare_and_swap(
        &self,
        origin: *const u8,
        compare: *const u8,
        result: *mut u8,
        target: &Target<'_>,
    ) -> Result<Started, Error> {
        let _ = (origin, compare, result, target);
        todo!()
    }

    /// True when the access is complete at the origin. Makes no progress.
    pub fn is_done(&self, ticket: Ticket) -> bool {
        let _ = ticket;
        todo!()
    }

    /// Waits until all accesses to `rank` are complete at both sides.
    pub fn flush(&self, rank: u32) -> Result<(), Error> {
        let _ = rank;
        todo!()
    }

    /// [`Window::flush`] for all ranks.
    pub fn flush_all(&self) -> Result<(), Error> {
        todo!()
    }

    /// Waits until all accesses to `rank` are complete at the origin.
    pub fn flush_local(&self, rank: u32) -> Result<(), Error> {
        let _ = rank;
        todo!()
    }

    pub fn flush_local_all(&self) -> Result<(), Error> {
        todo!()
    }

    /// Orders loads and stores of the window's memory with those of others (MPI_Win_sync).
    pub fn sync(&self) {
        todo!()
    }

    // ---- synchronisation. That calls come in an order that the standard allows is the caller's to
    // check.

    /// Locks the memory of `rank`, alone or with others that do not want it alone.
    pub fn lock(&self, rank: u32, exclusive: bool) {
        let _ = (rank, exclusive);
        todo!()
    }

    /// Flushes `rank` and gives up the lock that this process has there.
    pub fn unlock(&self, rank: u32) -> Result<(), Error> {
        let _ = rank;
        todo!()
    }

    /// Locks the memory of all ranks, not alone.
    pub fn lock_all(&self) {
        todo!()
    }

    /// Flushes all ranks and ends [`Window::lock_all`].
    pub fn unlock_all(&self) -> Result<(), Error> {
        todo!()
    }

    /// Opens an exposure epoch for the ranks of `group` (MPI_Win_post).
    pub fn post(&self, group: &[u32]) {
        let _ = group;
        todo!()
    }

    /// Opens an access epoch to the ranks of `group`: waits until all of them have posted
    /// (MPI_Win_start).
    pub fn start(&self, group: &[u32]) {
        let _ = group;
        todo!()
    }

    /// Flushes the ranks of the last [`Window::start`] and ends the epoch (MPI_Win_complete).
    pub fn complete(&self) -> Result<(), Error> {
        todo!()
    }

    /// Waits until all of the last [`Window::post`] have completed (MPI_Win_wait).
    pub fn wait(&self) {
        todo!()
    }

    /// As [`Window::wait`], without waiting: true when the epoch has ended (MPI_Win_test).
    pub fn test(&self) -> bool {
        todo!()
    }

    /// Flushes all ranks and waits for all members to have done so (MPI_Win_fence).
    pub fn fence(&self) -> Result<(), Error> {
        todo!()
    }
}
