//! Tuple queues by RDMA write: published receives that are filled while their owner computes.
//!
//! The receiver writes what it publishes into a table in the sender's memory; the sender writes the data of a message
//! straight into the receive, and then says so in the order of the stream. All of it goes over the one queue pair of
//! the two; but the data of long messages, if there are further ports, over these too ([`crate::ports`]). Which receive a message may have, and how one is taken back, is [`tern_device::table`]'s, which also says
//! why it holds; this module moves the words.
//!
//! A sender gives its table out when a receiver first asks for it. Until then, and while a queue is full, what is to be
//! written waits here, in order.

use crate::channels::{Channels, Posted};
use crate::copies::Copies;
use crate::page::{FAR, Page, SLOTS};
use crate::pieces;
use crate::rendezvous::Moves;
use crate::token::{Errand, Token};
use crate::tuple_message::Message;
use crate::wire::Kind;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use tern_counters as counters;
use tern_device::table::{self, Answer, ENTRY, Layout, Publications, Request};
use tern_device::{Delivery, Found, Key, Memory, Outgoing, Recall, Sink};
use tern_hca::{Data, Operation, ProtectionDomain, Remote, Status};

/// Writes of one message at most; one that needs more goes in packets.
const MOST_WRITES: usize = 64;

/// What a receiver writes to the table and reads from it.
#[derive(Clone, Debug)]
enum Access {
    Head(u64),
    Entry(u32, [u64; ENTRY]),
    Ask(u32, u64),
    Claim(u32),
}

/// This process as a receiver from one peer.
struct Published {
    publications: Publications,
    /// What found no room yet.
    accesses: VecDeque<Access>,
    /// The peer's table, once it was told.
    table: Option<Remote>,
    wanted: bool,
}

struct Pair {
    page: Page,
    /// The peer has been given the table.
    given: Cell<bool>,
    published: RefCell<Published>,
    /// What is to be told to the peer, in any order with the stream.
    untold: RefCell<Vec<Message>>,
    /// In [`Tuples::busy`].
    listed: Cell<bool>,
}

/// The tuple queues of this process with all peers.
pub struct Tuples {
    domain: ProtectionDomain,
    layout: Layout,
    copies: Rc<Copies>,
    pairs: RefCell<Vec<Option<Rc<Pair>>>>,
    /// Peers to which something is to be written or told.
    busy: RefCell<Vec<u32>>,
}

impl Tuples {
    /// `copies`: of messages that their sender need not wait for.
    pub fn new(domain: &ProtectionDomain, copies: Rc<Copies>) -> Tuples {
        Tuples {
            domain: domain.clone(),
            layout: Layout::new(SLOTS),
            copies,
            pairs: RefCell::new(Vec::new()),
            busy: RefCell::new(Vec::new()),
        }
    }

    fn pair(&self, peer: u32) -> Option<Rc<Pair>> {
        self.pairs.borrow().get(peer as usize)?.clone()
    }

    /// The same, made if need be; `None` when its memory cannot be registered.
    fn make_pair(&self, peer: u32) -> Option<Rc<Pair>> {
        if let Some(pair) = self.pair(peer) {
            return Some(pair);
        }
        let page = Page::new(&self.domain).ok()?;
        let published = Published {
            publications: Publications::new(self.layout),
            accesses: VecDeque::new(),
            table: None,
            wanted: false,
        };
        let pair = Rc::new(Pair {
            page,
            given: Cell::new(false),
            published: RefCell::new(published),
            untold: RefCell::new(Vec::new()),
            listed: Cell::new(false),
        });
        let mut pairs = self.pairs.borrow_mut();
        if pairs.len() <= peer as usize {
            pairs.resize(peer as usize + 1, None);
        }
        pairs[peer as usize] = Some(pair.clone());
        Some(pair)
    }

    /// The peer is lost: nothing of it is published any more.
    pub fn lost(&self, peer: u32) {
        if let Some(pair) = self.pairs.borrow_mut().get_mut(peer as usize) {
            *pair = None;
        }
    }

    // ---- the receiver

