//! Registered memory that short messages are copied to, so that their senders go on at once.

use std::cell::{OnceCell, RefCell, UnsafeCell};
use tern_device::Memory;
use tern_hca::{Access, Link, MemoryRegion, ProtectionDomain};

/// Messages under way at most.
const COPIES: usize = 16;

/// Memory that the HCA reads.
struct Bytes(Box<[UnsafeCell<u8>]>);

struct Places {
    // Dropped before the memory that it is registered for.
    region: MemoryRegion,
    bytes: Bytes,
    each: usize,
    free: RefCell<Vec<u32>>,
}

impl Places {
    /// Room for messages of up to `each` bytes.
    fn new(domain: &ProtectionDomain, each: usize) -> tern_hca::Result<Places> {
        let bytes = Bytes((0..COPIES * each).map(|_| UnsafeCell::new(0)).collect());
        let base = UnsafeCell::raw_get(bytes.0.as_ptr());
        // SAFETY: the memory lives as long as the region (`Places` drops it first) and is written only while no request
        // uses it.
        let region = unsafe { domain.register(base, bytes.0.len(), Access::LOCAL_READ) }?;
        Ok(Places { region, bytes, each, free: RefCell::new((0..COPIES as u32).collect()) })
    }

    /// Copies the first `len` bytes of a message, if there is a free place: where they are, their local key, and what
    /// to give back.
    ///
    /// # Safety
    /// The memory of `source` can be read.
    unsafe fn copy(&self, source: &Memory, len: u64) -> Option<(Memory, u32, u32)> {
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

    fn give_back(&self, place: u32) {
        self.free.borrow_mut().push(place);
    }
}

/// A copy of a message: where it is, its local key, and which place it has.
pub type Copy = (Memory, u32, u32);

/// Copies of short messages. Their memory is registered with the first of them.
pub struct Copies {
    domain: ProtectionDomain,
    /// Messages up to so many bytes are copied; 0: none.
    most: usize,
    /// How fast they are copied.
    link: Link,
    places: OnceCell<Option<Places>>,
}

impl Copies {
    /// For messages of up to `most` bytes.
    pub fn new(domain: &ProtectionDomain, most: usize, link: Link) -> Copies {
        Copies { domain: domain.clone(), most, link, places: OnceCell::new() }
    }

    /// Copies the first `len` bytes of a message that is short enough, if there is a free place.
    ///
    /// # Safety
    /// The memory of `source` can be read.
    pub unsafe fn copy(&self, source: &Memory, len: u64) -> Option<Copy> {
        if len as usize > self.most {
            return None;
        }
        let places = self.places.get_or_init(|| Places::new(&self.domain, self.most).ok()).as_ref()?;
        // SAFETY: the caller's contract.
        self.link.copies(len as usize, || unsafe { places.copy(source, len) })
    }

    /// The place is free again.
    pub fn give_back(&self, place: u32) {
        if let Some(Some(places)) = self.places.get() {
            places.give_back(place);
        }
    }
}
