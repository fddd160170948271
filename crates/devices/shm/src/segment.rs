//! The node's shared memory: one memfd, laid out by the number of processes alone, so that each
//! of them finds every structure without asking. It is sparse: what is not used costs nothing.

use crate::doorbell::{Asleep, Doorbell, Sleepers};
use crate::posted_receives::PostedReceives;
use crate::ring::{CELLS, Ring};
use rustix::fd::BorrowedFd;
use rustix::mm;
use std::io;
use tern_atomics::{AtomicU32, AtomicU64, Ordering};
use tern_device::ControlSlots;
use tern_region::cma::Beacon;

const PAGE: usize = 4096;
/// Shared areas for collectives per process: one for each of the first communicator ids.
pub const AREAS: u32 = 64;
/// Bytes of each of the two buffers of an area.
pub const BUFFER: usize = 32 * 1024;

/// What all processes of the node share.
#[repr(C, align(128))]
pub struct Node {
    pub sleepers: Sleepers,
    /// One of them has told the user that the kernel does not copy.
    told: AtomicU32,
    /// How many of them were found to be lost.
    losses: AtomicU32,
}

impl Node {
    /// How many processes were found to be lost, as a hint: whoever sees a new number looks at all of them.
    #[inline]
    pub fn losses(&self) -> u32 {
        self.losses.load(Ordering::Relaxed)
    }

    /// One more is lost, after its stage says so.
    pub fn note_loss(&self) {
        // Release: whoever sees the number and looks after that finds the stage.
        self.losses.fetch_add(1, Ordering::Release);
    }

    /// True for the first process that asks.
    pub fn first_to_tell(&self) -> bool {
        // Relaxed: it orders nothing.
        self.told.swap(1, Ordering::Relaxed) == 0
    }
}

/// What peers look at whenever they might wake a process, or wait for it. Those of all processes lie side by side, so
/// that a look at all of them touches few pages.
#[repr(C, align(128))]
pub struct PeerStatus {
    pub doorbell: Doorbell,
    /// The core on which the process has last waited, plus 1; 0: it has not.
    core: AtomicU32,
    /// Whether the process counts among the [`Sleepers`].
    pub asleep: Asleep,
}

impl PeerStatus {
    // Relaxed, both: a hint for the choice of how to wait; nothing depends on it.
    #[inline]
    pub fn core(&self) -> Option<u32> {
        self.core.load(Ordering::Relaxed).checked_sub(1)
    }
    #[inline]
    pub fn set_core(&self, core: u32) {
        if self.core() != Some(core) {
            self.core.store(core + 1, Ordering::Relaxed);
        }
    }

    /// The process is on no core any more.
    pub fn leave_core(&self) {
        self.core.store(0, Ordering::Relaxed);
    }
}

/// What peers need of a process before anything else.
#[repr(C)]
pub struct Process {
    /// One bit per peer that has ever sent here.
    pub contacts: [AtomicU64; MAX_PROCESSES as usize / 64],
    /// What the process is doing, as an [`Occupation`]. On a line that only long messages look at.
    occupation: AtomicU32,
    /// Process number; beside it the address of its beacon, the module's cookie of that, and its number, 0 before it has come.
    pid: AtomicU32,
    beacon: [AtomicU64; 3],
    /// In a segment between jobs, and where the job survives its processes: how far it is, as a [`crate::liveness::Stage`].
    pub stage: AtomicU32,
    /// Place of its table of regions ([`crate::regions`]); 0 before it has one.
    regions: AtomicU64,
    /// The parts of the machine that it is bound to; behind them whether it has told.
    bound: [AtomicU32; 4],
}

const _: () = assert!(size_of::<Process>() <= PAGE);

/// What a process is doing, as far as its peers are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Occupation {
    /// It is not in the library, or only for a moment.
    Computes = 0,
    /// It waits in the library.
    Waits = 1,
    /// It copies a message of its own.
    Copies = 2,
}

/// By what peers prove that they reach a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Introduction {
    /// Process number.
    pub pid: u32,
    /// Of the beacon.
    pub address: u64,
    /// What is there.
    pub nonce: u64,
    /// By which the kernel module knows it; 0: not at all.
    pub cookie: u64,
}

impl Process {
    /// Says by what peers can prove that they reach this process.
    pub fn introduce(&self, pid: u32, beacon: &Beacon, cookie: u64) {
        self.pid.store(pid, Ordering::Relaxed);
        self.beacon[0].store(beacon.address(), Ordering::Relaxed);
        self.beacon[1].store(cookie, Ordering::Relaxed);
        // Release: pairs with the acquire in `introduction`.
        self.beacon[2].store(beacon.nonce(), Ordering::Release);
    }

