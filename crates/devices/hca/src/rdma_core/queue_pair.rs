//! Queue pairs: their states.

mod making;
mod posting;

use super::address::Address;
use super::completion::Queue;
use super::context::Context;
use super::ffi::{self, ibv_qp, ibv_qp_attr, ibv_qp_cap, ibv_qp_init_attr};
use super::memory::Domain;
use super::receive_queue::{SharedReceiveQueue, XrcDomain};
use super::{check, made};
use crate::{Connection, Error, Limits, ReceiveLimits, Result, State};
use std::hash::{BuildHasher, Hasher};
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

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

impl QueuePair {
    fn new(
        context: &Arc<Context>, raw: *mut ibv_qp, kind: Kind, capacity: ibv_qp_cap, made_from: MadeFrom,
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
            receive: ReceiveLimits { depth: capacity.max_recv_wr, scatter: capacity.max_recv_sge },
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
                ffi::IBV_ACCESS_REMOTE_READ | ffi::IBV_ACCESS_REMOTE_WRITE | ffi::IBV_ACCESS_REMOTE_ATOMIC
            },
            ..ibv_qp_attr::default()
        };
        let mask = ffi::IBV_QP_STATE | ffi::IBV_QP_PKEY_INDEX | ffi::IBV_QP_PORT | ffi::IBV_QP_ACCESS_FLAGS;
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
        Address::of(&self.context.port, self.number, self.first_packet).to_bytes().to_vec()
    }

    /// There is no secret in it.
    pub fn open_address(&self) -> Vec<u8> {
        self.address()
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
        let mut mask =
            ffi::IBV_QP_STATE | ffi::IBV_QP_PATH_MTU | ffi::IBV_QP_DEST_QPN | ffi::IBV_QP_RQ_PSN | ffi::IBV_QP_AV;
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
            (self.context.functions.ibv_query_qp)(self.raw, &mut attributes, ffi::IBV_QP_STATE, initial.as_mut_ptr())
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
        self.context.failed(self.number, || "taken to error here".into());
        self.flush()
    }

    fn flush(&self) -> Result<()> {
        let mut attributes = ibv_qp_attr { qp_state: ffi::IBV_QPS_ERR, ..ibv_qp_attr::default() };
        self.modify(&mut attributes, ffi::IBV_QP_STATE, "a queue pair that is to fail")
    }
}

/// 24 random bits, so that packets of an earlier queue pair with this number are not taken for its own.
fn packet_number() -> u32 {
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    random as u32 & 0xff_ffff
}

/// 4.096 us times the power of two that is not less.
fn timeout(wanted: Duration) -> u8 {
    (1..31).find(|&power| 4096_u128 << power >= wanted.as_nanos()).unwrap_or(31)
}

/// The delays that a receiver may ask for, in units of 10 us, by their number in verbs. Number 0 is the longest.
const DELAYS: [u32; 32] = [
    65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096,
    6144, 8192, 12288, 16384, 24576, 32768, 49152,
];

fn not_ready_delay(wanted: Duration) -> u8 {
    let units = wanted.as_micros().div_ceil(10);
    (1..32).find(|&number: &usize| u128::from(DELAYS[number]) >= units).unwrap_or(0) as u8
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
