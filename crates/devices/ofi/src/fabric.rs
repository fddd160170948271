//! One endpoint with what belongs to it: domain, address vector, completion queue. Requests and completions are as
//! libfabric has them; what they mean, their users know.

mod access;

pub use access::{Cell, Change, There};

use crate::abi::*;
use crate::library::Library;
use crate::provider::Offer;
use std::ffi::{c_int, c_void};
use std::io::{Error, Result};
use std::os::fd::{BorrowedFd, RawFd};
use std::ptr::{self, null_mut};

/// Completions that one read takes.
const BATCH: usize = 16;
/// Completions that the queue has room for.
const COMPLETIONS: usize = 8192;
/// The longest name of an endpoint.
const NAME: usize = 256;

/// An open endpoint.
pub struct Fabric {
    pub library: &'static Library,
    pub offer: Offer,
    fabric: *mut fid_fabric,
    domain: *mut fid_domain,
    av: *mut fid_av,
    cq: *mut fid_cq,
    ep: *mut fid_ep,
    descriptor: Option<RawFd>,
    next_key: u64,
}

// SAFETY: the objects belong to no thread; one at a time uses them.
unsafe impl Send for Fabric {}

/// A registration that failed.
pub struct Refused {
    /// The function of libfabric.
    pub step: &'static str,
    pub error: isize,
}

/// Whether a request was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted {
    Done,
    /// There is no room now.
    Busy,
    /// It never will be taken.
    Failed(isize),
}

fn posted(result: isize) -> Posted {
    match result {
        0 => Posted::Done,
        error if error == -FI_EAGAIN => Posted::Busy,
        error => Posted::Failed(error),
    }
}

/// What came of a request.
#[derive(Clone, Copy)]
pub enum Completion {
    Done(fi_cq_data_entry),
    /// The context of the request, and the error.
    Failed(*mut c_void, isize),
}

/// Registered memory.
pub struct Region {
    mr: *mut fid_mr,
}

// SAFETY: it belongs to no thread.
unsafe impl Send for Region {}

impl Region {
    pub fn descriptor(&self) -> *mut c_void {
        // SAFETY: it lives.
        unsafe { (*self.mr).mem_desc }
    }

    pub fn key(&self) -> u64 {
        // SAFETY: it lives.
        unsafe { (*self.mr).key }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: it lives, and its domain does: see `Fabric`.
        unsafe { close(&raw mut (*self.mr).fid) };
    }
}

/// # Safety
/// An object that lives, or null. It is gone after this.
unsafe fn close(object: *mut fid) {
    // SAFETY: the contract.
    unsafe {
        if !object.is_null() {
            ((*(*object).ops).close)(object);
        }
    }
}

impl Drop for Fabric {
    fn drop(&mut self) {
        self.close_endpoint();
        // SAFETY: each belongs to this alone, those that use others first.
        unsafe {
            close(self.cq.cast());
            close(self.av.cast());
            close(self.domain.cast());
            close(self.fabric.cast());
        }
    }
}

impl Fabric {
    /// Opens an endpoint.
    ///
    /// Errors: what the provider says, and at which step.
    pub fn open(library: &'static Library, offer: Offer, peers: usize) -> Result<Fabric> {
        let mut it = Fabric {
            library,
            offer,
            fabric: null_mut(),
            domain: null_mut(),
            av: null_mut(),
            cq: null_mut(),
            ep: null_mut(),
            descriptor: None,
            next_key: 1,
        };
        let info = it.offer.info();
        // SAFETY: each object is made of those before it, and its table is asked for what every provider has.
        unsafe {
            let made = (library.fabric)((*info).fabric_attr, &raw mut it.fabric, null_mut());
            it.check("fi_fabric", made)?;
            let made = ((*(*it.fabric).ops).domain)(it.fabric, info, &raw mut it.domain, null_mut());
            it.check("fi_domain", made)?;
            it.open_queue()?;
            let mut attributes: fi_av_attr = std::mem::zeroed();
            attributes.r#type = if (*(*info).domain_attr).av_type == FI_AV_MAP { FI_AV_MAP } else { FI_AV_TABLE };
            attributes.count = peers;
            let ops = &*(*it.domain).ops;
            let made = (ops.av_open)(it.domain, &raw mut attributes, &raw mut it.av, null_mut());
            it.check("fi_av_open", made)?;
            let made = (ops.endpoint)(it.domain, info, &raw mut it.ep, null_mut());
            it.check("fi_endpoint", made)?;
            let ep = it.ep.cast::<fid>();
            let ops = &*(*ep).ops;
            it.check("fi_ep_bind", (ops.bind)(ep, it.av.cast(), 0))?;
            it.check("fi_ep_bind", (ops.bind)(ep, it.cq.cast(), FI_TRANSMIT | FI_RECV))?;
            it.check("fi_enable", (ops.control)(ep, FI_ENABLE, null_mut()))?;
        }
        Ok(it)
    }

