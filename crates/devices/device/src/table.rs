//! Published receives in a table of the sender's memory, which the receiver writes from afar: tuple queues by RDMA
//! write (docs/parts/tuple-queues.md#between-nodes; "TupleQ: Fully-Asynchronous and Zero-Copy MPI over InfiniBand", 2009).
//!
//! What both sides keep, as plain state machines: no memory, no network. One table serves one pair, sender and
//! receiver, and two ordered channels lead between them: what the receiver writes lands in order, and the sender's
//! messages, data and news of deliveries arrive in order. So a table shows what its receiver did, in that
//! order, but late. Words of 64 bits land whole; a longer write may be seen in part.
//!
//! | words | written by | what |
//! |---|---|---|
//! | 1 | receiver | *head*: the last stream message taken, and for which slots that holds |
//! | 1 per slot | receiver | *ask*: the last receive of the slot that was asked back |
//! | 1 per slot | sender | *claim*: the last receive of the slot that the sender has tried to use |
//! | 9 per slot | receiver | *entry*: the receive, and the last stream message taken when it was published |
//!
//! Why it holds, beside the four rules:
//! - **A message of the stream matches a published receive.** It was sent while the sender could not know that a
//!   message of its number had been taken, and it is in front of any later message. The receiver takes the receive
//!   back without a word: entries say what had been taken when they were published, and a later head leaves the
//!   slot out. The sender reads the head before the entries, so no entry is older than the head it goes with.
//! - **A slot is used again** when its receive was filled, or taken back for a stream message: the sender would not use
//!   the old entry any more, as long as it sees it. An entry that is seen in part fails its check and is not there.
//! - **A receive is asked back.** The receiver writes the ask and then reads the claim; the sender writes the claim, and
//!   then reads the ask. So at least one of them sees the other. The sender gives way; its claim says *trying* in
//!   between, and then the receiver reads again. Nothing of this needs the sender's program.
//! - **The sender passes over a receive** that was asked back, and fills a younger one. The news of that comes before any
//!   later message of the stream, and from it the receiver knows that the older one is its own again.

mod entry;
mod receiver;
mod sender;

pub use entry::{ENTRY, Entry};
pub use receiver::{Answer, Publications, Request};
pub use sender::{Candidate, Search, confirm, find, find_again, try_claim};

/// The most slots of a table: one bit each in half a word.
pub const MOST_SLOTS: usize = 32;

/// Where the words of a table are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    slots: usize,
}

impl Layout {
    /// A table of at most [`MOST_SLOTS`] slots.
    pub fn new(slots: usize) -> Layout {
        Layout { slots: slots.clamp(1, MOST_SLOTS) }
    }

    /// How many slots it has.
    pub fn slots(self) -> usize {
        self.slots
    }

    /// Words in all.
    pub fn words(self) -> usize {
        self.entry(self.slots as u32)
    }

    /// Which word is the head.
    pub fn head(self) -> usize {
        0
    }

    /// The word by which the receiver asks for a slot back.
    pub fn ask(self, slot: u32) -> usize {
        1 + slot as usize
    }

    /// The word by which the sender claims a slot.
    pub fn claim(self, slot: u32) -> usize {
        1 + self.slots + slot as usize
    }

    /// The first word of an entry.
    pub fn entry(self, slot: u32) -> usize {
        1 + 2 * self.slots + ENTRY * slot as usize
    }
}

/// How far the sender has come with a receive that it tries to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    Trying = 1,
    Taken = 2,
    Declined = 3,
}

impl Claim {
    fn word(self, order: u32) -> u64 {
        self as u64 | (order as u64) << 32
    }

    /// What a word says of the receive of that order; `None`: nothing.
    fn of(word: u64, order: u32) -> Option<Claim> {
        let claim = match word as u32 {
            1 => Claim::Trying,
            2 => Claim::Taken,
            3 => Claim::Declined,
            _ => return None,
        };
        ((word >> 32) as u32 == order).then_some(claim)
    }
}

/// True when number `a` is `b` or a later one. Numbers wrap.
fn reaches(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 >= 0
}

#[cfg(test)]
mod tests;
