//! Memory that processes of a node share, or reach in each other: for windows and collectives (docs/parts/one-sided.md, docs/parts/collectives.md).

use crate::{Direction, Memory, Name, Run};
use std::ops::Range;

/// Why a copy has not moved all of its bytes ([`SharedMemory::copy`]); some may have been moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCopied {
    /// Nothing is known of that memory now. This access goes another way, the next one may be copied.
    Missed,
    /// The kernel does not copy to or from this peer, now or later: [`SharedMemory::copies`] says no from now on.
    Refused,
    /// Some of the peer's memory is not there, or not for this access.
    NotThere,
}

/// Memory that lasts longer than one message. A device that has none of it implements nothing here. `peer` is never this process.
pub trait SharedMemory {
    /// Fresh, zeroed memory that peers reach without the kernel's help; `None` when there is no more.
    fn allocate(&self, _len: usize) -> Option<*mut u8> {
        None
    }

    /// The same of memory that the child of a fork has for itself, as private memory.
    fn allocate_apart(&self, _len: usize) -> Option<*mut u8> {
        None
    }

    /// Gives memory of [`SharedMemory::allocate`] or [`SharedMemory::allocate_apart`] back; false when it is none.
    ///
    /// # Safety
    /// Nobody uses the memory any more.
    unsafe fn free(&self, _memory: *mut u8) -> bool {
        false
    }

    /// True for processes whose shared memory is this one's too: places there mean the same to both.
    fn shares_with(&self, _peer: u32) -> bool {
        false
    }

    /// Where own memory lies in the memory that all processes of the node share, if all of it is of one
    /// [`SharedMemory::allocate`]. It stays there until it is freed.
    fn place(&self, _memory: *const u8, _len: usize) -> Option<u64> {
        None
    }

    /// Where the first byte of a peer's memory lies in this process, if it is shared ([`Memory::place`]) and can be mapped.
    /// The address is good for a few further calls, and longer if only few places are asked for.
    fn view(&self, _memory: &Memory) -> Option<*mut u8> {
        None
    }

    /// Maps `len` bytes that some process has at `place`, until [`SharedMemory::unmap`].
    fn map(&self, _place: u64, _len: usize) -> Option<*mut u8> {
        None
    }

    /// Ends what [`SharedMemory::map`] began, with the address that it gave.
    ///
    /// # Safety
    /// Nobody uses the address any more.
    unsafe fn unmap(&self, _address: *mut u8, _len: usize) {}

    /// Makes private memory of the program shared in place for all processes of the node, until [`SharedMemory::unpin`]: at which
    /// addresses, perhaps not all, and where these lie now, as [`SharedMemory::place`] would tell. `None`: it stays private.
    fn pin(&self, _memory: *const u8, _len: usize) -> Option<(Range<usize>, u64)> {
        None
    }

    /// Ends what [`SharedMemory::pin`] began, with the addresses that it gave: the memory may become private again.
    fn unpin(&self, _range: &Range<usize>) {}

    /// Says that peers may copy to and from this private memory at any time, until [`SharedMemory::cover`]. Gives the cookie of a
    /// region of the kernel module that begins there and has all of it, for [`Name`]; 0: there is none.
    fn expose(&self, _memory: *const u8, _len: usize) -> u64 {
        0
    }

    /// Ends what [`SharedMemory::expose`] began, with the cookie that it gave.
    fn cover(&self, _memory: *const u8, _len: usize, _cookie: u64) {}

    /// True when private memory of `peer` can be read and written without its help. Proven by a
    /// transfer when it is first asked; `peer` has joined.
    fn copies(&self, _peer: u32) -> bool {
        false
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

    /// False when `peer`, whose memory this process [`SharedMemory::copies`], has ended. Costs a system call.
    fn is_there(&self, _peer: u32) -> bool {
        true
    }

    /// Makes every process of the node pass a full fence: what it has stored before is seen by what this
    /// process loads from now on. False: it cannot.
    fn fence_all(&self) -> bool {
        false
    }
}
