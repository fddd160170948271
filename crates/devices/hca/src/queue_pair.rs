//! Queue pairs: the ends of connections.

use crate::made::{Made, made_by};
use crate::{
    CompletionQueue, Connection, Limits, ReceiveLimits, Result, Segment, SendRequest, SharedReceiveQueue, State,
};
use crate::{rdma_core, software};

/// What a queue pair is made of.
#[derive(Clone, Copy)]
pub struct QueuePairOptions<'a> {
    /// Where its sends complete.
    pub send_completions: &'a CompletionQueue,
    /// Where its receives complete, shared ones too.
    pub receive_completions: &'a CompletionQueue,
    /// Sends from the peer take receives from here, in place of a queue of its own.
    pub shared_receive_queue: Option<&'a SharedReceiveQueue>,
    /// Its send queue.
    pub send: Limits,
    /// Its own receive queue, if there is no shared one.
    pub receive: ReceiveLimits,
}

/// One end of a connection. Dropped, it ends; its requests that are not complete never will be.
pub struct QueuePair {
    pub(crate) made: Made<software::QueuePair, rdma_core::QueuePair>,
}

impl QueuePair {
    /// Names it in completions and events; unique in its HCA while it lives.
    #[inline]
    pub fn number(&self) -> u32 {
        made_by!(&self.made, it => it.number())
    }

    /// What the peer needs to connect to it: a few dozen bytes, which only this crate understands. They may hold the secret by
    /// which this process is called: only processes of the job are to see them.
    pub fn address(&self) -> Vec<u8> {
        made_by!(&self.made, it => it.address())
    }

    /// The same without a secret. It is enough for a peer that has connected another queue pair to this HCA, or reached a queue
    /// of it.
    pub fn open_address(&self) -> Vec<u8> {
        made_by!(&self.made, it => it.open_address())
    }

    /// What it was made with, or more.
    pub fn limits(&self) -> Limits {
        made_by!(&self.made, it => it.limits())
    }

    /// Connects it to the queue pair with that address, which has to be connected to this one in the same way. Does
    /// not wait for the peer: what is sent before the peer is ready is repeated as `connection` says.
    pub fn connect(&self, peer: &[u8], connection: &Connection) -> Result<()> {
        made_by!(&self.made, it => it.connect(peer, connection))
    }

    /// On an XRC initiator: the number by which its requests name the shared receive queue with that address
    /// ([`SharedReceiveQueue::address`]), and the memory of the process that has it. The queue belongs to any process
    /// that shares the XRC domain of the target.
    pub fn reach(&self, queue: &[u8]) -> Result<u32> {
        made_by!(&self.made, it => it.reach(queue))
    }

    /// Puts it on a port of its HCA, before its address is told and before it is connected; ports are numbered from 0, on
    /// which it is otherwise. Both ends should be on ports of the same number.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported): the HCA has no such port.
    pub fn select_port(&self, port: u8) -> Result<()> {
        made_by!(&self.made, it => it.select_port(port))
    }

    /// How far it is.
    pub fn state(&self) -> State {
        made_by!(&self.made, it => it.state())
    }

    /// Why it is in [`State::Error`], as far as this side knows.
    pub fn reason(&self) -> Option<String> {
        made_by!(&self.made, it => it.reason())
    }

    /// Takes it to [`State::Error`], so that all its requests are flushed. Nothing that the peer has sent or written through it
    /// lands here after that.
    pub fn fail(&self) -> Result<()> {
        made_by!(&self.made, it => it.fail())
    }

    /// Posts a request.
    ///
    /// # Errors
    /// [`QueueFull`](crate::Error::QueueFull); [`Invalid`](crate::Error::Invalid) for what no peer could make good: too many segments or inline
    /// bytes, atomics without 8 bytes for the answer, with some cards misaligned ones; [`State`](crate::Error::State) before it was connected. All else comes as a
    /// completion.
    #[inline]
    pub fn post_send(&self, request: &SendRequest<'_>) -> Result<()> {
        made_by!(&self.made, it => it.post_send(request))
    }

    /// Adds a receive to its own receive queue. As [`SharedReceiveQueue::post_receive`].
    #[inline]
    pub fn post_receive(&self, id: u64, segments: &[Segment]) -> Result<()> {
        made_by!(&self.made, it => it.post_receive(id, segments))
    }
}
