//! Memory that processes of a node share, or reach in each other: for windows and collectives (docs/parts/one-sided.md, docs/parts/collectives.md).

use crate::{Direction, Lease, Memory, Name, Run};

/// Why a copy has not moved all of its bytes ([`SharedMemory::copy`]); some may have been moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCopied {
    /// Nothing is known of that memory now. This access goes another way, the next one may be copied.
    Missed,
    /// The kernel does not copy to or from this peer, now or later: [`crate::Pair::kernel`] says no from now on.
    Refused,
    /// Some of the peer's memory is not there, or not for this access.
    NotThere,
    /// The peer has ended, and its memory with it.
    Gone,
}

/// What the child of a fork has of memory that was [allocated](SharedMemory::allocate).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterFork {
    /// The same memory.
    Shared,
    /// A copy for itself, as of private memory.
    Copied,
}

/// Memory that lasts longer than one message. A device that has none of it implements nothing here. `peer` is never this process.
pub trait SharedMemory {
    /// Fresh, zeroed memory that peers reach without the kernel's help; `None` when there is no more.
    fn allocate(&self, _len: usize, _child: AfterFork) -> Option<*mut u8> {
        None
    }

    /// Gives memory of [`SharedMemory::allocate`] back; false when it is none.
    ///
    /// # Safety
    /// Nobody uses the memory any more.
    unsafe fn free(&self, _memory: *mut u8) -> bool {
        false
    }

    /// Where own memory lies in the memory that all processes of the node share, if all of it is of one
    /// [`SharedMemory::allocate`]. It stays there until it is freed.
    fn place(&self, _memory: *const u8, _len: usize) -> Option<u64> {
        None
    }

    /// Where the first byte of a peer's memory lies in this process, if it is shared ([`Memory::place`]) and can be mapped.
    fn map(&self, _memory: &Memory, _lease: Lease) -> Option<*mut u8> {
        None
    }

    /// Copies between own memory and that of `peer`, each of which is one sequence of bytes, of the same length.
    ///
    /// Errors: see [`NotCopied`].
    ///
    /// # Safety
    /// Own memory can be read, for [`Direction::Get`] written, and nobody refers to it; that of the
    /// peer is exposed for this.
    unsafe fn copy(
        &self, _peer: u32, _own: &[Run], _theirs: (&[Run], Name), _direction: Direction,
    ) -> Result<(), NotCopied> {
        Err(NotCopied::Refused)
    }

    /// Makes every process of the node pass a full fence: what it has stored before is seen by what this
    /// process loads from now on. False: it cannot.
    fn fence_all(&self) -> bool {
        false
    }
}

/// Ends what [`SharedMemory::map`] has mapped at `address` for [long](Lease::Lasting), `len` bytes.
///
/// # Safety
/// Nobody uses the address any more.
pub unsafe fn unmap(address: *mut u8, len: usize) {
    let page = rustix::param::page_size();
    let start = address as usize / page * page;
    let end = (address as usize + len).next_multiple_of(page);
    // SAFETY: whole pages of a mapping that nobody uses (contract).
    let _ = unsafe { rustix::mm::munmap(start as *mut _, end - start) };
}
