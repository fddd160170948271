//! What passes between the layers above and the point-to-point protocols.

use std::any::Any;
use std::rc::Rc;
use tern_layout::Type;
use tern_mcm::as_stored;

/// A process of the job, numbered from 0 across all worlds that this process knows.
pub type Proc = u32;

/// The process that a receive names as its source, when it names none.
pub const UNKNOWN: Proc = u32::MAX;

/// Stands for the process that is lost in the end of a transfer whose context was [ended](crate::Adi::end_context).
pub const REVOKED: Proc = u32::MAX - 1;

/// Wildcard for the source of a receive (the ABI's `MPI_ANY_SOURCE`).
pub const ANY_SOURCE: i32 = -1;
/// Wildcard for the tag of a receive (the ABI's `MPI_ANY_TAG`).
pub const ANY_TAG: i32 = -2;

/// The matching tuple of a message: who sent it, in which context, with which tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tuple {
    pub context: u32,
    /// Rank of the sender in the (remote) group of the communicator.
    pub source: i32,
    /// 0 or above for programs; collectives use a context of their own.
    pub tag: i32,
}

/// What a receive asks for: a tuple in which source and tag may be wildcards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    pub context: u32,
    pub source: i32,
    pub tag: i32,
}

impl Pattern {
    /// A copy made right after the original, and so loaded as that was stored.
    #[inline(always)]
    pub fn fresh(&self) -> Pattern {
        Pattern { context: as_stored(&self.context), source: as_stored(&self.source), tag: as_stored(&self.tag) }
    }

    /// True when `tuple` satisfies this pattern (MPI 5.0 section 3.2.4).
    pub fn matches(&self, tuple: &Tuple) -> bool {
        self.context == tuple.context
            && (self.source == ANY_SOURCE || self.source == tuple.source)
            && (self.tag == ANY_TAG || self.tag == tuple.tag)
    }

    /// What only `tuple` matches.
    #[inline]
    pub fn exact(tuple: &Tuple) -> Pattern {
        let Tuple { context, source, tag } = *tuple;
        Pattern { context, source, tag }
    }

    /// The tuple that it names, if it is not wild.
    #[inline]
    pub fn as_tuple(&self) -> Tuple {
        let Pattern { context, source, tag } = *self;
        Tuple { context, source, tag }
    }

    /// True when source or tag is a wildcard.
    #[inline]
    pub fn is_wild(&self) -> bool {
        self.source == ANY_SOURCE || self.tag == ANY_TAG
    }
}

/// The user's memory of one transfer. The caller promises that it stays valid, and for
/// receives unshared, until the request has completed (MPI's own rule, section 3.7.2).
#[derive(Debug)]
pub enum Data {
    /// One dense run of bytes.
    Bytes(*mut u8, usize),
    /// `count` elements of a layout, from `base`.
    Typed { base: *mut u8, count: i64, ty: Rc<Type> },
}

impl Clone for Data {
    /// Mostly made right after the original, and so loaded as that was stored.
    #[inline(always)]
    fn clone(&self) -> Data {
        match self {
            Data::Bytes(base, len) => Data::Bytes(as_stored(base), as_stored(len)),
            Data::Typed { base, count, ty } => Data::Typed { base: *base, count: *count, ty: ty.clone() },
        }
    }
}

impl Data {
    /// The memory of `count` elements of `ty` at `base`, dense when the layout is.
    pub fn new(base: *const u8, count: i64, ty: &Rc<Type>) -> Data {
        if ty.is_contiguous() {
            Data::Bytes(base.cast_mut(), count as usize * ty.size() as usize)
        } else {
            Data::Typed { base: base.cast_mut(), count, ty: ty.clone() }
        }
    }

    /// No bytes at all.
    pub fn none() -> Data {
        Data::Bytes(std::ptr::null_mut(), 0)
    }

    /// How many bytes travel.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Data::Bytes(_, len) => *len,
            Data::Typed { count, ty, .. } => *count as usize * ty.size() as usize,
        }
    }

    /// True when nothing travels.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// When a send counts as complete (MPI 5.0 section 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendMode {
    /// When the buffer may be reused; ready sends are the same.
    Standard,
    /// When the receive has been matched.
    Synchronous,
}

/// How a message above the eager limit travels to another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rendezvous {
    /// As the device finds best.
    Auto,
    /// The receiver reads it from the sender's memory.
    Rget,
    /// The sender writes it to the receiver's memory.
    Rput,
    /// In packets.
    Packets,
}

/// What became of a receive that was started.
#[derive(Clone, Copy, Debug)]
pub enum Received<T> {
    /// The message was there.
    Done(Status),
    /// It completes later, and is known by this.
    Pending(T),
}

/// How a transfer ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    pub source: i32,
    pub tag: i32,
    /// Bytes received (never more than the receive had room for).
    pub bytes: u64,
    /// Bytes of the message that the receive had no room for; see [`Status::aborted`] and [`Status::missing`] too.
    pub lost: u64,
    pub cancelled: bool,
    /// What the sender has marked a synchronous message with, or 0.
    pub mark: u32,
}

/// Stands for the loss of a whole process: a look at one number tells that all went well.
const ABORTED: u64 = u64::MAX;
/// Stands for a message that its sender could not give.
const MISSING: u64 = u64::MAX - 1;

