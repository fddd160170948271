//! The node's shared memory: one memfd, laid out by the number of processes alone, so that each
//! of them finds every structure without asking. It is sparse: what is not used costs nothing.

use crate::bell::Bell;
use crate::ring::{CELLS, Ring};
use crate::sync::{AtomicU32, AtomicU64};
use rustix::fd::BorrowedFd;
use rustix::{fs, io, mm};

const PAGE: usize = 4096;
/// Shared areas for collectives per process: one for each of the first communicator ids.
pub const AREAS: u32 = 64;
/// Bytes of one area: cells in the first page, then two buffers.
pub const AREA: usize = PAGE + 2 * 32 * 1024;

/// What all processes of the node share.
#[repr(C, align(128))]
pub struct Node {
    /// Processes that sleep.
    pub sleepers: AtomicU32,
}

/// What peers need of a process before anything else.
#[repr(C)]
pub struct Process {
    pub bell: Bell,
    /// One bit per peer that has ever sent here.
    pub contacts: [AtomicU64; MAX_PROCESSES as usize / 64],
}

/// Most processes on one node.
pub const MAX_PROCESSES: u32 = 4096;

/// Sizes of everything, from the number of processes.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    pub processes: u32,
    /// Data area of each ring in bytes.
    pub data: usize,
}

impl Geometry {
    pub fn new(processes: u32, data: Option<usize>) -> Geometry {
        let data = data.unwrap_or(match processes {
            0..=16 => 256 << 10,
            17..=64 => 64 << 10,
            _ => 16 << 10,
        });
        Geometry { processes, data: data.next_multiple_of(PAGE).max(2 * PAGE) }
    }

    fn process_len(&self) -> usize {
        size_of::<Process>().next_multiple_of(PAGE)
    }
    fn ring_len(&self) -> usize {
        size_of::<Ring>().next_multiple_of(PAGE) + self.data
    }
    fn block_len(&self) -> usize {
        let rings = if self.processes > 1 { self.processes as usize * self.ring_len() } else { 0 };
        self.process_len() + AREAS as usize * AREA + rings
    }
    pub fn total(&self) -> usize {
        self.block(self.processes)
    }
    /// After a page for [`Node`], a block for each process.
    fn block(&self, process: u32) -> usize {
        PAGE + self.block_len() * process as usize
    }
    fn area(&self, process: u32, index: u32) -> usize {
        self.block(process) + self.process_len() + index as usize * AREA
    }
    fn ring(&self, from: u32, to: u32) -> usize {
        self.area(to, AREAS) + from as usize * self.ring_len()
    }
}

/// The mapped segment.
pub struct Segment {
    base: *mut u8,
    pub geometry: Geometry,
}

impl Segment {
    /// Sizes the memory (every process does, to the same length) and maps it.
    pub fn map(fd: BorrowedFd<'_>, geometry: Geometry) -> io::Result<Segment> {
        let total = geometry.total();
        if fs::fstat(fd)?.st_size < total as i64 {
            fs::ftruncate(fd, total as u64)?;
        }
        let flags = mm::MapFlags::SHARED | mm::MapFlags::NORESERVE;
        let protection = mm::ProtFlags::READ | mm::ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base = unsafe { mm::mmap(std::ptr::null_mut(), total, protection, flags, fd, 0)? };
        Ok(Segment { base: base.cast(), geometry })
    }

    fn at(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset < self.geometry.total());
        // SAFETY: offsets come from `geometry` and lie inside the mapping.
        unsafe { self.base.add(offset) }
    }

    pub fn node(&self) -> &Node {
        // SAFETY: mapped while self lives; all fields are atomics that begin as zeros.
        unsafe { &*self.at(0).cast() }
    }

    pub fn process(&self, process: u32) -> &Process {
        // SAFETY: mapped while self lives; all fields are atomics that begin as zeros.
        unsafe { &*self.at(self.geometry.block(process)).cast() }
    }

    pub fn area(&self, process: u32, index: u32) -> *mut u8 {
        self.at(self.geometry.area(process, index))
    }

    /// The ring from one process to another, and its data area.
    pub fn ring(&self, from: u32, to: u32) -> (*const Ring, *mut u8) {
        let ring = self.at(self.geometry.ring(from, to));
        let data = self.at(self.geometry.ring(from, to) + size_of::<Ring>().next_multiple_of(PAGE));
        (ring.cast(), data)
    }
}

const _: () = assert!(size_of::<Ring>() == (CELLS as usize + 1) * 128);

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: our own mapping, which nothing refers to any more.
        let _ = unsafe { mm::munmap(self.base.cast(), self.geometry.total()) };
    }
}
