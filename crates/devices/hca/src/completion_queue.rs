//! Where requests of queue pairs end, and how one waits for that.

use crate::made::{Made, made_by};
use crate::{Completion, Result, rdma_core, software};
use std::os::fd::{AsFd, BorrowedFd};

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
    /// [`Overrun`](crate::Error::Overrun) when there were more completions than the queue has room for.
    #[inline]
    pub fn poll(&self, into: &mut [Completion]) -> Result<usize> {
        made_by!(&self.made, it => it.poll(into))
    }

    /// The channel hears of the next completion that comes. Poll once more after this and before sleeping:
    /// what came earlier may not be told.
    ///
    /// # Errors
    /// [`Invalid`](crate::Error::Invalid) when the queue has no channel.
    pub fn arm(&self) -> Result<()> {
        made_by!(&self.made, it => it.arm())
    }
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