    /// The completion queue: one with a descriptor, where the provider can.
    unsafe fn open_queue(&mut self) -> Result<()> {
        // SAFETY: the domain is open; the queue's own control writes a descriptor.
        unsafe {
            let mut attributes: fi_cq_attr = std::mem::zeroed();
            attributes.size = COMPLETIONS;
            attributes.format = FI_CQ_FORMAT_DATA;
            attributes.wait_obj = FI_WAIT_FD;
            let open = (*(*self.domain).ops).cq_open;
            if open(self.domain, &raw mut attributes, &raw mut self.cq, null_mut()) == 0 {
                let mut descriptor: c_int = -1;
                let cq = self.cq.cast::<fid>();
                if ((*(*cq).ops).control)(cq, FI_GETWAIT, (&raw mut descriptor).cast()) == 0 && descriptor >= 0 {
                    self.descriptor = Some(descriptor);
                    return Ok(());
                }
                close(cq);
                self.cq = null_mut();
            }
            attributes.wait_obj = FI_WAIT_NONE;
            let made = open(self.domain, &raw mut attributes, &raw mut self.cq, null_mut());
            self.check("fi_cq_open", made)
        }
    }

    fn check(&self, step: &str, result: c_int) -> Result<()> {
        match result {
            0 => Ok(()),
            error => Err(Error::other(format!(
                "libfabric's provider {} on {}: {step}: {}",
                self.offer.provider(),
                self.offer.domain_name(),
                self.library.error(error as isize)
            ))),
        }
    }

    /// Ends the endpoint: from now on nothing touches the memory of requests. No other request may be made.
    pub fn close_endpoint(&mut self) {
        // SAFETY: it is open, or null.
        unsafe { close(std::mem::replace(&mut self.ep, null_mut()).cast()) };
    }

    /// The name by which others reach the endpoint.
    pub fn name(&self) -> Result<Vec<u8>> {
        let (mut name, mut len) = (vec![0; NAME], NAME);
        // SAFETY: the endpoint is open; the length is that of the buffer.
        let result = unsafe { ((*(*self.ep).cm).getname)(self.ep.cast(), name.as_mut_ptr().cast(), &raw mut len) };
        self.check("fi_getname", result)?;
        name.truncate(len);
        Ok(name)
    }

    /// The address that stands for a name of another endpoint.
    pub fn insert(&self, name: &[u8]) -> Result<fi_addr_t> {
        let mut address = u64::MAX;
        // Names that are strings end there.
        let name = [name, &[0]].concat();
        // SAFETY: the address vector is open; the name is one of this provider's.
        let inserted =
            unsafe { ((*(*self.av).ops).insert)(self.av, name.as_ptr().cast(), 1, &raw mut address, 0, null_mut()) };
        if inserted == 1 && address != u64::MAX {
            return Ok(address);
        }
        self.check("fi_av_insert", if inserted == 0 { -22 } else { inserted })?;
        Err(Error::other("libfabric gave no address"))
    }

