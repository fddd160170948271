//! This process's part of the node's shared file: memory that every process of the node can name.
//!
//! Which offsets are in use is known here alone, and no other process allocates from this part or gives anything back. A process that dies in the
//! midst of it therefore leaves nothing that others could find half done: its pages stay in use until the file goes, and whoever makes the file
//! longer meanwhile only finds it longer.

use crate::file::{extend, punch};
use crate::fork::{self, NodeFile};
use crate::offsets::Offsets;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, FallocateFlags};
use rustix::io::Errno;
use rustix::mm::{self, Advice, MapFlags, ProtFlags};
use std::cell::{Cell, OnceCell, RefCell};
use std::io;
use std::sync::Arc;

/// Allocations from this size on are aligned so that huge pages can back them.
const HUGE: u64 = 2 << 20;

/// Byte offset in the node's shared file. Never 0 for user memory.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Place(pub u64);

/// A span of offsets of the node's shared file that only this process hands out.
///
/// The file is sparse: offsets that nobody uses cost nothing. The heap makes the file longer when it
/// needs to; whoever else sizes the file must never make it shorter (see [`extend`]).
///
/// Memory stays mapped when the heap is dropped, for the program may still use it. After a fork, the
/// child shares the memory with its parent, but for that of [`Heap::allocate_apart`], and must not use the heap.
pub struct Heap {
    file: OwnedFd,
    base: u64,
    span: u64,
    /// The file is known to reach at least here.
    reaches: Cell<u64>,
    offsets: RefCell<Offsets>,
    /// What is mapped, sorted by address.
    mapped: RefCell<Vec<Mapped>>,
    /// The one that was found last.
    last: Cell<Mapped>,
    /// From the first mapped byte to the end of the last one.
    bounds: Cell<(usize, usize)>,
    /// The kernel refuses memory beyond a limit (vm.overcommit_memory = 2).
    strict: OnceCell<bool>,
    /// For forks, if some of it is not to be shared with children.
    node: OnceCell<Arc<NodeFile>>,
}

#[derive(Clone, Copy)]
struct Mapped {
    address: usize,
    len: usize,
    offset: u64,
}

const NOTHING: Mapped = Mapped { address: 0, len: 0, offset: 0 };

impl Mapped {
    #[inline]
    fn place(&self, address: usize, len: usize) -> Option<Place> {
        let skipped = address.wrapping_sub(self.address);
        (skipped < self.len && len <= self.len - skipped).then(|| Place(self.offset + skipped as u64))
    }
}

impl Heap {
    /// `file` is the node's shared file, a memfd; this process owns its offsets `base` to
    /// `base + span`. All are multiples of the page, and `base` is not 0.
    pub fn new(file: OwnedFd, base: u64, span: u64) -> Heap {
        let page = rustix::param::page_size() as u64;
        debug_assert!(base > 0 && base.is_multiple_of(page) && span.is_multiple_of(page));
        Heap {
            file,
            base,
            span,
            reaches: Cell::new(0),
            offsets: RefCell::new(Offsets::new(base, span)),
            mapped: RefCell::new(Vec::new()),
            last: Cell::new(NOTHING),
            bounds: Cell::new((usize::MAX, 0)),
            strict: OnceCell::new(),
            node: OnceCell::new(),
        }
    }

    /// The node's file.
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Maps `len` bytes of fresh, zeroed, shared memory, at least a page.
    ///
    /// Errors: ENOMEM when the span, the address space or, under strict overcommit, the memory is
    /// used up; EFBIG beyond RLIMIT_FSIZE. The caller takes private memory then.
    pub fn allocate(&self, len: usize) -> io::Result<*mut u8> {
        let page = rustix::param::page_size() as u64;
        let len = (len.max(1) as u64).checked_next_multiple_of(page).ok_or(Errno::NOMEM)?;
        let align = if len >= HUGE { HUGE } else { page };
        let offset = self.take(len, len, align)?;
        match self.map(offset, len as usize) {
            Ok(address) => {
                self.enter(Mapped { address: address as usize, len: len as usize, offset });
                Ok(address)
            }
            Err(error) => {
                self.give(offset);
                Err(error)
            }
        }
    }

    /// Takes `room` bytes of offsets, within the file's length, the first `len` of which can be
    /// touched without fear of a SIGBUS.
    fn take(&self, len: u64, room: u64, align: u64) -> io::Result<u64> {
        let mut offsets = self.offsets.borrow_mut();
        let page = rustix::param::page_size() as u64;
        let offset = offsets.take(room, align).or_else(|| offsets.take(room, page)).ok_or(Errno::NOMEM)?;
        drop(offsets);
        self.back(offset, len, room).inspect_err(|_| self.give(offset))?;
        Ok(offset)
    }

    fn back(&self, offset: u64, len: u64, room: u64) -> io::Result<()> {
        if offset + room > self.reaches.get() {
            if let Some(end) = extend(self.file.as_fd(), offset + room, self.base + self.span)? {
                // It is in this span, and beyond the file's old end, so that it is in no use yet.
                let page = rustix::param::page_size() as u64;
                punch(self.file.as_fd(), end - page, page)?;
            }
            self.reaches.set(offset + room);
        }
        if *self.strict.get_or_init(is_overcommit_strict) {
            // Otherwise the first touch of a page may find that there is none to have.
            fs::fallocate(&self.file, FallocateFlags::empty(), offset, len)?;
        }
        Ok(())
    }

