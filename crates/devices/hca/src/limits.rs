//! The sizes of queues and of datagrams.

/// The size of a send queue. A maker may give more than asked for ([`QueuePair::limits`](crate::QueuePair::limits)).
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

/// The size of a receive queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveLimits {
    /// Receives that wait at once.
    pub depth: u32,
    /// Segments of one receive.
    pub scatter: u32,
}

/// Bytes of a datagram at most.
pub const DATAGRAM: usize = 1024;