impl Status {
    /// Of a receive: true when its message has come, and was not longer than its memory.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.lost == 0 && !self.cancelled
    }

    /// The full length of the message in bytes, if it was longer than the receive.
    #[inline]
    pub fn truncated(&self) -> Option<u64> {
        (self.lost > 0 && self.lost < MISSING).then_some(self.bytes + self.lost)
    }

    /// The process that was lost before the transfer was complete: nothing is known of the data then.
    #[inline]
    pub fn aborted(&self) -> Option<Proc> {
        (self.lost == ABORTED).then_some(self.mark)
    }

    /// What the sender has said in place of the message: see [`crate::Adi::send_missing`].
    #[inline]
    pub fn missing(&self) -> Option<u32> {
        (self.lost == MISSING).then_some(self.mark)
    }

    /// Of a transfer that `peer` will not end.
    pub fn without(peer: Proc, source: i32, tag: i32) -> Status {
        Status { source, tag, lost: ABORTED, mark: peer, ..Status::default() }
    }

    /// Of a receive whose sender has said `word` in place of the message.
    pub fn instead(word: u32, source: i32, tag: i32) -> Status {
        Status { source, tag, lost: MISSING, mark: word, ..Status::default() }
    }

    /// A copy for the one who waited. It is mostly made right after the status was written, field by field, and so is loaded as it was stored.
    #[inline]
    pub fn fresh(&self) -> Status {
        Status {
            source: as_stored(&self.source),
            tag: as_stored(&self.tag),
            bytes: as_stored(&self.bytes),
            lost: as_stored(&self.lost),
            cancelled: as_stored(&self.cancelled),
            mark: as_stored(&self.mark),
        }
    }
}

/// A transfer that is under way. Freed by [`crate::Adi::take`] or [`crate::Adi::release`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request(pub(crate) u32);

/// How a program may name a transfer: the number of its request, and which use of that number it
/// is, modulo [`Name::GENERATIONS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    pub index: u32,
    pub generation: u8,
}

impl Name {
    pub const GENERATIONS: u8 = 64;
}

/// Says whether a process may send messages in a context.
pub type Members = Rc<dyn Fn(u32, Proc) -> bool>;

/// Says whether receives of a context are to fail, since messages will not arrive.
pub type Concerned = Rc<dyn Fn(u32) -> bool>;

/// What a transfer keeps alive for the layer that named it.
pub type Owner = Rc<dyn Any>;

/// What became of a request that was to be ended by its name.
pub enum Ended {
    /// No request has that name.
    Stale,
    /// It is under way.
    Pending,
    Over(Over),
}

/// How a request has ended.
pub enum Over {
    /// It has received a message, which was not longer than its memory.
    Received(Status),
    /// Anything else.
    Otherwise { status: Status, receive: bool, owner: Option<Owner> },
}

/// What became of a send at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// Complete: the buffer may be reused.
    Done,
    Pending(Request),
}

/// A message taken out of matching by a matched probe (MPI 5.0 section 3.8.2).
#[derive(Debug)]
pub struct Message {
    pub(crate) unexpected: u32,
    /// What it holds: `bytes` is its full length.
    pub status: Status,
}

/// A packet that cannot be right. What its sender has said beside it may be wrong as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// The process that has sent it.
    pub from: Proc,
    /// What a layer above had put into a message; `None`: a packet of the engine.
    pub what: Option<&'static str>,
    /// The number of its kind, known or not.
    pub kind: u8,
    /// Bytes of its payload.
    pub len: usize,
    /// What is wrong.
    pub why: &'static str,
}

impl std::fmt::Display for Damaged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Damaged { kind, len, why, .. } = self;
        if let Some(what) = self.what {
            return write!(f, "a damaged {what} (kind {kind}, {len} bytes): {why}");
        }
        let name = crate::packet::Packet::name(*kind).map_or_else(String::new, |name| name + " ");
        write!(f, "a damaged {name}packet (kind {kind}, {len} bytes of payload): {why}")
    }
}

/// What a call waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// What the call has started and not named to the program.
    Own,
    /// All of these.
    Transfers(Vec<Request>),
    /// One of these.
    Any(Vec<Request>),
    /// A message: `bytes` is the room of the receive, none for a probe. `from` is as for [`crate::Adi::irecv`].
    Message { from: Proc, pattern: Pattern, bytes: Option<u64> },
    /// That these processes take part in an operation with that context.
    Members { context: u32, procs: Vec<Proc> },
    /// The lock of a member, by its rank, of the window with that context; none: of all members. `holders` have it, as far
    /// as that is known.
    Lock { context: u32, rank: Option<u32>, held: Holding, holders: Vec<Proc> },
}

/// How a lock is held that is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    Unknown,
    Alone,
    Shared,
    /// Not known: the process that grants it, which is named in the place of holders, does not answer.
    Unanswered,
}

/// Something that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    pub what: PendingKind,
    /// The transfer; none for a message.
    pub request: Option<Request>,
    /// The program has a request for it.
    pub named: bool,
    /// The process at the other end, where that is known: receives are known by their pattern only.
    pub peer: Option<Proc>,
    /// What it is matched by; with wildcards for a receive. None for a receive that has matched.
    pub pattern: Option<Pattern>,
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingKind {
    Send,
    Receive,
    /// Arrived, and no receive has asked for it.
    Message,
}
