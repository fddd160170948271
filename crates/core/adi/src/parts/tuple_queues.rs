//! Part of the engine: the tuple queues of all peers. [`crate::tuple`] has the rules of one pair.

use crate::tuple::{Receiver, Sender};
use crate::{Proc, Tuple};

/// What went to each peer, and came from it, on the stream; and how many receives it sees.
#[derive(Debug)]
pub struct TupleQueues {
    sent: Vec<Sender>,
    taken: Vec<Receiver>,
}

impl TupleQueues {
    pub fn new(peers: usize) -> TupleQueues {
        TupleQueues { sent: vec![Sender::default(); peers], taken: vec![Receiver::default(); peers] }
    }

    /// Makes room for further peers.
    pub fn grow(&mut self, peers: usize) {
        self.sent.resize(peers, Sender::default());
        self.taken.resize(peers, Receiver::default());
    }

    // ---- the sender

    /// A message to `to` goes on the stream.
    // Always: it is on the short path.
    #[inline(always)]
    pub fn put(&mut self, to: Proc, tuple: &Tuple) {
        self.sent[to as usize].put(tuple);
    }

    /// Messages that have gone to `to` on the stream.
    pub fn sent(&self, to: Proc) -> u32 {
        self.sent[to as usize].sent()
    }

    /// True once in `every` messages to `to`: see [`Sender::is_turn`].
    #[inline]
    pub fn is_turn(&self, to: Proc, every: u32) -> bool {
        self.sent[to as usize].is_turn(every)
    }

    /// The message of the stream that `to` must have taken before a message of `tuple` may bypass it.
    #[inline]
    pub fn last(&self, to: Proc, tuple: &Tuple) -> u32 {
        self.sent[to as usize].last(tuple)
    }

    /// In place of [`TupleQueues::last`], where messages may overtake each other.
    pub fn long_taken(&self, to: Proc) -> u32 {
        self.sent[to as usize].long_taken()
    }

    // ---- the receiver

    /// Messages taken from the stream from `from`.
    pub fn taken(&self, from: Proc) -> u32 {
        self.taken[from as usize].taken
    }

    /// A message of the stream from `from` has found its receive, or is kept. The number that the peer may want to know: see [`Receiver::take`].
    #[inline]
    pub fn take(&mut self, from: Proc, tuple: &Tuple) -> Option<u32> {
        self.taken[from as usize].take(tuple)
    }

    /// A receive is published for `from`; returns what [`TupleQueues::end`] needs.
    pub fn publish(&mut self, from: Proc, tuple: &Tuple) -> u8 {
        self.taken[from as usize].publish(tuple)
    }

    /// A receive is published no more.
    #[inline]
    pub fn end(&mut self, from: Proc, entry: u8) {
        self.taken[from as usize].end(entry);
    }

    /// True while a receive is published for `from`.
    pub fn has_published(&self, from: Proc) -> bool {
        self.taken[from as usize].published > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_counted_apart() {
        let tuple = Tuple { context: 1, source: 0, tag: 5 };
        let mut queues = TupleQueues::new(1);
        queues.grow(3);
        queues.put(2, &tuple);
        assert_eq!([0, 2].map(|peer| (queues.sent(peer), queues.last(peer, &tuple))), [(0, 0), (1, 1)]);
        assert!(queues.is_turn(2, 2) && !queues.is_turn(0, 2));
        let entry = queues.publish(2, &tuple);
        assert!(queues.has_published(2) && !queues.has_published(0));
        assert_eq!(
            (queues.take(0, &tuple), queues.take(2, &tuple)),
            (None, Some(1)),
            "the sender of a published one is told"
        );
        queues.end(2, entry);
        assert_eq!((queues.take(2, &tuple), queues.taken(2)), (None, 2));
    }
}
