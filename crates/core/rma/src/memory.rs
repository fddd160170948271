//! Memory of a window: where it is taken, how it is divided, and what is given back.

use crate::shared::PAGE;
use std::cell::RefCell;
use std::ops::Range;
use tern_mcm::{Direct, Exposure, Memory};

/// Parts of a window that are not a contiguous shared one begin at multiples of this: no two processes
/// write to one line, nor to the one that the processor fetches with it.
const LINE: usize = 128;

/// What a window has taken and has to give back.
#[derive(Default)]
pub(crate) struct Belongings {
    /// Mapped memory of others.
    pub mapped: RefCell<Vec<(*mut u8, usize)>>,
    /// The allocation that all share, at its owner.
    pub allocated: Option<*mut u8>,
    /// Private memory, where there was no shared one: of the window, and the words of one whose members lie apart.
    pub private: [Option<(*mut u8, usize)>; 2],
    /// Memory that was exposed to the kernel's copies.
    pub exposed: Vec<Memory>,
    /// Memory that was made shared in place.
    pub pinned: Option<Memory>,
}

impl Belongings {
    /// Gives back all but what is allocated: its owner gives that back when all have unmapped it.
    pub fn give_back(&self, direct: &dyn Direct) {
        for (at, len) in self.mapped.borrow_mut().drain(..) {
            // SAFETY: the window is over.
            unsafe { tern_mcm::unmap(at, len) };
        }
        self.exposed.iter().chain(&self.pinned).for_each(|memory| direct.release(memory));
        for (at, len) in self.private.into_iter().flatten() {
            // SAFETY: mapped for the window, which is over.
            let _ = unsafe { rustix::mm::munmap(at.cast(), len) };
        }
    }
}

/// Where the part of each rank begins in the window's memory, and how many bytes there are in all.
pub(crate) fn parts(bytes: &[usize], contiguous: bool) -> (Vec<usize>, usize) {
    let mut next = 0;
    let starts = bytes.iter().map(|len| {
        let start = next;
        next += len;
        if !contiguous {
            next = next.next_multiple_of(if *len < PAGE { LINE } else { PAGE });
        }
        start
    });
    (starts.collect(), next)
}

/// Zeroed memory of this process alone, and its bytes. It is only reserved: each page takes memory, and gets its place, when
/// the program touches it first.
pub(crate) fn private(bytes: usize) -> Option<(*mut u8, usize)> {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
    let (len, access) = (bytes.max(1), ProtFlags::READ | ProtFlags::WRITE);
    // SAFETY: the kernel chooses addresses that nothing uses.
    let at = unsafe { mmap_anonymous(std::ptr::null_mut(), len, access, MapFlags::PRIVATE | MapFlags::NORESERVE) };
    at.ok().map(|at| (at.cast(), len))
}

/// Where memory of the program lies in what all share, which bytes of it, and what of it has been put there for this.
pub(crate) fn shared_in_place(direct: &dyn Direct, base: *mut u8, bytes: usize) -> (u64, Range<usize>, Option<Memory>) {
    if let Some(place) = direct.place(base, bytes) {
        return (place, 0..bytes, None);
    }
    let Some(exposed) = direct.expose(&Memory::dense(base, bytes), Exposure::InPlace) else { return (0, 0..0, None) };
    let start = exposed.address as usize - base as usize;
    (exposed.place, start..start + exposed.len as usize, Some(exposed))
}
