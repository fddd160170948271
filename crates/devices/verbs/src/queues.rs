//! Tuple queues in the form of the paper: a shared receive queue of the card for each matching tuple, over XRC.
//!
//! The receiver makes a queue for a tuple that is used often, tells the sender its address once, and posts the program's
//! buffers there. The sender sends to the queue, and the card puts the message where it belongs: no copy, and no message
//! beside it. What may be sent, and what becomes of a receive that goes another way, is [`tern_device::queue`]'s.
//!
//! A message to a queue has a number of the channel, like every packet, as immediate data: so it is counted in
//! order with packets that come by rings.

mod message;
mod receiver;

use crate::channels::{Channels, Posted as Sent};
use crate::copies::Copies;
use crate::page::{FAR, Page};
use crate::token::{Errand, READ, Token};
use crate::wire::Kind;
use message::Message;
use receiver::{Access, Receiving};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use tern_counters as counters;
use tern_device::queue::{GRANT, Grant, Uses};
use tern_device::{Delivery, Found, Key, Memory, Outgoing, Recall, Sink};
use tern_hca::{Data, Operation, Remote, Segment, Status};

/// Queues of one pair at most.
const MOST: usize = 32;
/// Words of a queue in its sender's memory: the grant and the claim.
const WORDS: usize = GRANT + 1;
/// Segments of a message at most.
const GATHER: usize = 16;

/// A queue of the peer that this process sends to.
struct Target {
    index: u32,
    /// Which one, as grants name it, and as requests do.
    queue: u32,
    number: u32,
    uses: Uses,
}

impl Target {
    /// What its owner has granted, in this process's page, if that is of the same queue of the card.
    fn grant(&self, page: &Page) -> Option<Grant> {
        let load = |word: usize| page.load(self.index as usize * WORDS + word);
        Grant::load(load).filter(|grant| grant.queue == self.queue)
    }
}

/// What this process has with one peer.
struct Pair {
    page: Page,
    /// The peer has been given the memory for its grants.
    given: Cell<bool>,
    targets: RefCell<HashMap<Key, Target>>,
    receiving: RefCell<Receiving>,
    listed: Cell<bool>,
}

/// The queues of this process, of all tuples.
pub struct Queues {
    copies: Rc<Copies>,
    pairs: RefCell<Vec<Option<Rc<Pair>>>>,
    /// Peers to which something is to be written or told.
    busy: RefCell<Vec<u32>>,
    /// Queues that there are, and the number of the next.
    count: Cell<u32>,
    next: Cell<u32>,
}

impl Queues {
    /// `copies`: of messages that their sender need not wait for.
    pub fn new(copies: Rc<Copies>) -> Queues {
        Queues { copies, pairs: RefCell::default(), busy: RefCell::default(), count: Cell::new(0), next: Cell::new(0) }
    }

    fn pair(&self, peer: u32) -> Option<Rc<Pair>> {
        self.pairs.borrow().get(peer as usize)?.clone()
    }

    fn make_pair(&self, channels: &Channels, peer: u32) -> Option<Rc<Pair>> {
        if let Some(pair) = self.pair(peer) {
            return Some(pair);
        }
        let pair = Rc::new(Pair {
            page: Page::new(&channels.fabric.domain).ok()?,
            given: Cell::new(false),
            targets: RefCell::default(),
            receiving: RefCell::default(),
            listed: Cell::new(false),
        });
        let mut pairs = self.pairs.borrow_mut();
        if pairs.len() <= peer as usize {
            pairs.resize(peer as usize + 1, None);
        }
        pairs[peer as usize] = Some(pair.clone());
        Some(pair)
    }

    /// The peer is lost: nothing of it is in a queue any more.
    pub fn lost(&self, peer: u32) {
        let pair = self.pairs.borrow_mut().get_mut(peer as usize).and_then(Option::take);
        if let Some(pair) = pair {
            self.count.set(self.count.get() - pair.receiving.borrow().count());
        }
    }

    // ---- the receiver

    /// See [`tern_device::TupleQueue::publish`].
    pub fn publish(
        &self, channels: &Channels, peer: u32, key: &Key, memory: &Memory, receiver: u32, seen: u32,
    ) -> Option<u32> {
        let local = channels.registered.local_key(memory).filter(|_| memory.is_dense() && memory.len > 0)?;
        let segment = Segment { address: memory.address, len: memory.len.try_into().ok()?, key: local };
        let pair = self.make_pair(channels, peer)?;
        let slot = {
            let receiving = &mut *pair.receiving.borrow_mut();
            if receiving.place(key).is_none() {
                if !receiving.is_frequent(key, channels.settings.queue_after) {
                    return None;
                }
                self.make_room(channels, receiving)?;
                receiving.make(channels, key, self.number())?;
                self.count.set(self.count.get() + 1);
            }
            receiving.renew(channels, peer, Some(seen), || self.number());
            receiving.post(peer, key, segment, receiver, seen)
        };
        self.flush(channels, peer, &pair);
        slot
    }

    fn number(&self) -> u32 {
        self.next.set(self.next.get().wrapping_add(1));
        self.next.get()
    }

