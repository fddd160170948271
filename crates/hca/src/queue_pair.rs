//! Queue pairs: the ends of connections.

use crate::hca::Made;
use crate::{CompletionQueue, ReceiveLimits, Result, Segment, SendRequest, SharedReceiveQueue};
use crate::{made_by, rdma_core, software};
use std::time::Duration;

/// The size of a send queue. A maker may give more than asked for ([`QueuePair::limits`]).
///
/// Who posts has to see to it that completion queues never overflow: some cards have room for another request when one has
/// ended, though its completion was not polled, so that [`QueueFull`](crate::Error::QueueFull) bounds no completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests that are posted and not complete.
    pub depth: u32,
    /// Segments of one request.
    pub gather: u32,
    /// Bytes that may be sent inline.
    pub inline: u32,
}

#[derive(Clone, Copy)]
pub struct QueuePairOptions<'a> {
    /// Where its sends complete.
    pub send_completions: &'a CompletionQueue,
    /// Where its receives complete, shared ones too.
    pub receive_completions: &'a CompletionQueue,
    /// Sends from the peer take receives from here, in place of a queue of its own.
    pub shared_receive_queue: Option<&'a SharedReceiveQueue>,
    pub send: Limits,
    /// Its own receive queue, if there is no shared one.
    pub receive: ReceiveLimits,
}

/// How a connection behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// How long the peer may be silent before a request is tried again. Makers round it up.
    pub timeout: Duration,
    /// How often it is tried again, 0 to 7.
    pub retries: u8,
    /// How often a send is repeated when the peer has no receive, 0 to 6; 7 is for ever.
    pub receiver_not_ready_retries: u8,
    /// How long the peer is left alone when this side has no receive. Makers round it up.
    pub receiver_not_ready_delay: Duration,
    /// Reads and atomics under way at once, as requester and as target; 1 to 16.
    pub reads: u8,
}

impl Default for Connection {
    /// Half a second, 7 times; as often as need be after 0.1 ms; 16.
    fn default() -> Connection {
        Connection {
            timeout: Duration::from_millis(500),
            retries: 7,
            receiver_not_ready_retries: 7,
            receiver_not_ready_delay: Duration::from_micros(100),
            reads: 16,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Made: receives can be posted.
    Initialized,
    /// Connected: everything can be posted (RTS).
    Ready,
    /// Broken: all requests are flushed.
    Error,
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

    /// What the peer needs to connect to it: a few dozen bytes, which only this crate understands.
    pub fn address(&self) -> Vec<u8> {
        made_by!(&self.made, it => it.address())
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
