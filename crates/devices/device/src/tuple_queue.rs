//! Tuple queues (docs/parts/tuple-queues.md).
//!
//! A receiver publishes a receive under its matching tuple where the sender sees it; the sender delivers straight into it. Whether it
//! may is decided by numbers that the layer above gives: see `tern_adi`'s tuple queues. The way is chosen by the policy, out of the facts that the
//! device states ([`crate::PairFacts::situation`]).

use crate::{Key, Memory};
use tern_policy::PublishedReceive;
use tern_policy::transfer::Deliver;

/// A message that has found a published receive.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Where the message lies.
    pub source: &'a Memory,
    /// The request that is told of the end.
    pub sender: u32,
    /// The way that was chosen.
    pub way: Deliver,
}

/// A published receive that a look has found ([`TupleQueue::find_published`]), and for which message. It may be gone by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// What the message is matched by.
    pub key: Key,
    /// The last message of that key on the stream.
    pub last: u32,
    /// The place of the receive among those that are published.
    pub slot: u32,
    /// What tells it from the receives that the slot has before and after it, and how it stood: the device's own.
    pub stamp: u64,
    /// What the policy wants to know of it.
    pub receive: PublishedReceive,
}

/// A transfer of this process that may be over ([`TupleQueue::take_ended`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// A published receive.
    Receive {
        /// What [`TupleQueue::publish`] has given.
        slot: u32,
        /// Bytes of the memory that was published.
        room: u64,
    },
    /// The message of this request, which was [left](Delivery::Pending) to the peer.
    Send(u32),
}

/// What became of a message that has found a published receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The receive is gone: the message goes on the stream.
    Stream,
    /// It is in the receiver's memory.
    Done,
    /// It is on its way there; [`crate::Sink::sent`] tells the end.
    Pending,
    /// The receive is claimed for it; its first bytes, as many as it has room for, go as data
    /// packets for request `receiver`.
    #[allow(missing_docs, reason = "told above")]
    Packets { receiver: u32, room: u64 },
}

/// Why a receive is no longer to be published ([`TupleQueue::recall`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecallReason {
    /// A message of the stream has matched it, which its sender has sent without using it. Between [near](crate::Pair::near) processes also one
    /// that is about to.
    Stream,
    /// The program wants it no more. May be asked again and again.
    Cancel,
    /// Its sender has claimed it, and fills it by packets: the slot is free then.
    Packets,
}

/// What became of the wish to take a published receive back ([`TupleQueue::recall`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recall {
    /// It is the receiver's own again, and no longer published.
    Won,
    /// The sender has claimed it: it will be filled.
    Claimed,
    /// The answer takes its time, but nothing of the sender's program. [`crate::Sink::retracted`] tells that it was won;
    /// otherwise it is filled like any other, or a message of the stream is given to it ([`RecallReason::Stream`]).
    Asked,
}

/// Published receives, for which `peer` sends or which `peer` has published. It is never this process.
pub trait TupleQueue {
    /// Publishes a receive from `peer` for its request `receiver`; `seen` is the number of the last
    /// stream message taken from that peer. `None`: no room, it stays unpublished. Ends by
    /// [`crate::Sink::delivered`], [`TupleQueue::take_ended`] or [`TupleQueue::recall`].
    fn publish(&self, peer: u32, key: &Key, memory: &Memory, receiver: u32, seen: u32) -> Option<u32>;

    /// Takes a published receive back. [`Recall::Asked`] is an answer to [`RecallReason::Cancel`] alone.
    fn recall(&self, peer: u32, slot: u32, reason: RecallReason) -> Recall;

    /// Says that the stream has been taken up to number `seen`. What [`TupleQueue::recall`] has won
    /// back before is seen to be gone by a sender that sees this number.
    fn raise(&self, peer: u32, seen: u32);

    /// Tells `peer` that this process waits in a call for a message of this key, which nothing else can match before, and is going
    /// to fetch it; with the number of messages of the stream that it has taken from it. `None`: it does not wait any more.
    fn tell_ready(&self, _peer: u32, _waits: Option<(&Key, u32)>) {}

    /// Looks for the oldest published receive of `key`, for a message of `len` bytes, if the receiver has taken the stream at least up to
    /// number `last`. `None`: there is none that the message may use, as far as this process sees. Where the pair is
    /// [near](tern_policy::pair::Pair::near), `last` may be a number that was taken long ago, though the stream holds later messages of the key: then the
    /// claim alone decides which message has the receive.
    fn find_published(&self, peer: u32, key: &Key, last: u32, len: u64) -> Option<Found>;

    /// Delivers a message into a receive that was found for it, and that is still there. No other message of that key has gone to the peer since.
    fn deliver(&self, peer: u32, found: &Found, message: &Outgoing<'_>) -> Delivery;

    /// If a transfer with `peer` is over: the bytes of its message, and it is over as after [`crate::Sink::delivered`] or [`crate::Sink::sent`].
    /// A short way for one who wants to know of this transfer only; `None` says nothing.
    fn take_ended(&self, _peer: u32, _transfer: Ended) -> Option<u64> {
        None
    }
}
