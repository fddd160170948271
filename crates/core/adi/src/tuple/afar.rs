//! Every interleaving of small worlds in which the sender sees late what its receiver has published: a table that is
//! written from afar ([`tern_device::table`]), between two ordered channels. A sender is stopped between any two words
//! that it reads, and between the halves of a claim; entries land in two parts.

use super::world::Step::{self, *};
use super::world::{Receives, message, visit};
use super::{Receiver, Sender};
use crate::{ANY_SOURCE, ANY_TAG, Pattern, Tuple};
use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use tern_device::table::{self, Answer, Candidate, ENTRY, Layout, Publications, Request, Search};
use tern_device::{Key, Memory};

/// What the receiver writes to the sender's table and reads from it, in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Access {
    Write(usize, u64),
    Entry(u32, [u64; ENTRY]),
    /// The rest of an entry of which something has landed.
    Rest(u32, [u64; ENTRY]),
    Read(u32),
}

/// What the sender puts on the network, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Sent {
    Stream(usize),
    /// The bytes of a message, for the receive of that number.
    Data(usize, u32),
    Filled(u32),
    /// The receive in that slot is claimed for packets of that message, which follow when they please.
    Claimed(u32, usize),
}

/// What the sender is about to do with its next message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Doing {
    Nothing,
    Searching(Search),
    Claiming(Candidate),
}

/// What the explorer does wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// The sender uses whatever is the oldest, whether or not the stream was taken.
    WithoutRule2,
    /// The receiver does not read the claim of what it wants back.
    CancelUnseen,
    /// News that a younger receive was filled tell nothing of an older one.
    PassOverUnseen,
}

#[derive(Clone)]
struct World<'a> {
    program: &'a [i32],
    steps: &'a [Step],
    fault: Fault,
    layout: Layout,
    // The sender.
    next: usize,
    doing: Doing,
    numbers: Sender,
    table: Vec<u64>,
    /// Messages that go in packets to slots that were claimed for them.
    packets: Vec<(u32, usize)>,
    // The network.
    accesses: VecDeque<Access>,
    answers: VecDeque<(u32, u64)>,
    sent: VecDeque<Sent>,
    // The receiver.
    at: usize,
    counts: Receiver,
    publications: Publications,
    due: bool,
    receives: Receives,
    /// By receive: its slot and what [`Receiver::publish`] has given.
    slots: BTreeMap<usize, (u32, u8)>,
    direct: usize,
}

