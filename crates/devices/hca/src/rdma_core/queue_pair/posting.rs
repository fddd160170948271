//! Posting requests and receives.

use super::super::ffi::{self, ibv_recv_wr, ibv_send_wr, ibv_sge};
use super::super::post::{posted, segments};
use super::QueuePair;
use crate::{Data, Error, Operation, Result, Segment, SendRequest};
use std::ptr;
use std::sync::atomic::Ordering;

/// Parts of an inline message at most.
const MOST_PARTS: usize = 32;

impl QueuePair {
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
        if parts.len() > MOST_PARTS.min(self.limits.gather as usize) || bytes > self.limits.inline as usize {
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
            *entry = ibv_sge { addr: part.as_ptr() as u64, length: part.len() as u32, lkey: 0 };
        }
        self.post(request, list.as_mut_ptr(), parts.len() as i32, ffi::IBV_SEND_INLINE)
    }

    #[inline]
    fn post(&self, request: &SendRequest<'_>, sg_list: *mut ibv_sge, num_sge: i32, flags: u32) -> Result<()> {
        let mut wanted = ibv_send_wr::new(request.id, sg_list, num_sge);
        wanted.send_flags = flags
            | if request.flags.signaled { ffi::IBV_SEND_SIGNALED } else { 0 }
            | if request.flags.fence { ffi::IBV_SEND_FENCE } else { 0 };
        wanted.remote_srqn = request.receive_queue;
        let rdma = |remote: crate::Remote| ffi::ibv_send_wr_remote {
            rdma: ffi::ibv_send_wr_rdma { remote_addr: remote.address, rkey: remote.key },
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
            Operation::CompareSwap { remote, compare, swap } => {
                wanted.opcode = ffi::IBV_WR_ATOMIC_CMP_AND_SWP;
                wanted.wr = atomic(remote, compare, swap);
            }
        }
        if matches!(request.operation, Operation::FetchAdd(..) | Operation::CompareSwap { .. }) {
            // SAFETY: so many segments are in the list.
            let bytes = unsafe { (0..num_sge as usize).map(|at| u64::from((*sg_list.add(at)).length)).sum::<u64>() };
            if bytes != 8 {
                return Err(Error::Invalid(format!("{bytes} bytes for the answer of an atomic, which has 8")));
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
            return Err(Error::Invalid("this queue pair has no receive queue of its own".into()));
        }
        let mut request = ibv_recv_wr { wr_id: id, next: ptr::null_mut(), sg_list, num_sge };
        let mut bad = ptr::null_mut();
        // SAFETY: the queue pair lives; request and list are read during the call only.
        posted(unsafe { ((*self.context.raw).ops.post_recv)(self.raw, &mut request, &mut bad) })?;
        // rdma_rxe does not look at what is posted after an error, unless it is told once more.
        if self.context.has_failed(self.number) { self.flush() } else { Ok(()) }
    }
}

fn atomic(remote: crate::Remote, compare_add: u64, swap: u64) -> ffi::ibv_send_wr_remote {
    ffi::ibv_send_wr_remote {
        atomic: ffi::ibv_send_wr_atomic { remote_addr: remote.address, compare_add, swap, rkey: remote.key },
    }
}
