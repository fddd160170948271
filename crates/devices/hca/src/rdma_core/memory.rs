//! Protection domains and registered memory.

use super::context::Context;
use super::ffi::{self, ibv_mr, ibv_pd};
use super::made;
use crate::{Access, Error, Result, Segment};
use std::io;
use std::sync::Arc;

/// See [`crate::ProtectionDomain`].
#[derive(Clone)]
pub struct ProtectionDomain(pub(super) Arc<Domain>);

pub struct Domain {
    pub raw: *mut ibv_pd,
    pub context: Arc<Context>,
}

// SAFETY: libibverbs may be used from any thread.
unsafe impl Send for Domain {}
// SAFETY: as above.
unsafe impl Sync for Domain {}

impl Drop for Domain {
    fn drop(&mut self) {
        if self.context.is_own() {
            // SAFETY: everything that was made from it is gone.
            unsafe { (self.context.functions.ibv_dealloc_pd)(self.raw) };
        }
    }
}

impl ProtectionDomain {
    pub(super) fn new(context: &Arc<Context>) -> Result<ProtectionDomain> {
        context.check_own()?;
        // SAFETY: the context is open.
        let raw = made(unsafe { (context.functions.ibv_alloc_pd)(context.raw) }, || "a protection domain".into())?;
        Ok(ProtectionDomain(Arc::new(Domain { raw, context: context.clone() })))
    }

    /// # Safety
    /// As [`crate::ProtectionDomain::register`].
    pub unsafe fn register(&self, address: *mut u8, len: usize, access: Access) -> Result<MemoryRegion> {
        let context = &self.0.context;
        context.check_own()?;
        if len == 0 {
            return Err(Error::Invalid("a region of no bytes".into()));
        }
        let mut flags = 0;
        for (asked, flag) in [
            (access.local_write, ffi::IBV_ACCESS_LOCAL_WRITE),
            (access.remote_read, ffi::IBV_ACCESS_REMOTE_READ),
            (access.remote_write, ffi::IBV_ACCESS_REMOTE_WRITE),
            (access.remote_atomic, ffi::IBV_ACCESS_REMOTE_ATOMIC),
        ] {
            flags |= if asked { flag } else { 0 };
        }
        // SAFETY: the domain is open; the caller answers for the memory.
        let raw = unsafe { (context.functions.ibv_reg_mr)(self.0.raw, address.cast(), len, flags) };
        if raw.is_null() {
            return Err(refusal(address, len, io::Error::last_os_error()));
        }
        Ok(MemoryRegion { raw, domain: self.0.clone() })
    }
}

fn refusal(address: *mut u8, len: usize, why: io::Error) -> Error {
    let what = format!("{len} bytes from {address:p} on: {why}");
    match why.raw_os_error() {
        Some(libc::ENOMEM | libc::EAGAIN) => {
            Error::Resources(format!("{what}; the limit of locked memory may be too low (ulimit -l)"))
        }
        Some(libc::EFAULT) => Error::Registration(format!("{what}; not all of it is mapped, or may be written to")),
        _ => Error::Registration(what),
    }
}

/// See [`crate::MemoryRegion`].
pub struct MemoryRegion {
    raw: *mut ibv_mr,
    domain: Arc<Domain>,
}

// SAFETY: its fields do not change, and libibverbs may be used from any thread.
unsafe impl Send for MemoryRegion {}
// SAFETY: as above.
unsafe impl Sync for MemoryRegion {}

impl MemoryRegion {
    pub(super) fn segment(&self, offset: usize, len: u32) -> Segment {
        Segment { address: self.address() + offset as u64, len, key: self.local_key() }
    }
    fn fields(&self) -> &ibv_mr {
        // SAFETY: the region lives as long as this.
        unsafe { &*self.raw }
    }
    pub fn local_key(&self) -> u32 {
        self.fields().lkey
    }
    pub fn remote_key(&self) -> u32 {
        self.fields().rkey
    }
    pub fn address(&self) -> u64 {
        self.fields().addr as u64
    }
    pub fn len(&self) -> usize {
        self.fields().length
    }
}

impl Drop for MemoryRegion {
    fn drop(&mut self) {
        if self.domain.context.is_own() {
            // SAFETY: registered above, once.
            unsafe { (self.domain.context.functions.ibv_dereg_mr)(self.raw) };
        }
    }
}
