//! Every interleaving of small worlds: two senders and a receiver, who put messages on the stream
//! or deliver them directly, publish or do not, look late, cancel. Whatever they do, each message
//! must go where MPI says (MPI 5.0 section 3.5), and no two may have the same receive.

use super::world::{Message, Receives, World as _, visit};
use super::{Receiver, Sender};
use crate::{ANY_SOURCE, ANY_TAG, Assertions, Pattern, Tuple};
use std::hash::{BuildHasher, RandomState};

/// What the receiver's program does.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Posts a receive for (source, tag).
    Receive(i32, i32),
    /// Cancels the receive of that number.
    Cancel(usize),
    /// Looks which message a receive for (source, tag) would get, and receives that one.
    Probe(i32, i32),
}
use Step::*;

/// A receive on the receiver's board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Slot {
    receive: usize,
    claimed: bool,
    /// What [`Receiver::publish`] has given.
    entry: u8,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Side {
    /// Messages that have been put on a path.
    next: usize,
    /// The receive that has been found for the next message, which is about to be claimed.
    found: Option<usize>,
    numbers: Sender,
    stream: Vec<Message>,
    counts: Receiver,
    board: Vec<Slot>,
    /// What the sender sees of `counts.taken`, and whether that is behind.
    seen: u32,
    behind: bool,
}

#[derive(Clone)]
struct World<'a> {
    programs: &'a [Vec<i32>],
    steps: &'a [Step],
    at: usize,
    sides: Vec<Side>,
    receives: Receives,
    /// By receive: whether it is short.
    short: Vec<bool>,
    /// What is posted already is published whatever is in the way.
    fault: bool,
    promise: Promise,
}

/// What the program promises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Promise {
    #[default]
    Nothing,
    /// Messages and receives may be matched in any order.
    Overtaking,
    /// Messages are as long as their receives. Messages of tags from [`SHORT`] on have that many less and are short, and so are their receives.
    ExactLength,
}

/// What is added to the tag of a short message or receive.
const SHORT: i32 = 100;

fn is_short(tag: i32) -> bool {
    tag >= SHORT / 2
}

