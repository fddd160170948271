//! Registered memory that short messages are copied to, so that their senders go on at once.

use std::cell::{RefCell, UnsafeCell};
use tern_device::Memory;
use tern_hca::{Access, MemoryRegion, ProtectionDomain};

/// Messages under way at most.
const COPIES: usize = 16;

/// Memory that the HCA reads.
struct Bytes(Box<[UnsafeCell<u8>]>);

pub struct Copies {
    // Dropped before the memory that it is registered for.
    region: MemoryRegion,
    bytes: Bytes,
    each: usize,
    free: RefCell<Vec<u32>>,
}

impl Copies {
    /// Room for messages of up to `each` bytes.
    pub fn new(domain: &ProtectionDomain, each: usize) -> tern_hca::Result<Copies> {
        let bytes = Bytes((0..COPIES * each).map(|_| UnsafeCell::new(0)).collect());
        let base = UnsafeCell::raw_get(bytes.0.as_ptr());
        // SAFETY: the memory lives as long as the region (`Copies` drops it first) and is written only while no request
        // uses it.
        let region = unsafe { domain.register(base, bytes.0.len(), Access::LOCAL_READ) }?;
        Ok(Copies { region, bytes, each, free: RefCell::new((0..COPIES as u32).collect()) })
    }

    /// Copies the first `len` bytes of a message, if there is a free place: where they are, their local key, and what
    /// to give back.
    ///
    /// # Safety
    /// The memory of `source` can be read.
    pub unsafe fn copy(&self, source: &Memory, len: u64) -> Option<(Memory, u32, u32)> {
        if len as usize > self.each {
            return None;
        }
        let place = self.free.borrow_mut().pop()?;
        let to = UnsafeCell::raw_get(self.bytes.0[place as usize * self.each..].as_ptr());
        let mut done = 0;
        while done < len {
            let block = done / source.block;
            let bytes = source.block.min(len - done);
            let from = source.address.wrapping_add_signed(block as i64 * source.stride) as *const u8;
            // SAFETY: the block is the caller's (contract); the place is this message's own and holds `len` bytes.
            unsafe { std::ptr::copy_nonoverlapping(from, to.add(done as usize), bytes as usize) };
            done += bytes;
        }
        Some((Memory::dense(to, len as usize), self.region.local_key(), place))
    }

    pub fn give_back(&self, place: u32) {
        self.free.borrow_mut().push(place);
    }
}
