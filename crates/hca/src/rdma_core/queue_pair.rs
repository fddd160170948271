//! Queue pairs.

use super::address::Address;
use super::completion::{CompletionQueue, Queue};
use super::context::Context;
use super::ffi::{
    self, ibv_qp, ibv_qp_attr, ibv_qp_cap, ibv_qp_init_attr, ibv_recv_wr, ibv_send_wr, ibv_sge,
};
use super::memory::Domain;
use super::receive_queue::{SharedReceiveQueue, XrcDomain, no_xrc};
use super::{check, made};
use crate::queue_pair::{Connection, Limits, QueuePairOptions, State};
use crate::{Data, Error, Operation, ReceiveLimits, Result, Segment, SendRequest};
use std::hash::{BuildHasher, Hasher};
use std::mem::{MaybeUninit, align_of, offset_of, size_of};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Parts of an inline message at most.
const MOST_PARTS: usize = 32;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Connected,
    XrcInitiator,
    XrcTarget,
}

/// See [`crate::QueuePair`].
pub struct QueuePair {
    raw: *mut ibv_qp,
    number: u32,
    kind: Kind,
    limits: Limits,
    receive: ReceiveLimits,
    /// The number of the first packet that it sends.
    first_packet: u32,
    connected: AtomicBool,
    context: Arc<Context>,
    _made_from: MadeFrom,
}

/// What a queue pair needs while it lives.
#[derive(Default)]
struct MadeFrom {
    _domain: Option<Arc<Domain>>,
    _queues: [Option<Arc<Queue>>; 2],
    _shared: Option<SharedReceiveQueue>,
    _xrc: Option<XrcDomain>,
}

// SAFETY: libibverbs may be used from any thread.
unsafe impl Send for QueuePair {}
// SAFETY: as above.
unsafe impl Sync for QueuePair {}

impl Drop for QueuePair {
    fn drop(&mut self) {
        if self.context.is_own() {
            self.context.reasons.lock().remove(&self.number);
            // SAFETY: made below, once.
            unsafe { (self.context.functions.ibv_destroy_qp)(self.raw) };
        }
    }
}

fn send_capacity(limits: &Limits) -> ibv_qp_cap {
    ibv_qp_cap {
        max_send_wr: limits.depth.max(1),
        max_send_sge: limits.gather.max(1),
        max_inline_data: limits.inline,
        ..ibv_qp_cap::default()
    }
}