    /// `None` before the process has come.
    pub fn introduction(&self) -> Option<Introduction> {
        // Acquire: pairs with the release in `introduce`.
        let nonce = self.beacon[2].load(Ordering::Acquire);
        let [address, cookie] = [0, 1].map(|at| self.beacon[at].load(Ordering::Relaxed));
        (nonce != 0).then(|| Introduction { pid: self.pid.load(Ordering::Relaxed), address, nonce, cookie })
    }

    /// Whether peers look for the end of the process, which has introduced itself.
    pub fn is_watched(&self) -> bool {
        // Relaxed: it has said so before it has introduced itself.
        self.stage.load(Ordering::Relaxed) != 0
    }

    /// Says where the table of the process's regions lies, which are all closed.
    pub fn tell_regions(&self, place: u64) {
        // Release: pairs with the acquire in `regions`.
        self.regions.store(place, Ordering::Release);
    }

    /// Where its table of regions lies; `None` before it has one.
    pub fn regions(&self) -> Option<u64> {
        // Acquire: pairs with the release in `tell_regions`.
        Some(self.regions.load(Ordering::Acquire)).filter(|&place| place != 0)
    }

    /// Says which parts of the machine the process is bound to.
    pub fn tell_bound(&self, parts: [u32; 3]) {
        parts.iter().zip(&self.bound).for_each(|(part, word)| word.store(*part, Ordering::Relaxed));
        // Release: pairs with the acquire in `bound`.
        self.bound[3].store(1, Ordering::Release);
    }

    /// Which ones; `None` before it has told.
    pub fn bound(&self) -> Option<[u32; 3]> {
        // Acquire: pairs with the release in `tell_bound`.
        let told = self.bound[3].load(Ordering::Acquire) != 0;
        told.then(|| [0, 1, 2].map(|level| self.bound[level].load(Ordering::Relaxed)))
    }

    // Relaxed, both: a hint for the choice of who copies; nothing depends on it.
    pub fn set_occupation(&self, occupation: Occupation) {
        self.occupation.store(occupation as u32, Ordering::Relaxed);
    }
    pub fn occupation(&self) -> Occupation {
        match self.occupation.load(Ordering::Relaxed) {
            1 => Occupation::Waits,
            2 => Occupation::Copies,
            _ => Occupation::Computes,
        }
    }
}

/// The data areas of two rings of this size are larger than a core's own cache: when all blocks
/// have been used once, the receiver no longer holds the first, which so is fast to write.
pub const LARGE: usize = 2 << 20;

/// Most processes on one node.
pub const MAX_PROCESSES: u32 = 4096;

/// Sizes of everything, from the number of processes.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    pub processes: u32,
    /// Data area of each ring in bytes.
    pub data: usize,
    /// Line areas of each process.
    pub areas: u32,
}

impl Geometry {
    pub fn new(processes: u32, data: Option<usize>) -> Geometry {
        let data = data.unwrap_or(match processes {
            0..=4 => LARGE,
            5..=16 => 512 << 10,
            17..=64 => 64 << 10,
            _ => 16 << 10,
        });
        Geometry { processes, data: data.next_multiple_of(PAGE).max(2 * PAGE), areas: AREAS }
    }

    /// Of a segment that processes of several jobs share beside those of their jobs: no lines.
    pub fn between_jobs(processes: u32) -> Geometry {
        Geometry { areas: 0, ..Geometry::new(processes, None) }
    }

    fn process_len(&self) -> usize {
        size_of::<Process>().next_multiple_of(PAGE)
    }
    fn ring_len(&self) -> usize {
        size_of::<Ring>().next_multiple_of(PAGE) + self.data
    }
    fn block_len(&self) -> usize {
        let rings = if self.processes > 1 { self.processes as usize * self.ring_len() } else { 0 };
        let posted = self.processes as usize * size_of::<PostedReceives>();
        self.process_len() + rings + posted
    }
    pub fn total(&self) -> usize {
        self.block(self.processes)
    }
    /// After [`Node`], the status of each process.
    #[inline]
    fn status(&self, process: u32) -> usize {
        size_of::<Node>() + process as usize * size_of::<PeerStatus>()
    }
    /// After these, the areas of all processes by index.
    fn group(&self, index: u32) -> usize {
        let first = self.status(self.processes).next_multiple_of(PAGE);
        first + index as usize * ControlSlots::total(self.processes as usize, BUFFER)
    }
    /// After the areas, a block for each process.
    fn block(&self, process: u32) -> usize {
        self.group(self.areas).next_multiple_of(PAGE) + self.block_len() * process as usize
    }
    fn ring(&self, from: u32, to: u32) -> usize {
        self.block(to) + self.process_len() + from as usize * self.ring_len()
    }