    /// See [`tern_device::TupleQueue::publish`].
    pub fn publish(
        &self, channels: &Channels, peer: u32, key: &Key, memory: &Memory, receiver: u32, seen: u32,
    ) -> Option<u32> {
        let pair = self.make_pair(peer)?;
        let slot = {
            let Published { publications, accesses, wanted, .. } = &mut *pair.published.borrow_mut();
            accesses.extend(publications.overdue(seen).map(Access::Head));
            let (slot, entry) = publications.publish(key, memory, receiver, seen)?;
            accesses.push_back(Access::Entry(slot, entry));
            if !std::mem::replace(wanted, true) {
                pair.untold.borrow_mut().push(Message::Want);
            }
            slot
        };
        self.flush(channels, peer, &pair);
        Some(slot)
    }

    /// See [`tern_device::TupleQueue::recall`], for a message of the stream.
    pub fn retract(&self, peer: u32, slot: u32) -> bool {
        self.pair(peer).is_none_or(|pair| pair.published.borrow_mut().publications.retract(slot))
    }

    /// See [`tern_device::TupleQueue::recall`].
    pub fn recall(&self, channels: &Channels, peer: u32, slot: u32) -> Recall {
        let Some(pair) = self.pair(peer) else { return Recall::Won };
        {
            let Published { publications, accesses, table, .. } = &mut *pair.published.borrow_mut();
            if table.is_none() {
                // The peer has not seen it.
                accesses.retain(|access| !matches!(access, Access::Entry(of, _) if *of == slot));
                publications.retract(slot);
                return Recall::Won;
            }
            match publications.recall(slot) {
                Request::Claimed => return Recall::Claimed,
                Request::Asked => return Recall::Asked,
                Request::Ask(word) => accesses.extend([Access::Ask(slot, word), Access::Claim(slot)]),
            }
        }
        counters::PUBLISHED_ASKED.add(1);
        self.flush(channels, peer, &pair);
        Recall::Asked
    }

    /// See [`tern_device::TupleQueue::recall`], for one whose message comes in packets.
    pub fn forget(&self, peer: u32, slot: u32) {
        if let Some(pair) = self.pair(peer) {
            pair.published.borrow_mut().publications.forget(slot);
        }
    }

    /// See [`tern_device::TupleQueue::raise`]. It is told with the next receive that is published, or at the end of
    /// the poll ([`Tuples::progress`]).
    pub fn raise(&self, peer: u32, seen: u32) {
        if let Some(pair) = self.pair(peer) {
            pair.published.borrow_mut().publications.raise(seen);
            self.list(peer, &pair);
        }
    }

    /// A claim has been read.
    fn read(&self, channels: &Channels, peer: u32, slot: u32, sink: &mut dyn Sink) {
        let Some(pair) = self.pair(peer) else { return };
        let answer = pair.published.borrow_mut().publications.answer(slot, pair.page.landed(slot));
        match answer {
            Answer::Again => {
                pair.published.borrow_mut().accesses.push_back(Access::Claim(slot));
                self.flush(channels, peer, &pair);
            }
            Answer::Won(receiver) => sink.retracted(receiver),
            Answer::Nothing => {}
        }
    }

    // ---- the sender

    /// See [`tern_device::TupleQueue::find_published`].
    pub fn find(&self, peer: u32, key: &Key, last: u32) -> Option<Found> {
        let pairs = self.pairs.borrow();
        let pair = pairs.get(peer as usize)?.as_ref().filter(|pair| pair.given.get())?;
        let found = table::find(self.layout, key, last, |at| pair.page.load(at))?;
        Some(Found { key: *key, last, slot: found.slot, stamp: found.entry.order.into(), receive: FAR })
    }

