//! What all small worlds have in common: the receives of the program and their matching, the visit of every state,
//! and what MPI asks of messages and receives (MPI 5.0 section 3.5) when nothing is left to do.

use crate::matching::{EntryId, Matching};
use crate::{Pattern, Tuple};
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

/// A state of a small world.
pub trait World: Clone {
    /// What tells one state from another.
    fn key(&self, hasher: &RandomState) -> u64;
    /// The states that can follow this one.
    fn next(&self) -> Vec<Self>;
    /// Checks a state in which nothing is left to do. True if some message was delivered directly.
    fn judge(&self) -> bool;

    /// What follows when one of several things happens.
    fn after(&self, act: impl FnOnce(&mut Self)) -> Self {
        let mut world = self.clone();
        act(&mut world);
        world
    }
}

/// Visits every state that can follow `start`; returns how many, and in how many of the final ones something went directly.
pub fn visit(start: impl World) -> (usize, usize) {
    let hasher = RandomState::new();
    let mut visited = HashSet::new();
    let mut open = vec![start];
    let mut direct = 0;
    while let Some(world) = open.pop() {
        // 64 bits of each of some hundred thousand states: they are told apart.
        if !visited.insert(world.key(&hasher)) {
            continue;
        }
        let next = world.next();
        if next.is_empty() {
            direct += world.judge() as usize;
        }
        open.extend(next);
    }
    (visited.len(), direct)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    pub sender: usize,
    /// Position in the sender's program.
    pub number: usize,
}

/// A message of the only sender.
pub fn message(number: usize) -> Message {
    Message { sender: 0, number }
}

/// What the receiver's program does, in worlds with one sender.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Posts a receive of that tag.
    Receive(i32),
    /// Cancels the receive of that number.
    Cancel(usize),
}

#[derive(Clone)]
pub struct Receive {
    pub pattern: Pattern,
    pub place: Option<EntryId>,
    pub got: Option<Message>,
    pub cancelled: bool,
}

/// The receives of the program, in the order of posting.
#[derive(Clone)]
pub struct Receives {
    pub matching: Matching,
    pub all: Vec<Receive>,
    unexpected: Vec<Message>,
}

impl Receives {
    pub fn new() -> Receives {
        Receives { matching: Matching::new(), all: Vec::new(), unexpected: Vec::new() }
    }

    pub fn key(&self, hasher: &RandomState) -> u64 {
        let all: Vec<_> =
            self.all.iter().map(|receive| (receive.place.is_some(), receive.got, receive.cancelled)).collect();
        hasher.hash_one((all, &self.unexpected))
    }

    /// The program posts a receive; it is published at once, later, or never.
    pub fn post(&mut self, pattern: Pattern) {
        let number = self.all.len();
        self.all.push(Receive { pattern, place: None, got: None, cancelled: false });
        if let Some(place) = self.matching.find_unexpected(&pattern) {
            let message = self.unexpected[self.matching.take_unexpected(place) as usize];
            return self.give(number, message);
        }
        self.all[number].place = Some(self.matching.post(pattern, number as u32));
    }

    pub fn give(&mut self, receive: usize, message: Message) {
        let receive = &mut self.all[receive];
        assert!(receive.got.is_none(), "two messages for one receive");
        assert!(!receive.cancelled, "a message for a receive that is gone");
        receive.got = Some(message);
    }

    /// No receive is there for the message.
    pub fn keep(&mut self, tuple: Tuple, message: Message) {
        self.matching.keep(tuple, self.unexpected.len() as u32);
        self.unexpected.push(message);
    }

    /// The message that a receive of that pattern would get.
    pub fn find(&mut self, pattern: &Pattern) -> Option<(Message, Tuple)> {
        let place = self.matching.find_unexpected(pattern)?;
        let (number, tuple) = self.matching.unexpected(place);
        Some((self.unexpected[number as usize], tuple))
    }

    /// True for a receive that is posted, if nothing is in the way of its being published; `is_short`: see [`Matching::promised_hindrance`].
    pub fn may_publish(&self, number: usize, is_short: impl Fn(u32) -> bool) -> bool {
        let Receive { pattern, place, .. } = self.all[number];
        place.is_some_and(|place| self.matching.promised_hindrance(&pattern, Some(place), is_short).is_none())
    }

    pub fn publish(&mut self, number: usize) -> Tuple {
        let Receive { pattern: Pattern { context, source, tag }, place, .. } = self.all[number];
        self.matching.publish(place.expect("it is posted"));
        Tuple { context, source, tag }
    }

    /// It is posted no more.
    pub fn withdraw(&mut self, number: usize) {
        if let Some(place) = self.all[number].place.take() {
            self.matching.withdraw(place);
        }
    }

    pub fn cancel(&mut self, number: usize) {
        self.withdraw(number);
        assert!(self.all[number].got.is_none(), "a receive with a message was cancelled");
        self.all[number].cancelled = true;
    }

    /// Checks who has got which of `all` messages, and nothing of their order.
    pub fn judge_matches(&self, all: &[Message], tuple: impl Fn(Message) -> Tuple) {
        for &message in all {
            let sent = tuple(message);
            let fits = |receive: &Receive| receive.pattern.matches(&sent);
            match self.all.iter().find(|receive| receive.got == Some(message)) {
                Some(receive) => assert!(fits(receive), "a receive got what it did not ask for"),
                None => {
                    let waits = |receive: &Receive| receive.got.is_none() && !receive.cancelled && fits(receive);
                    assert!(!self.all.iter().any(waits), "a message and its receive both wait");
                }
            }
        }
    }

    /// The same, and whether messages have left in the order that MPI asks for.
    pub fn judge(&self, all: &[Message], tuple: impl Fn(Message) -> Tuple) {
        self.judge_matches(all, &tuple);
        let receives = &self.all;
        let owner = |message: Message| receives.iter().position(|receive| receive.got == Some(message));
        // Pairs of messages of which the first had to leave before the second.
        let mut before: Vec<(Message, Message)> = Vec::new();
        for &message in all {
            let sent = tuple(message);
            let Some(receive) = owner(message) else { continue };
            for &earlier in all.iter().filter(|other| other.sender == message.sender && other.number < message.number) {
                if receives[receive].pattern.matches(&tuple(earlier)) {
                    assert!(owner(earlier).is_some(), "{message:?} overtook {earlier:?}");
                    before.push((earlier, message));
                }
            }
            for earlier in &receives[..receive] {
                if earlier.pattern.matches(&sent) && !earlier.cancelled {
                    before.push((earlier.got.expect("an older receive was passed over"), message));
                }
            }
        }
        // An order must exist.
        let mut left = all.to_vec();
        while !left.is_empty() {
            let free =
                |message: &Message| !before.iter().any(|(first, second)| second == message && left.contains(first));
            let at = left.iter().position(free).unwrap_or_else(|| panic!("{left:?} overtook each other"));
            left.remove(at);
        }
    }

    /// The same for one sender, whose messages have the tags of `program`, when the receiver has done all `steps`.
    pub fn judge_sender(&self, program: &[i32], steps: &[Step]) {
        let all: Vec<Message> = (0..program.len()).map(message).collect();
        self.judge(&all, |message| Tuple { context: 0, source: 0, tag: program[message.number] });
        for step in steps {
            if let Step::Cancel(number) = *step {
                self.judge_cancelled(number);
            }
        }
    }

    /// Checks that it is known what became of a receive that was to be cancelled.
    pub fn judge_cancelled(&self, number: usize) {
        let receive = &self.all[number];
        assert!(receive.cancelled || receive.got.is_some(), "nobody knows what became of receive {number}");
    }
}
