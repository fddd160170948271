//! What the engine has learned of its program and its peers: one value, which is told of events with their time.

use crate::coordinator::SharedCoordinator;
use crate::copies::{Copies, GAUGED_AFTER, Message, Turn};
use crate::habit::Habits;
use crate::lending::LendingTrials;
use crate::order::Order;
use crate::round::Round;
use crate::rules;
use crate::stores::Gauge;
use crate::ways::{Way, Ways};
use alloc::vec;
use alloc::vec::Vec;

/// The kinds of collectives, in trials of lending, are numbers from here on.
const TOGETHER: usize = 64;

/// What is learned from messages between two processes. Peers are numbers, lengths are bytes, times are nanoseconds.
#[derive(Debug)]
pub struct Learned {
    /// Whether publishing pays.
    pub habits: Habits,
    /// Whether to look for messages pays when receives are started.
    pub order: Order,
    /// Which messages receivers had better copy, the kernel for them or they themselves.
    copies: Copies,
    /// How the last messages of each peer have come.
    ways: Vec<Ways>,
    round: Round,
    /// What the memory of long messages seems to be, and that of the last one.
    stores: Gauge,
    streams: bool,
    /// Whether calls that wait lend what they send, by the length of that.
    lending: LendingTrials,
}

impl Learned {
    /// Nothing, of `peers` processes. What is tried asks this coordinator.
    pub fn new(peers: usize, coordinator: &SharedCoordinator) -> Learned {
        Learned {
            habits: Habits::default(),
            order: Order::default(),
            copies: Copies::new(coordinator),
            ways: vec![Ways::default(); peers],
            round: Round::default(),
            stores: Gauge::new(coordinator),
            streams: false,
            lending: LendingTrials::new(coordinator),
        }
    }

    /// Makes room for further peers.
    pub fn grow(&mut self, peers: usize) {
        self.ways.resize(peers, Ways::default());
    }

    // ---- what the program does

    /// Something long is started; `alone`: what was started before it was waited for, or a call begins. True when a round ends by that.
    #[inline]
    pub fn starts(&mut self, alone: bool) -> bool {
        let ends = self.round.ends(alone);
        if ends {
            self.copies.end_round();
            self.stores.end_round();
        }
        ends
    }

    /// Something long is transferred.
    #[inline]
    pub fn transfer(&mut self) {
        self.round.transfer();
    }

    /// The program begins to wait for requests.
    #[inline]
    pub fn wait(&mut self, now: impl Fn() -> u64) {
        self.habits.wait(now);
        self.order.wait();
    }

    /// The program goes on after it has waited for requests, while receives are still posted, or none.
    #[inline]
    pub fn go_on(&mut self, receiving: bool, now: impl FnOnce() -> u64) {
        self.round.wait();
        self.habits.go_on(receiving, now);
    }

    // ---- how messages come

    /// A message of `len` bytes, that could have gone either way, has come from `peer`.
    #[inline]
    pub fn note_way(&mut self, peer: u32, len: usize, way: Way) {
        if len > 0 && self.ways[peer as usize].note(len, way) {
            self.stores.yield_to_peer(len, GAUGED_AFTER);
        }
    }

    /// How the last message of about `len` bytes from `peer` has come.
    pub fn way(&self, peer: u32, len: usize) -> Option<Way> {
        self.ways[peer as usize].of(len)
    }

    /// Whether one copy is the way of a message that is about to be sent.
    pub fn turn(&mut self, message: &Message, now: impl FnOnce() -> u64) -> Turn {
        self.copies.turn(message, now)
    }

    /// A message has not gone as its turn told.
    pub fn give_back(&mut self, turn: &Turn) {
        self.copies.give_back(turn);
    }

    // ---- what memory is

    /// A message of `len` bytes, a long one, begins to be copied to its place.
    pub fn begin_target(&mut self, len: usize, now: impl FnOnce() -> u64) {
        self.streams = self.stores.streams(len, now);
        self.round.transfer();
    }

    /// Whether the last such message had better be copied by streaming stores: see [`Gauge::streams`](crate::Gauge::streams).
    #[inline]
    pub fn streams(&self) -> bool {
        self.streams
    }

    // ---- lending

    /// Whether a collective that begins now, with messages of up to `longest` bytes, lends what it sends.
    pub fn lends_together(&mut self, longest: usize, now: impl FnOnce() -> u64) -> bool {
        self.lends_kind(TOGETHER + longest.ilog2() as usize, longest, now)
    }

    /// Whether another call that begins now, with a message of `len` bytes, lends it.
    pub fn lends(&mut self, len: usize, now: impl FnOnce() -> u64) -> bool {
        self.lends_kind(len.ilog2() as usize, len, now)
    }

    fn lends_kind(&mut self, kind: usize, len: usize, now: impl FnOnce() -> u64) -> bool {
        rules::LEND.departs(|| self.lending.begin(kind, len, now()))
    }

    /// A message of the call that began last saves so many nanoseconds if it is lent.
    pub fn lending_saves(&mut self, nanoseconds: u32) {
        self.lending.saves(nanoseconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copies::tests::MESSAGE;
    use crate::trial::{TURN, TURNS};

    #[test]
    fn the_ways_of_a_peer_are_remembered_by_length() {
        let mut learned = Learned::new(1, &SharedCoordinator::default());
        learned.grow(2);
        learned.note_way(1, 0, Way::ChosenPackets);
        learned.note_way(1, 5000, Way::ChosenPackets);
        assert_eq!(learned.way(1, 8000), Some(Way::ChosenPackets));
        assert_eq!((learned.way(1, 9000), learned.way(0, 8000)), (None, None));
        learned.note_way(1, 5000, Way::Once);
        assert_eq!(learned.way(1, 5000), Some(Way::Once));
    }

    #[test]
    fn a_turn_that_is_given_back_is_made_up_for() {
        let given = 3;
        let mut learned = Learned::new(1, &SharedCoordinator::default());
        let mut in_packets = 0;
        for number in 0..TURN * TURNS + given {
            let turn = learned.turn(&MESSAGE, || u64::from(number));
            if !turn.one_copy {
                in_packets += 1;
                // It has gone in one copy all the same.
                if in_packets <= given {
                    learned.give_back(&turn);
                }
            }
            learned.transfer();
            learned.go_on(false, || 0);
            assert!(learned.starts(false), "each is a round");
        }
        assert_eq!(in_packets, TURN * TURNS / 2 + given, "one copy is presumed, and packets have half of the turns");
    }

    #[test]
    fn a_round_ends_when_the_program_has_waited() {
        let mut learned = Learned::new(1, &SharedCoordinator::default());
        assert!(!learned.starts(true), "none has begun");
        learned.transfer();
        assert!(!learned.starts(false));
        learned.go_on(false, || 0);
        assert!(learned.starts(false) && !learned.starts(false));
    }
}