pub fn connected(domain: &Arc<Domain>, options: &QueuePairOptions<'_>) -> Result<QueuePair> {
    let send = options.send_completions.rdma_core()?;
    let receive = options.receive_completions.rdma_core()?;
    let shared = options
        .shared_receive_queue
        .map(|queue| queue.rdma_core())
        .transpose()?;
    let mut capacity = send_capacity(&options.send);
    if shared.is_none() {
        capacity.max_recv_wr = options.receive.depth;
        capacity.max_recv_sge = options.receive.scatter;
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
    QueuePair::new(
        &domain.context,
        raw,
        Kind::Connected,
        initial.cap,
        made_from,
    )
}

pub fn plain(
    domain: &Arc<Domain>,
    completions: &CompletionQueue,
    send: Limits,
) -> Result<QueuePair> {
    let mut capacity = send_capacity(&send);
    (capacity.max_recv_wr, capacity.max_recv_sge) = (1, 1);
    let mut initial = initial_of(ffi::IBV_QPT_RC, completions, capacity);
    // SAFETY: everything that is named is open.
    let raw = unsafe { (domain.context.functions.ibv_create_qp)(domain.raw, &mut initial) };
    let made_from = MadeFrom {
        _domain: Some(domain.clone()),
        _queues: [Some(completions.0.clone()), None],
        ..MadeFrom::default()
    };
    QueuePair::new(
        &domain.context,
        raw,
        Kind::Connected,
        initial.cap,
        made_from,
    )
}

pub fn xrc_initiator(
    domain: &Arc<Domain>,
    completions: &CompletionQueue,
    limits: &Limits,
) -> Result<QueuePair> {
    domain.context.check_own()?;
    let mut initial = initial_of(ffi::IBV_QPT_XRC_SEND, completions, send_capacity(limits));
    // SAFETY: everything that is named is open.
    let raw = unsafe { (domain.context.functions.ibv_create_qp)(domain.raw, &mut initial) };
    let made_from = MadeFrom {
        _domain: Some(domain.clone()),
        _queues: [Some(completions.0.clone()), None],
        ..MadeFrom::default()
    };
    QueuePair::new(
        &domain.context,
        raw,
        Kind::XrcInitiator,
        initial.cap,
        made_from,
    )
}

pub fn xrc_target(domain: &XrcDomain) -> Result<QueuePair> {
    let context = &domain.0.context;
    context.check_own()?;
    // SAFETY: the context is open.
    let create = unsafe { ffi::extended(context.raw) }
        .and_then(|it| it.create_qp_ex)
        .ok_or_else(no_xrc)?;
    let mut initial = ffi::ibv_qp_init_attr_ex::xrc_target(domain.0.raw);
    // SAFETY: everything that is named is open.
    let raw = unsafe { create(context.raw, &mut initial) };
    let made_from = MadeFrom {
        _xrc: Some(domain.clone()),
        ..MadeFrom::default()
    };
    QueuePair::new(
        context,
        raw,
        Kind::XrcTarget,
        ibv_qp_cap::default(),
        made_from,
    )
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

impl QueuePair {
    fn new(
        context: &Arc<Context>,
        raw: *mut ibv_qp,
        kind: Kind,
        capacity: ibv_qp_cap,
        made_from: MadeFrom,
    ) -> Result<QueuePair> {
        let raw = made(raw, || format!("a queue pair, {capacity:?}"))?;
        // SAFETY: made by the caller.
        let number = unsafe { (*raw).qp_num };
        let pair = QueuePair {
            raw,
            number,
            kind,
            limits: Limits {
                depth: capacity.max_send_wr,
                gather: capacity.max_send_sge,
                inline: capacity.max_inline_data,
            },
            receive: ReceiveLimits {
                depth: capacity.max_recv_wr,
                scatter: capacity.max_recv_sge,
            },
            first_packet: packet_number(),
            connected: AtomicBool::new(false),
            context: context.clone(),
            _made_from: made_from,
        };
        context.reasons.lock().remove(&number);
        let mut attributes = ibv_qp_attr {
            qp_state: ffi::IBV_QPS_INIT,
            port_num: context.port.number,
            qp_access_flags: if kind == Kind::XrcInitiator {
                0
            } else {
                ffi::IBV_ACCESS_REMOTE_READ
                    | ffi::IBV_ACCESS_REMOTE_WRITE
                    | ffi::IBV_ACCESS_REMOTE_ATOMIC
            },
            ..ibv_qp_attr::default()
        };
        let mask = ffi::IBV_QP_STATE
            | ffi::IBV_QP_PKEY_INDEX
            | ffi::IBV_QP_PORT
            | ffi::IBV_QP_ACCESS_FLAGS;
        pair.modify(&mut attributes, mask, "the first state of a queue pair")?;
        Ok(pair)
    }

    fn modify(&self, attributes: &mut ibv_qp_attr, mask: i32, what: &str) -> Result<()> {
        self.context.check_own()?;
        // SAFETY: the queue pair lives.
        let code = unsafe { (self.context.functions.ibv_modify_qp)(self.raw, attributes, mask) };
        check(code, || what.into())
    }

    #[inline]
    pub fn number(&self) -> u32 {
        self.number
    }

    pub fn address(&self) -> Vec<u8> {
        Address::of(&self.context.port, self.number, self.first_packet)
            .to_bytes()
            .to_vec()
    }

    pub fn limits(&self) -> Limits {
        self.limits
    }

    pub fn connect(&self, peer: &[u8], connection: &Connection) -> Result<()> {
        if self.connected.load(Ordering::Relaxed) {
            return Err(Error::State("the queue pair is connected".into()));
        }
        let peer = Address::from_bytes(peer)?;
        let mut attributes = ibv_qp_attr {
            qp_state: ffi::IBV_QPS_RTR,
            path_mtu: self.context.port.mtu.min(peer.mtu).into(),
            dest_qp_num: peer.queue_pair,
            rq_psn: peer.number,
            ah_attr: peer.path_from(&self.context.port)?,
            max_dest_rd_atomic: connection.reads,
            min_rnr_timer: not_ready_delay(connection.receiver_not_ready_delay),
            ..ibv_qp_attr::default()
        };
        let mut mask = ffi::IBV_QP_STATE
            | ffi::IBV_QP_PATH_MTU
            | ffi::IBV_QP_DEST_QPN
            | ffi::IBV_QP_RQ_PSN
            | ffi::IBV_QP_AV;
        if self.kind != Kind::XrcInitiator {
            mask |= ffi::IBV_QP_MAX_DEST_RD_ATOMIC | ffi::IBV_QP_MIN_RNR_TIMER;
        }
        self.modify(&mut attributes, mask, "a queue pair that is to receive")?;
        let mut attributes = ibv_qp_attr {
            qp_state: ffi::IBV_QPS_RTS,
            sq_psn: self.first_packet,
            timeout: timeout(connection.timeout),
            retry_cnt: connection.retries.min(7),
            rnr_retry: connection.receiver_not_ready_retries.min(7),
            max_rd_atomic: connection.reads,
            ..ibv_qp_attr::default()
        };
        let mut mask = ffi::IBV_QP_STATE | ffi::IBV_QP_SQ_PSN | ffi::IBV_QP_TIMEOUT;
        if self.kind != Kind::XrcTarget {
            mask |= ffi::IBV_QP_RETRY_CNT | ffi::IBV_QP_RNR_RETRY | ffi::IBV_QP_MAX_QP_RD_ATOMIC;
        }
        self.modify(&mut attributes, mask, "a queue pair that is to send")?;
        self.connected.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// The number says it all: the domain is the machine's.
    pub fn reach(&self, queue: &[u8]) -> Result<u32> {
        let number = queue.try_into().map(u32::from_le_bytes);
        number.map_err(|_| Error::Invalid("what is no address of a receive queue".into()))
    }

    pub fn select_port(&self, port: u8) -> Result<()> {
        // Cards of today are devices of one port each.
        match port {
            0 => Ok(()),
            _ => Err(Error::Unsupported("another port than the one that was opened".into())),
        }
    }

    pub fn state(&self) -> State {
        let mut attributes = ibv_qp_attr::default();
        let mut initial = MaybeUninit::<ibv_qp_init_attr>::zeroed();
        // SAFETY: the queue pair lives, and both structures are written to.
        let code = unsafe {
            (self.context.functions.ibv_query_qp)(
                self.raw,
                &mut attributes,
                ffi::IBV_QP_STATE,
                initial.as_mut_ptr(),
            )
        };
        match attributes.qp_state {
            _ if code != 0 => State::Error,
            state if state <= ffi::IBV_QPS_INIT => State::Initialized,
            ffi::IBV_QPS_RTR | ffi::IBV_QPS_RTS => State::Ready,
            _ => State::Error,
        }
    }

    pub fn reason(&self) -> Option<String> {
        self.context.reasons.lock().get(&self.number).cloned()
    }

    pub fn fail(&self) -> Result<()> {
        self.context
            .failed(self.number, || "taken to error here".into());
        self.flush()
    }

    fn flush(&self) -> Result<()> {
        let mut attributes = ibv_qp_attr {
            qp_state: ffi::IBV_QPS_ERR,
            ..ibv_qp_attr::default()
        };
        self.modify(
            &mut attributes,
            ffi::IBV_QP_STATE,
            "a queue pair that is to fail",
        )
    }

    #[inline]
    pub fn post_send(&self, request: &SendRequest<'_>) -> Result<()> {
        self.context.check_own()?;
        if !self.connected.load(Ordering::Relaxed) {
            return Err(Error::State("the queue pair is not connected".into()));
        }
        match request.data {
            Data::Segments(list) => {
                let (sg_list, num_sge) = segments(list, self.limits.gather)?;
                self.post(request, sg_list, num_sge, 0)
            }
            Data::Inline(parts) => self.post_inline(request, parts),
        }
    }

    fn post_inline(&self, request: &SendRequest<'_>, parts: &[&[u8]]) -> Result<()> {
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        if parts.len() > MOST_PARTS.min(self.limits.gather as usize)
            || bytes > self.limits.inline as usize
        {
            return Err(Error::Invalid(format!(
                "{bytes} bytes in {} parts inline; there is room for {} in {}",
                parts.len(),
                self.limits.inline,
                self.limits.gather
            )));
        }
        if request.operation.answers() {
            return Err(Error::Invalid("an answer cannot go to inline data".into()));
        }
        let mut list = [ibv_sge::default(); MOST_PARTS];
        for (entry, part) in list.iter_mut().zip(parts) {
            *entry = ibv_sge {
                addr: part.as_ptr() as u64,
                length: part.len() as u32,
                lkey: 0,
            };
        }
        self.post(
            request,
            list.as_mut_ptr(),
            parts.len() as i32,
            ffi::IBV_SEND_INLINE,
        )
    }

    #[inline]
    fn post(
        &self,
        request: &SendRequest<'_>,
        sg_list: *mut ibv_sge,
        num_sge: i32,
        flags: u32,
    ) -> Result<()> {
        let mut wanted = ibv_send_wr::new(request.id, sg_list, num_sge);
        wanted.send_flags = flags
            | if request.flags.signaled {
                ffi::IBV_SEND_SIGNALED
            } else {
                0
            }
            | if request.flags.fence {
                ffi::IBV_SEND_FENCE
            } else {
                0
            };
        wanted.remote_srqn = request.receive_queue;
        let rdma = |remote: crate::Remote| ffi::ibv_send_wr_remote {
            rdma: ffi::ibv_send_wr_rdma {
                remote_addr: remote.address,
                rkey: remote.key,
            },
        };
        match request.operation {
            Operation::Send => wanted.opcode = ffi::IBV_WR_SEND,
            Operation::SendWithImmediate(number) => {
                wanted.opcode = ffi::IBV_WR_SEND_WITH_IMM;
                wanted.imm_data = number.to_be();
            }
            Operation::Write(remote) => {
                wanted.opcode = ffi::IBV_WR_RDMA_WRITE;
                wanted.wr = rdma(remote);
            }
            Operation::WriteWithImmediate(remote, number) => {
                wanted.opcode = ffi::IBV_WR_RDMA_WRITE_WITH_IMM;
                wanted.wr = rdma(remote);
                wanted.imm_data = number.to_be();
            }
            Operation::Read(remote) => {
                wanted.opcode = ffi::IBV_WR_RDMA_READ;
                wanted.wr = rdma(remote);
            }
            Operation::FetchAdd(remote, add) => {
                wanted.opcode = ffi::IBV_WR_ATOMIC_FETCH_AND_ADD;
                wanted.wr = atomic(remote, add, 0);
            }
            Operation::CompareSwap {
                remote,
                compare,
                swap,
            } => {
                wanted.opcode = ffi::IBV_WR_ATOMIC_CMP_AND_SWP;
                wanted.wr = atomic(remote, compare, swap);
            }
        }
        if matches!(
            request.operation,
            Operation::FetchAdd(..) | Operation::CompareSwap { .. }
        ) {
            // SAFETY: so many segments are in the list.
            let bytes = unsafe {
                (0..num_sge as usize)
                    .map(|at| u64::from((*sg_list.add(at)).length))
                    .sum::<u64>()
            };
            if bytes != 8 {
                return Err(Error::Invalid(format!(
                    "{bytes} bytes for the answer of an atomic, which has 8"
                )));
            }
        }
        let mut bad = ptr::null_mut();
        // SAFETY: the queue pair lives; request and list are read during the call only.
        posted(unsafe { ((*self.context.raw).ops.post_send)(self.raw, &mut wanted, &mut bad) })
    }

    #[inline]
    pub fn post_receive(&self, id: u64, list: &[Segment]) -> Result<()> {
        self.context.check_own()?;
        let (sg_list, num_sge) = segments(list, self.receive.scatter)?;
        if self.receive.depth == 0 {
            return Err(Error::Invalid(
                "this queue pair has no receive queue of its own".into(),
            ));
        }
        let mut request = ibv_recv_wr {
            wr_id: id,
            next: ptr::null_mut(),
            sg_list,
            num_sge,
        };
        let mut bad = ptr::null_mut();
        // SAFETY: the queue pair lives; request and list are read during the call only.
        posted(unsafe { ((*self.context.raw).ops.post_recv)(self.raw, &mut request, &mut bad) })?;
        // rdma_rxe does not look at what is posted after an error, unless it is told once more.
        if self.context.has_failed(self.number) {
            self.flush()
        } else {
            Ok(())
        }
    }
}

const _: () = assert!(
    size_of::<Segment>() == size_of::<ibv_sge>()
        && align_of::<Segment>() == align_of::<ibv_sge>()
        && offset_of!(Segment, len) == offset_of!(ibv_sge, length)
        && offset_of!(Segment, key) == offset_of!(ibv_sge, lkey)
);

/// A list as verbs have it; it is only read.
#[inline]
pub fn segments(list: &[Segment], most: u32) -> Result<(*mut ibv_sge, i32)> {
    if list.len() > most as usize {
        return Err(Error::Invalid(format!(
            "{} segments; there is room for {most}",
            list.len()
        )));
    }
    Ok((list.as_ptr().cast_mut().cast(), list.len() as i32))
}

fn atomic(remote: crate::Remote, compare_add: u64, swap: u64) -> ffi::ibv_send_wr_remote {
    ffi::ibv_send_wr_remote {
        atomic: ffi::ibv_send_wr_atomic {
            remote_addr: remote.address,
            compare_add,
            swap,
            rkey: remote.key,
        },
    }
}

/// What a call that posts has given.
#[inline]
pub fn posted(number: i32) -> Result<()> {
    match number {
        0 => Ok(()),
        libc::ENOMEM => Err(Error::QueueFull),
        number => check(number, || "a request was not taken".into()),
    }
}

/// 24 random bits, so that packets of an earlier queue pair with this number are not taken for its own.
fn packet_number() -> u32 {
    let random = std::collections::hash_map::RandomState::new()
        .build_hasher()
        .finish();
    random as u32 & 0xff_ffff
}

/// 4.096 us times the power of two that is not less.
fn timeout(wanted: Duration) -> u8 {
    (1..31)
        .find(|&power| 4096_u128 << power >= wanted.as_nanos())
        .unwrap_or(31)
}

/// The delays that a receiver may ask for, in units of 10 us, by their number in verbs. Number 0 is the longest.
const DELAYS: [u32; 32] = [
    65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536,
    2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
];

fn not_ready_delay(wanted: Duration) -> u8 {
    let units = wanted.as_micros().div_ceil(10);
    (1..32)
        .find(|&number: &usize| u128::from(DELAYS[number]) >= units)
        .unwrap_or(0) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_up() {
        assert_eq!(timeout(Duration::from_micros(8)), 1);
        assert_eq!(timeout(Duration::from_millis(500)), 17);
        assert_eq!(timeout(Duration::from_secs(1 << 30)), 31);
        assert_eq!(not_ready_delay(Duration::ZERO), 1);
        assert_eq!(not_ready_delay(Duration::from_micros(100)), 7);
        assert_eq!(not_ready_delay(Duration::from_micros(121)), 8);
        assert_eq!(not_ready_delay(Duration::from_secs(60)), 0);
    }
}