impl<'a> World<'a> {
    fn new(program: &'a [i32], steps: &'a [Step], slots: usize, fault: Fault) -> World<'a> {
        let layout = Layout::new(slots);
        World {
            program,
            steps,
            fault,
            layout,
            next: 0,
            doing: Doing::Nothing,
            numbers: Sender::default(),
            table: vec![0; layout.words()],
            packets: Vec::new(),
            accesses: VecDeque::new(),
            answers: VecDeque::new(),
            sent: VecDeque::new(),
            at: 0,
            counts: Receiver::default(),
            publications: Publications::new(layout),
            due: false,
            receives: Receives::new(),
            slots: BTreeMap::new(),
            direct: 0,
        }
    }

    fn tuple(&self, number: usize) -> Tuple {
        Tuple { context: 0, source: 0, tag: self.program[number] }
    }

    // ---- the sender

    fn put(&mut self) {
        self.numbers.put(&self.tuple(self.next));
        self.sent.push_back(Sent::Stream(self.next));
        self.next += 1;
    }

    fn search(&mut self) {
        let tuple = self.tuple(self.next);
        let last = if self.fault == Fault::WithoutRule2 { 0 } else { self.numbers.last(&tuple) };
        let key = Key { context: 0, source: 0, tag: tuple.tag };
        self.doing = Doing::Searching(Search::new(self.layout, &key, last));
    }

    fn look(&mut self, mut search: Search) {
        self.doing = match search.step(|at| self.table[at]) {
            None => Doing::Searching(search),
            Some(None) => {
                self.put();
                Doing::Nothing
            }
            Some(Some(found)) => {
                let (at, word) = table::try_claim(self.layout, &found);
                self.table[at] = word;
                Doing::Claiming(found)
            }
        };
    }

    fn confirm(&mut self, found: &Candidate, packets: bool) {
        let (word, own) = table::confirm(self.layout, found, |at| self.table[at]);
        self.table[self.layout.claim(found.slot)] = word;
        self.doing = Doing::Nothing;
        if !own {
            return self.put();
        }
        self.direct += 1;
        if packets {
            self.sent.push_back(Sent::Claimed(found.slot, self.next));
            self.packets.push((found.slot, self.next));
        } else {
            self.sent.push_back(Sent::Data(self.next, found.entry.receiver));
            self.sent.push_back(Sent::Filled(found.slot));
        }
        self.next += 1;
    }

    fn send_packets(&mut self, at: usize) {
        let (slot, _) = self.packets.remove(at);
        self.sent.push_back(Sent::Filled(slot));
    }

    // ---- the network

    fn land(&mut self) {
        match self.accesses.pop_front().unwrap() {
            Access::Write(at, word) => self.table[at] = word,
            Access::Entry(slot, words) => {
                // The numbers and the check, but not the key.
                let at = self.layout.entry(slot);
                self.table[at + 2..at + ENTRY].copy_from_slice(&words[2..]);
                self.accesses.push_front(Access::Rest(slot, words));
            }
            Access::Rest(slot, words) => {
                let at = self.layout.entry(slot);
                self.table[at..at + ENTRY].copy_from_slice(&words);
            }
            Access::Read(slot) => self.answers.push_back((slot, self.table[self.layout.claim(slot)])),
        }
    }

    fn arrive(&mut self) {
        match self.sent.pop_front().unwrap() {
            Sent::Stream(number) => self.take(number),
            Sent::Data(number, receive) => self.receives.give(receive as usize, message(number)),
            Sent::Filled(slot) => {
                self.pass_over(slot);
                let receive = self.publications.filled(slot) as usize;
                self.end(receive);
            }
            Sent::Claimed(slot, number) => {
                self.pass_over(slot);
                self.publications.claimed(slot);
                let receive = self.slots.iter().find(|(_, at)| at.0 == slot).map(|(receive, _)| *receive);
                self.receives.give(receive.expect("a message for a receive that is gone"), message(number));
            }
        }
    }

    // ---- the receiver

    /// A receive is published no more.
    fn end(&mut self, receive: usize) {
        let (_, entry) = self.slots.remove(&receive).expect("a message for a receive that is gone");
        self.counts.end(entry);
        self.receives.withdraw(receive);
    }

    fn won(&mut self, receive: usize) {
        self.end(receive);
        self.receives.cancel(receive);
    }

    fn pass_over(&mut self, slot: u32) {
        if self.fault == Fault::PassOverUnseen {
            return;
        }
        while let Some(receive) = self.publications.passed_over(slot) {
            self.won(receive as usize);
        }
    }

    fn receive(&mut self, tag: i32) {
        self.at += 1;
        let source = if tag == ANY_TAG { ANY_SOURCE } else { 0 };
        self.receives.post(Pattern { context: 0, source, tag });
    }

    /// True for a receive that is posted and not published, but may be.
    fn may_publish_now(&self, number: usize) -> bool {
        !self.slots.contains_key(&number)
            && self.publications.has_room()
            && self.receives.may_publish(number, |_| false)
    }

    fn publish(&mut self, number: usize) {
        let key = Key { context: 0, source: 0, tag: self.receives.all[number].pattern.tag };
        let seen = self.counts.taken;
        if let Some(head) = self.publications.overdue(seen) {
            self.accesses.push_back(Access::Write(self.layout.head(), head));
        }
        if let Some((slot, words)) = self.publications.publish(&key, &Memory::opaque(1), number as u32, seen) {
            self.accesses.push_back(Access::Entry(slot, words));
            let entry = self.counts.publish(&self.receives.publish(number));
            self.slots.insert(number, (slot, entry));
        }
    }

    /// A message of the stream has matched a receive; false when the sender had claimed it before.
    fn win_back(&mut self, receive: usize) -> bool {
        self.receives.all[receive].place = None;
        let Some((slot, _)) = self.slots.get(&receive) else { return true };
        let won = self.publications.retract(*slot);
        if won {
            self.end(receive);
        }
        won
    }

    fn take(&mut self, number: usize) {
        let tuple = self.tuple(number);
        let mut found = self.receives.matching.arrive(&tuple);
        while let Some(receive) = found
            && !self.win_back(receive as usize)
        {
            // The news of the claim came before this message: its packets are on their way.
            assert!(self.receives.all[receive as usize].got.is_some(), "a claim that nobody knows of");
            found = self.receives.matching.arrive(&tuple);
        }
        match found {
            Some(receive) => self.receives.give(receive as usize, message(number)),
            None => {
                self.receives.keep(tuple, message(number));
            }
        }
        if let Some(seen) = self.counts.take(&tuple) {
            self.publications.raise(seen);
            self.due = true;
        }
    }

    fn tell(&mut self) {
        self.due = false;
        if let Some(head) = self.publications.head() {
            self.accesses.push_back(Access::Write(self.layout.head(), head));
        }
    }

    fn cancel(&mut self, number: usize) {
        self.at += 1;
        if self.receives.all[number].place.is_none() {
            return;
        }
        let Some((slot, _)) = self.slots.get(&number).copied() else {
            return self.receives.cancel(number);
        };
        match self.publications.recall(slot) {
            Request::Claimed | Request::Asked => {}
            Request::Ask(word) => {
                self.accesses.push_back(Access::Write(self.layout.ask(slot), word));
                self.accesses.push_back(Access::Read(slot));
            }
        }
        if self.fault == Fault::CancelUnseen {
            self.accesses.pop_back();
            self.answers.push_back((slot, 0));
        }
    }

    fn answer(&mut self) {
        let (slot, claim) = self.answers.pop_front().unwrap();
        match self.publications.answer(slot, claim) {
            Answer::Again => self.accesses.push_back(Access::Read(slot)),
            Answer::Won(receive) => self.won(receive as usize),
            Answer::Nothing => {}
        }
    }
}

