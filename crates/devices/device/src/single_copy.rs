//! Single copies of messages (docs/parts/regions.md): memory is exposed to a peer for one transfer, and one side, or both, copy.

use crate::{Exposure, Memory, Run, SpeculativeAddress, Use};
use tern_policy::transfer::Get;

/// Where the bytes of a message belong that its receiver copies from its sender's memory ([`SingleCopy::pull`]), and by whom they are copied.
#[derive(Clone, Copy, Debug)]
pub enum PullTo<'a> {
    /// Into own memory, that of this request, in the way that was chosen.
    Receive(&'a Memory, u32, Get),
    /// Into own memory in one run, by the kernel, at once. The source is private and in one run too.
    ByKernel(&'a Memory),
    /// Into own memory in these runs, at once. The source is a region, or other memory that its owner has told of.
    Runs(&'a [Run]),
}

/// What a device hears of ([`SingleCopy::hears_of`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A call waits: there is time to give back the shared memory that the program has freed.
    Idle {
        /// No transfer is under way.
        quiet: bool,
    },
    /// The program begins to wait for what it has started: what begins from now on is another round. Where it is found out which way is
    /// sooner, all transfers of a round go the same way.
    RoundEnds,
    /// This peer is lost: when the call returns, nothing is copied any more from or to memory of a transfer with it, and nothing is published
    /// there.
    Lost(u32),
}

/// Where the bytes of a message belong that its sender copies ([`SingleCopy::push`]).
#[derive(Clone, Copy, Debug)]
pub enum PushTo<'a> {
    /// Into the memory that the receiver has told.
    Memory(&'a Memory),
    /// Where the receiver has begun a copy of this number ([`Pull::Joint`]), in which this process takes part.
    Joint(u64),
}

/// What became of an attempt to fetch a message ([`SingleCopy::pull`]), or to put it where it was asked for
/// ([`SingleCopy::push`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pull {
    /// It cannot, or packets are better. What is in the target then means nothing.
    No,
    /// The bytes are there.
    Done,
    /// They are on their way; [`crate::Sink::pulled`] tells the end, or [`crate::Sink::sent`].
    Pending,
    /// The same, and the sender may copy too: it is to be told this number, for [`PushTo::Joint`]. It learns of the end
    /// there.
    Joint(u64),
    /// As `Pending`, of what was to be copied to the peer; packets sent later may arrive before the bytes until then.
    Unordered,
}

/// Memory of messages, and copies of each byte once. `peer` is never this process.
pub trait SingleCopy {
    /// Says that a transfer with `peer` is about to use this memory; returns it with its place, if shared,
    /// or the key by which the peer reaches it until [`SingleCopy::release`].
    fn locate(&self, peer: u32, memory: Memory, used: Use) -> Memory;

    /// The place that own dense memory had when that was last found out, without asking the kernel. Unless that is sure, a peer may be
    /// told it if it is told afterwards whether [`SingleCopy::is_still`] holds.
    fn speculative_address(&self, _memory: &Memory) -> Option<SpeculativeAddress> {
        None
    }

    /// Whether own memory is at its speculative address, by what the kernel says, and was when the place was told: nothing is done to
    /// bring it there.
    fn is_still(&self, _memory: &Memory, _place: u64) -> bool {
        false
    }

    /// Lets peers reach own memory from now on, until [`SingleCopy::release`]; returns it as they are told of it. `None`: this device, or the
    /// memory, needs or has nothing of the kind.
    fn expose(&self, _memory: &Memory, _how: Exposure<'_>) -> Option<Memory> {
        None
    }

    /// Ends the use of memory as [`SingleCopy::expose`] gave it, or with a key as [`SingleCopy::locate`] did.
    fn release(&self, _memory: &Memory) {}

    /// Copies the first bytes of memory of a sender that has asked to send, as many as there is room for.
    fn pull(&self, peer: u32, source: &Memory, target: PullTo<'_>) -> Pull;

    /// Copies from own memory, that of request `sender`, to where a receiver wants it. The source may not
    /// be changed before [`crate::Sink::sent`] if this is pending; packets that are sent to the peer from now on
    /// arrive after the bytes, unless it says that it is unordered. [`Pull::No`] of a joint copy: none can have that number.
    fn push(&self, _peer: u32, _source: &Memory, _target: PushTo<'_>, _sender: u32) -> Pull {
        Pull::No
    }

    /// A number that changes when memory begins to be made private that was shared in place, by a fork of another thread too. While
    /// it does not, peers see at its place what this process stores to memory.
    fn demotions(&self) -> u32 {
        0
    }

    /// Peers read memory at places that they were told, until this is called with false as often as with true: beside what transfers
    /// do.
    fn keep_places(&self, _more: bool) {}

    /// Hears of something that concerns transfers.
    fn hears_of(&self, _event: Event) {}
}
