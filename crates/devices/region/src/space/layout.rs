//! Where a space's structures lie in the node's shared file.
//!
//! From the base: a block of tables for each member, and a span of memory for each member. Everything begins as zeros and is sparse.

use super::cell::Cell;
use super::table::{Hold, Slot};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::mm::{self, MapFlags, ProtFlags};
use std::io;
use tern_atomics::{AtomicU32, AtomicU64};

const PAGE: usize = tern_node::LARGEST_PAGE;
/// Regions of one member at a time.
pub const REGIONS: usize = 4096;
/// Segments of all regions of one member at a time.
pub const PIECES: usize = 1 << 16;
/// Regions that one process uses at a time.
pub const HOLDS: usize = 64;
/// Cells of one member.
pub const CELLS: usize = 4;
/// Bytes of data of a cell.
pub const CELL: usize = 128 << 10;
/// Most members of a space.
pub const MAX_MEMBERS: u32 = 1024;

/// The size of a space, the same in all its processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Processes that may take part, at most 1,024; they are numbered from 0.
    pub members: u32,
    /// Bytes of shared memory that each can allocate: a multiple of 64 KiB. It costs nothing
    /// until it is used.
    pub span: u64,
}

/// The head of a member's block.
#[repr(C, align(128))]
pub struct Member {
    /// How many processes have joined in this place.
    pub joined: AtomicU32,
    /// The process, as it sees itself.
    pub pid: AtomicU32,
    /// Its beacon.
    pub beacon: AtomicU64,
    pub nonce: AtomicU64,
    pub bell: Bell,
    /// One bit for each member that has a question for this one.
    pub asked: [AtomicU64; MAX_MEMBERS as usize / 64],
    pub holds: [Hold; HOLDS],
    pub cells: [Cell; CELLS],
}

/// Counts the events that concern a member; who waits for one sleeps on it.
#[repr(C, align(64))]
pub struct Bell(pub AtomicU32);

/// One contiguous part of a region.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Its first byte, counted from the region's start.
    pub start: u64,
    pub len: u64,
    /// In the owner's address space.
    pub address: u64,
    /// In the node's file; 0 for private memory.
    pub place: u64,
}

const MEMBER: usize = size_of::<Member>().next_multiple_of(PAGE);
const SLOTS: usize = REGIONS * size_of::<Slot>();
const BLOCK: usize = (MEMBER + SLOTS + PIECES * size_of::<Piece>() + CELLS * CELL).next_multiple_of(PAGE);

impl Shape {
    /// Bytes of the tables.
    fn tables(&self) -> usize {
        self.members as usize * BLOCK
    }

    /// Bytes of the file from the base that the space may use.
    pub fn len(&self) -> u64 {
        self.tables() as u64 + u64::from(self.members) * self.span
    }

    /// A space without members.
    pub fn is_empty(&self) -> bool {
        self.members == 0
    }

    /// Where a member's memory begins, from the base.
    pub(crate) fn heap(&self, member: u32) -> u64 {
        self.tables() as u64 + u64::from(member) * self.span
    }

    /// Whether a space can be like this, at `base` of a file.
    pub(crate) fn fits(&self, base: u64) -> bool {
        let unit = PAGE as u64;
        (1..=MAX_MEMBERS).contains(&self.members)
            && self.span < 1 << 50
            && base < 1 << 61
            && self.span.is_multiple_of(unit)
            && base.is_multiple_of(unit)
    }
}

/// The tables of all members, mapped.
pub struct Tables {
    at: *mut u8,
    shape: Shape,
}

// SAFETY: a mapping of the whole process; what it holds is atomics, and data whose users these order.
unsafe impl Send for Tables {}
// SAFETY: as above.
unsafe impl Sync for Tables {}

impl Tables {
    pub fn map(file: BorrowedFd<'_>, base: u64, shape: Shape) -> io::Result<Tables> {
        let len = shape.tables();
        crate::extend(file, base + len as u64, base + len as u64)?;
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let at = unsafe { mm::mmap(std::ptr::null_mut(), len, protection, flags, file.as_fd(), base)? };
        tern_atomics::mapped(at.cast(), len, file, base);
        Ok(Tables { at: at.cast(), shape })
    }

    pub fn shape(&self) -> Shape {
        self.shape
    }

    fn block(&self, member: u32) -> *mut u8 {
        assert!(member < self.shape.members);
        // SAFETY: inside the mapping.
        unsafe { self.at.add(member as usize * BLOCK) }
    }

    pub fn member(&self, member: u32) -> &Member {
        // SAFETY: mapped while self lives; all fields are atomics.
        unsafe { &*self.block(member).cast() }
    }

    pub fn slot(&self, member: u32, slot: u32) -> Option<&Slot> {
        if member >= self.shape.members || slot as usize >= REGIONS {
            return None;
        }
        // SAFETY: mapped while self lives; all fields are atomics.
        Some(unsafe { &*self.block(member).add(MEMBER).cast::<Slot>().add(slot as usize) })
    }

    /// A member's list of pieces, [`PIECES`] of them.
    pub fn pieces(&self, member: u32) -> *mut Piece {
        // SAFETY: inside the member's block.
        unsafe { self.block(member).add(MEMBER + SLOTS).cast() }
    }

    /// The data of a cell, [`CELL`] bytes.
    pub fn data(&self, member: u32, cell: usize) -> *mut u8 {
        assert!(cell < CELLS);
        // SAFETY: inside the member's block.
        unsafe { self.block(member).add(BLOCK - (CELLS - cell) * CELL) }
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        // SAFETY: our own mapping, which nothing refers to any more.
        let _ = unsafe { mm::munmap(self.at.cast(), self.shape.tables()) };
    }
}
