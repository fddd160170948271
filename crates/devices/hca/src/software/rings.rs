//! Two rings of bytes in shared memory: what a TCP connection is, between processes of one machine.
//!
//! Each side writes to one ring and reads the other. A side that goes to sleep says so, and is woken through a socket
//! by who then has written something, or has made room that it waits for. The memory is a sealed memfd, so that no peer
//! can take it away; positions of the peer are never trusted to be inside of it. The program's memory is copied by
//! reading and writing the file, since that says EFAULT where nothing is mapped, and costs less than
//! process_vm_readv and its like.
//!
//! Whoever writes, and whoever reads, does so under a lock of the queue pair; the questions (`has_data`, `has_room`)
//! may be asked by any thread.

use super::regions::{Fault, Runs};
use crate::descriptors;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::{NonNull, copy_nonoverlapping};
use std::sync::atomic::{AtomicU64, Ordering};
pub(super) use words::{Ends, Words};

mod words;

/// Bytes of a ring: eight of the longest frames of a modelled link. Pages that nobody has touched cost nothing.
const RING: usize = 512 << 10;
const WORDS: usize = 4096;
const BYTES: usize = WORDS + 2 * RING;

/// One side of the rings.
pub struct Rings {
    memory: NonNull<u8>,
    file: OwnedFd,
    /// 0 or 1.
    side: usize,
    /// What it has written, published or not.
    front: AtomicU64,
}

// SAFETY: what is shared are atomics, and bytes that only one side may touch at a time.
unsafe impl Send for Rings {}
// SAFETY: as above; within a side the lock of the queue pair decides who writes and reads.
unsafe impl Sync for Rings {}