    /// Room for another queue, if need be in the place of the one that is used least.
    fn make_room(&self, channels: &Channels, own: &mut Receiving) -> Option<()> {
        if own.is_full() {
            own.retire(own.least_used()?.0);
            self.count.set(self.count.get() - 1);
        }
        if self.count.get() < channels.settings.queues {
            return Some(());
        }
        let mut least = own.least_used().map(|(at, uses)| (uses, None, at));
        let pairs = self.pairs.borrow();
        for pair in pairs.iter().flatten() {
            // Not the caller's, which is borrowed.
            let Ok(other) = pair.receiving.try_borrow() else { continue };
            if let Some((at, uses)) = other.least_used()
                && least.as_ref().is_none_or(|&(fewest, ..)| uses < fewest)
            {
                least = Some((uses, Some(pair), at));
            }
        }
        match least? {
            (_, None, at) => own.retire(at),
            (_, Some(pair), at) => pair.receiving.borrow_mut().retire(at),
        }
        self.count.set(self.count.get() - 1);
        Some(())
    }

    /// See [`tern_device::TupleQueue::recall`], for a message of the stream.
    pub fn retract(&self, peer: u32, slot: u32) {
        if let Some(pair) = self.pair(peer) {
            pair.receiving.borrow_mut().retract(slot);
            self.list(peer, &pair);
        }
    }

    /// See [`tern_device::TupleQueue::recall`].
    pub fn recall(&self, channels: &Channels, peer: u32, slot: u32) -> Recall {
        let Some(pair) = self.pair(peer) else { return Recall::Won };
        let recall = pair.receiving.borrow_mut().recall(slot);
        self.flush(channels, peer, &pair);
        recall
    }

    /// See [`tern_device::TupleQueue::raise`].
    pub fn raise(&self, peer: u32, seen: u32) {
        if let Some(pair) = self.pair(peer) {
            pair.receiving.borrow_mut().seen = seen;
        }
    }

    /// The claim of a queue was read.
    fn read(&self, channels: &Channels, peer: u32, index: u32, sink: &mut dyn Sink) {
        let Some(pair) = self.pair(peer) else { return };
        let word = pair.page.landed(index);
        let won = pair.receiving.borrow_mut().answer(index, word);
        // Not borrowed while the sink runs.
        won.into_iter().for_each(|receiver| sink.retracted(receiver));
        self.flush(channels, peer, &pair);
        self.list(peer, &pair);
    }

    // ---- the sender

    /// See [`tern_device::TupleQueue::find_published`].
    pub fn find(&self, peer: u32, key: &Key, last: u32, len: u64) -> Option<Found> {
        let pair = self.pair(peer)?;
        let targets = pair.targets.borrow();
        let target = targets.get(key)?;
        let grant = target.grant(&pair.page).filter(|grant| target.uses.may_claim(grant, last, len))?;
        Some(Found { key: *key, last, slot: target.index, stamp: grant.queue.into(), receive: FAR })
    }

    /// See [`tern_device::TupleQueue::deliver`].
    ///
    /// # Safety
    /// The memory of the message can be read.
    pub unsafe fn deliver(&self, channels: &Channels, peer: u32, found: &Found, message: &Outgoing<'_>) -> Delivery {
        let Some(pair) = self.pair(peer) else { return Delivery::Stream };
        let mut targets = pair.targets.borrow_mut();
        let (Some(target), Some(channel)) = (targets.get_mut(&found.key), channels.known(peer)) else {
            return Delivery::Stream;
        };
        let grant = target.grant(&pair.page).filter(|grant| u64::from(grant.queue) == found.stamp);
        let Some(grant) = grant else { return Delivery::Stream };
        let source = message.source;
        let gather = GATHER.min(channels.fabric.limits().gather as usize) as u64;
        let fits = !source.is_opaque() && source.len > 0 && source.len.div_ceil(source.block) <= gather;
        // SAFETY: the caller's contract.
        let copy = if source.is_opaque() { None } else { unsafe { self.copies.copy(source, source.len) } };
        let from = match &copy {
            Some((memory, key, place)) => Some((memory, *key, Errand::Copy(*place))),
            None => channels
                .registered
                .local_key(source)
                .filter(|_| fits)
                .map(|key| (source, key, Errand::Sender(message.sender))),
        };
        let own = from.is_some() && !channel.lost.get() && {
            let claim = GRANT + target.index as usize * WORDS;
            target.uses.try_claim(&grant, found.last, source.len).is_some_and(|word| {
                pair.page.store(claim, word);
                let (word, own) = target.uses.confirm(pair.page.load(target.index as usize * WORDS));
                pair.page.store(claim, word);
                own
            })
        };
        let (Some((from, local, purpose)), true) = (from, own) else {
            copy.iter().for_each(|(.., place)| self.copies.give_back(*place));
            return Delivery::Stream;
        };
        let mut segments = [Segment { address: 0, len: 0, key: local }; GATHER];
        let blocks = from.len.div_ceil(from.block) as usize;
        for (at, segment) in segments[..blocks].iter_mut().enumerate() {
            let done = at as u64 * from.block;
            segment.address = from.address.wrapping_add_signed(at as i64 * from.stride);
            segment.len = from.block.min(from.len - done) as u32;
        }
        let token = Token::Tuple { peer, value: purpose.encode() };
        let number = target.number;
        drop(targets);
        // What was claimed is sent: it waits for room, which takes no more than the network.
        while channels.post_to_queue(channel, number, token, &segments[..blocks]) == Sent::Busy {
            channels.pump();
        }
        counters::RDMA_DIRECT.add(1);
        counters::RDMA_DIRECT_BYTES.add(source.len);
        if copy.is_none() {
            return Delivery::Pending;
        }
        counters::RDMA_DIRECT_COPIED.add(1);
        Delivery::Done
    }

