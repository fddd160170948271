//! The queues that a receiver has for one sender.

use super::MOST;
use super::message::Message;
use crate::channels::Channels;
use crate::fabric::QUEUE_DEPTH;
use crate::token::Token;
use std::collections::{HashMap, VecDeque};
use tern_counters as counters;
use tern_device::queue::{GRANT, Grant, Posted, Request};
use tern_device::{Key, Recall};
use tern_hca::{ReceiveLimits, Remote, Segment, SharedReceiveQueue};

/// Tuples that are counted.
const COUNTED: usize = 1024;
/// Queues that were given up for what came another way, at least, before a tuple gets no other.
const MISSES: u32 = 4;

/// What a receiver writes to the sender's memory and reads from it, by the index of the queue.
#[derive(Clone, Debug)]
pub enum Access {
    Rest(u32, [u64; GRANT - 1]),
    Word(u32, u64),
    Read(u32),
}

struct Queue {
    key: Key,
    posted: Posted,
    card: SharedReceiveQueue,
    /// Messages that came by it, and receives that a message of the stream took out of it.
    uses: u32,
    misses: u32,
}

/// A receive in a queue.
struct Slot {
    index: u32,
    receiver: u32,
    memory: Segment,
}

#[derive(Default)]
pub struct Receiving {
    /// The words at the sender, once it has told.
    pub table: Option<Remote>,
    wanted: bool,
    /// The stream was taken so far, or farther.
    pub seen: u32,
    queues: Vec<Option<Queue>>,
    /// By index: the last epoch of a queue that was given up.
    epochs: [u32; MOST],
    slots: Vec<Option<Slot>>,
    /// How often a tuple was used that has no queue; `u32::MAX`: it gets none.
    counts: HashMap<Key, u32>,
    /// What found no room yet, in order.
    pub accesses: VecDeque<Access>,
    pub untold: Vec<Message>,
}

impl Receiving {
    /// The index of the queue of a tuple.
    pub fn place(&self, key: &Key) -> Option<u32> {
        let found = self.queues.iter().position(|queue| queue.as_ref().is_some_and(|queue| queue.key == *key));
        found.map(|at| at as u32)
    }

    /// Queues that there are.
    pub fn count(&self) -> u32 {
        self.queues.iter().flatten().count() as u32
    }

    pub fn is_full(&self) -> bool {
        self.count() as usize == MOST
    }

    /// Counts a use of a tuple that has no queue; true when it is to have one.
    pub fn is_frequent(&mut self, key: &Key, after: u32) -> bool {
        if self.counts.len() >= COUNTED && !self.counts.contains_key(key) {
            self.counts.clear();
        }
        let count = self.counts.entry(*key).or_default();
        let off = *count == u32::MAX;
        *count = count.saturating_add(1);
        !off && *count >= after
    }

    /// Of the queues that hold nothing, the one with the fewest uses, and these.
    pub fn least_used(&self) -> Option<(u32, u32)> {
        let idle = |(at, queue): (usize, &Option<Queue>)| {
            let queue = queue.as_ref().filter(|queue| queue.posted.is_idle())?;
            Some((at as u32, queue.uses))
        };
        self.queues.iter().enumerate().filter_map(idle).min_by_key(|queue| queue.1)
    }

    /// Gives up a queue that holds nothing: the sender has used all that was granted in it.
    pub fn retire(&mut self, index: u32) {
        counters::TUPLE_QUEUES_RETIRED.add(1);
        if let Some(queue) = self.queues[index as usize].take() {
            self.epochs[index as usize] = queue.posted.epoch();
        }
    }

    /// Makes a queue for a tuple, and tells the sender.
    pub fn make(&mut self, channels: &Channels, key: &Key, number: u32) -> Option<()> {
        let index = match self.queues.iter().position(Option::is_none) {
            Some(index) => index,
            None => {
                self.queues.push(None);
                self.queues.len() - 1
            }
        };
        let card = card(channels)?;
        self.tell(index as u32, key, number, &card);
        let posted = Posted::new(number, self.epochs[index]);
        self.queues[index] = Some(Queue { key: *key, posted, card, uses: 0, misses: 0 });
        self.counts.remove(key);
        Some(())
    }

    fn tell(&mut self, index: u32, key: &Key, queue: u32, card: &SharedReceiveQueue) {
        counters::TUPLE_QUEUES.add(1);
        if !std::mem::replace(&mut self.wanted, true) {
            self.untold.push(Message::Want);
        }
        let address = card.address().expect("a queue of an XRC domain");
        self.untold.push(Message::Queue { index, queue, key: *key, address });
    }