    /// What is readable when there may be completions: see [`Fabric::try_wait`].
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        // SAFETY: it is open as long as the queue is.
        self.descriptor.map(|descriptor| unsafe { BorrowedFd::borrow_raw(descriptor) })
    }

    /// True when one may wait for the descriptor; otherwise there is something to read at once.
    pub fn try_wait(&self) -> bool {
        let mut objects = [self.cq.cast::<fid>()];
        // SAFETY: both are open.
        self.descriptor.is_some()
            && unsafe { ((*(*self.fabric).ops).trywait)(self.fabric, objects.as_mut_ptr(), 1) == 0 }
    }

    /// Registers memory of this crate, so that requests of this process may do to it what `access` says.
    ///
    /// # Safety
    /// The memory stays mapped until the region ends, which is before this does.
    pub unsafe fn register(&mut self, memory: *const u8, len: usize, access: u64) -> Result<Region> {
        self.next_key += 1;
        // SAFETY: the contract is the same.
        let made = unsafe { self.try_register(memory, len, access, self.next_key - 1) };
        made.map_err(|Refused { step, error }| self.check(step, error as c_int).expect_err("it has failed"))
    }

    /// Registers memory, so that the device may do to it what `access` says, under this key, unless the provider makes them.
    ///
    /// # Errors
    /// The step that failed, and the provider's number.
    ///
    /// # Safety
    /// The memory stays mapped until the region ends, which is before this does.
    pub unsafe fn try_register(
        &self, memory: *const u8, len: usize, access: u64, key: u64,
    ) -> std::result::Result<Region, Refused> {
        let well = |step: &'static str, result: c_int| match result {
            0 => Ok(()),
            error => Err(Refused { step, error: error as isize }),
        };
        let mut mr = null_mut();
        // SAFETY: the domain is open, and the memory is as said.
        unsafe {
            let reg = (*(*self.domain).mr).reg;
            well("fi_mr_reg", reg(self.domain.cast(), memory.cast(), len, access, 0, key, 0, &raw mut mr, null_mut()))?;
            let region = Region { mr };
            if self.offer.asks(FI_MR_ENDPOINT) {
                let ops = &*(*mr).fid.ops;
                well("fi_mr_bind", (ops.bind)(mr.cast(), self.ep.cast(), 0))?;
                well("fi_mr_enable", (ops.control)(mr.cast(), FI_ENABLE, null_mut()))?;
            }
            Ok(region)
        }
    }

    /// A buffer for several packets ends when it has not room for one of so many bytes. Only for endpoints with it.
    pub fn set_least_room(&self, bytes: usize) -> Result<()> {
        // SAFETY: the endpoint is open; the option is a size.
        let result = unsafe {
            let set = (*(*self.ep).ops).setopt;
            let value = (&raw const bytes).cast();
            set(self.ep.cast(), FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, value, size_of::<usize>())
        };
        self.check("fi_setopt", result)
    }

    /// Offers a buffer to packets.
    ///
    /// # Safety
    /// The memory is left to the endpoint until the completion of `context`, which is lent to the provider as long.
    pub unsafe fn receive(
        &self, buffer: *mut u8, len: usize, descriptor: *mut c_void, several: bool, context: *mut c_void,
    ) -> Posted {
        let iov = libc::iovec { iov_base: buffer.cast(), iov_len: len };
        let mut descriptor = descriptor;
        let message = fi_msg {
            msg_iov: &raw const iov,
            desc: &raw mut descriptor,
            iov_count: 1,
            addr: u64::MAX,
            context,
            data: 0,
        };
        let flags = if several { FI_MULTI_RECV } else { 0 };
        // SAFETY: the endpoint is open, and the memory is as said.
        posted(unsafe { ((*(*self.ep).msg).recvmsg)(self.ep, &raw const message, flags) })
    }

    /// Sends a packet; `context` completes.
    ///
    /// # Safety
    /// The memory is not changed until then; the context is lent to the provider as long.
    pub unsafe fn send(&self, bytes: &[u8], descriptor: *mut c_void, to: fi_addr_t, context: *mut c_void) -> Posted {
        // SAFETY: the endpoint is open, and the memory is as said.
        posted(unsafe {
            ((*(*self.ep).msg).send)(self.ep, bytes.as_ptr().cast(), bytes.len(), descriptor, to, context)
        })
    }

    /// Sends a packet of no more bytes than the provider injects. Nothing completes.
    pub fn inject(&self, bytes: &[u8], to: fi_addr_t) -> Posted {
        // SAFETY: the endpoint is open; the bytes are copied.
        posted(unsafe { ((*(*self.ep).msg).inject)(self.ep, bytes.as_ptr().cast(), bytes.len(), to) })
    }

    /// Reads some completions, and so lets the provider work.
    pub fn completions(&self, mut take: impl FnMut(Completion)) -> usize {
        let empty = fi_cq_data_entry { op_context: null_mut(), flags: 0, len: 0, buf: null_mut(), data: 0 };
        let mut entries = [empty; BATCH];
        // SAFETY: the queue is open, and has entries of this form.
        let count = unsafe { ((*(*self.cq).ops).read)(self.cq, entries.as_mut_ptr().cast(), BATCH) };
        if count == -FI_EAVAIL {
            let (context, error) = self.failure();
            take(Completion::Failed(context, error));
            return 1;
        }
        let count = count.max(0) as usize;
        entries[..count].iter().for_each(|entry| take(Completion::Done(*entry)));
        count
    }

    fn failure(&self) -> (*mut c_void, isize) {
        // SAFETY: zeros are a value of it.
        let mut entry: fi_cq_err_entry = unsafe { std::mem::zeroed() };
        // SAFETY: the queue is open; the entry has room for what newer libraries write.
        let count = unsafe { ((*(*self.cq).ops).readerr)(self.cq, &raw mut entry, 0) };
        if count == 1 { (entry.op_context, entry.err as isize) } else { (ptr::null_mut(), 0) }
    }
}
