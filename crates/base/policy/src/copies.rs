//! One copy or packets, tried on the program's own messages: the rule `copies`.
//!
//! Packets are copied twice, the kernel copies once and takes its time to begin: which of the two is sooner depends on the machine, and on
//! where in which cache the program has its data. So both are tried on the program's own messages. What counts is how soon the
//! program comes to send again: of messages that it starts together and then waits for, the time from one such round to the next, since
//! starting one says little of what it costs.
//!
//! Two processes that send each other messages at the same time had better go the same way. If one sends packets and the other asks,
//! the first makes two of the three copies, and both wait for it: off cache on a Xeon 1.7 times as long as by either way. Neither finds
//! that out by trying alone. So one of the two tries, and the other does what it sees of it.

use crate::coordinator::{Cell, SharedCoordinator};
use crate::rounds::{Rounds, Ticket};
use crate::rules;
use crate::trial::Trial;
use crate::ways::Way;

/// What a message is sent along with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// Nothing: its receiver waits for nothing else.
    Alone,
    /// What a call that waits for something else sends meanwhile.
    Call,
    /// What both processes send each other, and wait for.
    Exchange,
    /// What is left to its receiver: the sender computes meanwhile, and most likely the receiver, too.
    Left,
}

/// How many there are.
const ALONG: usize = 4;

/// What its receiver copies, if asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// Private memory in one piece, by the kernel.
    ByKernel,
    /// Memory that it sees, in one piece.
    Dense,
    /// Memory that it sees, in blocks at a stride.
    InBlocks,
    /// A region of segments that it sees, or that is to go in one copy as the user says.
    InSegments,
    /// A region of private segments, by the kernel.
    InSegmentsByKernel,
}

/// How many there are.
const COPIED: usize = 5;

impl Copied {
    /// It costs no system call.
    fn begins_at_once(self) -> bool {
        !matches!(self, Copied::ByKernel | Copied::InSegmentsByKernel)
    }
}

/// Bytes of long messages in packets until a device uses the same memory again, at most. Of a message whose memory was in no cache, packets of 256 KiB
/// took 35 to 70 us on a Xeon, else 19.
const ROUND: usize = 2 << 20;

/// Messages in a row in packets that their sender has chosen, before it is tried how these are best copied out: as many as a trial of the sender's
/// takes of 80 KiB and more.
pub const GAUGED_AFTER: u32 = 64;

/// A message that may go either way.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// In bytes; not 0.
    pub len: usize,
    /// What it is sent along with.
    pub along: Along,
    /// What its receiver would copy.
    pub copied: Copied,
    /// It is longer than what goes without asking.
    pub long: bool,
    /// How the last message of about that length has come from the peer.
    pub shown: Option<Way>,
    /// Of the two, the peer is the one that tries where both send.
    pub peer_tries: bool,
}

impl Message {
    /// One copy is presumed to be the better way where it begins at once.
    fn presumed(&self) -> bool {
        self.copied.begins_at_once()
    }
}

/// What a message was told by the trials. It carries that until it is known how it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// What its receiver copies, if asked for it.
    pub copied: Copied,
    /// One copy is the way; else packets are.
    pub one_copy: bool,
    /// It goes as the peer sends, which is the one of the two that tries. Else by a trial of this process's own.
    pub mirrored: bool,
    ticket: Option<Ticket>,
}

impl Turn {
    /// One that no trial has given.
    pub fn untried(copied: Copied, one_copy: bool) -> Turn {
        Turn { copied, one_copy, mirrored: false, ticket: None }
    }
}

/// The trials.
#[derive(Debug, Default)]
pub struct Copies(Rounds);

impl Copies {
    /// Nothing was tried so far.
    pub fn new(coordinator: &SharedCoordinator) -> Copies {
        Copies(Rounds::new(coordinator))
    }

    /// Whether one copy is the way for a message that begins at `now`, in nanoseconds; else packets are.
    pub fn turn(&mut self, message: &Message, now: impl FnOnce() -> u64) -> Turn {
        let presumed = message.presumed();
        if let (Along::Call | Along::Exchange | Along::Left, Some(way)) = (message.along, message.shown)
            && message.peer_tries
            && rules::COPIES.applies()
        {
            return Turn { mirrored: true, ..Turn::untried(message.copied, way == Way::Once) };
        }
        let Message { len, along, copied, long, .. } = *message;
        let kind = (len.ilog2() as usize * ALONG + along as usize) * COPIED + copied as usize;
        // The first ones of a turn in packets find cold memory.
        let longer = if long { ROUND.div_ceil(len) as u32 } else { 0 };
        let way = usize::from(presumed);
        let mut ticket = None;
        let other = rules::COPIES.departs(|| {
            let (told, its) = self.0.draw(kind, Cell::of(len), now, || Trial::presuming(way).longer(longer));
            ticket = its;
            told != way
        });
        Turn { copied, one_copy: presumed != other, mirrored: false, ticket }
    }

