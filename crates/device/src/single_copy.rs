//! Single copies of messages (docs/parts/regions.md): memory is exposed to a peer for one transfer, and one side, or both, copy.

use crate::{Memory, Purpose, Run, SpeculativeAddress};

/// What became of an attempt to fetch a message ([`SingleCopy::pull`]), or to put it where it was asked for
/// ([`SingleCopy::push`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pull {
    /// It cannot, or packets are better.
    No,
    /// The bytes are there.
    Done,
    /// They are on their way; [`crate::Sink::pulled`] tells the end, or [`crate::Sink::sent`].
    Pending,
    /// The same, and the sender may copy too: it is to be told this number, for [`SingleCopy::join`]. It learns of the end
    /// there.
    Joint(u64),
    /// As `Pending`, of what was to be copied to the peer; packets sent later may arrive before the bytes until then.
    Unordered,
}

/// Memory of messages, and copies of each byte once. `peer` is never this process.
pub trait SingleCopy {
    /// Says that a transfer with `peer` is about to use this memory; returns it with its place, if shared,
    /// or the key by which the peer reaches it. `quiet`: no other transfer of this process is under way.
    fn locate(&self, peer: u32, memory: Memory, quiet: bool) -> Memory;

    /// The same where it is known what the memory is used for.
    fn locate_for(&self, peer: u32, memory: Memory, quiet: bool, _purpose: Purpose) -> Memory {
        self.locate(peer, memory, quiet)
    }

    /// Own memory as a request to send tells it to `peer`: with the kernel module's name for it, where that copies.
    fn named(&self, _peer: u32, memory: Memory) -> Memory {
        memory
    }

    /// Says that the transfer is over for which [`SingleCopy::locate`] gave memory with a key, or [`SingleCopy::open_region`] a region.
    fn release(&self, _memory: &Memory) {}

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

    /// A number that changes when memory begins to be made private that was shared in place, by a fork of another thread too. While
    /// it does not, peers see at its place what this process stores to memory.
    fn demotions(&self) -> u32 {
        0
    }

    /// Peers read memory at places that they were told, until this is called with false as often as with true: beside what transfers
    /// do.
    fn keep_places(&self, _more: bool) {}

    /// Gives back the shared memory that the program has freed since. Called while a call waits. `quiet`: no transfer is under way.
    fn give_back(&self, _quiet: bool) {}

    /// Copies from the memory of a sender that has asked to send into our own, which belongs to request
    /// `receiver`.
    fn pull(&self, peer: u32, source: &Memory, target: &Memory, receiver: u32) -> Pull;

    /// Has the kernel copy from the private memory of a sender that has asked to send into our own, both in one piece, at once; false
    /// when it cannot.
    fn fetch(&self, _peer: u32, _source: &Memory, _target: &Memory) -> bool {
        false
    }

    /// Finds out where own memory lies of which `bytes` bytes are to be copied out of a region of segments by `peer`; `span` is all from the lowest
    /// byte to the highest, in one run. Counts a use of it. `None`: the peer cannot copy from there.
    fn locate_span(&self, _peer: u32, _span: &Memory, _bytes: u64, _quiet: bool) -> Option<Memory> {
        None
    }

    /// Opens a region of own memory in these segments, none of which is empty, in the order of the message's bytes. `span`: see
    /// [`SingleCopy::locate_span`]. The region has a cookie, by which `peer` may copy until [`SingleCopy::release`]. `None`: no more regions can be open.
    fn open_region(&self, _peer: u32, _span: &Memory, _segments: &[Run]) -> Option<Memory> {
        None
    }

    /// Copies the first bytes of memory of `peer`'s, a region or other memory that it has told of, into own memory in these runs, at once. False when
    /// that is not possible, as by a cookie that names no region of so many bytes; what is in the runs then means nothing.
    fn copy_segments(&self, _peer: u32, _memory: &Memory, _target: &[Run]) -> bool {
        false
    }

    /// Takes part in copy `number` that `peer` has begun ([`Pull::Joint`]) from `source`, own memory of request
    /// `sender`. It is done, or [`crate::Sink::sent`] tells the end. [`Pull::No`]: no copy can have that number, as where none is begun.
    fn join(&self, _peer: u32, _source: &Memory, _number: u64, _sender: u32) -> Pull {
        Pull::No
    }

    /// Copies from own memory, that of request `sender`, to where a receiver has asked for it. The source may not
    /// be changed before [`crate::Sink::sent`] if this is pending; packets that are sent to the peer from now on
    /// arrive after the bytes, unless it says that it is unordered.
    fn push(&self, _peer: u32, _source: &Memory, _target: &Memory, _sender: u32) -> Pull {
        Pull::No
    }

    /// The program begins to wait for what it has started: what begins from now on is another round. Where it is found out which way is
    /// sooner, all transfers of a round go the same way.
    fn end_round(&self) {}
}
