//! Every interleaving of small worlds in which each tag has a receive queue of the card ([`tern_device::queue`]): what
//! the receiver writes and says comes late, and the card gives a message to the oldest receive of the queue that it names.

use super::world::Step::{self, *};
use super::world::{Receives, message, visit};
use super::{Receiver, Sender};
use crate::{ANY_SOURCE, ANY_TAG, Pattern, Tuple};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use tern_device::queue::{GRANT, Grant, Posted, Request, Uses};

/// What the receiver writes to the sender's memory and reads from it, in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Access {
    Rest(i32, [u64; GRANT - 1]),
    Word(i32, u64),
    Read(i32),
}

/// What the sender puts on the network, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Sent {
    Stream(usize),
    /// To that queue of the card.
    Queue(u32, usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// The sender uses what was granted, whether or not the stream was taken.
    WithoutRule2,
    /// The receiver does not read the claim of what it wants back.
    CancelUnseen,
    /// What is left is granted again in the queue that holds receives that are gone.
    SameQueue,
}

#[derive(Clone)]
struct World<'a> {
    program: &'a [i32],
    steps: &'a [Step],
    fault: Fault,
    // The sender.
    next: usize,
    numbers: Sender,
    /// By tag: the words of the grant, and the claim.
    table: BTreeMap<i32, [u64; GRANT + 1]>,
    uses: BTreeMap<i32, Uses>,
    /// It has tried a claim for its next message, to be sent to that queue.
    trying: Option<u32>,
    known: BTreeSet<u32>,
    // The network.
    accesses: VecDeque<Access>,
    answers: VecDeque<(i32, u64)>,
    /// Queues that the sender is told of.
    told: VecDeque<u32>,
    sent: VecDeque<Sent>,
    /// The card: receives by queue.
    card: BTreeMap<u32, VecDeque<u32>>,
    // The receiver.
    at: usize,
    counts: Receiver,
    queues: BTreeMap<i32, Posted>,
    next_queue: u32,
    receives: Receives,
    /// By receive: its tag, and what [`Receiver::publish`] has given.
    published: BTreeMap<usize, (i32, u8)>,
    direct: usize,
}

