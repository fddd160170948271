//! The global allocator of each library.

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator; where it has nothing, the process ends in the way of the library.
pub struct Checked {
    end: fn(usize) -> !,
}

impl Checked {
    /// `end` gets the bytes that cannot be had. It may allocate: if that fails too, it is called again.
    pub const fn ending(end: fn(usize) -> !) -> Checked {
        Checked { end }
    }

    #[inline]
    fn checked(&self, at: *mut u8, len: usize) -> *mut u8 {
        if at.is_null() {
            (self.end)(len);
        }
        at
    }
}

// SAFETY: all is handed on to the system's allocator.
unsafe impl GlobalAlloc for Checked {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: contract.
        self.checked(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: contract.
        self.checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, len: usize) -> *mut u8 {
        // SAFETY: contract.
        self.checked(unsafe { System.realloc(at, layout, len) }, len)
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: contract.
        unsafe { System.dealloc(at, layout) }
    }
}