    /// See [`tern_device::TupleQueue::deliver`].
    ///
    /// # Safety
    /// The memory of the message can be read.
    pub unsafe fn deliver(
        &self, channels: &Channels, moves: &Moves, peer: u32, found: &Found, message: &Outgoing<'_>,
    ) -> Delivery {
        let pairs = self.pairs.borrow();
        let Some(Some(pair)) =
            pairs.get(peer as usize).filter(|pair| pair.as_ref().is_some_and(|pair| pair.given.get()))
        else {
            return Delivery::Stream;
        };
        let Some(found) = table::find_again(self.layout, found, |at| pair.page.load(at)) else {
            return Delivery::Stream;
        };
        let (source, target) = (message.source, &found.entry.target);
        let len = source.len.min(target.len);
        let own = || {
            let (at, word) = table::try_claim(self.layout, &found);
            pair.page.store(at, word);
            let (word, own) = table::confirm(self.layout, &found, |at| pair.page.load(at));
            pair.page.store(at, word);
            own
        };
        let reached = !source.is_opaque() && !target.is_opaque() && target.key != 0 && len > 0;
        let gather = channels.fabric.limits().gather as usize;
        let fits = reached && pieces::writes(source, target, len, gather, MOST_WRITES) <= MOST_WRITES;
        // SAFETY: the caller's contract.
        let copy = if fits { unsafe { self.copies.copy(source, len) } } else { None };
        let give_back = || copy.iter().for_each(|(.., place)| self.copies.give_back(*place));
        let from = match &copy {
            Some((memory, key, place)) => Some((memory, *key, Errand::Copy(*place))),
            None => channels
                .registered
                .local_key(source)
                .filter(|_| fits)
                .map(|key| (source, key, Errand::Sender(message.sender))),
        };
        // Long messages at least need not ask, where they cannot be written.
        let room =
            if from.is_some() || source.len > channels.settings.eager as u64 { channels.reserve(peer) } else { None };
        let Some(reserved) = room else {
            give_back();
            return Delivery::Stream;
        };
        if !own() {
            channels.give_up(reserved);
            give_back();
            return Delivery::Stream;
        }
        let reserved = channels.commit(peer, reserved);
        let Some((from, local, end)) = from else {
            channels.send_reserved(peer, reserved, Kind::Tuple, &Message::Claimed { slot: found.slot }.encode());
            return Delivery::Packets { receiver: found.entry.receiver, room: target.len };
        };
        let filled = Message::Filled { slot: found.slot, size: source.len };
        let direct = || {
            counters::RDMA_DIRECT.add(1);
            counters::RDMA_DIRECT_BYTES.add(len);
        };
        if copy.is_none() && moves.stripe(channels, peer, len).is_some() {
            // Stripes land in any order. The receive is the message's from now on, and filled when the last has landed.
            channels.send_reserved(peer, reserved, Kind::Tuple, &Message::Claimed { slot: found.slot }.encode());
            moves.put_for_receive(channels, peer, (from, local), target, message.sender, filled);
            direct();
            return Delivery::Pending;
        }
        pieces::each_write(from, target, 0, len, local, gather, |address, segments, last| {
            let purpose = if last { end } else { Errand::Word };
            let to = Remote { address, key: target.key as u32 };
            let token = Token::Tuple { peer, value: purpose.encode() };
            channels.post_surely(peer, token, Operation::Write(to), Data::Segments(segments), last);
            true
        });
        channels.send_reserved(peer, reserved, Kind::Tuple, &filled.encode());
        direct();
        if copy.is_none() {
            return Delivery::Pending;
        }
        counters::RDMA_DIRECT_COPIED.add(1);
        Delivery::Done
    }

    // ---- both

    /// A request of the tuple queues has ended.
    pub fn completed(&self, channels: &Channels, peer: u32, value: u32, status: Status, sink: &mut dyn Sink) {
        match Errand::decode(value) {
            Errand::Copy(place) => self.copies.give_back(place),
            // What failed is told by the loss of the peer.
            _ if status != Status::Success => {}
            Errand::Sender(request) => sink.sent(request),
            Errand::Claim(slot) => self.read(channels, peer, slot, sink),
            Errand::Word => {}
        }
    }

