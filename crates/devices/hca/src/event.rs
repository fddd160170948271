//! What happens without a request.

/// What happens to objects without a request of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are the numbers and tokens of the objects")]
pub enum Event {
    /// A shared receive queue has fewer receives than its limit ([`SharedReceiveQueue::arm_limit`](crate::SharedReceiveQueue::arm_limit)).
    ReceiveQueueLow { token: u64 },
    /// A queue pair went to error without a request that could say so: `why`.
    QueuePairError { queue_pair: u32, why: String },
    /// The peer has ended the connection, or is gone. The queue pair stays as it is until something is
    /// posted, and that fails. Not every maker can tell.
    Disconnected { queue_pair: u32 },
    /// The HCA is gone or broken.
    Fatal(String),
}