impl<'a> World<'a> {
    fn new(programs: &'a [Vec<i32>], steps: &'a [Step]) -> World<'a> {
        let side = Side {
            next: 0,
            found: None,
            numbers: Sender::default(),
            stream: Vec::new(),
            counts: Receiver::default(),
            board: Vec::new(),
            seen: 0,
            behind: false,
        };
        World {
            programs,
            steps,
            at: 0,
            sides: vec![side; programs.len()],
            receives: Receives::new(),
            short: Vec::new(),
            fault: false,
            promise: Promise::Nothing,
        }
    }

    fn promising(promise: Promise, programs: &'a [Vec<i32>], steps: &'a [Step]) -> World<'a> {
        let mut world = World { promise, ..World::new(programs, steps) };
        let (allow_overtaking, exact_length) = (promise == Promise::Overtaking, promise == Promise::ExactLength);
        let assertions = Assertions { allow_overtaking, exact_length, ..Assertions::default() };
        world.receives.matching.assert(0, assertions);
        world
    }

    fn is_short(&self, message: Message) -> bool {
        is_short(self.programs[message.sender][message.number])
    }

    fn tuple(&self, message: Message) -> Tuple {
        let tag = self.programs[message.sender][message.number];
        Tuple { context: 0, source: message.sender as i32, tag: if is_short(tag) { tag - SHORT } else { tag } }
    }

    // ---- a sender

    fn message(&self, sender: usize) -> Message {
        Message { sender, number: self.sides[sender].next }
    }

    fn put(&mut self, sender: usize) {
        let message = self.message(sender);
        let tuple = self.tuple(message);
        let side = &mut self.sides[sender];
        side.numbers.put(&tuple);
        side.stream.push(message);
        side.next += 1;
    }

    /// The receive that the next message may claim.
    fn find(&self, sender: usize) -> Option<usize> {
        let side = &self.sides[sender];
        let tuple = self.tuple(self.message(sender));
        let fits = |slot: &&Slot| !slot.claimed && self.receives.all[slot.receive].pattern.matches(&tuple);
        let oldest = side.board.iter().find(fits)?;
        let taken = match self.promise {
            Promise::Overtaking => side.seen.wrapping_sub(side.numbers.long_taken()) as i32 >= 0,
            _ => side.seen >= side.numbers.last(&tuple),
        };
        (taken && !self.is_short(self.message(sender))).then_some(oldest.receive)
    }

    fn claim(&mut self, sender: usize) {
        let message = self.message(sender);
        let side = &mut self.sides[sender];
        let found = side.found.take();
        let open = side.board.iter_mut().find(|slot| Some(slot.receive) == found && !slot.claimed);
        let Some(slot) = open else { return self.put(sender) };
        slot.claimed = true;
        side.next += 1;
        let receive = slot.receive;
        self.receives.give(receive, message);
    }

    // ---- the receiver

    fn receive(&mut self, source: i32, tag: i32) {
        self.at += 1;
        self.short.push(is_short(tag));
        self.receives.post(Pattern { context: 0, source, tag: if is_short(tag) { tag - SHORT } else { tag } });
    }

    /// True for a receive that is posted and not published, but may be.
    fn may_publish_now(&self, number: usize) -> bool {
        if self.slot(number).is_some() || self.short[number] {
            return false;
        }
        let receive = &self.receives.all[number];
        self.receives.may_publish(number, |other| self.short[other as usize])
            || self.fault && receive.place.is_some() && !receive.pattern.is_wild()
    }

    fn publish(&mut self, number: usize) {
        let tuple = self.receives.publish(number);
        let side = &mut self.sides[tuple.source as usize];
        let entry = side.counts.publish(&tuple);
        side.board.push(Slot { receive: number, claimed: false, entry });
        side.seen = side.counts.taken;
    }

    /// Receives by the exact tuple what a probe has found, which must be the same message.
    fn probe(&mut self, source: i32, tag: i32) {
        let Some((message, tuple)) = self.receives.find(&Pattern { context: 0, source, tag }) else {
            self.at += 1;
            return;
        };
        self.receive(tuple.source, tuple.tag);
        assert_eq!(self.receives.all.last().unwrap().got, Some(message));
    }

    /// Where a published receive stands on the board.
    fn slot(&self, receive: usize) -> Option<(usize, usize)> {
        let on = |side: &Side| side.board.iter().position(|slot| slot.receive == receive);
        (0..self.sides.len()).find_map(|sender| Some((sender, on(&self.sides[sender])?)))
    }

    fn win_back(&mut self, receive: usize) -> bool {
        let Some((sender, slot)) = self.slot(receive) else { return true };
        let side = &mut self.sides[sender];
        if side.board[slot].claimed {
            return false;
        }
        let Slot { entry, .. } = side.board.remove(slot);
        side.counts.end(entry);
        true
    }

    fn take(&mut self, sender: usize) {
        let message = self.sides[sender].stream.remove(0);
        let tuple = self.tuple(message);
        let mut found = self.receives.matching.arrive(&tuple);
        while let Some(receive) = found
            && !self.win_back(receive as usize)
        {
            self.receives.all[receive as usize].place = None;
            found = self.receives.matching.arrive(&tuple);
        }
        match found {
            Some(receive) => {
                self.receives.all[receive as usize].place = None;
                self.receives.give(receive as usize, message);
            }
            None => {
                self.receives.keep(tuple, message);
            }
        }
        let side = &mut self.sides[sender];
        side.behind |= side.counts.take(&tuple).is_some();
    }

    fn raise(&mut self, sender: usize) {
        let side = &mut self.sides[sender];
        side.seen = side.counts.taken;
        side.behind = false;
    }

    /// The receiver sees that a receive has been filled.
    fn delivered(&mut self, sender: usize, receive: usize) {
        let side = &mut self.sides[sender];
        let at = side.board.iter().position(|slot| slot.receive == receive).expect("it was published");
        let Slot { entry, .. } = side.board.remove(at);
        side.counts.end(entry);
        self.receives.withdraw(receive);
    }

    fn cancel(&mut self, number: usize) {
        self.at += 1;
        if self.receives.all[number].place.is_some() && self.win_back(number) {
            self.receives.cancel(number);
        }
    }
}

