//! Memory that is lent to the endpoint: buffers to send from, buffers to receive into, and what requests at the memory of others need.

use crate::abi::{FI_MULTI_RECV, FI_READ, FI_RECV, FI_SEND, FI_WRITE, fi_context2, fi_cq_data_entry};
use crate::fabric::{Cell, Fabric, Posted, Region};
use std::ffi::c_void;
use std::io::{Error, Result};
use std::ptr::{NonNull, null_mut};

/// Pages of this process, zero at first, that take no memory until they are used.
struct Pages {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: they belong to no thread.
unsafe impl Send for Pages {}

impl Pages {
    fn new(len: usize) -> Result<Pages> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping.
        let start = unsafe { libc::mmap(null_mut(), len, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(Error::last_os_error());
        }
        Ok(Pages { start: NonNull::new(start.cast()).ok_or_else(Error::last_os_error)?, len })
    }

    fn at(&self, offset: usize) -> *mut u8 {
        self.start.as_ptr().wrapping_add(offset)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// Contexts of requests: what a provider may write to while a request is under way. Their addresses tell which it is.
struct Contexts(Box<[std::cell::UnsafeCell<fi_context2>]>);

// SAFETY: only the provider looks into them.
unsafe impl Send for Contexts {}

impl Contexts {
    fn new(count: usize) -> Contexts {
        let empty = || std::cell::UnsafeCell::new(fi_context2 { internal: [null_mut(); 8] });
        Contexts((0..count).map(|_| empty()).collect())
    }

    fn at(&self, index: usize) -> *mut c_void {
        self.0[index].get().cast()
    }

    fn index(&self, context: *mut c_void) -> Option<usize> {
        let offset = (context as usize).checked_sub(self.0.as_ptr() as usize)?;
        let index = offset / size_of::<fi_context2>();
        (index < self.0.len()).then_some(index)
    }
}

/// Buffers to send from. Each is for one packet to one peer.
pub struct Sends {
    // First, so that it ends first.
    region: Option<Region>,
    pages: Pages,
    contexts: Contexts,
    size: usize,
    free: Vec<u32>,
    /// Of each buffer: to whom, and how many bytes.
    uses: Vec<(u32, u32)>,
}

impl Sends {
    /// # Errors
    /// No memory, or it cannot be registered.
    pub fn new(fabric: &mut Fabric, count: usize, size: usize, registered: bool) -> Result<Sends> {
        let pages = Pages::new(count * size)?;
        let access = if fabric.has_accesses() { FI_SEND | FI_READ | FI_WRITE } else { FI_SEND };
        let region = match registered {
            // SAFETY: the pages outlive the region: it is dropped first.
            true => Some(unsafe { fabric.register(pages.at(0), pages.len, access) }?),
            false => None,
        };
        // The last one given back is the next one taken: it is in the cache.
        let free = (0..count as u32).rev().collect();
        Ok(Sends { region, pages, contexts: Contexts::new(count), size, free, uses: vec![(0, 0); count] })
    }

    /// Ends the registration: the endpoint has no more requests, or is about to end.
    pub fn unregister(&mut self) {
        self.region = None;
    }

    /// A free buffer, with `len` bytes for `peer`.
    pub fn take(&mut self, peer: u32, len: usize) -> Option<u32> {
        let buffer = self.free.pop()?;
        self.uses[buffer as usize] = (peer, len as u32);
        Some(buffer)
    }

    pub fn give(&mut self, buffer: u32) {
        self.free.push(buffer);
    }

    /// The bytes of a buffer that is not under way.
    pub fn bytes(&mut self, buffer: u32) -> &mut [u8] {
        let len = self.uses[buffer as usize].1 as usize;
        // SAFETY: inside of the pages, which nobody else uses.
        unsafe { std::slice::from_raw_parts_mut(self.pages.at(buffer as usize * self.size), len) }
    }

    /// Bytes of a buffer.
    pub fn size(&self) -> usize {
        self.size
    }

    /// A buffer that was taken, and what requests show for it.
    pub fn memory(&self, buffer: u32) -> (*mut u8, *mut c_void) {
        let descriptor = self.region.as_ref().map_or(null_mut(), Region::descriptor);
        (self.pages.at(buffer as usize * self.size), descriptor)
    }

    pub fn peer(&self, buffer: u32) -> u32 {
        self.uses[buffer as usize].0
    }

    /// Which buffer a completion is of.
    pub fn index(&self, context: *mut c_void) -> Option<u32> {
        self.contexts.index(context).map(|index| index as u32)
    }

    /// Sends a buffer, which is left alone until its completion.
    pub fn send(&self, fabric: &Fabric, buffer: u32, to: u64) -> Posted {
        let (at, len) = (self.pages.at(buffer as usize * self.size), self.uses[buffer as usize].1 as usize);
        let descriptor = self.region.as_ref().map_or(null_mut(), Region::descriptor);
        // SAFETY: the buffer was taken for this packet, and is given back when it completes.
        unsafe {
            let bytes = std::slice::from_raw_parts(at, len);
            fabric.send(bytes, descriptor, to, self.contexts.at(buffer as usize))
        }
    }
}

/// What requests at the memory of others need: a context for each, and a cell for atomics.
pub struct Requests {
    // First, so that it ends first.
    region: Option<Region>,
    pages: Pages,
    contexts: Contexts,
}

impl Requests {
    /// # Errors
    /// No memory, or it cannot be registered.
    pub fn new(fabric: &mut Fabric, count: usize, registered: bool) -> Result<Requests> {
        let pages = Pages::new(count * size_of::<Cell>())?;
        let access = FI_READ | FI_WRITE;
        // SAFETY: the pages outlive the region: it is dropped first.
        let region = if registered { Some(unsafe { fabric.register(pages.at(0), pages.len, access) }?) } else { None };
        Ok(Requests { region, pages, contexts: Contexts::new(count) })
    }

    /// Ends the registration: the endpoint has no more requests, or is about to end.
    pub fn unregister(&mut self) {
        self.region = None;
    }

    pub fn context(&self, request: u32) -> *mut c_void {
        self.contexts.at(request as usize)
    }

    /// Which request a completion is of.
    pub fn index(&self, context: *mut c_void) -> Option<u32> {
        self.contexts.index(context).map(|index| index as u32)
    }

    /// The cell of a request, and what it shows for it.
    pub fn cell(&self, request: u32) -> (*mut Cell, *mut c_void) {
        let descriptor = self.region.as_ref().map_or(null_mut(), Region::descriptor);
        (self.pages.at(request as usize * size_of::<Cell>()).cast(), descriptor)
    }
}

/// Where a packet lies in the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    buffer: u32,
    at: u32,
    pub len: u32,
}

/// Buffers to receive into: one for each packet, or for several where the provider can do that.
pub struct Ring {
    // First, so that it ends first.
    region: Option<Region>,
    pages: Pages,
    contexts: Contexts,
    size: usize,
    several: bool,
    /// Of each buffer: packets in it that somebody still looks at, and whether no more come into it.
    states: Vec<(u32, bool)>,
    /// Those that the endpoint had no room for.
    refused: Vec<u32>,
    posted: usize,
}

impl Ring {
    /// # Errors
    /// No memory, or it cannot be registered.
    pub fn new(fabric: &mut Fabric, count: usize, size: usize, several: bool, registered: bool) -> Result<Ring> {
        let pages = Pages::new(count * size)?;
        // SAFETY: the pages outlive the region: it is dropped first.
        let region = if registered { Some(unsafe { fabric.register(pages.at(0), pages.len, FI_RECV) }?) } else { None };
        let mut it = Ring {
            region,
            pages,
            contexts: Contexts::new(count),
            size,
            several,
            states: vec![(0, false); count],
            refused: (0..count as u32).rev().collect(),
            posted: 0,
        };
        it.post(fabric)?;
        Ok(it)
    }

