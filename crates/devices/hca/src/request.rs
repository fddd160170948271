//! Work requests.

use crate::Segment;

/// What a queue pair is asked to do.
#[derive(Clone, Copy, Debug)]
pub struct SendRequest<'a> {
    /// Comes back in the completion.
    pub id: u64,
    /// What is done.
    pub operation: Operation,
    /// What is sent or written; for reads and atomics where the answer goes (8 bytes for atomics).
    pub data: Data<'a>,
    /// Whether it has a completion, and what it waits for.
    pub flags: SendFlags,
    /// On an XRC initiator: the number of the shared receive queue that a send, or a write with immediate, is
    /// for ([`SharedReceiveQueue::number`](crate::SharedReceiveQueue::number)). Otherwise 0.
    pub receive_queue: u32,
}

/// Memory of this process that a request sends, or that its answer goes to.
#[derive(Clone, Copy, Debug)]
pub enum Data<'a> {
    /// Registered memory of this process.
    Segments(&'a [Segment]),
    /// Bytes that are taken at once, and may be reused when the call returns; not for reads and atomics. At most
    /// [`Limits::inline`](crate::Limits::inline) in all, in as many parts as a gather list may have.
    Inline(&'a [&'a [u8]]),
}

impl Data<'_> {
    /// No bytes.
    pub const EMPTY: Data<'static> = Data::Segments(&[]);
}

/// Memory of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Of the first byte, at the peer.
    pub address: u64,
    /// The region's [`MemoryRegion::remote_key`](crate::MemoryRegion::remote_key).
    pub key: u32,
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Consumes a receive of the peer.
    Send,
    /// The same; the number comes with the peer's completion.
    SendWithImmediate(u32),
    /// Writes to memory of the peer, which learns nothing of it.
    Write(Remote),
    /// A write that also consumes a receive, of which no memory is used, and completes it with the number.
    WriteWithImmediate(Remote, u32),
    /// Reads from memory of the peer, which learns nothing of it.
    Read(Remote),
    /// Adds to 8 bytes, aligned, of the peer; yields what was there.
    FetchAdd(Remote, u64),
    /// Stores `swap` in 8 bytes, aligned, of the peer if they hold `compare`; yields what was there.
    CompareSwap {
        /// The 8 bytes.
        remote: Remote,
        /// What they must hold.
        compare: u64,
        /// What they hold then.
        swap: u64,
    },
}

impl Operation {
    /// True for those whose answer is written to memory of the requester.
    pub fn answers(&self) -> bool {
        matches!(self, Operation::Read(_) | Operation::FetchAdd(..) | Operation::CompareSwap { .. })
    }
}

/// How a request is executed and told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendFlags {
    /// Ask for a completion. Errors complete in any case.
    pub signaled: bool,
    /// Begin only when the reads and atomics before it on this queue pair are complete.
    pub fence: bool,
}

impl SendFlags {
    /// With a completion.
    pub const SIGNALED: SendFlags = SendFlags { signaled: true, fence: false };
    /// Without a completion, if all goes well.
    pub const NONE: SendFlags = SendFlags { signaled: false, fence: false };
}
