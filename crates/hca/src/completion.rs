//! Completions, and how one waits for them.

use crate::hca::Made;
use crate::{Error, Result, made_by, rdma_core, software};
use std::os::fd::{AsFd, BorrowedFd};

/// How a request has ended. The names of verbs are in brackets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    #[default]
    Success,
    /// A message was longer than the receive that it met, or a request's lengths do not fit (LOC_LEN_ERR).
    LocalLength,
    /// The queue pair itself is broken (LOC_QP_OP_ERR). Some cards say so for
    /// [`LocalLength`](Self::LocalLength) and [`LocalProtection`](Self::LocalProtection) too.
    LocalQueuePair,
    /// A segment is not registered memory, or not with that access (LOC_PROT_ERR).
    LocalProtection,
    /// Not executed: the queue pair was in error (WR_FLUSH_ERR).
    Flushed,
    /// The peer refused: too long for its receive, an operation it does not allow, a bad atomic (REM_INV_REQ_ERR).
    RemoteInvalidRequest,
    /// The key, the bounds or the access at the peer (REM_ACCESS_ERR).
    RemoteAccess,
    /// The peer failed in the middle (REM_OP_ERR). Some cards say so when a message is too long.
    RemoteOperation,
    /// The peer did not answer, or the connection is lost (RETRY_EXC_ERR).
    RetryExceeded,
    /// The peer had no receive, each time (RNR_RETRY_EXC_ERR).
    ReceiverNotReady,
    /// Anything else; the number is the maker's (GENERAL_ERR and the rest).
    Other(u32),
}

/// What has completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opcode {
    #[default]
    Send,
    Write,
    Read,
    FetchAdd,
    CompareSwap,
    /// A receive, by a send.
    Receive,
    /// A receive, by a write with immediate.
    ReceiveWrite,
}

/// The end of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The request's. With any status; the rest only if it is [`Status::Success`], but for `queue_pair`.
    pub id: u64,
    pub status: Status,
    pub opcode: Opcode,
    /// Of receives, reads and atomics: bytes that have come; with [`Opcode::ReceiveWrite`] those written.
    pub len: u32,
    /// Of receives.
    pub immediate: Option<u32>,
    /// The number of this side's queue pair ([`QueuePair::number`](crate::QueuePair::number)).
    pub queue_pair: u32,
}

/// Where requests of queue pairs end.
#[derive(Clone)]
pub struct CompletionQueue {
    pub(crate) made: Made<software::CompletionQueue, rdma_core::CompletionQueue>,
}

impl CompletionQueue {
    /// Takes what has ended, oldest first, as much as fits; returns how many. Never blocks. With the software
    /// HCA this also moves traffic.
    ///
    /// # Errors
    /// [`Overrun`](Error::Overrun) when there were more completions than the queue has room for.
    #[inline]
    pub fn poll(&self, into: &mut [Completion]) -> Result<usize> {
        made_by!(&self.made, it => it.poll(into))
    }

    /// The channel hears of the next completion that comes. Poll once more after this and before sleeping:
    /// what came earlier may not be told.
    ///
    /// # Errors
    /// [`Invalid`](Error::Invalid) when the queue has no channel.
    pub fn arm(&self) -> Result<()> {
        made_by!(&self.made, it => it.arm())
    }

    pub(crate) fn software(&self) -> Result<&software::CompletionQueue> {
        match &self.made {
            Made::Software(it) => Ok(it),
            Made::RdmaCore(_) => Err(mixed()),
        }
    }

    pub(crate) fn rdma_core(&self) -> Result<&rdma_core::CompletionQueue> {
        match &self.made {
            Made::RdmaCore(it) => Ok(it),
            Made::Software(_) => Err(mixed()),
        }
    }
}

/// Objects of two makers in one call.
pub(crate) fn mixed() -> Error {
    Error::Invalid("the objects of a call belong to different HCAs".into())
}

/// What one sleeps on until a completion queue, or [`Datagrams`](crate::Datagrams), has something new. The
/// descriptor becomes readable and stays so until [`drain`](Self::drain).
///
/// To sleep: [`arm`](CompletionQueue::arm) each queue, poll each once more, then wait for the descriptor, and drain.
#[derive(Clone)]
pub struct CompletionChannel {
    pub(crate) made: Made<software::CompletionChannel, rdma_core::CompletionChannel>,
}

impl CompletionChannel {
    /// Takes the notices that there are; true when there was one. Never blocks.
    pub fn drain(&self) -> bool {
        made_by!(&self.made, it => it.drain())
    }

    /// Also calls `wake` for each notice, from whichever thread finds it; it must not block, nor use this crate. For those who
    /// sleep on something that is no descriptor. Given once.
    pub fn set_waker(&self, wake: Box<dyn Fn() + Send + Sync>) -> Result<()> {
        made_by!(&self.made, it => it.set_waker(wake))
    }
}

impl AsFd for CompletionChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        made_by!(&self.made, it => it.as_fd())
    }
}
