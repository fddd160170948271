//! Tuple queues by RDMA write: published receives that are filled while their owner computes.
//!
//! The receiver writes what it publishes into a table in the sender's memory; the sender writes the data of a message
//! straight into the receive, and then says so in the order of the stream. All of it goes over the one queue pair of
//! the two. Which receive a message may have, and how one is taken back, is [`tern_device::table`]'s, which also says
//! why it holds; this module moves the words.
//!
//! A sender gives its table out when a receiver first asks for it. Until then, and while a queue is full, what is to be
//! written waits here, in order.

mod copies;
mod message;
mod page;
mod pieces;

use copies::Copies;
use message::Message;
use page::{Page, SLOTS};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use tern_counters as counters;
use tern_device::table::{self, Answer, ENTRY, Layout, Publications, Request};
use tern_device::{Delivery, Key, Memory, Outgoing, Recall, Sink};
use tern_hca::{ProtectionDomain, Remote, Segment};

/// Writes of one message at most; one that needs more goes in packets.
const MOST_WRITES: usize = 64;

/// What the tuple queues need of the connection to a peer. All of it goes over one queue pair, in order. What says
/// false has found no room, and done nothing.
pub trait Line {
    /// Writes words to memory of the peer.
    fn write_words(&self, peer: u32, words: &[u64], to: Remote) -> bool;

    /// Reads a word of the peer's memory; [`Tuples::read`] is told of the end.
    fn read_word(&self, peer: u32, from: Remote, into: Segment, slot: u32) -> bool;

    /// True when so many requests and a message have room.
    fn has_room(&self, peer: u32, requests: usize) -> bool;

    /// Writes data to memory of the peer; [`Tuples::written`] is told of the end, if there is one to tell.
    fn write(&self, peer: u32, from: &[Segment], to: Remote, end: Option<End>) -> bool;

    /// Sends a message in the order of the stream. Connects if need be.
    fn tell(&self, peer: u32, message: &[u8]) -> bool;

    /// The local key of memory that was located for a transfer and is not yet released.
    fn local_key(&self, memory: &Memory) -> Option<u32>;

    /// Entries of a gather list.
    fn gather(&self) -> usize;

    /// Messages up to this go on the stream without asking.
    fn eager(&self) -> usize;
}

/// Whose data was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// That of a request.
    Sender(u32),
    /// That of a copy.
    Copy(u32),
}

impl End {
    /// As a number below 2^33.
    pub fn encode(self) -> u64 {
        match self {
            End::Sender(request) => request.into(),
            End::Copy(place) => u64::from(place) | 1 << 32,
        }
    }

    pub fn decode(number: u64) -> End {
        if number >> 32 & 1 == 0 { End::Sender(number as u32) } else { End::Copy(number as u32) }
    }
}

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
    /// Messages up to this many bytes are copied by their sender; 0: none.
    copied: usize,
    pairs: RefCell<Vec<Option<Rc<Pair>>>>,
    /// Peers to which something is to be written or told.
    busy: RefCell<Vec<u32>>,
    copies: OnceCell<Option<Copies>>,
}