    fn give(&self, offset: u64) {
        let mut offsets = self.offsets.borrow_mut();
        let Some(len) = offsets.len_at(offset) else { return };
        // Offsets whose pages cannot be given back are not used again: they would not be zeros.
        if punch(self.file.as_fd(), offset, len).is_ok() {
            offsets.give(offset);
        }
    }

    fn map(&self, offset: u64, len: usize) -> io::Result<*mut u8> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let address = unsafe { mm::mmap(std::ptr::null_mut(), len, protection, MapFlags::SHARED, &self.file, offset)? };
        tern_atomics::mapped(address.cast(), len, self.file.as_fd(), offset);
        if len as u64 >= HUGE {
            // SAFETY: the mapping just made; advice changes no contents. Where the kernel has no
            // huge pages for shared memory it does not matter.
            let _ = unsafe { mm::madvise(address, len, Advice::LinuxHugepage) };
        }
        Ok(address.cast())
    }

    fn enter(&self, fresh: Mapped) {
        let mut mapped = self.mapped.borrow_mut();
        let index = mapped.partition_point(|one| one.address < fresh.address);
        mapped.insert(index, fresh);
        self.last.set(fresh);
        self.set_bounds(&mapped);
    }

    fn set_bounds(&self, mapped: &[Mapped]) {
        let bounds = mapped.first().zip(mapped.last());
        self.bounds.set(bounds.map_or((usize::MAX, 0), |(first, last)| (first.address, last.address + last.len)));
    }

    /// The same of memory that the child of a fork has for itself, as it has private memory. Address space and data of the process grow
    /// by its length once more, so that a fork need not ask for them; and a fork copies what has been written to.
    pub fn allocate_apart(&self, len: usize) -> io::Result<*mut u8> {
        let address = self.allocate(len)?;
        self.keep_apart(address).inspect_err(|_| {
            // SAFETY: just allocated; nobody knows of it.
            unsafe { self.free(address) };
        })?;
        Ok(address)
    }

    fn keep_apart(&self, address: *mut u8) -> io::Result<()> {
        let mapped = self.mapped.borrow();
        let index = mapped.binary_search_by_key(&(address as usize), |one| one.address).map_err(|_| Errno::INVAL)?;
        let Mapped { address, len, offset } = mapped[index];
        if self.node.get().is_none() {
            let _ = self.node.set(Arc::new(NodeFile::of(self.file())?));
        }
        let file = self.node.get().ok_or(Errno::BADF)?;
        Ok(fork::keep_apart(address..address + len, offset, file)?)
    }

    /// Unmaps what [`Heap::allocate`] has returned as `at`, gives its memory back and uses its
    /// offsets again; false, and nothing done, when `at` is not such an address.
    ///
    /// # Safety
    /// Nobody uses the memory any more, in this process or a peer.
    pub unsafe fn free(&self, at: *mut u8) -> bool {
        let mut mapped = self.mapped.borrow_mut();
        let Ok(index) = mapped.binary_search_by_key(&(at as usize), |one| one.address) else {
            return false;
        };
        let gone = mapped.remove(index);
        self.last.set(NOTHING);
        self.set_bounds(&mapped);
        drop(mapped);
        if self.node.get().is_some() {
            fork::share_again(gone.address);
        }
        // SAFETY: our own mapping, which nobody uses any more (contract).
        let _ = unsafe { mm::munmap(at.cast(), gone.len) };
        tern_atomics::unmapped(at, gone.len);
        self.give(gone.offset);
        true
    }

    /// Where `len` bytes at `address` lie in the file, if all of them lie in one allocation.
    #[inline]
    pub fn place(&self, address: *const u8, len: usize) -> Option<Place> {
        let address = address as usize;
        if let Some(place) = self.last.get().place(address, len) {
            return Some(place);
        }
        let (start, end) = self.bounds.get();
        if address < start || address >= end {
            return None;
        }
        self.find(address, len)
    }

    #[cold]
    fn find(&self, address: usize, len: usize) -> Option<Place> {
        let mapped = self.mapped.borrow();
        let after = mapped.partition_point(|one| one.address <= address);
        let found = mapped[after.checked_sub(1)?];
        let place = found.place(address, len)?;
        self.last.set(found);
        Some(place)
    }

    /// Offset of a fresh range of the file, `len` bytes and then `room` bytes that nobody else
    /// will use either; all are zeros, and nothing is mapped. `None` when there is no such range, or
    /// this process may not make the file so long.
    pub fn reserve(&self, len: usize, room: u64) -> Option<u64> {
        let page = rustix::param::page_size() as u64;
        let len = (len.max(1) as u64).checked_next_multiple_of(page)?;
        let room = len.checked_add(room)?.checked_next_multiple_of(page)?;
        self.take(len, room, page).ok()
    }

    /// Gives back what [`Heap::reserve`] has returned, with its memory. Whoever still has it mapped
    /// finds zeros there, and later the memory of somebody else.
    pub fn release(&self, offset: u64) {
        self.give(offset);
    }
}

fn is_overcommit_strict() -> bool {
    std::fs::read_to_string("/proc/sys/vm/overcommit_memory").is_ok_and(|mode| mode.trim() == "2")
}

#[cfg(test)]
mod tests;