    /// Posts a receive in the queue of its tuple; its slot.
    pub fn post(&mut self, peer: u32, key: &Key, memory: Segment, receiver: u32, seen: u32) -> Option<u32> {
        let index = self.place(key)?;
        let queue = self.queues[index as usize].as_mut()?;
        let often_missed = queue.misses >= MISSES && queue.misses > queue.uses / 2;
        if !queue.posted.is_open() || often_missed {
            return None;
        }
        let token = Token::Queue { peer, value: index };
        queue.card.post_receive(token.encode(), &[memory]).ok()?;
        let free = self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len());
        let slot = Some(Slot { index, receiver, memory });
        if free == self.slots.len() {
            self.slots.push(slot)
        } else {
            self.slots[free] = slot
        }
        let grant = queue.posted.post(free as u32, u64::from(memory.len), seen);
        self.grant(index, &grant);
        Some(free as u32)
    }

    fn grant(&mut self, index: u32, grant: &Grant) {
        self.accesses.extend([Access::Rest(index, grant.rest()), Access::Word(index, grant.word())]);
    }

    fn queue(&mut self, index: u32) -> Option<&mut Queue> {
        self.queues.get_mut(index as usize)?.as_mut()
    }

    /// A message of the stream has matched the receive.
    pub fn retract(&mut self, slot: u32) {
        let Some(Slot { index, .. }) = self.slots[slot as usize].take() else { return };
        if let Some(queue) = self.queue(index) {
            queue.misses += 1;
            queue.posted.retract(slot);
        }
    }

    pub fn recall(&mut self, slot: u32) -> Recall {
        let Some(index) = self.slots[slot as usize].as_ref().map(|slot| slot.index) else { return Recall::Won };
        let Some(queue) = self.queue(index) else { return Recall::Won };
        match queue.posted.recall(slot) {
            Request::Won => {
                self.slots[slot as usize] = None;
                Recall::Won
            }
            Request::Claimed => Recall::Claimed,
            Request::Asked => Recall::Asked,
            Request::Ask(word) => {
                counters::PUBLISHED_ASKED.add(1);
                self.accesses.extend([Access::Word(index, word), Access::Read(index)]);
                Recall::Asked
            }
        }
    }

    /// The claim of a queue was read: the requests of the receives that are won.
    pub fn answer(&mut self, index: u32, word: u64) -> Vec<u32> {
        let Some(queue) = self.queue(index) else { return Vec::new() };
        if !queue.posted.answer(word) {
            self.accesses.push_back(Access::Read(index));
            return Vec::new();
        }
        let won: Vec<u32> = std::iter::from_fn(|| queue.posted.won()).collect();
        won.into_iter().filter_map(|slot| self.slots[slot as usize].take()).map(|slot| slot.receiver).collect()
    }

    /// The oldest receive of a queue is filled; its request.
    pub fn filled(&mut self, index: u32) -> Option<u32> {
        let queue = self.queue(index)?;
        queue.uses = queue.uses.saturating_add(1);
        let slot = queue.posted.filled()?;
        self.slots[slot as usize].take().map(|slot| slot.receiver)
    }

    pub fn is_over(&self, index: u32) -> bool {
        self.queues.get(index as usize).and_then(Option::as_ref).is_some_and(|queue| queue.posted.is_over())
    }

    /// Replaces the queues that hold what they should not, when the stream was taken up to `seen`; `None`: as far as was
    /// told. What is left in them is posted anew.
    pub fn renew(&mut self, channels: &Channels, peer: u32, seen: Option<u32>, number: impl Fn() -> u32) {
        self.seen = seen.unwrap_or(self.seen);
        for index in 0..self.queues.len() as u32 {
            if !self.is_over(index) {
                continue;
            }
            // Where none can be made the receives wait: messages of the stream find them.
            let Some(card) = card(channels) else { continue };
            let (queue, new) = (self.queues[index as usize].as_mut().expect("it is over"), number());
            let token = Token::Queue { peer, value: index }.encode();
            let slots = &self.slots;
            let memory = |slot: u32| slots[slot as usize].as_ref().map(|slot| slot.memory);
            let posted =
                queue.posted.receivers().filter_map(memory).all(|memory| card.post_receive(token, &[memory]).is_ok());
            debug_assert!(posted, "no more than in the queue before");
            queue.card = card.clone();
            let (key, seen) = (queue.key, self.seen);
            let grant = queue.posted.renew(new, seen);
            self.tell(index, &key, new, &card);
            if let Some(grant) = grant {
                self.grant(index, &grant);
            }
        }
    }
}

fn card(channels: &Channels) -> Option<SharedReceiveQueue> {
    let fabric = &channels.fabric;
    let limits = ReceiveLimits { depth: QUEUE_DEPTH, scatter: 1 };
    fabric.domain.xrc_receive_queue(&fabric.ways.as_ref()?.domain, &fabric.completions, &limits, 0).ok()
}