impl<'a> World<'a> {
    fn new(program: &'a [i32], steps: &'a [Step], fault: Fault) -> World<'a> {
        World {
            program,
            steps,
            fault,
            next: 0,
            numbers: Sender::default(),
            table: BTreeMap::new(),
            uses: BTreeMap::new(),
            trying: None,
            known: BTreeSet::new(),
            accesses: VecDeque::new(),
            answers: VecDeque::new(),
            told: VecDeque::new(),
            sent: VecDeque::new(),
            card: BTreeMap::new(),
            at: 0,
            counts: Receiver::default(),
            queues: BTreeMap::new(),
            next_queue: 0,
            receives: Receives::new(),
            published: BTreeMap::new(),
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

    /// It hears of a queue.
    fn learn(&mut self) {
        let queue = self.told.pop_front().unwrap();
        self.known.insert(queue);
    }

    fn try_queue(&mut self) {
        let tuple = self.tuple(self.next);
        let last = self.numbers.last(&tuple);
        let words = self.table.entry(tuple.tag).or_default();
        let grant = Grant::load(|at| words[at]).filter(|grant| self.known.contains(&grant.queue));
        let uses = self.uses.entry(tuple.tag).or_default();
        let claim = grant.and_then(|grant| {
            let last = if self.fault == Fault::WithoutRule2 { grant.seen } else { last };
            Some((grant.queue, uses.try_claim(&grant, last, 1)?))
        });
        match claim {
            Some((queue, word)) => {
                words[GRANT] = word;
                self.trying = Some(queue);
            }
            None => self.put(),
        }
    }

    fn confirm(&mut self, queue: u32) {
        let tag = self.program[self.next];
        let words = self.table.get_mut(&tag).unwrap();
        let (word, own) = self.uses.get_mut(&tag).unwrap().confirm(words[0]);
        words[GRANT] = word;
        self.trying = None;
        if !own {
            return self.put();
        }
        self.direct += 1;
        self.sent.push_back(Sent::Queue(queue, self.next));
        self.next += 1;
    }

    // ---- the network

    fn land(&mut self) {
        match self.accesses.pop_front().unwrap() {
            Access::Rest(tag, [first, second, third]) => {
                // In two parts.
                let words = self.table.entry(tag).or_default();
                if words[2] == second {
                    (words[1], words[3]) = (first, third);
                } else {
                    words[2] = second;
                    self.accesses.push_front(Access::Rest(tag, [first, second, third]));
                }
            }
            Access::Word(tag, word) => self.table.entry(tag).or_default()[0] = word,
            Access::Read(tag) => {
                let claim = self.table.entry(tag).or_default()[GRANT];
                self.answers.push_back((tag, claim));
            }
        }
    }

    fn arrive(&mut self) {
        match self.sent.pop_front().unwrap() {
            Sent::Stream(number) => self.take(number),
            Sent::Queue(queue, number) => {
                let receives = self.card.get_mut(&queue).expect("a queue that is gone");
                let receive = receives.pop_front().expect("a queue without a receive") as usize;
                let tag = self.program[number];
                let known = self.queues.get_mut(&tag).and_then(Posted::filled);
                assert_eq!(known, Some(receive as u32), "both know which receive it is");
                self.end(receive);
                self.receives.give(receive, message(number));
            }
        }
    }

    // ---- the receiver

    /// A receive is published no more.
    fn end(&mut self, receive: usize) {
        let (_, entry) = self.published.remove(&receive).expect("a message for a receive that is gone");
        self.counts.end(entry);
        self.receives.withdraw(receive);
    }

    fn won(&mut self, receive: usize) {
        self.end(receive);
        self.receives.cancel(receive);
    }

    fn receive(&mut self, tag: i32) {
        self.at += 1;
        let source = if tag == ANY_TAG { ANY_SOURCE } else { 0 };
        self.receives.post(Pattern { context: 0, source, tag });
    }

    /// True for a receive that is posted and not published, but may be.
    fn may_publish_now(&self, number: usize) -> bool {
        let tag = self.receives.all[number].pattern.tag;
        !self.published.contains_key(&number)
            && self.queues.get(&tag).is_none_or(Posted::is_open)
            && self.receives.may_publish(number, |_| false)
    }

    fn publish(&mut self, number: usize) {
        let tag = self.receives.all[number].pattern.tag;
        if !self.queues.contains_key(&tag) {
            let queue = self.make_queue();
            self.queues.insert(tag, Posted::new(queue, 0));
        }
        let grant = self.queues.get_mut(&tag).unwrap().post(number as u32, 1, self.counts.taken);
        self.card.get_mut(&grant.queue).unwrap().push_back(number as u32);
        self.write(tag, &grant);
        let entry = self.counts.publish(&self.receives.publish(number));
        self.published.insert(number, (tag, entry));
    }

    fn make_queue(&mut self) -> u32 {
        self.next_queue += 1;
        self.card.insert(self.next_queue, VecDeque::new());
        self.told.push_back(self.next_queue);
        self.next_queue
    }

    fn write(&mut self, tag: i32, grant: &Grant) {
        self.accesses.push_back(Access::Rest(tag, grant.rest()));
        self.accesses.push_back(Access::Word(tag, grant.word()));
    }

    fn renew(&mut self, tag: i32) {
        let old = self.next_queue;
        let queue = if self.fault == Fault::SameQueue { old } else { self.make_queue() };
        let posted = self.queues.get_mut(&tag).unwrap();
        let left: Vec<u32> = posted.receivers().collect();
        self.card.get_mut(&queue).unwrap().extend(left);
        if let Some(grant) = posted.renew(queue, self.counts.taken) {
            self.write(tag, &grant);
        }
    }

    fn take(&mut self, number: usize) {
        let tuple = self.tuple(number);
        match self.receives.matching.arrive(&tuple) {
            Some(receive) => {
                self.receives.all[receive as usize].place = None;
                if let Some((tag, _)) = self.published.get(&(receive as usize)).copied() {
                    self.queues.get_mut(&tag).unwrap().retract(receive);
                    self.end(receive as usize);
                }
                self.receives.give(receive as usize, message(number));
            }
            None => {
                self.receives.keep(tuple, message(number));
            }
        }
        let _ = self.counts.take(&tuple);
    }

    fn cancel(&mut self, number: usize) {
        self.at += 1;
        if self.receives.all[number].place.is_none() {
            return;
        }
        let Some((tag, _)) = self.published.get(&number).copied() else {
            return self.receives.cancel(number);
        };
        match self.queues.get_mut(&tag).unwrap().recall(number as u32) {
            Request::Won => self.won(number),
            Request::Claimed | Request::Asked => {}
            Request::Ask(word) => {
                self.accesses.push_back(Access::Word(tag, word));
                if self.fault == Fault::CancelUnseen {
                    self.answers.push_back((tag, 0));
                } else {
                    self.accesses.push_back(Access::Read(tag));
                }
            }
        }
    }

    fn answer(&mut self) {
        let (tag, claim) = self.answers.pop_front().unwrap();
        let posted = self.queues.get_mut(&tag).unwrap();
        if !posted.answer(claim) {
            return self.accesses.push_back(Access::Read(tag));
        }
        while let Some(receive) = self.queues.get_mut(&tag).unwrap().won() {
            self.won(receive as usize);
        }
    }
}

impl super::world::World for World<'_> {
    fn key(&self, hasher: &RandomState) -> u64 {
        let receives = self.receives.key(hasher);
        let sender = (self.next, &self.numbers, &self.table, &self.uses, self.trying, &self.known);
        let network = (&self.accesses, &self.answers, &self.told, &self.sent, &self.card);
        let receiver = (self.at, &self.counts, &self.queues, self.next_queue, receives, &self.published);
        hasher.hash_one((sender, network, receiver))
    }

