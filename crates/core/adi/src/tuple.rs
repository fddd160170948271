//! Tuple queues: which messages may bypass the stream. `docs/parts/tuple-queues.md` says more.
//!
//! For a pair of processes, messages take one of two paths: the *stream* of ordered packets, or
//! *direct* delivery into a receive that the receiver has published. The sender numbers what it
//! puts on the stream, the receiver counts what it takes from there, and says with what it publishes
//! how far it has come. By these numbers exactly one side decides for each message:
//!
//! 1. A receive is published only when it names no wildcard, every earlier receive that is still open
//!    and could match its tuple is published, and no unexpected message for it waits
//!    ([`crate::matching::Matching::hindrance`]).
//! 2. A message may be delivered into the oldest published receive of its tuple only if the receiver
//!    has taken the last message of that tuple from the stream ([`Sender::last`]).
//! 3. A stream message goes to the oldest open receive that matches. If that one is published, the
//!    receiver wins it back first; if the sender has claimed it, the message goes to the next.
//!    After that the receiver says how far it has come.
//! 4. To cancel a published receive, the receiver must win it back.
//!
//! Where the program promises that messages may overtake each other, neither the first rule nor the second holds a message or a receive back. The
//! second does all the same where a claim is not one step that both processes see, as between nodes: there it alone keeps a receive from
//! being used twice.
//!
//! Plain numbers, without I/O. `explore` tries every interleaving of small worlds, `afar` with a receiver that the
//! sender sees late.

use crate::Tuple;

/// Entries of the table of last numbers.
const RECENT: usize = 16;

/// What a sender remembers of its stream to one peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sender {
    /// Messages put on the stream.
    sent: u32,
    /// By hash of a tuple: the number of the last message of it on the stream. Tuples that share an
    /// entry hold each other back, which is allowed.
    last: [u32; RECENT],
}

#[inline]
fn entry(tuple: &Tuple) -> usize {
    let mixed = (tuple.context.rotate_left(16) ^ tuple.tag as u32).wrapping_mul(0x9e37_79b9);
    (mixed >> 28) as usize
}

impl Sender {
    /// A message goes on the stream.
    #[inline]
    pub fn put(&mut self, tuple: &Tuple) {
        self.sent = self.sent.wrapping_add(1);
        self.last[entry(tuple)] = self.sent;
    }

    /// Messages that have gone on the stream.
    pub fn sent(&self) -> u32 {
        self.sent
    }

    /// True once in `every` messages of the stream, before it goes; a power of two.
    #[inline]
    pub fn is_turn(&self, every: u32) -> bool {
        self.sent & (every - 1) == every - 1
    }

    /// The stream message that the receiver must have taken before a message of `tuple` may be
    /// delivered directly.
    ///
    /// Numbers wrap; an entry that was not used for 2^31 messages looks like one in the future and
    /// only holds its tuple back, until the next message of it on the stream.
    #[inline]
    pub fn last(&self, tuple: &Tuple) -> u32 {
        self.last[entry(tuple)]
    }

    /// In place of [`Sender::last`], where the program promises that messages may overtake each other: a number that the receiver has taken long ago.
    /// There are never so many messages on their way.
    pub fn long_taken(&self) -> u32 {
        self.sent.wrapping_sub(1 << 30)
    }
}

/// What a receiver remembers of the stream from one peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Receiver {
    /// Messages taken from the stream.
    pub taken: u32,
    /// Receives that are published for that peer.
    pub published: u32,
    /// How many of them there are for each entry of the sender's table.
    by_entry: [u16; RECENT],
}

impl Receiver {
    /// A receive is published; returns what [`Receiver::end`] needs.
    pub fn publish(&mut self, tuple: &Tuple) -> u8 {
        let entry = entry(tuple);
        self.published += 1;
        self.by_entry[entry] += 1;
        entry as u8
    }

    /// A receive is published no more.
    pub fn end(&mut self, entry: u8) {
        self.published -= 1;
        self.by_entry[entry as usize] -= 1;
    }

    /// A stream message of `tuple` has found its receive, or has been kept as unexpected. Returns the number to
    /// tell the sender, if it is of interest: only messages that share its entry with a published
    /// receive hold that receive back. One that is published later says by itself what has been taken.
    #[inline]
    pub fn take(&mut self, tuple: &Tuple) -> Option<u32> {
        self.taken = self.taken.wrapping_add(1);
        (self.published > 0 && self.by_entry[entry(tuple)] > 0).then_some(self.taken)
    }
}

#[cfg(test)]
mod afar;
#[cfg(test)]
mod explore;
#[cfg(test)]
mod queues;
#[cfg(test)]
mod world;