impl Tuples {
    /// `copied`: messages up to so many bytes are copied by their sender, which then need not wait for their end.
    pub fn new(domain: &ProtectionDomain, copied: usize) -> Tuples {
        Tuples {
            domain: domain.clone(),
            layout: Layout::new(SLOTS),
            copied,
            pairs: RefCell::new(Vec::new()),
            busy: RefCell::new(Vec::new()),
            copies: OnceCell::new(),
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

    /// See [`tern_device::Direct::publish`].
    pub fn publish(&self, line: &impl Line, peer: u32, key: &Key, memory: &Memory, receiver: u32, seen: u32) -> Option<u32> {
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
        self.flush(line, peer, &pair);
        Some(slot)
    }

    /// See [`tern_device::Direct::retract`].
    pub fn retract(&self, peer: u32, slot: u32) -> bool {
        self.pair(peer).is_none_or(|pair| pair.published.borrow_mut().publications.retract(slot))
    }

    /// See [`tern_device::Direct::recall`].
    pub fn recall(&self, line: &impl Line, peer: u32, slot: u32) -> Recall {
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
        self.flush(line, peer, &pair);
        Recall::Asked
    }

    /// See [`tern_device::Direct::forget`].
    pub fn forget(&self, peer: u32, slot: u32) {
        if let Some(pair) = self.pair(peer) {
            pair.published.borrow_mut().publications.forget(slot);
        }
    }

    /// See [`tern_device::Direct::raise`]. It is told with the next receive that is published, or at the end of
    /// the poll ([`Tuples::progress`]).
    pub fn raise(&self, peer: u32, seen: u32) {
        if let Some(pair) = self.pair(peer) {
            pair.published.borrow_mut().publications.raise(seen);
            self.list(peer, &pair);
        }
    }

    /// A claim has been read.
    pub fn read(&self, line: &impl Line, peer: u32, slot: u32, sink: &mut dyn Sink) {
        let Some(pair) = self.pair(peer) else { return };
        let answer = pair.published.borrow_mut().publications.answer(slot, pair.page.landed(slot));
        match answer {
            Answer::Again => {
                pair.published.borrow_mut().accesses.push_back(Access::Claim(slot));
                self.flush(line, peer, &pair);
            }
            Answer::Won(receiver) => sink.retracted(receiver),
            Answer::Nothing => {}
        }
    }

    // ---- the sender

    /// See [`tern_device::Direct::deliver`].
    ///
    /// # Safety
    /// The memory of the message can be read.
    pub unsafe fn deliver(&self, line: &impl Line, peer: u32, key: &Key, last: u32, message: &Outgoing<'_>) -> Delivery {
        let pairs = self.pairs.borrow();
        let Some(Some(pair)) = pairs.get(peer as usize).filter(|pair| pair.as_ref().is_some_and(|pair| pair.given.get())) else {
            return Delivery::Stream;
        };
        let Some(found) = table::find(self.layout, key, last, |at| pair.page.load(at)) else { return Delivery::Stream };
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
        let writes = if reached { pieces::writes(source, target, len, line.gather(), MOST_WRITES) } else { usize::MAX };
        if writes > MOST_WRITES || (len as usize > self.copied && line.local_key(source).is_none()) {
            // Long messages at least need not ask.
            let packets = source.len > line.eager() as u64 && line.has_room(peer, 0) && own();
            if !packets {
                return Delivery::Stream;
            }
            line.tell(peer, &Message::Claimed { slot: found.slot }.encode());
            return Delivery::Packets { receiver: found.entry.receiver, room: target.len };
        }
        if !line.has_room(peer, writes) || !own() {
            return Delivery::Stream;
        }
        // SAFETY: the caller's contract.
        let copy = unsafe { self.copy(source, len) };
        let (from, local, end) = match &copy {
            Some((memory, key, place)) => (memory, *key, End::Copy(*place)),
            None => match line.local_key(source) {
                Some(key) => (source, key, End::Sender(message.sender)),
                None => {
                    // No place for a copy was free, and the receive is claimed.
                    line.tell(peer, &Message::Claimed { slot: found.slot }.encode());
                    return Delivery::Packets { receiver: found.entry.receiver, room: target.len };
                }
            },
        };
        pieces::each_write(from, target, len, local, line.gather(), |address, segments, last| {
            let to = Remote { address, key: target.key as u32 };
            line.write(peer, segments, to, last.then_some(end))
        });
        line.tell(peer, &Message::Filled { slot: found.slot, size: source.len }.encode());
        counters::RDMA_DIRECT.add(1);
        counters::RDMA_DIRECT_BYTES.add(len);
        match end {
            End::Sender(_) => Delivery::Pending,
            End::Copy(_) => {
                counters::RDMA_DIRECT_COPIED.add(1);
                Delivery::Done
            }
        }
    }

    /// # Safety
    /// The memory of `source` can be read.
    unsafe fn copy(&self, source: &Memory, len: u64) -> Option<(Memory, u32, u32)> {
        if len as usize > self.copied {
            return None;
        }
        let copies = self.copies.get_or_init(|| Copies::new(&self.domain, self.copied).ok()).as_ref()?;
        // SAFETY: the caller's contract.
        unsafe { copies.copy(source, len) }
    }

    /// Data has been written.
    pub fn written(&self, end: End, sink: &mut dyn Sink) {
        match end {
            End::Sender(request) => sink.sent(request),
            End::Copy(place) => {
                if let Some(Some(copies)) = self.copies.get() {
                    copies.give_back(place);
                }
            }
        }
    }

    // ---- both

    /// A message of the peer, in the order of the stream.
    pub fn message(&self, line: &impl Line, peer: u32, bytes: &[u8], sink: &mut dyn Sink) {
        let (Some(message), Some(pair)) = (Message::decode(bytes), self.make_pair(peer)) else { return };
        match message {
            Message::Want => {
                pair.given.set(true);
                let (address, key) = pair.page.address();
                pair.untold.borrow_mut().push(Message::Table { address, key, slots: SLOTS as u32 });
                self.flush(line, peer, &pair);
            }
            Message::Table { address, key, slots } => {
                if slots == SLOTS as u32 {
                    pair.published.borrow_mut().table = Some(Remote { address, key });
                    self.flush(line, peer, &pair);
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

    fn list(&self, peer: u32, pair: &Pair) {
        if !pair.listed.replace(true) {
            self.busy.borrow_mut().push(peer);
        }
    }

    /// Writes and tells what waits. To be called when a poll has handed on all that has come.
    #[inline]
    pub fn progress(&self, line: &impl Line) {
        if !self.busy.borrow().is_empty() {
            self.flush_all(line);
        }
    }

    #[cold]
    fn flush_all(&self, line: &impl Line) {
        let busy = self.busy.take();
        for peer in busy {
            if let Some(pair) = self.pair(peer) {
                pair.listed.set(false);
                let head = pair.published.borrow_mut().publications.head();
                pair.published.borrow_mut().accesses.extend(head.map(Access::Head));
                self.flush(line, peer, &pair);
            }
        }
    }

    fn flush(&self, line: &impl Line, peer: u32, pair: &Pair) {
        pair.untold.borrow_mut().retain(|message| !line.tell(peer, &message.encode()));
        let waits = {
            let Published { accesses, table, .. } = &mut *pair.published.borrow_mut();
            while let (Some(table), Some(access)) = (*table, accesses.front())
                && self.post(line, peer, pair, table, access)
            {
                accesses.pop_front();
            }
            table.is_some() && !accesses.is_empty()
        };
        if waits || !pair.untold.borrow().is_empty() {
            self.list(peer, pair);
        }
    }

    fn post(&self, line: &impl Line, peer: u32, pair: &Pair, table: Remote, access: &Access) -> bool {
        let at = |word: usize| Remote { address: table.address + 8 * word as u64, ..table };
        match access {
            Access::Head(word) => line.write_words(peer, &[*word], at(self.layout.head())),
            Access::Entry(slot, words) => line.write_words(peer, words, at(self.layout.entry(*slot))),
            Access::Ask(slot, word) => line.write_words(peer, &[*word], at(self.layout.ask(*slot))),
            Access::Claim(slot) => {
                line.read_word(peer, at(self.layout.claim(*slot)), pair.page.landing_segment(*slot), *slot)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::End;

    #[test]
    fn ends_survive_their_numbers() {
        for end in [End::Sender(0), End::Sender(u32::MAX), End::Copy(0), End::Copy(15)] {
            assert!(end.encode() < 1 << 33);
            assert_eq!(End::decode(end.encode()), end);
        }
    }
}
