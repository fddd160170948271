//! Registered memory in buffers of one size: what receives are posted with, and what packets are built in.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::RefCell;
use std::ptr::NonNull;
use tern_hca::{Access, MemoryRegion, ProtectionDomain, Segment};

/// Buffers that are registered together.
const SLAB: usize = 64;

/// A growing number of buffers, each known by its index.
pub struct Pool {
    domain: ProtectionDomain,
    /// Bytes of a buffer.
    size: usize,
    /// The most buffers.
    most: usize,
    slabs: RefCell<Vec<Slab>>,
    free: RefCell<Vec<u32>>,
}

/// The memory of some buffers.
struct Slab {
    region: Option<MemoryRegion>,
    base: NonNull<u8>,
    layout: Layout,
}

impl Slab {
    fn new(domain: &ProtectionDomain, len: usize) -> tern_hca::Result<Slab> {
        let no_memory = || tern_hca::Error::Resources(format!("{len} bytes for buffers"));
        // Whole pages: a child of fork may not get those that are registered.
        let layout = Layout::from_size_align(len, tern_node::page_size()).map_err(|_| no_memory())?.pad_to_align();
        // SAFETY: the length is not 0.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(no_memory)?;
        let mut slab = Slab { region: None, base, layout };
        // SAFETY: the memory is freed after the region is dropped, and referred to only while the HCA does
        // not have it: between `take` and a post, and between a completion and `give`.
        slab.region = Some(unsafe { domain.register(base.as_ptr(), len, Access::LOCAL) }?);
        Ok(slab)
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        self.region = None;
        // SAFETY: allocated with this layout, and nobody has it any more.
        unsafe { dealloc(self.base.as_ptr(), self.layout) };
    }
}

impl Pool {
    /// Buffers of `size` bytes, `most` at most, the first of them at once.
    ///
    /// Errors: the memory cannot be registered.
    pub fn new(domain: &ProtectionDomain, size: usize, most: usize) -> tern_hca::Result<Pool> {
        let pool = Pool { domain: domain.clone(), size, most, slabs: RefCell::default(), free: RefCell::default() };
        pool.grow()?;
        Ok(pool)
    }

    fn grow(&self) -> tern_hca::Result<()> {
        let slab = Slab::new(&self.domain, self.size * SLAB)?;
        let first = (self.slabs.borrow().len() * SLAB) as u32;
        self.slabs.borrow_mut().push(slab);
        self.free.borrow_mut().extend((first..first + SLAB as u32).rev());
        Ok(())
    }

    /// A buffer that nobody uses, if there is one or can be.
    #[inline]
    pub fn take(&self) -> Option<u32> {
        if let Some(index) = self.free.borrow_mut().pop() {
            return Some(index);
        }
        self.take_grown()
    }

    #[cold]
    fn take_grown(&self) -> Option<u32> {
        // Where no more can be registered, what there is has to do.
        if self.slabs.borrow().len() * SLAB >= self.most || self.grow().is_err() {
            return None;
        }
        self.free.borrow_mut().pop()
    }

    /// Gives a buffer back.
    #[inline]
    pub fn give(&self, index: u32) {
        self.free.borrow_mut().push(index);
    }

    /// Where a buffer lies.
    #[inline]
    pub fn at(&self, index: u32) -> *mut u8 {
        let base = self.slabs.borrow()[index as usize / SLAB].base;
        // SAFETY: inside the slab.
        unsafe { base.as_ptr().add(index as usize % SLAB * self.size) }
    }

    /// The first `len` bytes of a buffer, for a request.
    #[inline]
    pub fn segment(&self, index: u32, len: u32) -> Segment {
        let slabs = self.slabs.borrow();
        let region = slabs[index as usize / SLAB].region.as_ref().expect("registered");
        region.segment(index as usize % SLAB * self.size, len)
    }

    /// Bytes of a buffer.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Bytes of registered memory.
    pub fn memory(&self) -> usize {
        self.slabs.borrow().len() * SLAB * self.size
    }
}
