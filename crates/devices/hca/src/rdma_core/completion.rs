//! Completions, and how one waits for them.

use super::context::{Context, set_nonblocking};
use super::ffi::{self, ibv_comp_channel, ibv_cq, ibv_wc};
use super::{check, made};
use crate::{Completion, Error, Opcode, Result, Status};
use rustix::event::{EventfdFlags, epoll, eventfd};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tern_threads::{Mutex, Thread};

/// See [`crate::CompletionQueue`].
#[derive(Clone)]
pub struct CompletionQueue(pub(super) Arc<Queue>);

pub struct Queue {
    pub raw: *mut ibv_cq,
    pub context: Arc<Context>,
    channel: Option<CompletionChannel>,
    overrun: Box<AtomicBool>,
}

// SAFETY: libibverbs may be used from any thread.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Drop for Queue {
    fn drop(&mut self) {
        if self.context.is_own() {
            // SAFETY: the queue pairs that used it are gone; its notices have been acknowledged as they were taken.
            unsafe { (self.context.functions.ibv_destroy_cq)(self.raw) };
        }
    }
}

impl CompletionQueue {
    pub(super) fn new(
        context: &Arc<Context>, depth: u32, channel: Option<&CompletionChannel>,
    ) -> Result<CompletionQueue> {
        context.check_own()?;
        let overrun = Box::new(AtomicBool::new(false));
        let mark = ptr::from_ref::<AtomicBool>(&overrun).cast_mut().cast();
        let notices = channel.map_or(ptr::null_mut(), |channel| channel.0.raw);
        let size = i32::try_from(depth.max(1)).unwrap_or(i32::MAX);
        // SAFETY: context and channel are open; the mark lives as long as the queue.
        let raw = unsafe { (context.functions.ibv_create_cq)(context.raw, size, mark, notices, 0) };
        let raw = made(raw, || format!("a completion queue for {depth}"))?;
        Ok(CompletionQueue(Arc::new(Queue { raw, context: context.clone(), channel: channel.cloned(), overrun })))
    }

    /// # Safety
    /// `mark` is that of a queue which lives.
    pub(super) unsafe fn overrun(mark: *mut c_void) {
        // SAFETY: it points to the queue's mark.
        unsafe { &*mark.cast::<AtomicBool>() }.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub fn poll(&self, into: &mut [Completion]) -> Result<usize> {
        const AT_ONCE: usize = 16;
        let context = &self.0.context;
        context.check_own()?;
        if self.0.overrun.load(Ordering::Relaxed) {
            return Err(Error::Overrun);
        }
        let mut taken = 0;
        while taken < into.len() {
            let mut entries = [const { MaybeUninit::<ibv_wc>::uninit() }; AT_ONCE];
            let room = (into.len() - taken).min(AT_ONCE);
            // SAFETY: the queue lives, and `room` entries may be written.
            let count =
                unsafe { ((*context.raw).ops.poll_cq)(self.0.raw, room as i32, entries.as_mut_ptr().cast::<ibv_wc>()) };
            let Ok(count) = usize::try_from(count) else {
                return Err(Error::System("the card's completion queue is broken".into()));
            };
            for entry in &entries[..count] {
                // SAFETY: the call has filled so many.
                into[taken] = completion(context, unsafe { entry.assume_init_ref() });
                taken += 1;
            }
            if count < room {
                break;
            }
        }
        Ok(taken)
    }

    pub fn arm(&self) -> Result<()> {
        self.0.context.check_own()?;
        if self.0.channel.is_none() {
            return Err(Error::Invalid("a completion queue without a channel cannot be armed".into()));
        }
        // SAFETY: the queue lives.
        let code = unsafe { ((*self.0.context.raw).ops.req_notify_cq)(self.0.raw, 0) };
        check(code, || "asking for a notice of the next completion".into())
    }
}

#[inline]
fn completion(context: &Context, entry: &ibv_wc) -> Completion {
    let mut completion = Completion { id: entry.wr_id, queue_pair: entry.qp_num, ..Completion::default() };
    if entry.status == ffi::IBV_WC_SUCCESS {
        completion.opcode = opcode(entry.opcode);
        completion.len = entry.byte_len;
        completion.immediate = (entry.wc_flags & ffi::IBV_WC_WITH_IMM != 0).then(|| u32::from_be(entry.imm_data));
    } else {
        completion.status = status(entry.status);
        if completion.status != Status::Flushed {
            context.failed(entry.qp_num, || ffi::status_text(context.functions, entry.status));
        }
    }
    completion
}

fn opcode(number: u32) -> Opcode {
    match number {
        ffi::IBV_WC_RDMA_WRITE => Opcode::Write,
        ffi::IBV_WC_RDMA_READ => Opcode::Read,
        ffi::IBV_WC_COMP_SWAP => Opcode::CompareSwap,
        ffi::IBV_WC_FETCH_ADD => Opcode::FetchAdd,
        ffi::IBV_WC_RECV => Opcode::Receive,
        ffi::IBV_WC_RECV_RDMA_WITH_IMM => Opcode::ReceiveWrite,
        _ => Opcode::Send,
    }
}

fn status(number: u32) -> Status {
    match number {
        ffi::IBV_WC_LOC_LEN_ERR => Status::LocalLength,
        ffi::IBV_WC_LOC_QP_OP_ERR => Status::LocalQueuePair,
        ffi::IBV_WC_LOC_PROT_ERR | ffi::IBV_WC_LOC_ACCESS_ERR => Status::LocalProtection,
        ffi::IBV_WC_WR_FLUSH_ERR => Status::Flushed,
        ffi::IBV_WC_REM_INV_REQ_ERR => Status::RemoteInvalidRequest,
        ffi::IBV_WC_REM_ACCESS_ERR => Status::RemoteAccess,
        ffi::IBV_WC_REM_OP_ERR => Status::RemoteOperation,
        ffi::IBV_WC_RETRY_EXC_ERR => Status::RetryExceeded,
        ffi::IBV_WC_RNR_RETRY_EXC_ERR => Status::ReceiverNotReady,
        number => Status::Other(number),
    }
}

/// See [`crate::CompletionChannel`].
#[derive(Clone)]
pub struct CompletionChannel(Arc<Channel>);

struct Channel {
    raw: *mut ibv_comp_channel,
    context: Arc<Context>,
    waker: Mutex<Option<Waker>>,
}

// SAFETY: libibverbs may be used from any thread.
unsafe impl Send for Channel {}
// SAFETY: as above.
unsafe impl Sync for Channel {}

impl Drop for Channel {
    fn drop(&mut self) {
        if self.context.is_own() {
            self.waker.get_mut().take();
            // SAFETY: the completion queues that used it are gone.
            unsafe { (self.context.functions.ibv_destroy_comp_channel)(self.raw) };
        } else {
            // There is no such thread in this process.
            std::mem::forget(self.waker.get_mut().take());
        }
    }
}

impl CompletionChannel {
    pub(super) fn new(context: &Arc<Context>) -> Result<CompletionChannel> {
        context.check_own()?;
        // SAFETY: the context is open.
        let raw = unsafe { (context.functions.ibv_create_comp_channel)(context.raw) };
        let raw = made(raw, || "a completion channel".into())?;
        let channel = Channel { raw, context: context.clone(), waker: Mutex::default() };
        // SAFETY: the channel was made above.
        set_nonblocking(unsafe { (*raw).fd })?;
        Ok(CompletionChannel(Arc::new(channel)))
    }

