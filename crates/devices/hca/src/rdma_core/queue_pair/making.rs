//! Each kind of queue pair, in its first state.

use super::super::completion::CompletionQueue;
use super::super::ffi::{self, ibv_qp_cap, ibv_qp_init_attr};
use super::super::memory::{Domain, ProtectionDomain};
use super::super::receive_queue::{SharedReceiveQueue, XrcDomain, no_xrc};
use super::{Kind, MadeFrom, QueuePair};
use crate::{Limits, ReceiveLimits, Result};
use std::ptr;
use std::sync::Arc;

fn send_capacity(limits: &Limits) -> ibv_qp_cap {
    ibv_qp_cap {
        max_send_wr: limits.depth.max(1),
        max_send_sge: limits.gather.max(1),
        max_inline_data: limits.inline,
        ..ibv_qp_cap::default()
    }
}

impl ProtectionDomain {
    /// `send`, `receive`: where completions go. `limits`: of its send queue; `own`: of its receive queue, where it has no shared one.
    pub fn queue_pair(
        &self, [send, receive]: [&CompletionQueue; 2], shared: Option<&SharedReceiveQueue>, limits: &Limits,
        own: &ReceiveLimits,
    ) -> Result<QueuePair> {
        let domain = &self.0;
        let mut capacity = send_capacity(limits);
        if shared.is_none() {
            capacity.max_recv_wr = own.depth;
            capacity.max_recv_sge = own.scatter;
        }
        let made_from = MadeFrom {
            _domain: Some(domain.clone()),
            _queues: [Some(send.0.clone()), Some(receive.0.clone())],
            _shared: shared.cloned(),
            _xrc: None,
        };
        let mut initial = ibv_qp_init_attr {
            qp_context: ptr::null_mut(),
            send_cq: send.0.raw,
            recv_cq: receive.0.raw,
            srq: shared.map_or(ptr::null_mut(), |shared| shared.0.raw),
            cap: capacity,
            qp_type: ffi::IBV_QPT_RC,
            sq_sig_all: 0,
        };
        domain.context.check_own()?;
        // SAFETY: everything that is named is open.
        let raw = unsafe { (domain.context.functions.ibv_create_qp)(domain.raw, &mut initial) };
        QueuePair::new(&domain.context, raw, Kind::Connected, initial.cap, made_from)
    }

    /// One with a receive queue of its own that is hardly of use.
    pub(in super::super) fn plain_queue_pair(&self, completions: &CompletionQueue, send: Limits) -> Result<QueuePair> {
        let mut capacity = send_capacity(&send);
        (capacity.max_recv_wr, capacity.max_recv_sge) = (1, 1);
        of_one_queue(&self.0, completions, ffi::IBV_QPT_RC, Kind::Connected, capacity)
    }

    pub fn xrc_initiator(&self, completions: &CompletionQueue, limits: &Limits) -> Result<QueuePair> {
        self.0.context.check_own()?;
        of_one_queue(&self.0, completions, ffi::IBV_QPT_XRC_SEND, Kind::XrcInitiator, send_capacity(limits))
    }
}

/// All its completions come to one queue.
fn of_one_queue(
    domain: &Arc<Domain>, completions: &CompletionQueue, number: u32, kind: Kind, capacity: ibv_qp_cap,
) -> Result<QueuePair> {
    let mut initial = initial_of(number, completions, capacity);
    // SAFETY: everything that is named is open.
    let raw = unsafe { (domain.context.functions.ibv_create_qp)(domain.raw, &mut initial) };
    let made_from =
        MadeFrom { _domain: Some(domain.clone()), _queues: [Some(completions.0.clone()), None], ..MadeFrom::default() };
    QueuePair::new(&domain.context, raw, kind, initial.cap, made_from)
}

impl XrcDomain {
    pub fn target(&self) -> Result<QueuePair> {
        let context = &self.0.context;
        context.check_own()?;
        // SAFETY: the context is open.
        let create = unsafe { ffi::extended(context.raw) }.and_then(|it| it.create_qp_ex).ok_or_else(no_xrc)?;
        let mut initial = ffi::ibv_qp_init_attr_ex::xrc_target(self.0.raw);
        // SAFETY: everything that is named is open.
        let raw = unsafe { create(context.raw, &mut initial) };
        let made_from = MadeFrom { _xrc: Some(self.clone()), ..MadeFrom::default() };
        QueuePair::new(context, raw, Kind::XrcTarget, ibv_qp_cap::default(), made_from)
    }
}

fn initial_of(kind: u32, completions: &CompletionQueue, cap: ibv_qp_cap) -> ibv_qp_init_attr {
    ibv_qp_init_attr {
        qp_context: ptr::null_mut(),
        send_cq: completions.0.raw,
        recv_cq: completions.0.raw,
        srq: ptr::null_mut(),
        cap,
        qp_type: kind,
        sq_sig_all: 0,
    }
}