impl super::world::World for World<'_> {
    fn key(&self, hasher: &RandomState) -> u64 {
        hasher.hash_one((&self.sides, self.at, self.receives.key(hasher)))
    }

    fn next(&self) -> Vec<Self> {
        let mut next = Vec::new();
        let mut then = |act: &dyn Fn(&mut Self)| next.push(self.after(act));
        for (sender, side) in self.sides.iter().enumerate() {
            if side.found.is_some() {
                then(&|world| world.claim(sender));
            } else if side.next < self.programs[sender].len() {
                then(&|world| world.put(sender));
                if let Some(receive) = self.find(sender) {
                    then(&|world| world.sides[sender].found = Some(receive));
                }
            }
            if !side.stream.is_empty() {
                then(&|world| world.take(sender));
            }
            if side.behind {
                then(&|world| world.raise(sender));
            }
            for slot in side.board.iter().filter(|slot| slot.claimed) {
                then(&|world| world.delivered(sender, slot.receive));
            }
        }
        match self.steps.get(self.at) {
            Some(&Receive(source, tag)) => then(&|world| world.receive(source, tag)),
            Some(&Cancel(number)) => then(&|world| world.cancel(number)),
            Some(&Probe(source, tag)) => then(&|world| world.probe(source, tag)),
            None => {}
        }
        for number in 0..self.receives.all.len() {
            if self.may_publish_now(number) {
                then(&|world| world.publish(number));
            }
        }
        next
    }

    fn judge(&self) -> bool {
        let numbers =
            |(sender, program): (usize, &Vec<i32>)| (0..program.len()).map(move |number| Message { sender, number });
        let all: Vec<Message> = self.programs.iter().enumerate().flat_map(numbers).collect();
        match self.promise {
            Promise::Overtaking => self.receives.judge_matches(&all, |message| self.tuple(message)),
            _ => self.receives.judge(&all, |message| self.tuple(message)),
        }
        for (receive, short) in self.receives.all.iter().zip(&self.short) {
            let kept = receive.got.is_none_or(|message| self.is_short(message) == *short);
            assert!(self.promise != Promise::ExactLength || kept, "a receive got a message of another length");
        }
        let on_stream: u32 = self.sides.iter().map(|side| side.counts.taken).sum();
        (on_stream as usize) < all.len()
    }
}

/// Visits every state; returns how many, and in how many of the final ones something went directly.
fn explore(programs: &[Vec<i32>], steps: &[Step]) -> (usize, usize) {
    visit(World::new(programs, steps))
}

const A: i32 = 1;
const B: i32 = 2;

#[test]
fn one_sender_two_tags() {
    let steps = [Receive(0, A), Receive(0, B), Receive(0, A), Receive(0, A)];
    for program in [vec![A, A, B, A], vec![B, A, A, A], vec![A, B, A, B], vec![B, B, A, A]] {
        let (states, direct) = explore(&[program], &steps);
        assert!(states > 300 && direct > 0, "{states} states, {direct} of the last ones direct");
    }
}

#[test]
fn wildcards_before_between_and_after() {
    let programs = [vec![A, B, A, A]];
    for wild in [Receive(ANY_SOURCE, A), Receive(0, ANY_TAG), Receive(ANY_SOURCE, ANY_TAG)] {
        for at in 0..4 {
            let mut steps = vec![Receive(0, A), Receive(0, A), Receive(0, B)];
            steps.insert(at, wild);
            explore(&programs, &steps);
        }
    }
}

#[test]
fn two_senders_and_a_wildcard() {
    let programs = [vec![A, B, A], vec![A, A]];
    for at in 0..4 {
        let mut steps = vec![Receive(0, A), Receive(1, A), Receive(0, A)];
        steps.insert(at, Receive(ANY_SOURCE, A));
        let (states, direct) = explore(&programs, &steps);
        assert!(states > 3000 && direct > 0, "{states} states, {direct} of the last ones direct");
    }
}

#[test]
fn cancelled_receives() {
    for cancelled in 0..3 {
        let steps =
            [Receive(0, A), Receive(0, A), Receive(0, ANY_TAG), Cancel(cancelled), Receive(0, A), Receive(0, B)];
        explore(&[vec![A, B, A]], &steps);
        let steps = [Receive(0, A), Receive(0, A), Receive(0, A), Cancel(cancelled), Receive(0, A)];
        let (_, direct) = explore(&[vec![A, A, A]], &steps);
        assert!(direct > 0);
    }
}

#[test]
fn probes_between_receives() {
    let steps = [Receive(0, A), Probe(ANY_SOURCE, ANY_TAG), Receive(0, A), Probe(0, A), Receive(0, B)];
    let (_, direct) = explore(&[vec![A, B, A], vec![B]], &steps);
    assert!(direct > 0);
}

/// The rules are not stricter than they need be by accident: without rule 2 an order is violated,
/// and this exploration finds it.
#[test]
#[should_panic(expected = "overtook")]
fn without_the_second_rule_messages_overtake() {
    let programs = [vec![A, A]];
    let steps = [Receive(0, A), Receive(0, A)];
    let mut open = vec![World::new(&programs, &steps)];
    while let Some(mut world) = open.pop() {
        // The sender believes that everything has been taken.
        world.sides[0].seen = u32::MAX;
        let next = world.next();
        if next.is_empty() {
            world.judge();
        }
        open.extend(next);
    }
}

