//! Peers' memory, mapped here on first use.

use crate::heap::Place;
use crate::slack;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::mm::{self, MapFlags, ProtFlags};
use rustix::process::{Resource, getrlimit};
use std::cell::{Cell, RefCell};
use std::io;

/// A pointer that [`Views::at`] has returned stays good for at least this many further calls.
pub const KEPT: usize = 8;
/// Bytes of a view: what one peer's buffer adds to this process's address space, at the least.
pub const VIEW: u64 = 16 << 20;
/// Entries of the table that answers most calls.
const QUICK: usize = 64;
/// What the kernel maps around a page that is read for the first time (fault_around_bytes).
const AROUND: usize = 64 << 10;
/// Up to this length there is nothing to gain by touching.
const SMALL: usize = 4096;
/// An entry of it that says nothing.
const NONE: u32 = u32::MAX;

/// How much is kept mapped.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Bytes of one view: a power of two, a multiple of the page.
    view: u64,
    /// Most views.
    views: usize,
    /// Most bytes of address space, unless the [`KEPT`] latest views need more.
    bytes: u64,
    /// They follow those of the process. (Tests have others.)
    is_real: bool,
}

impl Limits {
    /// Large views, unless the process may not have much address space. (It may have less than when it began.)
    fn of_process() -> Limits {
        match getrlimit(Resource::As).current {
            None => Limits { view: VIEW, views: 1024, bytes: 1 << 42, is_real: true },
            Some(limit) => Limits { view: 4 << 20, views: 1024, bytes: limit / 8, is_real: true },
        }
    }
}

/// Parts of the node's shared file, mapped in this process.
///
/// What a view shows follows from its offset in the file alone, so that it is never stale: memory
/// that a peer frees and allocates again is seen as it is. Views are mapped when they are first asked
/// for, and those that were not used for the longest time go when there are too many.
pub struct Views {
    file: OwnedFd,
    limits: Limits,
    views: RefCell<Vec<View>>,
    /// By a view's number in the file: where it stands in `views`.
    quick: [Cell<u32>; QUICK],
    /// Calls so far.
    calls: Cell<u64>,
    /// How often [`Views::hold`] was called more than [`Views::let_go`].
    held: Cell<u32>,
}

struct View {
    start: u64,
    end: u64,
    address: *mut u8,
    /// The call that used it last.
    used: Cell<u64>,
}

impl View {
    #[inline]
    fn address(&self, start: u64, end: u64, call: u64) -> Option<*mut u8> {
        if start < self.start || end > self.end {
            return None;
        }
        self.used.set(call);
        Some(self.address.wrapping_add((start - self.start) as usize))
    }
}

// SAFETY: the addresses are of mappings that belong to this object and to the whole process.
unsafe impl Send for Views {}

impl Views {
    /// Views of `file`, the node's shared file. Nothing is mapped yet.
    pub fn new(file: OwnedFd) -> Views {
        Views::with(file, Limits::of_process())
    }

    fn with(file: OwnedFd, limits: Limits) -> Views {
        Views {
            file,
            limits,
            views: RefCell::new(Vec::new()),
            quick: [const { Cell::new(NONE) }; QUICK],
            calls: Cell::new(0),
            held: Cell::new(0),
        }
    }

    /// The address at which the `len` bytes at `place` can be read and written here. It stays good
    /// for [`KEPT`] further calls.
    ///
    /// The file must reach beyond these bytes, as it does for what a [`Heap`](crate::Heap) has
    /// allocated or reserved; otherwise touching them, which this function does, raises SIGBUS.
    ///
    /// Errors: ENOMEM when there is no address space to spare or too many mappings, EOVERFLOW when the
    /// range is beyond what a file can have.
    #[inline]
    pub fn at(&self, place: Place, len: usize) -> io::Result<*mut u8> {
        let address = self.untouched(place, len)?;
        if len > SMALL {
            // SAFETY: mapped, and inside the file as the caller says.
            unsafe { touch(address, len) };
        }
        Ok(address)
    }

    /// The same, without a look at these bytes, which would take their lines from whoever writes there.
    ///
    /// Errors: as for [`Views::at`].
    #[inline]
    pub fn untouched(&self, place: Place, len: usize) -> io::Result<*mut u8> {
        let call = self.calls.get() + 1;
        self.calls.set(call);
        let (start, end) = (place.0, place.0.wrapping_add(len as u64));
        let known = self
            .views
            .borrow()
            .get(self.slot(start).get() as usize)
            .and_then(|view| if end >= start { view.address(start, end, call) } else { None });
        match known {
            Some(address) => Ok(address),
            None => self.find(start, len, call),
        }
    }

