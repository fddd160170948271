//! Tuple queues (docs/parts/tuple-queues.md).
//!
//! A receiver publishes a receive under its matching tuple where the sender sees it; the sender delivers straight into it. Whether it
//! may is decided by numbers that the layer above gives: see `tern_adi`'s tuple queues. How the bytes move is the device's choice, by cost.

use crate::{Key, Memory, PublishedReceive};

/// A message that looks for a published receive.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Where the message lies.
    pub source: &'a Memory,
    /// The request that is told of the end.
    pub sender: u32,
    /// The sender waits until the message has left; otherwise it would rather compute.
    pub waits: bool,
    /// Whether one copy is better than packets: for the likes of it that was found to be sooner, where both processes exchange messages, or its
    /// sender computes. `None`: nobody knows.
    pub once: Option<bool>,
}

/// What there will be news of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// The receive that is published in a slot.
    Published(u32),
    /// The message that was [left](Delivery::Pending) last to a receive of the peer.
    Left,
    /// Whatever its next packet tells.
    Packet,
}

/// What became of a message that looked for a published receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// There is none that it may use, or packets are better: it goes on the stream.
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

/// What became of the wish to take a published receive back ([`TupleQueue::recall`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recall {
    /// It is the receiver's own again, and no longer published.
    Won,
    /// The sender has claimed it: it will be filled.
    Claimed,
    /// The answer takes its time, but nothing of the sender's program. [`crate::Sink::retracted`] tells that it was won;
    /// otherwise it is filled like any other, or a message of the stream is given to it ([`TupleQueue::retract`]).
    Asked,
}

/// Published receives, for which `peer` sends or which `peer` has published. It is never this process.
pub trait TupleQueue {
    /// Smallest receive worth publishing, and smallest message worth looking for one, in bytes.
    fn threshold(&self) -> usize;

    /// Publishes a receive from `peer` for its request `receiver`; `seen` is the number of the last
    /// stream message taken from that peer. `None`: no room, it stays unpublished. Ends by
    /// [`crate::Sink::delivered`], [`TupleQueue::retract`], [`TupleQueue::recall`] or [`TupleQueue::forget`].
    fn publish(&self, peer: u32, key: &Key, memory: &Memory, receiver: u32, seen: u32) -> Option<u32>;

    /// Takes a published receive back because a message of the stream has matched it, after which its sender
    /// will not use it; false when it has claimed it before.
    fn retract(&self, peer: u32, slot: u32) -> bool;

    /// Takes a published receive back because the program wants it no more. May be asked again and again.
    fn recall(&self, peer: u32, slot: u32) -> Recall {
        if self.retract(peer, slot) { Recall::Won } else { Recall::Claimed }
    }

    /// The cache line on which there will be news from `peer`, for whoever is going to ask soon; `None` where there is none.
    fn news_line(&self, _peer: u32, _of: News) -> Option<*const u8> {
        None
    }

    /// If a published receive is filled: the size of its message, and it is published no more, as after
    /// [`crate::Sink::delivered`]. A short way for one who wants to know of this receive only; `None` says nothing.
    /// `room`: bytes of the memory that was published.
    fn take_filled(&self, _peer: u32, _slot: u32, _room: u64) -> Option<u64> {
        None
    }

    /// Frees a receive that was claimed and filled by packets.
    fn forget(&self, peer: u32, slot: u32);

    /// Says that the stream has been taken up to number `seen`. What [`TupleQueue::retract`] has won
    /// back before is seen to be gone by a sender that sees this number.
    fn raise(&self, peer: u32, seen: u32);

    /// Tells `peer` that this process waits in a call for a message of this key, which nothing else can match before, and is going
    /// to fetch it. `taken`: messages of the stream that it has taken from it.
    fn set_ready_to_receive(&self, _peer: u32, _key: &Key, _taken: u32) {}

    /// It does not wait any more.
    fn clear_ready_to_receive(&self, _peer: u32) {}

    /// Whether `peer` waits for the next message of this key, when `sent` messages have gone there on the stream.
    fn is_ready_to_receive(&self, _peer: u32, _key: &Key, _sent: u32) -> bool {
        false
    }

    /// The published receive that [`TupleQueue::deliver`] would deliver a message of `len` bytes into, as far as this process sees it.
    fn find_published(&self, _peer: u32, _key: &Key, _last: u32, _len: u64) -> Option<PublishedReceive> {
        Some(PublishedReceive { is_private: false, waits: false })
    }

    /// Delivers a message into the oldest published receive for `key`, if the receiver has taken the
    /// stream at least up to number `last`.
    fn deliver(&self, peer: u32, key: &Key, last: u32, message: &Outgoing<'_>) -> Delivery;

    /// True when the message of `sender`, which was pending, is over, as after [`crate::Sink::sent`]. A short way for one who wants to know of
    /// this message only; false says nothing.
    fn take_sent(&self, _sender: u32) -> bool {
        false
    }
}