    /// A message of the peer, in the order of the stream.
    pub fn message(&self, channels: &Channels, peer: u32, bytes: &[u8], sink: &mut dyn Sink) {
        let (Some(message), Some(pair)) = (Message::decode(bytes), self.make_pair(peer)) else { return };
        match message {
            Message::Want => {
                pair.given.set(true);
                let (address, key) = pair.page.address();
                pair.untold.borrow_mut().push(Message::Table { address, key, slots: SLOTS as u32 });
                self.flush(channels, peer, &pair);
            }
            Message::Table { address, key, slots } => {
                if slots == SLOTS as u32 {
                    pair.published.borrow_mut().table = Some(Remote { address, key });
                    self.flush(channels, peer, &pair);
                }
            }
            Message::Filled { slot, size } => {
                self.pass_over(&pair, slot, sink);
                let receiver = pair.published.borrow_mut().publications.filled(slot);
                sink.delivered(receiver, size);
            }
            Message::Claimed { slot } => {
                self.pass_over(&pair, slot, sink);
                pair.published.borrow_mut().publications.claimed(slot);
            }
        }
    }

    /// What the sender has passed over to claim `slot` is its owner's again.
    fn pass_over(&self, pair: &Pair, slot: u32, sink: &mut dyn Sink) {
        loop {
            // Not borrowed while the sink runs.
            let passed = pair.published.borrow_mut().publications.passed_over(slot);
            let Some(receiver) = passed else { return };
            sink.retracted(receiver);
        }
    }

    /// Tells a peer, as soon as there is room.
    pub fn tell(&self, channels: &Channels, peer: u32, message: Message) {
        if let Some(pair) = self.pair(peer) {
            pair.untold.borrow_mut().push(message);
            self.flush(channels, peer, &pair);
        }
    }

    fn list(&self, peer: u32, pair: &Pair) {
        if !pair.listed.replace(true) {
            self.busy.borrow_mut().push(peer);
        }
    }

    /// Writes and tells what waits. To be called when a poll has handed on all that has come.
    #[inline]
    pub fn progress(&self, channels: &Channels) {
        if !self.busy.borrow().is_empty() {
            self.flush_all(channels);
        }
    }

    #[cold]
    fn flush_all(&self, channels: &Channels) {
        let busy = self.busy.take();
        for peer in busy {
            if let Some(pair) = self.pair(peer) {
                pair.listed.set(false);
                let head = pair.published.borrow_mut().publications.head();
                pair.published.borrow_mut().accesses.extend(head.map(Access::Head));
                self.flush(channels, peer, &pair);
            }
        }
    }

    fn flush(&self, channels: &Channels, peer: u32, pair: &Pair) {
        pair.untold.borrow_mut().retain(|message| !channels.send_message(peer, Kind::Tuple, &message.encode()));
        let waits = {
            let Published { accesses, table, .. } = &mut *pair.published.borrow_mut();
            while let (Some(table), Some(access)) = (*table, accesses.front())
                && self.post(channels, peer, pair, table, access)
            {
                accesses.pop_front();
            }
            table.is_some() && !accesses.is_empty()
        };
        if waits || !pair.untold.borrow().is_empty() {
            self.list(peer, pair);
        }
    }

    /// Posts an access; false: there is no room now.
    fn post(&self, channels: &Channels, peer: u32, pair: &Pair, table: Remote, access: &Access) -> bool {
        let at = |word: usize| Remote { address: table.address + 8 * word as u64, ..table };
        let write = |word: usize, words: &[u64]| {
            let mut bytes = [0; 8 * ENTRY];
            for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
                to.copy_from_slice(&word.to_ne_bytes());
            }
            let token = Token::Tuple { peer, value: Errand::Word.encode() };
            channels.post(peer, token, Operation::Write(at(word)), Data::Inline(&[&bytes[..8 * words.len()]]), false)
        };
        let posted = match access {
            Access::Head(word) => write(self.layout.head(), &[*word]),
            Access::Entry(slot, words) => write(self.layout.entry(*slot), words),
            Access::Ask(slot, word) => write(self.layout.ask(*slot), &[*word]),
            Access::Claim(slot) => {
                let token = Token::Tuple { peer, value: Errand::Claim(*slot).encode() };
                let claim = Operation::Read(at(self.layout.claim(*slot)));
                channels.post(peer, token, claim, Data::Segments(&[pair.page.landing_segment(*slot)]), true)
            }
        };
        posted != Posted::Busy
    }
}
