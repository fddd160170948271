//! Datagrams: a queue pair of the unconnected kind (UD) with buffers of its own.

use super::address::Address;
use super::completion::{CompletionChannel, CompletionQueue};
use super::context::Context;
use super::ffi::{self, ibv_ah, ibv_qp, ibv_qp_attr, ibv_qp_cap, ibv_qp_init_attr, ibv_recv_wr, ibv_send_wr};
use super::memory::{MemoryRegion, ProtectionDomain};
use super::post::posted;
use super::{check, made};
use crate::{Access, Completion, DATAGRAM, Error, Result, Status};
use std::cell::UnsafeCell;
use std::collections::HashMap;
use std::ptr;
use std::sync::Arc;
use tern_threads::Mutex;

/// What a card writes in front of each datagram: the route by which it came.
const ROUTE: usize = 40;
const SLOT: usize = ROUTE + DATAGRAM;
const SENDS: usize = 32;
const RECEIVES: usize = 224;
/// Not a secret: it keeps datagrams of others out by accident only.
const KEY: u32 = 0x7465_726e;

/// See [`crate::Datagrams`].
pub struct Datagrams {
    raw: *mut ibv_qp,
    context: Arc<Context>,
    address: [u8; 32],
    outgoing: Mutex<Outgoing>,
    /// One at a time takes what has come.
    incoming: Mutex<()>,
    send_completions: CompletionQueue,
    receive_completions: CompletionQueue,
    has_channel: bool,
    memory: MemoryRegion,
    /// `SENDS` slots, and then `RECEIVES`.
    slots: Box<[UnsafeCell<u8>]>,
    domain: ProtectionDomain,
}

struct Outgoing {
    free: Vec<usize>,
    ways: HashMap<Vec<u8>, (*mut ibv_ah, u32)>,
}

// SAFETY: libibverbs may be used from any thread; a slot belongs to the card, or to who holds the lock.
unsafe impl Send for Datagrams {}
// SAFETY: as above.
unsafe impl Sync for Datagrams {}

impl Drop for Datagrams {
    fn drop(&mut self) {
        if self.context.is_own() {
            // SAFETY: made below, once; ways and memory are used by it alone.
            unsafe { (self.context.functions.ibv_destroy_qp)(self.raw) };
            for (way, _) in self.outgoing.get_mut().ways.values() {
                // SAFETY: made for this queue pair, once.
                unsafe { (self.context.functions.ibv_destroy_ah)(*way) };
            }
        }
    }
}

impl Datagrams {
    pub(super) fn new(context: &Arc<Context>, channel: Option<&CompletionChannel>) -> Result<Datagrams> {
        let functions = context.functions;
        let domain = ProtectionDomain::new(context)?;
        let send_completions = CompletionQueue::new(context, SENDS as u32, None)?;
        let receive_completions = CompletionQueue::new(context, RECEIVES as u32, channel)?;
        let slots: Box<[UnsafeCell<u8>]> = (0..(SENDS + RECEIVES) * SLOT).map(|_| UnsafeCell::new(0)).collect();
        // SAFETY: the memory is cells, lives as long as the region, and is looked at only between requests.
        let memory = unsafe { domain.register(slots.as_ptr().cast_mut().cast(), slots.len(), Access::LOCAL)? };
        let mut initial = ibv_qp_init_attr {
            qp_context: ptr::null_mut(),
            send_cq: send_completions.0.raw,
            recv_cq: receive_completions.0.raw,
            srq: ptr::null_mut(),
            cap: ibv_qp_cap {
                max_send_wr: SENDS as u32,
                max_recv_wr: RECEIVES as u32,
                max_send_sge: 1,
                max_recv_sge: 1,
                max_inline_data: 0,
            },
            qp_type: ffi::IBV_QPT_UD,
            sq_sig_all: 1,
        };
        // SAFETY: everything that is named is open.
        let raw = made(unsafe { (functions.ibv_create_qp)(domain.0.raw, &mut initial) }, || "datagrams".into())?;
        // SAFETY: made above.
        let number = unsafe { (*raw).qp_num };
        let datagrams = Datagrams {
            raw,
            context: context.clone(),
            address: Address::of(&context.port, number, KEY).to_bytes(),
            outgoing: Mutex::new(Outgoing { free: (0..SENDS).collect(), ways: HashMap::new() }),
            incoming: Mutex::new(()),
            send_completions,
            receive_completions,
            has_channel: channel.is_some(),
            memory,
            slots,
            domain,
        };
        datagrams.start()?;
        Ok(datagrams)
    }

