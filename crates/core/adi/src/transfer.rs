//! A transfer of this process: the entry that the parts of the engine know it by.

use crate::matching::EntryId;
use crate::{Data, Owner, Proc, Status, Tuple};

/// No number of anything.
pub const NONE: u32 = u32::MAX;

/// The transfer of a receive that its call only waits for: always there, never posted.
pub const EXPECTED: u32 = 0;

/// A send or a receive that is under way, or over and not freed.
#[derive(Debug)]
pub struct Transfer {
    pub data: Data,
    pub status: Status,
    pub done: bool,
    /// Free the entry as soon as it is done.
    pub released: bool,
    /// A send whose call has succeeded: nobody will be told if it fails.
    pub promised: bool,
    pub stage: Stage,
    /// A send that its receiver was asked to give back.
    pub asked_back: bool,
    /// Of one that the layer above has named.
    pub owner: Option<Owner>,
    pub side: Side,
}

/// How far a transfer is: it decides which packets may name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// None: its peer knows no number of it, or has said all that it will.
    Unnamed,
    /// A synchronous send in packets: no receive has matched it, as far as is known.
    Matching,
    /// A send that has asked its receiver.
    Asked,
    /// The same, with a speculative address.
    AskedUnconfirmed,
    /// A send that was copied from a wrong address: its receiver will ask for packets.
    Misplaced,
    /// A receive of an eager message that comes in several packets.
    Eager,
    /// A receive that has asked for packets.
    Cleared,
    /// A receive whose memory its sender was told.
    Invited,
}

/// What differs between a send and a receive.
#[derive(Debug)]
pub enum Side {
    Send {
        to: Proc,
        tuple: Tuple,
        /// Waits for the news that the receive has matched.
        awaits_match: bool,
        /// Has bytes that did not go yet (or a request to send that is not answered).
        unsent: bool,
    },
    Receive {
        /// Where it is posted; none once a message has matched.
        place: Option<EntryId>,
        /// The process that it names, or whose message has matched; [`crate::UNKNOWN`] for a wildcard.
        from: Proc,
        /// Where its sender sees it.
        published: Published,
        /// Bytes that have arrived, and that will in all.
        received: usize,
        expected: usize,
    },
}

impl Side {
    /// A receive from `from` that nothing has happened to.
    #[inline]
    pub fn receive(from: Proc) -> Side {
        Side::Receive { place: None, from, published: Published::NOT, received: 0, expected: 0 }
    }
}

impl Transfer {
    /// One that begins now.
    // Always: so the entry is made where it stays.
    #[inline(always)]
    pub fn new(data: Data, side: Side) -> Transfer {
        let (stage, asked_back) = (Stage::Unnamed, false);
        Transfer {
            data,
            status: Status::default(),
            done: false,
            released: false,
            promised: false,
            stage,
            asked_back,
            owner: None,
            side,
        }
    }

    /// A message of `size` bytes from process `from` has matched this receive: notes it in the status.
    #[inline]
    pub fn begin(&mut self, from: Proc, source: i32, tag: i32, size: u64) {
        tern_counters::received(size as usize);
        self.status = self.data.received(source, tag, size);
        self.side =
            Side::Receive { place: None, from, published: Published::NOT, received: 0, expected: size as usize };
    }

    /// Another `len` bytes of its message are in the memory of this receive. True when they are the last.
    #[inline]
    pub fn count_bytes(&mut self, len: usize) -> bool {
        let Side::Receive { received, expected, .. } = &mut self.side else { unreachable!("bytes for a send") };
        *received += len;
        *received >= *expected
    }

    /// This receive is over after `bytes` bytes.
    pub fn expect_bytes(&mut self, bytes: usize) {
        if let Side::Receive { expected, .. } = &mut self.side {
            *expected = bytes;
        }
    }

    /// Notes what is still missing of this send.
    pub fn set_missing(&mut self, match_awaited: bool, bytes_unsent: bool) {
        if let Side::Send { awaits_match, unsent, .. } = &mut self.side {
            *awaits_match = match_awaited;
            *unsent = bytes_unsent;
        }
    }

