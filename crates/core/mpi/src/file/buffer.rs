//! The memory in which an aggregator collects a window: kept between accesses, since fresh pages cost
//! as much as the copy into them, and shared between the node's processes where that is possible, so
//! that the others put their data there themselves.

use crate::error::{Result, no_memory};
use crate::runtime::adi;
use std::alloc::{GlobalAlloc, Layout, System};
use tern_mcm::AfterFork;

const PAGE: usize = 4096;

/// Bytes that have a value, though not always the one that somebody wants.
pub struct Buffer {
    base: *mut u8,
    len: usize,
    shared: bool,
}

impl Default for Buffer {
    /// One without room.
    fn default() -> Buffer {
        Buffer { base: std::ptr::null_mut(), len: 0, shared: false }
    }
}

impl Buffer {
    fn allocate(len: usize) -> Result<Buffer> {
        if let Some(base) = adi().mcm().direct().and_then(|direct| direct.allocate(len, AfterFork::Shared)) {
            return Ok(Buffer { base, len, shared: true });
        }
        let layout = Buffer::layout(len);
        let base = tern_memory::raw(layout, true);
        let base = base.map_err(|lack| no_memory("the part of the file that this process collects", lack))?;
        Ok(Buffer { base, len, shared: false })
    }

    fn layout(len: usize) -> Layout {
        Layout::from_size_align(len, PAGE).expect("a window is smaller than the address space")
    }

    /// Has room for `len` bytes from now on. What it held is lost if it had not.
    ///
    /// Errors: MPI_ERR_NO_MEM; it has no room at all then.
    pub fn reserve(&mut self, len: usize) -> Result<()> {
        if self.len < len {
            *self = Buffer::default();
            *self = Buffer::allocate(len)?;
        }
        Ok(())
    }

    pub fn base(&self) -> *mut u8 {
        self.base
    }

    /// The first `len` bytes.
    ///
    /// # Safety
    /// No transfer into the buffer is under way, and `len` bytes were reserved.
    pub unsafe fn bytes(&mut self, len: usize) -> &mut [u8] {
        if len == 0 {
            return &mut [];
        }
        // SAFETY: there are as many, all initialised; nobody else uses them (the caller's promise).
        unsafe { std::slice::from_raw_parts_mut(self.base, len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.base.is_null() {
            return;
        }
        // SAFETY: allocated above in this way; no transfer refers to it any more.
        unsafe {
            if self.shared {
                let freed = adi().mcm().direct().is_some_and(|direct| direct.free(self.base));
                debug_assert!(freed, "it came from there");
            } else {
                System.dealloc(self.base, Buffer::layout(self.len));
            }
        }
    }
}
