//! Shared receive queues, and the domains of XRC.

use super::completion::{CompletionQueue, Queue};
use super::context::Context;
use super::ffi::{self, ibv_recv_wr, ibv_srq, ibv_xrcd};
use super::memory::{Domain, ProtectionDomain};
use super::post::{posted, segments};
use super::{check, made};
use crate::{Error, ReceiveLimits, Result, Segment};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::sync::Arc;

/// See [`crate::SharedReceiveQueue`].
#[derive(Clone)]
pub struct SharedReceiveQueue(pub(super) Arc<Shared>);

pub struct Shared {
    pub raw: *mut ibv_srq,
    domain: Arc<Domain>,
    scatter: u32,
    number: Option<u32>,
    _xrc: Option<(XrcDomain, Arc<Queue>)>,
}

// SAFETY: libibverbs may be used from any thread.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.domain.context.is_own() {
            // SAFETY: the queue pairs that used it are gone.
            unsafe { (self.domain.context.functions.ibv_destroy_srq)(self.raw) };
        }
    }
}

fn attributes(limits: &ReceiveLimits) -> ffi::ibv_srq_attr {
    ffi::ibv_srq_attr { max_wr: limits.depth.max(1), max_sge: limits.scatter.max(1), srq_limit: 0 }
}

impl ProtectionDomain {
    pub fn shared_receive_queue(&self, limits: &ReceiveLimits, token: u64) -> Result<SharedReceiveQueue> {
        let domain = &self.0;
        domain.context.check_own()?;
        let mut initial = ffi::ibv_srq_init_attr { srq_context: token as *mut _, attr: attributes(limits) };
        // SAFETY: the domain is open.
        let raw = unsafe { (domain.context.functions.ibv_create_srq)(domain.raw, &mut initial) };
        let raw = made(raw, || format!("a shared receive queue of {limits:?}"))?;
        let scatter = limits.scatter.max(1);
        Ok(SharedReceiveQueue(Arc::new(Shared { raw, domain: domain.clone(), scatter, number: None, _xrc: None })))
    }

    pub fn xrc_receive_queue(
        &self, xrc: &XrcDomain, completions: &CompletionQueue, limits: &ReceiveLimits, token: u64,
    ) -> Result<SharedReceiveQueue> {
        let domain = &self.0;
        let context = &domain.context;
        context.check_own()?;
        // SAFETY: the context is open.
        let functions = unsafe { ffi::extended(context.raw) };
        let (Some(create), Some(number_of)) =
            (functions.and_then(|it| it.create_srq_ex), functions.and_then(|it| it.get_srq_num))
        else {
            return Err(no_xrc());
        };
        let mut initial = ffi::ibv_srq_init_attr_ex::xrc(attributes(limits), domain.raw, xrc.0.raw, completions.0.raw);
        initial.srq_context = token as *mut _;
        // SAFETY: everything that is named is open.
        let raw = made(unsafe { create(context.raw, &mut initial) }, || format!("a receive queue of XRC, {limits:?}"))?;
        let mut shared = Shared {
            raw,
            domain: domain.clone(),
            scatter: limits.scatter.max(1),
            number: None,
            _xrc: Some((xrc.clone(), completions.0.clone())),
        };
        let mut number = 0;
        // SAFETY: the queue was made above.
        check(unsafe { number_of(raw, &mut number) }, || "the number of a receive queue".into())?;
        shared.number = Some(number);
        Ok(SharedReceiveQueue(Arc::new(shared)))
    }
}

impl SharedReceiveQueue {
    #[inline]
    pub fn post_receive(&self, id: u64, list: &[Segment]) -> Result<()> {
        let shared = &*self.0;
        shared.domain.context.check_own()?;
        let (sg_list, num_sge) = segments(list, shared.scatter)?;
        let mut request = ibv_recv_wr { wr_id: id, next: ptr::null_mut(), sg_list, num_sge };
        let mut bad = ptr::null_mut();
        // SAFETY: the queue lives; the request is read during the call only.
        let code = unsafe { ((*shared.domain.context.raw).ops.post_srq_recv)(shared.raw, &mut request, &mut bad) };
        posted(code)
    }

    pub fn arm_limit(&self, low: u32) -> Result<()> {
        self.0.domain.context.check_own()?;
        let mut attributes = ffi::ibv_srq_attr { max_wr: 0, max_sge: 0, srq_limit: low };
        // SAFETY: the queue lives.
        let code = unsafe {
            (self.0.domain.context.functions.ibv_modify_srq)(self.0.raw, &mut attributes, ffi::IBV_SRQ_LIMIT)
        };
        check(code, || format!("a limit of {low} for a shared receive queue"))
    }

    pub fn number(&self) -> Option<u32> {
        self.0.number
    }

    pub fn address(&self) -> Option<Vec<u8>> {
        Some(self.0.number?.to_le_bytes().to_vec())
    }
}

/// See [`crate::XrcDomain`].
#[derive(Clone)]
pub struct XrcDomain(pub(super) Arc<Xrc>);

pub struct Xrc {
    pub raw: *mut ibv_xrcd,
    pub context: Arc<Context>,
}

// SAFETY: libibverbs may be used from any thread.
unsafe impl Send for Xrc {}
// SAFETY: as above.
unsafe impl Sync for Xrc {}

impl Drop for Xrc {
    fn drop(&mut self) {
        if !self.context.is_own() {
            return;
        }
        // SAFETY: the context is open.
        let functions = unsafe { ffi::extended(self.context.raw) };
        if let Some(close) = functions.and_then(|functions| functions.close_xrcd) {
            // SAFETY: everything that was made from it is gone.
            unsafe { close(self.raw) };
        }
    }
}

impl XrcDomain {
    pub(super) fn new(context: &Arc<Context>, file: Option<BorrowedFd<'_>>) -> Result<XrcDomain> {
        context.check_own()?;
        // SAFETY: the context is open.
        let open =
            unsafe { ffi::extended(context.raw) }.and_then(|functions| functions.open_xrcd).ok_or_else(no_xrc)?;
        let mut initial = ffi::ibv_xrcd_init_attr {
            comp_mask: ffi::IBV_XRCD_INIT_ATTR_FD_AND_OFLAGS,
            fd: file.map_or(-1, |file| file.as_raw_fd()),
            oflags: libc::O_CREAT,
        };
        // SAFETY: the context is open.
        let raw = made(unsafe { open(context.raw, &mut initial) }, || "a domain of XRC".into())?;
        Ok(XrcDomain(Arc::new(Xrc { raw, context: context.clone() })))
    }
}

pub(super) fn no_xrc() -> Error {
    Error::Unsupported("XRC, by this card's driver".into())
}