    fn next(&self) -> Vec<Self> {
        let mut next = Vec::new();
        let mut then = |act: &dyn Fn(&mut Self)| next.push(self.after(act));
        if let Some(queue) = self.trying {
            then(&|world| world.confirm(queue));
        } else if self.next < self.program.len() {
            then(&|world| world.put());
            then(&|world| world.try_queue());
        }
        if !self.accesses.is_empty() {
            then(&|world| world.land());
        }
        if !self.answers.is_empty() {
            then(&|world| world.answer());
        }
        if !self.told.is_empty() {
            then(&|world| world.learn());
        }
        if !self.sent.is_empty() {
            then(&|world| world.arrive());
        }
        for (&tag, _) in self.queues.iter().filter(|(_, queue)| queue.is_over()) {
            then(&|world| world.renew(tag));
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

/// Visits every state; returns in how many of the final ones something went directly.
fn explore(program: &[i32], steps: &[Step], fault: Fault) -> usize {
    let (states, direct) = visit(World::new(program, steps, fault));
    eprintln!("{program:?} {steps:?}: {states} states, {direct} ends with direct ones");
    direct
}

const A: i32 = 1;
const B: i32 = 2;

#[test]
fn queues_keep_the_order() {
    for program in [&[A, A][..], &[A, A, A]] {
        assert!(explore(program, &[Receive(A), Receive(A)], Fault::None) > 0);
    }
    assert!(explore(&[A, A, A], &[Receive(A), Receive(A), Receive(A)], Fault::None) > 0);
    assert!(explore(&[A, B, A], &[Receive(A), Receive(B), Receive(A)], Fault::None) > 0);
}

#[test]
fn queues_and_wildcards() {
    for at in 0..3 {
        let mut steps = vec![Receive(A), Receive(A)];
        steps.insert(at, Receive(ANY_TAG));
        assert!(explore(&[A, B, A], &steps, Fault::None) > 0);
    }
}

#[test]
fn queues_and_cancelled_receives() {
    explore(&[A], &[Receive(A), Cancel(0)], Fault::None);
    explore(&[A, A], &[Receive(A), Cancel(0), Receive(A)], Fault::None);
    explore(&[A, A], &[Receive(A), Receive(A), Cancel(0)], Fault::None);
    explore(&[A, A], &[Receive(A), Receive(A), Cancel(1)], Fault::None);
    explore(&[A, A], &[Receive(A), Receive(A), Cancel(0), Cancel(1), Receive(A)], Fault::None);
    explore(&[A, A, A], &[Receive(A), Receive(A), Receive(A), Cancel(1)], Fault::None);
}

#[test]
#[should_panic]
fn without_the_second_rule_a_queue_gets_what_is_not_its() {
    explore(&[A, A], &[Receive(A), Receive(A)], Fault::WithoutRule2);
}

#[test]
#[should_panic]
fn without_a_look_at_the_claim_a_queue_fills_what_is_gone() {
    explore(&[A], &[Receive(A), Cancel(0)], Fault::CancelUnseen);
}

#[test]
#[should_panic(expected = "both know which receive it is")]
fn a_queue_that_holds_what_is_gone_serves_no_more() {
    explore(&[A, A], &[Receive(A), Receive(A)], Fault::SameQueue);
}