/// A receive that is published later must not overtake an older one that could take its message.
#[test]
#[should_panic(expected = "overtook")]
fn what_is_in_the_way_is_in_the_way_later_too() {
    let programs = [vec![A, A]];
    let steps = [Receive(0, ANY_TAG), Receive(0, A)];
    visit(World { fault: true, ..World::new(&programs, &steps) });
}

fn explore_promising(promise: Promise, programs: &[Vec<i32>], steps: &[Step]) -> (usize, usize) {
    visit(World::promising(promise, programs, steps))
}

/// Whatever overtakes what, each message has one receive that asked for it, and no pair waits for each other.
#[test]
fn where_messages_may_overtake_each_has_its_receive_all_the_same() {
    for wild in [Receive(ANY_SOURCE, A), Receive(0, ANY_TAG), Receive(0, A)] {
        for at in 0..3 {
            let mut steps = vec![Receive(0, A), Receive(0, A), Receive(0, B)];
            steps.insert(at, wild);
            let programs = [vec![A, B, A, A]];
            let (ordered, freely) =
                (explore(&programs, &steps), explore_promising(Promise::Overtaking, &programs, &steps));
            assert!(freely.0 > ordered.0, "{freely:?} of states and direct ends, {ordered:?} in order");
        }
    }
    let programs = [vec![A, B, A], vec![A, A]];
    explore_promising(Promise::Overtaking, &programs, &[Receive(ANY_SOURCE, A), Receive(1, A), Receive(0, A)]);
    for cancelled in 0..3 {
        let steps = [Receive(0, A), Receive(0, A), Receive(0, A), Cancel(cancelled), Receive(0, A)];
        explore_promising(Promise::Overtaking, &[vec![A, A, A]], &steps);
    }
}

/// Both rules are what the promise gives up: in some interleaving messages do overtake.
#[test]
#[should_panic(expected = "overtook")]
fn where_messages_may_overtake_they_do() {
    let programs = [vec![A, A]];
    let mut world = World::promising(Promise::Overtaking, &programs, &[Receive(0, ANY_TAG), Receive(0, A)]);
    // It is judged as if nothing were promised.
    (world.promise, world.fault) = (Promise::Nothing, false);
    visit(world);
}

/// A long receive behind short ones is published, and everything goes where MPI says.
#[test]
fn where_lengths_are_exact_long_receives_pass_short_ones_in_order() {
    let (a, b) = (SHORT + A, SHORT + B);
    let wild = [Receive(ANY_SOURCE, SHORT + ANY_TAG), Receive(0, SHORT + ANY_TAG), Receive(ANY_SOURCE, b)];
    for first in wild {
        let programs = [vec![b, A, A]];
        let steps = [first, Receive(0, A), Receive(0, A)];
        let (ordered, exact) = (explore(&programs, &steps), explore_promising(Promise::ExactLength, &programs, &steps));
        assert!(exact.1 > 0, "{exact:?} of states and direct ends, {ordered:?} without the promise");
    }
    // One tuple, short and long in turns; and long ones that must stay in order.
    for (program, steps) in [
        (vec![a, A, a, A], vec![Receive(0, a), Receive(0, A), Receive(0, a), Receive(0, A)]),
        (vec![A, a, A], vec![Receive(ANY_SOURCE, A), Receive(0, a), Receive(0, A)]),
        (vec![a, A, A], vec![Receive(0, a), Receive(0, A), Cancel(1), Receive(0, A)]),
    ] {
        explore_promising(Promise::ExactLength, &[program], &steps);
    }
    let programs = [vec![A, A], vec![b]];
    explore_promising(Promise::ExactLength, &programs, &[Receive(1, SHORT + ANY_TAG), Receive(0, A), Receive(0, A)]);
}

/// The promise is what makes that right: a long message for a short receive in front is had by the receive behind.
#[test]
#[should_panic(expected = "overtook")]
fn a_message_that_is_longer_than_its_receive_goes_to_another_one() {
    let programs = [vec![A, SHORT + A]];
    let mut world = World::promising(Promise::ExactLength, &programs, &[Receive(ANY_SOURCE, SHORT + A), Receive(0, A)]);
    world.promise = Promise::Nothing;
    visit(world);
}