    /// A message has not gone as its turn told: that was not possible.
    pub fn give_back(&mut self, turn: &Turn) {
        if let Some(ticket) = turn.ticket {
            self.0.give_back(ticket);
        }
    }

    /// What begins from now on is another round: see [`Rounds`].
    pub fn end_round(&mut self) {
        self.0.end_round();
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Both send so at the same time, out of memory that both see.
    pub(crate) const MESSAGE: Message = Message {
        len: 20_000,
        along: Along::Exchange,
        copied: Copied::Dense,
        long: false,
        shown: None,
        peer_tries: false,
    };

    /// How many of the last 100 of 1000 messages went in one copy, if they take so long by packets and by one copy.
    fn run(message: &Message, took: [u64; 2]) -> usize {
        let (mut copies, mut now, mut once) = (Copies::default(), 0, 0);
        for number in 0..1000 {
            let asks = copies.turn(message, || now).one_copy;
            copies.end_round();
            once += usize::from(asks && number >= 900);
            now += took[usize::from(asks)];
        }
        once
    }

    #[test]
    fn the_quicker_way_is_found() {
        for copied in
            [Copied::ByKernel, Copied::Dense, Copied::InBlocks, Copied::InSegments, Copied::InSegmentsByKernel]
        {
            let message = Message { copied, ..MESSAGE };
            assert!(run(&message, [100, 200]) < 20, "{copied:?}");
            assert!(run(&message, [200, 100]) > 80, "{copied:?}");
        }
    }

    #[test]
    fn a_way_that_was_not_possible_is_not_measured() {
        let message = Message { copied: Copied::ByKernel, ..MESSAGE };
        let (mut copies, mut now, mut tried, mut last) = (Copies::default(), 0, 0, 0);
        for number in 0..1000 {
            let turn = copies.turn(&message, || now);
            copies.end_round();
            // One copy takes half as long. Half of the time it is not possible while it is tried, and what comes instead takes much longer.
            let tries = turn.one_copy && turn.ticket.is_some();
            tried += u32::from(tries);
            let fails = tries && tried % 4 < 2;
            if fails {
                copies.give_back(&turn);
            }
            now += if fails { 10_000 } else { [200, 100][usize::from(turn.one_copy)] };
            last += usize::from(turn.one_copy && number >= 900);
        }
        assert!(last > 50, "{last} of the last hundred");
    }

    #[test]
    fn all_of_a_round_have_one_ticket() {
        let mut copies = Copies::default();
        let turns: Vec<Turn> = (0..3).map(|_| copies.turn(&MESSAGE, || 0)).collect();
        assert!(turns[0].ticket.is_some() && turns[1..].iter().all(|turn| turn.ticket.is_none()));
        copies.end_round();
        assert_ne!(copies.turn(&MESSAGE, || 0).ticket, turns[0].ticket);
    }

    #[test]
    fn where_both_take_as_long_the_presumed_way_stays() {
        assert!(run(&Message { copied: Copied::ByKernel, ..MESSAGE }, [100, 100]) < 20);
        assert!(run(&MESSAGE, [100, 100]) > 80);
    }

    #[test]
    fn what_the_peer_does_is_done_where_both_send() {
        let shown = |way| Message { shown: Some(way), peer_tries: true, ..MESSAGE };
        assert_eq!(run(&shown(Way::ChosenPackets), [200, 100]), 0, "whatever it takes");
        assert_eq!(run(&shown(Way::Once), [100, 200]), 100);
        let own = Message { peer_tries: false, ..shown(Way::ChosenPackets) };
        assert!(run(&own, [200, 100]) > 80, "this process is the one that tries");
        let alone = Message { along: Along::Alone, ..shown(Way::ChosenPackets) };
        assert!(run(&alone, [200, 100]) > 80, "nobody else tries for this one");
    }
}