    pub fn drain(&self) -> bool {
        let functions = self.0.context.functions;
        let mut any = false;
        while self.0.context.is_own() {
            let (mut queue, mut mark) = (ptr::null_mut(), ptr::null_mut());
            // SAFETY: the channel is open, and its descriptor does not block.
            if unsafe { (functions.ibv_get_cq_event)(self.0.raw, &mut queue, &mut mark) } != 0 {
                break;
            }
            // SAFETY: a queue is not destroyed before its notice, taken above, is acknowledged.
            unsafe { (functions.ibv_ack_cq_events)(queue, 1) };
            any = true;
        }
        any
    }

    pub fn set_waker(&self, wake: Box<dyn Fn() + Send + Sync>) -> Result<()> {
        let mut waker = self.0.waker.lock();
        if waker.is_some() {
            return Err(Error::Invalid("the channel has a waker".into()));
        }
        *waker = Some(Waker::start(self.as_fd(), wake).map_err(|why| Error::Resources(format!("a thread: {why}")))?);
        Ok(())
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is open as long as the channel.
        unsafe { BorrowedFd::borrow_raw((*self.0.raw).fd) }
    }
}

/// A thread that hears of each notice and leaves it where it is.
struct Waker {
    stop: OwnedFd,
    thread: Option<Thread>,
}

impl Waker {
    fn start(notices: BorrowedFd<'_>, wake: Box<dyn Fn() + Send + Sync>) -> std::io::Result<Waker> {
        const STOP: u64 = 1;
        let stop = eventfd(0, EventfdFlags::CLOEXEC)?;
        let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        // By edges: told of each notice once, though nobody takes it here.
        let edges = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&set, notices, epoll::EventData::new_u64(0), edges)?;
        epoll::add(&set, &stop, epoll::EventData::new_u64(STOP), epoll::EventFlags::IN)?;
        let thread = Thread::start("tern-verbs", 256 << 10, move || {
            loop {
                let mut events = Vec::with_capacity(2);
                match epoll::wait(&set, rustix::buffer::spare_capacity(&mut events), None) {
                    Err(rustix::io::Errno::INTR) => continue,
                    Err(_) => return,
                    Ok(_) if events.iter().any(|event| event.data.u64() == STOP) => return,
                    Ok(_) => wake(),
                }
            }
        })?;
        Ok(Waker { stop, thread: Some(thread) })
    }
}

impl Drop for Waker {
    fn drop(&mut self) {
        let _ = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            // The last user of a channel may be that thread's own call.
            if !thread.is_current() {
                thread.join();
            }
        }
    }
}
