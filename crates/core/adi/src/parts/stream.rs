//! Part of the engine: the streams of packets. What waits to be sent, in order; where the rest of a message belongs; who wants to be asked.

use crate::Proc;
use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use tern_counters as counters;
use tern_mcm::{Header, Memory};

/// What could not be sent at once.
#[derive(Debug)]
pub enum Outgoing {
    Header(Header),
    /// A request to send, or to put, with where the data lies or belongs.
    Located(Header, Memory),
    /// The rest of a notice.
    Notice {
        bytes: Box<[u8]>,
        sent: usize,
    },
    /// The rest of an eager message; nothing of it has gone when `first` is there.
    Eager {
        request: u32,
        first: Option<Header>,
        sent: usize,
    },
}

/// Bytes that the receiver has asked for.
#[derive(Debug)]
pub struct Bulk {
    pub request: u32,
    pub receiver: u32,
    pub sent: usize,
    pub end: usize,
}

/// What waits to be sent to one peer.
#[derive(Debug, Default)]
struct Outbox {
    /// In order.
    queue: VecDeque<Outgoing>,
    bulk: VecDeque<Bulk>,
    /// In [`Stream::busy`].
    listed: bool,
    /// What came last found no room.
    full: bool,
}

/// Where the next `More` packet of a peer belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incoming {
    Nowhere,
    Transfer(u32),
    Arrival(u32),
}

/// The streams to and from all peers.
#[derive(Debug)]
pub struct Stream {
    outboxes: Vec<Outbox>,
    /// Peers whose outbox is not empty.
    busy: Vec<Proc>,
    incoming: Vec<Incoming>,
    /// Peers to which nothing goes without asking, because they keep too much.
    full: HashSet<Proc>,
    /// Times that the library has looked at everything, and by peer what that was when a send was last to do so.
    looks: u32,
    looked: Vec<u32>,
}

impl Stream {
    pub fn new(peers: usize) -> Stream {
        let (outboxes, busy, incoming, looked) = Default::default();
        let mut stream = Stream { outboxes, busy, incoming, full: HashSet::new(), looks: 0, looked };
        stream.grow(peers);
        stream
    }

    /// Makes room for further peers.
    pub fn grow(&mut self, peers: usize) {
        self.outboxes.resize_with(peers, Outbox::default);
        self.incoming.resize(peers, Incoming::Nowhere);
        self.looked.resize(peers, 0);
    }

    // ---- what waits to be sent

    /// True when nothing waits to be sent.
    #[inline]
    pub fn is_flushed(&self) -> bool {
        self.busy.is_empty()
    }

    /// True when nothing waits to be sent to these processes.
    pub fn is_flushed_to(&self, peers: &Range<Proc>) -> bool {
        !self.busy.iter().any(|peer| peers.contains(peer))
    }

    /// True when nothing waits to be sent to `to`.
    pub fn is_idle(&self, to: Proc) -> bool {
        let outbox = &self.outboxes[to as usize];
        outbox.queue.is_empty() && outbox.bulk.is_empty()
    }

    /// True when nothing waits that goes to `to` in order.
    #[inline]
    pub fn is_open(&self, to: Proc) -> bool {
        self.outboxes[to as usize].queue.is_empty()
    }

    /// Something goes to `to` behind all that waits.
    pub fn queue(&mut self, to: Proc, outgoing: Outgoing) {
        self.outboxes[to as usize].queue.push_back(outgoing);
        self.list(to);
    }

    /// A long message to `to` is to go, in turns with others.
    pub fn queue_bulk(&mut self, to: Proc, bulk: Bulk) {
        counters::STREAMED.add(1);
        counters::STREAMED_BYTES.add((bulk.end - bulk.sent) as u64);
        self.outboxes[to as usize].bulk.push_back(bulk);
        self.list(to);
    }

    fn list(&mut self, to: Proc) {
        let outbox = &mut self.outboxes[to as usize];
        if !outbox.listed {
            outbox.listed = true;
            self.busy.push(to);
        }
    }

    /// The peer at a place of the list of those for which something waits.
    #[inline]
    pub fn busy_at(&self, at: usize) -> Option<Proc> {
        self.busy.get(at).copied()
    }

    /// Takes the peer at that place from the list if nothing waits for it any more. False if something does.
    pub fn unlist(&mut self, at: usize) -> bool {
        let to = self.busy[at];
        let idle = self.is_idle(to);
        if idle {
            self.outboxes[to as usize].listed = false;
            self.busy.swap_remove(at);
        }
        idle
    }

    /// What goes to `to` next, in order.
    pub fn next(&mut self, to: Proc) -> Option<Outgoing> {
        self.outboxes[to as usize].queue.pop_front()
    }

    /// Some of it is left, for which there was no room.
    pub fn put_back(&mut self, to: Proc, rest: Outgoing) {
        self.outboxes[to as usize].queue.push_front(rest);
        self.found_full(to);
    }

    /// The long message to `to` whose turn it is.
    pub fn next_bulk(&mut self, to: Proc) -> Option<Bulk> {
        self.outboxes[to as usize].bulk.pop_front()
    }

    /// Some of it is left, and it is another's turn.
    pub fn end_turn(&mut self, to: Proc, rest: Bulk) {
        self.outboxes[to as usize].bulk.push_back(rest);
    }

    /// There was no room for more of it.
    pub fn put_back_bulk(&mut self, to: Proc, rest: Bulk) {
        self.outboxes[to as usize].bulk.push_front(rest);
        self.found_full(to);
    }

