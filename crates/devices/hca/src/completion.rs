//! What a completion says.

/// How a request has ended. The names of verbs are in brackets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// All of it was done.
    #[default]
    Success,
    /// A message was longer than the receive that it met, or a request's lengths do not fit (LOC_LEN_ERR).
    LocalLength,
    /// The queue pair itself is broken (LOC_QP_OP_ERR). Some cards say so for
    /// [`LocalLength`](Self::LocalLength) and [`LocalProtection`](Self::LocalProtection) too.
    LocalQueuePair,
    /// A segment is not registered memory, or not with that access (LOC_PROT_ERR).
    LocalProtection,
    /// Not executed: the queue pair was in error (WR_FLUSH_ERR).
    Flushed,
    /// The peer refused: too long for its receive, an operation it does not allow, a bad atomic (REM_INV_REQ_ERR).
    RemoteInvalidRequest,
    /// The key, the bounds or the access at the peer (REM_ACCESS_ERR).
    RemoteAccess,
    /// The peer failed in the middle (REM_OP_ERR). Some cards say so when a message is too long.
    RemoteOperation,
    /// The peer did not answer, or the connection is lost (RETRY_EXC_ERR).
    RetryExceeded,
    /// The peer had no receive, each time (RNR_RETRY_EXC_ERR).
    ReceiverNotReady,
    /// Anything else; the number is the maker's (GENERAL_ERR and the rest).
    Other(u32),
}

/// What has completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opcode {
    /// A send, with an immediate or without.
    #[default]
    Send,
    /// A write, with an immediate or without.
    Write,
    /// A read: the bytes are there.
    Read,
    /// An atomic addition.
    FetchAdd,
    /// An atomic comparison.
    CompareSwap,
    /// A receive, by a send.
    Receive,
    /// A receive, by a write with immediate.
    ReceiveWrite,
}

/// The end of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The request's. With any status; the rest only if it is [`Status::Success`], but for `queue_pair`.
    pub id: u64,
    /// How the request has ended.
    pub status: Status,
    /// What the request was.
    pub opcode: Opcode,
    /// Of receives, reads and atomics: bytes that have come; with [`Opcode::ReceiveWrite`] those written.
    pub len: u32,
    /// Of receives.
    pub immediate: Option<u32>,
    /// The number of this side's queue pair ([`QueuePair::number`](crate::QueuePair::number)).
    pub queue_pair: u32,
}