impl super::world::World for World<'_> {
    fn key(&self, hasher: &RandomState) -> u64 {
        let receives = self.receives.key(hasher);
        let sender = (self.next, &self.doing, &self.numbers, &self.table, &self.packets);
        let network = (&self.accesses, &self.answers, &self.sent);
        let receiver = (self.at, &self.counts, &self.publications, self.due, receives, &self.slots);
        hasher.hash_one((sender, network, receiver))
    }

    fn next(&self) -> Vec<Self> {
        let mut next = Vec::new();
        let mut then = |act: &dyn Fn(&mut Self)| next.push(self.after(act));
        match &self.doing {
            Doing::Nothing if self.next < self.program.len() => {
                then(&|world| world.put());
                then(&|world| world.search());
            }
            Doing::Nothing => {}
            Doing::Searching(search) => then(&|world| world.look(search.clone())),
            Doing::Claiming(found) => {
                for packets in [false, true] {
                    then(&|world| world.confirm(found, packets));
                }
            }
        }
        for at in 0..self.packets.len() {
            then(&|world| world.send_packets(at));
        }
        if !self.accesses.is_empty() {
            then(&|world| world.land());
        }
        if !self.answers.is_empty() {
            then(&|world| world.answer());
        }
        if !self.sent.is_empty() {
            then(&|world| world.arrive());
        }
        if self.due {
            then(&|world| world.tell());
        }
        match self.steps.get(self.at) {
            Some(&Receive(tag)) => then(&|world| world.receive(tag)),
            Some(&Cancel(number)) => then(&|world| world.cancel(number)),
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
        self.receives.judge_sender(self.program, self.steps);
        self.direct > 0
    }
}

/// Visits every state; returns how many, and in how many of the final ones something went directly.
fn explore(program: &[i32], steps: &[Step], slots: usize) -> (usize, usize) {
    explore_with(program, steps, slots, Fault::None)
}

fn explore_with(program: &[i32], steps: &[Step], slots: usize, fault: Fault) -> (usize, usize) {
    let (states, direct) = visit(World::new(program, steps, slots, fault));
    eprintln!("{program:?} {steps:?} in {slots} slots: {states} states, {direct} ends direct");
    (states, direct)
}

const A: i32 = 1;
const B: i32 = 2;

#[test]
fn one_tag_and_slots_that_are_used_again() {
    for slots in [1, 2] {
        let (states, direct) = explore(&[A, A], &[Receive(A), Receive(A)], slots);
        assert!(states > 100 && direct > 0);
        explore(&[A, A, A], &[Receive(A), Receive(A)], slots);
    }
    explore(&[A, A], &[Receive(A), Receive(A), Receive(A)], 2);
    explore(&[A, A, A], &[Receive(A), Receive(A), Receive(A)], 2);
}

#[test]
fn two_tags() {
    for program in [[A, B], [B, A], [A, A]] {
        let (_, direct) = explore(&program, &[Receive(A), Receive(B), Receive(A)], 2);
        assert!(direct > 0);
    }
    explore(&[A, B, A], &[Receive(A), Receive(B), Receive(A)], 2);
    explore(&[A, B, A], &[Receive(A), Receive(B), Receive(A)], 3);
}

#[test]
fn wildcards() {
    for at in 0..3 {
        let mut steps = vec![Receive(A), Receive(A)];
        steps.insert(at, Receive(ANY_TAG));
        explore(&[A, B, A], &steps, 2);
    }
}

#[test]
fn cancelled_receives() {
    explore(&[A], &[Receive(A), Cancel(0)], 1);
    explore(&[A, A], &[Receive(A), Cancel(0), Receive(A)], 1);
    explore(&[A, A], &[Receive(A), Receive(A), Cancel(0)], 2);
    explore(&[A, A], &[Receive(A), Receive(A), Cancel(1)], 2);
    explore(&[A, A], &[Receive(A), Cancel(0), Receive(A), Cancel(1)], 2);
    explore(&[A, A], &[Receive(A), Receive(A), Cancel(0), Receive(A)], 2);
    explore(&[A, B], &[Receive(A), Receive(B), Cancel(0), Receive(A)], 2);
    explore(&[A, B, A], &[Receive(A), Receive(A), Receive(ANY_TAG), Cancel(0), Receive(A)], 3);
}

#[test]
#[should_panic(expected = "a message for a receive that is gone")]
fn without_the_second_rule_one_receive_gets_two_messages() {
    explore_with(&[A, A], &[Receive(A), Receive(A)], 2, Fault::WithoutRule2);
}

#[test]
#[should_panic(expected = "a message for a receive that is gone")]
fn without_a_look_at_the_claim_a_cancelled_receive_is_filled() {
    explore_with(&[A], &[Receive(A), Cancel(0)], 1, Fault::CancelUnseen);
}

#[test]
#[should_panic(expected = "overtook")]
fn what_was_passed_over_must_not_get_a_later_message() {
    explore_with(&[A, A], &[Receive(A), Receive(A), Cancel(0)], 2, Fault::PassOverUnseen);
}