    /// Something that waited for room has gone to `to`.
    pub fn found_room(&mut self, to: Proc) {
        self.outboxes[to as usize].full = false;
    }

    /// There is no room for what is to go to `to`.
    pub fn found_full(&mut self, to: Proc) {
        if !std::mem::replace(&mut self.outboxes[to as usize].full, true) {
            counters::RING_FULL.add(1);
        }
    }

    // ---- what comes

    /// Where the rest of the message belongs that comes from `from` in pieces.
    #[inline]
    pub fn incoming(&self, from: Proc) -> Incoming {
        self.incoming[from as usize]
    }

    /// The rest of the message that comes from `from` belongs there. Only one message of a peer is on its way in pieces.
    #[inline]
    pub fn expect_rest(&mut self, from: Proc, incoming: Incoming) {
        self.incoming[from as usize] = incoming;
    }

    // ---- flow control

    /// True when no peer wants to be asked.
    #[inline]
    pub fn is_free(&self) -> bool {
        self.full.is_empty()
    }

    /// True when `to` is to be asked before each message.
    #[inline]
    pub fn is_full(&self, to: Proc) -> bool {
        !self.full.is_empty() && self.full.contains(&to)
    }

    /// A peer has told whether it is to be asked.
    pub fn note_full(&mut self, peer: Proc, full: bool) {
        if full {
            self.full.insert(peer);
        } else {
            self.full.remove(&peer);
        }
    }

    /// The library looks at everything.
    #[inline]
    pub fn look(&mut self) {
        self.looks = self.looks.wrapping_add(1);
    }

    /// Times that it has, modulo 2^32.
    #[inline]
    pub fn looks(&self) -> u32 {
        self.looks
    }

    /// Whether the library has looked at everything since the last time that this was asked about `to`.
    pub fn has_looked(&mut self, to: Proc) -> bool {
        std::mem::replace(&mut self.looked[to as usize], self.looks) != self.looks
    }

    /// `peer` is lost: nothing goes to it any more, and nothing comes.
    pub fn clear(&mut self, peer: Proc) {
        let outbox = &mut self.outboxes[peer as usize];
        outbox.queue.clear();
        outbox.bulk.clear();
        self.full.remove(&peer);
        self.incoming[peer as usize] = Incoming::Nowhere;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulk(request: u32) -> Bulk {
        Bulk { request, receiver: 0, sent: 0, end: 100 }
    }

    fn eager(request: u32) -> Outgoing {
        Outgoing::Eager { request, first: None, sent: 0 }
    }

    /// The request of what goes to 1 next.
    fn next(stream: &mut Stream) -> Option<u32> {
        stream.next(1).map(|outgoing| match outgoing {
            Outgoing::Eager { request, .. } => request,
            _ => unreachable!("nothing else was queued"),
        })
    }

    #[test]
    fn what_waits_goes_in_order_and_long_messages_in_turns() {
        let mut stream = Stream::new(2);
        assert!(stream.is_flushed() && stream.busy_at(0).is_none());
        (0..3).for_each(|request| stream.queue(1, eager(request)));
        assert!(!stream.is_flushed() && !stream.is_open(1) && stream.is_open(0));
        assert!(stream.is_flushed_to(&(0..1)) && !stream.is_flushed_to(&(0..2)));
        assert_eq!(next(&mut stream), Some(0));
        stream.put_back(1, eager(0));
        assert_eq!([(); 4].map(|()| next(&mut stream)), [Some(0), Some(1), Some(2), None]);
        (3..5).for_each(|request| stream.queue_bulk(1, bulk(request)));
        let first = stream.next_bulk(1).expect("a long one");
        stream.end_turn(1, first);
        let second = stream.next_bulk(1).expect("another");
        assert_eq!(second.request, 4, "it is the turn of the other");
        stream.put_back_bulk(1, second);
        assert_eq!(stream.next_bulk(1).map(|bulk| bulk.request), Some(4), "nothing of it has gone");
        assert!(!stream.unlist(0), "one is left");
        stream.clear(1);
        assert!(stream.unlist(0) && stream.is_flushed() && stream.is_idle(1));
    }

    #[test]
    fn a_peer_that_keeps_too_much_is_asked_until_it_has_room() {
        let mut stream = Stream::new(3);
        assert!(stream.is_free() && !stream.is_full(1));
        stream.note_full(1, true);
        assert!(stream.is_full(1) && !stream.is_full(2) && !stream.is_free());
        stream.note_full(1, false);
        assert!(stream.is_free());
        stream.note_full(2, true);
        stream.clear(2);
        assert!(stream.is_free(), "it is lost");
    }

    #[test]
    fn a_sender_looks_if_nobody_else_has() {
        let mut stream = Stream::new(2);
        assert!(!stream.has_looked(1), "nobody ever has");
        stream.look();
        assert!(stream.has_looked(1) && stream.has_looked(0));
        assert!(!stream.has_looked(1), "nobody has since");
    }

    #[test]
    fn the_rest_of_a_message_has_its_place() {
        let mut stream = Stream::new(1);
        stream.grow(2);
        assert_eq!(stream.incoming(1), Incoming::Nowhere);
        stream.expect_rest(1, Incoming::Transfer(5));
        assert_eq!(stream.incoming(1), Incoming::Transfer(5));
        stream.clear(1);
        assert_eq!(stream.incoming(1), Incoming::Nowhere);
    }
}