    // ---- both

    /// A message has come to queue `index`, or its claim was read.
    pub fn completed(&self, channels: &Channels, peer: u32, value: u32, status: Status, len: u32, sink: &mut dyn Sink) {
        if status != Status::Success {
            return;
        }
        if value & READ != 0 {
            return self.read(channels, peer, value & !READ, sink);
        }
        let Some(pair) = self.pair(peer) else { return };
        let receiver = pair.receiving.borrow_mut().filled(value);
        if let Some(receiver) = receiver {
            sink.delivered(receiver, u64::from(len));
        }
        if pair.receiving.borrow().is_over(value) {
            self.list(peer, &pair);
        }
    }

    /// A message of the peer, in the order of the stream.
    pub fn message(&self, channels: &Channels, peer: u32, bytes: &[u8]) {
        let (Some(message), Some(pair)) = (Message::decode(bytes), self.make_pair(channels, peer)) else { return };
        match message {
            Message::Want => {
                let (address, key) = pair.page.address();
                pair.given.set(true);
                pair.receiving.borrow_mut().untold.push(Message::Table { address, key });
            }
            Message::Table { address, key } => pair.receiving.borrow_mut().table = Some(Remote { address, key }),
            Message::Queue { index, queue, key, address } => {
                let reached = channels.known(peer).and_then(|channel| channel.pair.reach(&address).ok());
                let mut targets = pair.targets.borrow_mut();
                targets.retain(|_, target| target.index != index);
                if let Some(number) = reached.filter(|_| (index as usize) < MOST) {
                    targets.insert(key, Target { index, queue, number, uses: Uses::default() });
                }
            }
        }
        self.flush(channels, peer, &pair);
    }

    fn list(&self, peer: u32, pair: &Pair) {
        if !pair.listed.replace(true) {
            self.busy.borrow_mut().push(peer);
        }
    }

    /// Writes and tells what waits, and replaces queues. To be called when a poll has handed on all that has come.
    #[inline]
    pub fn progress(&self, channels: &Channels) {
        if !self.busy.borrow().is_empty() {
            self.flush_all(channels);
        }
    }

    #[cold]
    fn flush_all(&self, channels: &Channels) {
        for peer in self.busy.take() {
            if let Some(pair) = self.pair(peer) {
                pair.listed.set(false);
                pair.receiving.borrow_mut().renew(channels, peer, None, || self.number());
                self.flush(channels, peer, &pair);
            }
        }
    }

    fn flush(&self, channels: &Channels, peer: u32, pair: &Pair) {
        let receiving = &mut *pair.receiving.borrow_mut();
        // In order: a queue is known before something is granted in it.
        let told = receiving
            .untold
            .iter()
            .take_while(|message| channels.send_message(peer, Kind::Queue, &message.encode()))
            .count();
        receiving.untold.drain(..told);
        if receiving.untold.is_empty()
            && let Some(table) = receiving.table
        {
            while let Some(access) = receiving.accesses.front()
                && self.post(channels, peer, pair, table, access)
            {
                receiving.accesses.pop_front();
            }
        }
        let waits = receiving.table.is_some() && !receiving.accesses.is_empty();
        if waits || !receiving.untold.is_empty() {
            self.list(peer, pair);
        }
    }

    /// Posts an access; false: there is no room now.
    fn post(&self, channels: &Channels, peer: u32, pair: &Pair, table: Remote, access: &Access) -> bool {
        let at = |index: u32, word: usize| {
            let word = index as usize * WORDS + word;
            Remote { address: table.address + 8 * word as u64, ..table }
        };
        let write = |to: Remote, words: &[u64]| {
            let mut bytes = [0; 8 * GRANT];
            for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
                to.copy_from_slice(&word.to_ne_bytes());
            }
            let token = Token::Tuple { peer, value: Errand::Word.encode() };
            channels.post(peer, token, Operation::Write(to), Data::Inline(&[&bytes[..8 * words.len()]]), true)
        };
        let posted = match access {
            Access::Rest(index, words) => write(at(*index, 1), words),
            Access::Word(index, word) => write(at(*index, 0), &[*word]),
            Access::Read(index) => {
                let token = Token::Queue { peer, value: *index | READ };
                let data = [pair.page.landing_segment(*index)];
                channels.post(peer, token, Operation::Read(at(*index, GRANT)), Data::Segments(&data), true)
            }
        };
        posted != Sent::Busy
    }
}