    /// Offset and length of the part of the file that `process` hands out itself.
    pub fn heap(&self, process: u32) -> (u64, u64) {
        let first = (self.total() as u64).next_multiple_of(1 << 30);
        let span = MOST_HEAP.min(ALL_HEAPS / (self.processes as u64).next_power_of_two());
        (first + process as u64 * span, span)
    }
}

/// Bytes of the file that each process hands out: far more than there is memory, for they cost
/// nothing, and promotion leaves much room behind each buffer.
const MOST_HEAP: u64 = 1 << 56;
/// Those of all processes together; the kernel's offsets have 63 bits.
const ALL_HEAPS: u64 = 1 << 61;

/// The mapped segment.
pub struct Segment {
    base: *mut u8,
    /// Where the processes' blocks begin, and the bytes of each: these are looked for several times a message.
    blocks: *mut u8,
    block_len: usize,
    pub geometry: Geometry,
}

impl Segment {
    /// Sizes the memory (every process does, to the same length) and maps it, from byte `offset` of the
    /// file on, which is a whole number of pages.
    pub fn map(fd: BorrowedFd<'_>, offset: u64, geometry: Geometry) -> io::Result<Segment> {
        let total = geometry.total();
        tern_region::extend(fd, offset + total as u64, offset + total as u64)?;
        let flags = mm::MapFlags::SHARED | mm::MapFlags::NORESERVE;
        let protection = mm::ProtFlags::READ | mm::ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base: *mut u8 = unsafe { mm::mmap(std::ptr::null_mut(), total, protection, flags, fd, offset)? }.cast();
        tern_atomics::mapped(base, total, fd, offset);
        let (blocks, block_len) = (base.wrapping_add(geometry.block(0)), geometry.block_len());
        Ok(Segment { base, blocks, block_len, geometry })
    }

    #[inline]
    fn at(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset < self.geometry.total());
        // SAFETY: offsets come from `geometry` and lie inside the mapping.
        unsafe { self.base.add(offset) }
    }

    #[inline]
    pub fn node(&self) -> &Node {
        // SAFETY: mapped while self lives; all fields are atomics that begin as zeros.
        unsafe { &*self.at(0).cast() }
    }

    /// The block of `process`; of the number behind the last one, its end.
    #[inline]
    fn block(&self, process: u32) -> *mut u8 {
        debug_assert!(process <= self.geometry.processes);
        self.blocks.wrapping_add(self.block_len * process as usize)
    }

    #[inline]
    pub fn process(&self, process: u32) -> &Process {
        // SAFETY: mapped while self lives; all fields are atomics that begin as zeros.
        unsafe { &*self.block(process).cast() }
    }

    #[inline]
    pub fn status(&self, process: u32) -> &PeerStatus {
        // SAFETY: mapped while self lives; all fields are atomics that begin as zeros.
        unsafe { &*self.at(self.geometry.status(process)).cast() }
    }

    pub fn doorbell(&self, process: u32) -> &Doorbell {
        &self.status(process).doorbell
    }

    /// The area `index` of `process`; to be used only while self lives.
    pub fn area(&self, process: u32, index: u32) -> ControlSlots {
        let base = self.at(self.geometry.group(index));
        // SAFETY: a part of the segment that is set aside for this, mapped while self lives.
        unsafe { ControlSlots::new(base, process as usize, self.geometry.processes as usize, BUFFER) }
    }

    /// What `receiver` has published for `sender`: at the end of its block.
    #[inline]
    pub fn posted(&self, receiver: u32, sender: u32) -> &PostedReceives {
        let end = self.block(receiver + 1).cast::<PostedReceives>();
        // SAFETY: mapped while self lives; all fields are atomics that begin as zeros.
        unsafe { &*end.wrapping_sub(sender as usize + 1) }
    }

    /// The ring from one process to another, and its data area.
    pub fn ring(&self, from: u32, to: u32) -> (*const Ring, *mut u8) {
        let ring = self.at(self.geometry.ring(from, to));
        let data = self.at(self.geometry.ring(from, to) + size_of::<Ring>().next_multiple_of(PAGE));
        (ring.cast(), data)
    }
}

const _: () = assert!(size_of::<Ring>() == (CELLS as usize + 3) * 128);

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: our own mapping, which nothing refers to any more.
        let _ = unsafe { mm::munmap(self.base.cast(), self.geometry.total()) };
    }
}