    fn start(&self) -> Result<()> {
        let keyed = ffi::IBV_QP_PKEY_INDEX | ffi::IBV_QP_PORT | ffi::IBV_QP_QKEY;
        for (state, mask) in [(ffi::IBV_QPS_INIT, keyed), (ffi::IBV_QPS_RTR, 0), (ffi::IBV_QPS_RTS, ffi::IBV_QP_SQ_PSN)]
        {
            let mut attributes = ibv_qp_attr {
                qp_state: state,
                port_num: self.context.port.number,
                qkey: KEY,
                ..ibv_qp_attr::default()
            };
            // SAFETY: the queue pair lives.
            let code =
                unsafe { (self.context.functions.ibv_modify_qp)(self.raw, &mut attributes, mask | ffi::IBV_QP_STATE) };
            check(code, || "datagrams".into())?;
        }
        for slot in SENDS..SENDS + RECEIVES {
            self.post_receive(slot)?;
        }
        if self.has_channel {
            self.receive_completions.arm()?;
        }
        Ok(())
    }

    fn post_receive(&self, slot: usize) -> Result<()> {
        let mut segment = self.memory.segment(slot * SLOT, SLOT as u32);
        let sg_list = ptr::from_mut(&mut segment).cast();
        let mut request = ibv_recv_wr { wr_id: slot as u64, next: ptr::null_mut(), sg_list, num_sge: 1 };
        let mut bad = ptr::null_mut();
        // SAFETY: the queue pair lives; request and list are read during the call only; nobody looks at the slot.
        posted(unsafe { ((*self.context.raw).ops.post_recv)(self.raw, &mut request, &mut bad) })
    }

    pub fn address(&self) -> &[u8] {
        &self.address
    }

    pub fn send(&self, to: &[u8], bytes: &[u8]) -> Result<()> {
        self.context.check_own()?;
        if bytes.len() > DATAGRAM {
            return Err(Error::Invalid(format!("{} bytes in a datagram, which has {DATAGRAM}", bytes.len())));
        }
        let mut outgoing = self.outgoing.lock();
        let (way, queue_pair) = self.way(&mut outgoing, to)?;
        let mut done = [Completion::default(); SENDS];
        let count = self.send_completions.poll(&mut done)?;
        outgoing.free.extend(done[..count].iter().map(|completion| completion.id as usize));
        // Where the card is behind by so many, one more is lost.
        let Some(slot) = outgoing.free.pop() else {
            return Ok(());
        };
        let start = self.slots[slot * SLOT..(slot + 1) * SLOT].as_ptr();
        // SAFETY: the slot has room for it, and is free: nothing else reads or writes it.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), UnsafeCell::raw_get(start), bytes.len()) };
        let mut segment = self.memory.segment(slot * SLOT, bytes.len() as u32);
        let mut request = ibv_send_wr::new(slot as u64, ptr::from_mut(&mut segment).cast(), 1);
        request.wr.ud = ffi::ibv_send_wr_ud { ah: way, remote_qpn: queue_pair, remote_qkey: KEY };
        request.send_flags = ffi::IBV_SEND_SIGNALED;
        let mut bad = ptr::null_mut();
        // SAFETY: the queue pair lives; request and list are read during the call only.
        let code = unsafe { ((*self.context.raw).ops.post_send)(self.raw, &mut request, &mut bad) };
        match posted(code) {
            Ok(()) => Ok(()),
            Err(why) => {
                outgoing.free.push(slot);
                if why == Error::QueueFull { Ok(()) } else { Err(why) }
            }
        }
    }

    /// The way to that address, found once, and the queue pair there.
    fn way(&self, outgoing: &mut Outgoing, to: &[u8]) -> Result<(*mut ibv_ah, u32)> {
        if let Some(&way) = outgoing.ways.get(to) {
            return Ok(way);
        }
        let address = Address::from_bytes(to)?;
        let mut path = address.path_from(&self.context.port)?;
        // SAFETY: the domain is open.
        let raw = unsafe { (self.context.functions.ibv_create_ah)(self.domain.0.raw, &mut path) };
        let way = (made(raw, || "the way of a datagram".into())?, address.queue_pair);
        outgoing.ways.insert(to.to_vec(), way);
        Ok(way)
    }

    pub fn receive(&self, into: &mut Vec<u8>) -> Result<bool> {
        let _one_at_a_time = self.incoming.lock();
        let mut armed = false;
        loop {
            let mut done = [Completion::default()];
            if self.receive_completions.poll(&mut done)? == 0 {
                if armed || !self.has_channel {
                    return Ok(false);
                }
                // The next one shall be told; one that has come meanwhile is not, so look once more.
                self.receive_completions.arm()?;
                armed = true;
                continue;
            }
            let slot = done[0].id as usize;
            let len = (done[0].len as usize).saturating_sub(ROUTE).min(DATAGRAM);
            if done[0].status == Status::Success {
                let start = self.slots[slot * SLOT + ROUTE..].as_ptr();
                // SAFETY: the card has written it and no longer uses the slot, which is posted again below.
                into.extend_from_slice(unsafe { std::slice::from_raw_parts(start.cast::<u8>(), len) });
            }
            self.post_receive(slot)?;
            if done[0].status == Status::Success {
                return Ok(true);
            }
        }
    }
}