    /// Ends the registration: the endpoint has no more requests, or is about to end.
    pub fn unregister(&mut self) {
        self.region = None;
    }

    /// Offers the endpoint what it has refused before.
    ///
    /// # Errors
    /// It refuses for good.
    pub fn post(&mut self, fabric: &Fabric) -> Result<()> {
        while let Some(&buffer) = self.refused.last() {
            let at = buffer as usize;
            let descriptor = self.region.as_ref().map_or(null_mut(), Region::descriptor);
            // SAFETY: nobody looks into the buffer; it is looked at when completions tell of packets in it.
            let posted = unsafe {
                fabric.receive(self.pages.at(at * self.size), self.size, descriptor, self.several, self.contexts.at(at))
            };
            match posted {
                Posted::Done => {
                    self.refused.pop();
                    self.states[at] = (0, false);
                    self.posted += 1;
                }
                Posted::Busy => return Ok(()),
                Posted::Failed(error) => {
                    return Err(Error::other(format!("no buffer can be offered: {}", fabric.library.error(error))));
                }
            }
        }
        Ok(())
    }

    /// The packet that a completion tells of, to be [released](Ring::release) after use. `Ok(None)`: there is none with it.
    /// `Err`: it is of no buffer of the ring.
    pub fn arrived(&mut self, entry: &fi_cq_data_entry) -> std::result::Result<Option<Place>, ()> {
        let buffer = self.contexts.index(entry.op_context).ok_or(())?;
        let start = self.pages.at(buffer * self.size) as usize;
        let at = if self.several { (entry.buf as usize).wrapping_sub(start) } else { 0 };
        if !self.several || entry.flags & FI_MULTI_RECV != 0 {
            self.states[buffer].1 = true;
            self.posted -= 1;
        }
        let is_packet = entry.flags & FI_RECV != 0 && entry.len > 0 && at < self.size && entry.len <= self.size - at;
        if is_packet {
            self.states[buffer].0 += 1;
            return Ok(Some(Place { buffer: buffer as u32, at: at as u32, len: entry.len as u32 }));
        }
        self.renew(buffer);
        Ok(None)
    }

    /// The buffer of that request holds nothing: the request has failed. False: it is none of the ring.
    pub fn failed(&mut self, context: *mut c_void) -> bool {
        let Some(buffer) = self.contexts.index(context) else { return false };
        self.states[buffer].1 = true;
        self.posted -= 1;
        self.renew(buffer);
        true
    }

    /// The bytes of a packet, until it is released.
    pub fn bytes(&self, place: Place) -> *const [u8] {
        let at = self.pages.at(place.buffer as usize * self.size + place.at as usize);
        std::ptr::slice_from_raw_parts(at, place.len as usize)
    }

    /// Nobody looks at the packet any more.
    pub fn release(&mut self, place: Place) {
        self.states[place.buffer as usize].0 -= 1;
        self.renew(place.buffer as usize);
    }

    /// Less than half of the buffers are with the endpoint: packets had better be copied out.
    pub fn is_short(&self) -> bool {
        2 * self.posted < self.states.len()
    }

    /// Has the buffer offered again, if no packet is in it and none comes.
    fn renew(&mut self, buffer: usize) {
        if self.states[buffer] == (0, true) {
            self.refused.push(buffer as u32);
        }
    }
}