    /// Maps the `len` bytes at `place`, not none, by themselves: the address stays good until
    /// the caller unmaps it.
    ///
    /// Errors: as for [`Views::at`].
    pub fn map_for_good(&self, place: Place, len: usize) -> io::Result<*mut u8> {
        let page = rustix::param::page_size() as u64;
        let start = place.0 / page * page;
        let end = place.0.checked_add(len as u64).filter(|end| *end <= i64::MAX as u64 / 2);
        let view = self.map(start, end.ok_or(Errno::OVERFLOW)?.next_multiple_of(page), 0)?;
        Ok(view.address.wrapping_add((place.0 - start) as usize))
    }

    /// From now on no address goes bad, until [`Views::let_go`] was called as often.
    pub fn hold(&self) {
        self.held.set(self.held.get() + 1);
    }

    /// See [`Views::hold`].
    pub fn let_go(&self) {
        self.held.set(self.held.get() - 1);
    }

    #[inline]
    fn slot(&self, start: u64) -> &Cell<u32> {
        &self.quick[(start / self.limits.view) as usize % QUICK]
    }

    #[cold]
    fn find(&self, start: u64, len: usize, call: u64) -> io::Result<*mut u8> {
        let end = start.checked_add(len as u64).filter(|end| *end <= i64::MAX as u64 / 2).ok_or(Errno::OVERFLOW)?;
        let known = self.views.borrow().iter().position(|view| view.address(start, end, call).is_some());
        let index = match known {
            Some(index) => index,
            None => self.open(start, end, call)?,
        };
        self.slot(start).set(index as u32);
        self.views.borrow()[index].address(start, end, call).ok_or(Errno::FAULT.into())
    }

    /// Maps whole views around the range, or just its pages when there is no room for more.
    fn open(&self, start: u64, end: u64, call: u64) -> io::Result<usize> {
        let around = |unit: u64| (start / unit * unit, end.max(start + 1).next_multiple_of(unit));
        let (first, last) = around(self.limits.view);
        let now = if self.limits.is_real { Limits::of_process() } else { self.limits };
        self.make_room(last - first, Limits { view: self.limits.view, ..now });
        if slack::is_to_spare(last - first)
            && let Ok(view) = self.map(first, last, call)
        {
            return Ok(self.enter(view));
        }
        let (first, last) = around(rustix::param::page_size() as u64);
        self.make_room(last - first, Limits { bytes: 0, ..self.limits });
        if !slack::is_to_spare(last - first) {
            return Err(Errno::NOMEM.into());
        }
        Ok(self.enter(self.map(first, last, call)?))
    }

    fn map(&self, start: u64, end: u64, call: u64) -> io::Result<View> {
        let len = usize::try_from(end - start).map_err(|_| Errno::NOMEM)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let address = unsafe { mm::mmap(std::ptr::null_mut(), len, protection, MapFlags::SHARED, &self.file, start)? };
        tern_atomics::mapped(address.cast(), len, self.file.as_fd(), start);
        Ok(View { start, end, address: address.cast(), used: Cell::new(call) })
    }

    fn enter(&self, view: View) -> usize {
        let mut views = self.views.borrow_mut();
        views.push(view);
        views.len() - 1
    }

    /// Unmaps those that were not used for the longest time, until `fresh` more bytes fit the limits.
    fn make_room(&self, fresh: u64, limits: Limits) {
        if self.held.get() > 0 {
            return;
        }
        let mut views = self.views.borrow_mut();
        let mut bytes: u64 = views.iter().map(|view| view.end - view.start).sum();
        let mut gone = false;
        while views.len() > KEPT && (views.len() >= limits.views || bytes + fresh > limits.bytes) {
            let oldest = (0..views.len()).min_by_key(|index| views[*index].used.get());
            let view = views.swap_remove(oldest.unwrap_or(0));
            bytes -= view.end - view.start;
            close(&view);
            gone = true;
        }
        if gone {
            // The others have moved in the list.
            self.quick.iter().for_each(|slot| slot.set(NONE));
        }
    }
}

/// Reads a byte in each part that the kernel maps at once. A first write to a page maps that page
/// alone, which costs five times as much; where the pages are mapped already, these loads are a few
/// nanoseconds that nobody waits for.
///
/// # Safety
/// The `len` bytes at `address` can be read.
#[inline]
unsafe fn touch(address: *const u8, len: usize) {
    let mut done = 0;
    while done < len {
        // SAFETY: inside the range (contract); volatile, for others may write there.
        unsafe { address.add(done).read_volatile() };
        done += AROUND - (address as usize + done) % AROUND;
    }
}

fn close(view: &View) {
    // SAFETY: our own mapping; who was given an address in it was told how long it is good.
    let _ = unsafe { mm::munmap(view.address.cast(), (view.end - view.start) as usize) };
    tern_atomics::unmapped(view.address, (view.end - view.start) as usize);
}

impl Drop for Views {
    fn drop(&mut self) {
        self.views.get_mut().iter().for_each(close);
    }
}

#[cfg(test)]
mod tests;