impl Rings {
    /// New rings.
    pub fn new() -> Result<Rings, Errno> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = descriptors::obtain(|| memfd_create("tern-hca", flags))?;
        ftruncate(&file, BYTES as u64)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Rings::map(file, 0)
    }

    /// What the other side opens them by.
    pub fn file(&self) -> &OwnedFd {
        &self.file
    }

    /// The other side of rings that a peer has made.
    pub fn open(file: OwnedFd) -> Result<Rings, Errno> {
        let sealed = fcntl_get_seals(&file)?.contains(SealFlags::SHRINK);
        if !sealed || fstat(&file)?.st_size != BYTES as i64 {
            return Err(Errno::INVAL);
        }
        Rings::map(file, 1)
    }

    fn map(file: OwnedFd, side: usize) -> Result<Rings, Errno> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: new pages.
        let memory = unsafe { mmap(std::ptr::null_mut(), BYTES, protection, MapFlags::SHARED, &file, 0)? };
        let memory = NonNull::new(memory.cast()).ok_or(Errno::NOMEM)?;
        Ok(Rings { memory, file, side, front: AtomicU64::new(0) })
    }

    fn words(&self, side: usize) -> &Words {
        // SAFETY: the two lie at the beginning of the memory, which lives as long as this, and zeros are valid.
        unsafe { &*self.memory.as_ptr().cast::<Words>().add(side) }
    }

    fn ends(&self) -> Ends<'_> {
        Ends { mine: self.words(self.side), other: self.words(1 - self.side) }
    }

    /// Where the byte of a side's ring at that position lies in the file, and how many there are from there to its end.
    fn at(&self, side: usize, position: u64) -> (usize, usize) {
        let place = position as usize % RING;
        (WORDS + side * RING + place, RING - place)
    }

    fn byte(&self, place: usize) -> *mut u8 {
        // SAFETY: `at` gives places inside of the memory.
        unsafe { self.memory.as_ptr().add(place) }
    }

    /// Where bytes may be written in one piece, and how many. The reader does not look there until they are published.
    fn room(&self) -> (usize, usize) {
        let front = self.front.load(Ordering::Relaxed);
        let (place, to_end) = self.at(self.side, front);
        (place, self.free(front).min(to_end))
    }

    fn free(&self, front: u64) -> usize {
        RING.saturating_sub(front.wrapping_sub(self.ends().released()) as usize)
    }

    fn advance(&self, len: usize) {
        let front = self.front.load(Ordering::Relaxed) + len as u64;
        self.front.store(front, Ordering::Relaxed);
    }

    /// Copies what there is room for; returns how much that was. The bytes are ours.
    pub fn put(&self, bytes: &[u8]) -> usize {
        let mut done = 0;
        while done < bytes.len() {
            let (place, room) = self.room();
            let part = room.min(bytes.len() - done);
            if part == 0 {
                break;
            }
            // SAFETY: the room is nobody else's until it is published.
            unsafe { copy_nonoverlapping(bytes[done..].as_ptr(), self.byte(place), part) };
            self.advance(part);
            done += part;
        }
        done
    }

    /// How many bytes can be put in one piece.
    pub fn piece(&self) -> usize {
        self.room().1
    }

    /// Copies memory of the program, which may not be there: no more than a piece.
    pub fn put_program(&self, runs: &Runs) -> Result<(), Fault> {
        let (place, len) = (self.room().0, runs.len());
        let list = runs.as_slice();
        // SAFETY: the kernel checks the program's memory itself.
        let wrote = unsafe { libc::pwritev(self.file.as_raw_fd(), list.as_ptr(), list.len() as i32, place as i64) };
        if wrote != len as isize {
            return Err(Fault);
        }
        self.advance(len);
        Ok(())
    }

    /// What was written since the last time is to be read. True if the other side must be woken for it.
    pub fn publish(&self) -> bool {
        self.ends().publish(self.front.load(Ordering::Relaxed))
    }

    /// Forgets what was written since it was last published.
    pub fn retreat(&self) {
        self.front.store(self.ends().written(), Ordering::Relaxed);
    }

    /// Where bytes can be read in one piece, and how many.
    fn ready(&self) -> (usize, usize) {
        let taken = self.ends().taken();
        let (place, to_end) = self.at(1 - self.side, taken);
        (place, self.waiting(taken).min(to_end))
    }

    /// How many bytes can be read in one piece.
    pub fn there(&self) -> usize {
        self.ready().1
    }

    /// Copies bytes to memory of the program, which may not be there: no more than are there in one piece. They are
    /// still to be consumed.
    pub fn read_program(&self, runs: &Runs) -> Result<(), Fault> {
        let list = runs.as_slice();
        // SAFETY: the kernel checks the program's memory itself.
        let read =
            unsafe { libc::preadv(self.file.as_raw_fd(), list.as_ptr(), list.len() as i32, self.ready().0 as i64) };
        if read == runs.len() as isize { Ok(()) } else { Err(Fault) }
    }

    fn waiting(&self, taken: u64) -> usize {
        (self.ends().arrived().wrapping_sub(taken) as usize).min(RING)
    }

    /// So many bytes were read. True if the other side must be woken, since it waits for room.
    pub fn consume(&self, len: usize) -> bool {
        self.ends().consume(len)
    }

    /// Copies what is there; returns how much that was, and whether the other side must be woken.
    pub fn take(&self, into: &mut [u8]) -> (usize, bool) {
        let (mut done, mut wakes) = (0, false);
        while done < into.len() {
            let (place, ready) = self.ready();
            let part = ready.min(into.len() - done);
            if part == 0 {
                break;
            }
            // SAFETY: the writer leaves these bytes alone until they are consumed.
            unsafe { copy_nonoverlapping(self.byte(place), into[done..].as_mut_ptr(), part) };
            wakes |= self.consume(part);
            done += part;
        }
        (done, wakes)
    }

    /// Something is to be read. Any thread may ask.
    pub fn has_data(&self) -> bool {
        self.waiting(self.ends().taken()) > 0
    }

    /// Something may be written. Any thread may ask.
    pub fn has_room(&self) -> bool {
        self.free(self.ends().written()) > 0
    }

    /// This side waits for room, or does not. It looks again after it has said so.
    pub fn block(&self, waits: bool) {
        self.ends().block(waits);
    }

    /// This side waits for room. Any thread may ask.
    pub fn is_blocked(&self) -> bool {
        self.ends().is_blocked()
    }

    /// This side wants to be woken. A fence and a look at everything follow, before it sleeps.
    pub fn sleep(&self) {
        self.ends().sleep();
    }

    pub fn awake(&self) {
        self.ends().awake();
    }
}

impl Drop for Rings {
    fn drop(&mut self) {
        // SAFETY: mapped by `map`, and nobody has it any more.
        let _ = unsafe { munmap(self.memory.as_ptr().cast(), BYTES) };
    }
}

#[cfg(test)]
mod tests;