    /// Notes what has become of this send. True when nothing is missing any more.
    pub fn advance(&mut self, matched: bool, sent: bool) -> bool {
        let Side::Send { awaits_match, unsent, .. } = &mut self.side else { return false };
        *awaits_match &= !matched;
        *unsent &= !sent;
        !*awaits_match && !*unsent
    }

    /// Where the sender of this receive sees it from now on.
    pub fn set_published(&mut self, now: Published) {
        if let Side::Receive { published, .. } = &mut self.side {
            *published = now;
        }
    }

    /// This receive has left matching.
    pub fn clear_place(&mut self) {
        if let Side::Receive { place, .. } = &mut self.side {
            *place = None;
        }
    }
}

/// What the sender of a receive can see of it. Two words, which go in registers: parts of other widths would be stored one by one and
/// loaded together, and that waits for all stores before it, among which are those to lines that the sender has.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// Its sender; `NONE` for a receive that nobody has thought of publishing.
    pub peer: Proc,
    /// Where the device keeps it, what [`crate::tuple`] has given, and whether its memory is this process's alone; `NONE` when it
    /// is not published, `WATCHED` as told there.
    at: u32,
}

/// Not published; when it leaves matching, that matters to those that are to be published later ([`crate::parts::deferred`]).
const WATCHED: u32 = NONE - 1;

impl Published {
    pub const NOT: Published = Published { peer: NONE, at: NONE };
    pub const WATCHED: Published = Published { peer: NONE, at: WATCHED };

    const SLOT_BITS: u32 = 20;
    const PRIVATE: u32 = 1 << 28;

    /// In a slot of the device's.
    pub fn new(peer: Proc, slot: u32, entry: u8, private: bool) -> Published {
        assert!(slot >> Self::SLOT_BITS == 0, "slot {slot}");
        Published { peer, at: slot | u32::from(entry) << Self::SLOT_BITS | if private { Self::PRIVATE } else { 0 } }
    }

    #[inline]
    pub fn is_published(&self) -> bool {
        self.at < WATCHED
    }

    /// Not published, since packets suit it.
    pub fn left(peer: Proc) -> Published {
        Published { peer, at: NONE }
    }

    pub fn is_left(&self) -> bool {
        self.at == NONE && self.peer != NONE
    }

    pub fn is_watched(&self) -> bool {
        self.at == WATCHED
    }

    /// Neither published nor watched.
    #[inline]
    pub fn is_nothing(&self) -> bool {
        self.at == NONE
    }

    // Of one that is published:

    pub fn slot(&self) -> u32 {
        self.at % (1 << Self::SLOT_BITS)
    }

    pub fn entry(&self) -> u8 {
        (self.at >> Self::SLOT_BITS) as u8
    }

    pub fn is_private(&self) -> bool {
        self.at & Self::PRIVATE != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_published_knows_its_place() {
        let published = Published::new(7, 12345, 15, true);
        assert!(published.is_published() && published.is_private());
        assert_eq!((published.peer, published.slot(), published.entry() & 15), (7, 12345, 15));
        assert!(!Published::new(7, 12345, 15, false).is_private());
        for other in [Published::NOT, Published::WATCHED, Published::left(7)] {
            assert!(!other.is_published());
        }
        assert!(Published::left(7).is_left() && !Published::NOT.is_left() && !Published::WATCHED.is_left());
        assert!(Published::NOT.is_nothing() && Published::left(7).is_nothing() && !Published::WATCHED.is_nothing());
    }

    #[test]
    fn a_send_is_over_when_nothing_is_missing() {
        let tuple = Tuple { context: 1, source: 0, tag: 2 };
        let mut send = Transfer::new(Data::none(), Side::Send { to: 1, tuple, awaits_match: false, unsent: true });
        assert!(send.advance(false, true), "a standard one with its last byte");
        send.set_missing(true, true);
        assert!(!send.advance(false, true), "a synchronous one waits for its receive");
        assert!(send.advance(true, false));
        assert!(!Transfer::new(Data::none(), Side::receive(1)).advance(true, true), "no receive ends so");
    }

    #[test]
    fn a_receive_is_over_with_its_last_byte() {
        let mut receive = Transfer::new(Data::none(), Side::receive(1));
        receive.expect_bytes(10);
        assert!(!receive.count_bytes(9));
        assert!(receive.count_bytes(1));
    }
}
