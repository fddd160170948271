//! The protocol state of one process: requests, arrivals, and what waits to be sent.

mod cancel;
mod direct;

use crate::data::copy;
use crate::matching::{Matching, Place};
use crate::packet::Packet;
use crate::slab::Slab;
use crate::tuple;
use crate::{Data, Name, Owner, Pattern, Proc, SendMode, Sent, Status, Tuple, UNKNOWN};
use direct::Published;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Instant;
use tern_region::copy::{Source, Target, give_back};
use tern_mcm::{Direct, Header, Mcm, Memory, Payload, Sink};

/// Bytes of a message of `size` bytes that go into one packet: the receiver copies one out while
/// the sender copies the next in. Small enough to start early, large enough that the packets
/// themselves do not count.
fn chunk(size: usize) -> usize {
    if size <= 8 << 10 { 4 << 10 } else { 8 << 10 }
}

/// Messages from here on are copied to their place by streaming stores when it is in no cache.
const LONG: usize = 64 << 10;

/// No number of anything.
const NONE: u32 = u32::MAX;

/// The transfer of a receive that its call only waits for: always there, never posted.
pub const EXPECTED: u32 = 0;

/// A transfer of this process's.
#[derive(Debug)]
pub struct Transfer {
    pub data: Data,
    pub status: Status,
    pub done: bool,
    /// Free the entry as soon as it is done.
    pub released: bool,
    /// Of one that the layer above has named.
    pub owner: Option<Owner>,
    pub side: Side,
}

#[derive(Debug)]
pub enum Side {
    Send {
        to: Proc,
        tuple: Tuple,
        /// Waits for the news that the receive has matched.
        awaits_match: bool,
        /// Has bytes that did not go yet (or a request to send that is not answered).
        unsent: bool,
    },
    Receive {
        /// Where it is posted; none once a message has matched.
        place: Option<Place>,
        /// Where its sender sees it.
        published: Published,
        /// Bytes that have arrived, and that will in all.
        received: usize,
        expected: usize,
    },
}

/// A message that no receive had matched when it arrived.
#[derive(Debug)]
pub struct Arrival {
    pub tuple: Tuple,
    pub from: Proc,
    pub size: u64,
    pub body: Body,
}

#[derive(Debug)]
pub enum Body {
    /// The bytes so far; of a synchronous send, the request to acknowledge.
    Bytes { bytes: Vec<u8>, sync: Option<u32> },
    /// It waits at its sender.
    Waiting { sender: u32, source: Memory },
    /// It is this process's own send.
    Own { request: u32 },
}

/// Where the next `More` packet of a peer belongs.
#[derive(Clone, Copy, Debug)]
enum Incoming {
    Nowhere,
    Transfer(u32),
    Arrival(u32),
}

/// What could not be sent at once.
#[derive(Debug)]
enum Outgoing {
    Header(Header),
    /// A request to send, with where the data lies.
    Request(Header, Memory),
    /// The rest of an eager message; nothing of it has gone when `first` is there.
    Eager { request: u32, first: Option<Header>, sent: usize },
}

/// Bytes that the receiver has asked for.
#[derive(Debug)]
struct Bulk {
    request: u32,
    receiver: u32,
    sent: usize,
    end: usize,
}

#[derive(Debug, Default)]
struct Outbox {
    /// In order.
    queue: VecDeque<Outgoing>,
    bulk: VecDeque<Bulk>,
    /// In `State::busy`.
    listed: bool,
}

/// All of it.
pub struct State {
    pub mcm: Rc<Mcm>,
    pub matching: Matching,
    pub transfers: Slab<Transfer>,
    pub arrivals: Slab<Arrival>,
    pub eager_limit: usize,
    /// The caller waits for what it starts, before the program goes on.
    pub waits: bool,
    /// Messages below this go with the packet's header.
    short: usize,
    incoming: Vec<Incoming>,
    /// What went to each peer, and came from it, on the stream.
    streams: Vec<tuple::Sender>,
    taken: Vec<tuple::Receiver>,
    /// Receives of this length and more are published, and messages of it look for one.
    direct_from: usize,
    /// What packets' payloads are to whoever copies them.
    payload: Source,
    /// What the memory of the last long message seems to be.
    target: Target,
    outboxes: Vec<Outbox>,
    /// Peers whose outbox is not empty.
    busy: Vec<Proc>,
    /// Something has completed or moved since this was last cleared.
    pub moved: bool,
    /// Transfer [`EXPECTED`] is in use, from its start to the end of its call.
    expecting: bool,
    /// A message has matched it.
    expected_begun: bool,
}

impl State {
    pub fn new(mcm: Rc<Mcm>, eager_limit: usize) -> State {
        let peers = mcm.size() as usize;
        let payload = if mcm.write_back() { Source::Peer } else { Source::Any };
        let direct_from = mcm.direct().map_or(usize::MAX, Direct::threshold);
        let mut transfers = Slab::new();
        let side =
            Side::Receive { place: None, published: Published::NOT, received: 0, expected: 0 };
        let (data, status) = (Data::none(), Status::default());
        let first = transfers.insert(Transfer { data, status, done: true, released: false, owner: None, side });
        assert_eq!(first, EXPECTED);
        let short = (mcm.inline() + 1).min(eager_limit + 1).min(direct_from);
        State {
            mcm,
            short,
            matching: Matching::new(),
            transfers,
            arrivals: Slab::new(),
            eager_limit,
            waits: false,
            incoming: vec![Incoming::Nowhere; peers],
            streams: vec![tuple::Sender::default(); peers],
            taken: vec![tuple::Receiver::default(); peers],
            direct_from,
            payload,
            target: Target::Soon,
            outboxes: (0..peers).map(|_| Outbox::default()).collect(),
            busy: Vec::new(),
            moved: false,
            expecting: false,
            expected_begun: false,
        }
    }

    // ---- names

    /// Names a transfer; keeps `owner` until it is freed.
    #[inline]
    pub fn name(&mut self, request: u32, owner: Owner) -> Name {
        self.transfers.get_mut(request).owner = Some(owner);
        Name { index: request, generation: self.transfers.generation(request) % Name::GENERATIONS }
    }

    /// The transfer of that name, unless it was freed.
    #[inline]
    pub fn named(&self, name: Name) -> Option<&Transfer> {
        let transfer = self.transfers.find(name.index).filter(|transfer| transfer.owner.is_some())?;
        (self.transfers.generation(name.index) % Name::GENERATIONS == name.generation).then_some(transfer)
    }

    // ---- sending

    /// Starts a send. `waits`: the caller does nothing else until the buffer may be reused.
    pub fn send(&mut self, to: Proc, tuple: Tuple, data: Data, mode: SendMode, waits: bool) -> Sent {
        if to == self.mcm.me() {
            return self.send_to_self(tuple, data, mode);
        }
        let size = data.len();
        let mut memory = Memory::opaque(size);
        if size >= self.direct_from {
            match self.send_direct(to, &tuple, &data, waits) {
                Ok(sent) => return sent,
                Err(located) => memory = located,
            }
        }
        self.streams[to as usize].put(&tuple);
        if mode == SendMode::Standard && size <= self.eager_limit {
            return self.send_eager(to, tuple, data);
        }
        let request = self.new_send(to, tuple, data);
        if size > self.eager_limit {
            self.mark_send(request, false, true);
            let header = Packet::Rts { tuple, size: size as u64, sender: request }.encode();
            self.queue(to, Outgoing::Request(header, memory));
            self.flush(to);
        } else {
            self.mark_send(request, true, true);
            let packet = Packet::Eager { tuple, size: size as u64, sync: Some(request) };
            self.queue(to, Outgoing::Eager { request, first: Some(packet.encode()), sent: 0 });
            self.flush(to);
        }
        Sent::Pending(crate::Request(request))
    }

    fn new_send(&mut self, to: Proc, tuple: Tuple, data: Data) -> u32 {
        let side = Side::Send { to, tuple, awaits_match: false, unsent: true };
        self.transfers.insert(Transfer {
            data,
            status: Status::default(),
            done: false,
            released: false,
            owner: None,
            side,
        })
    }

    /// The hot path: a short dense message goes now, as one packet, if nothing is in its way.
    #[inline(always)]
    pub fn send_now(&mut self, to: Proc, tuple: &Tuple, base: *const u8, len: usize) -> bool {
        if len >= self.short || to == self.mcm.me() || !self.is_flushed() {
            return false;
        }
        let header = Packet::Eager { tuple: *tuple, size: len as u64, sync: None }.encode();
        // SAFETY: the caller of the send keeps the buffer valid (see `Data`).
        let bytes = if len == 0 { &[] } else { unsafe { std::slice::from_raw_parts(base, len) } };
        let gone = self.mcm.send_short(to, &header, bytes);
        if gone {
            self.streams[to as usize].put(tuple);
        }
        gone
    }

    /// The whole message goes now, without a request, if there is room.
    #[inline]
    fn send_eager(&mut self, to: Proc, tuple: Tuple, data: Data) -> Sent {
        let size = data.len();
        let header = Packet::Eager { tuple, size: size as u64, sync: None }.encode();
        let mut first = Some(header);
        let mut sent = 0;
        if self.outboxes[to as usize].queue.is_empty() {
            let len = size.min(chunk(size));
            let taken = data.with_payload(0, len, |p| self.mcm.copy_and_send(to, &header, p));
            if taken == Some(size) {
                return Sent::Done;
            }
            if let Some(taken) = taken {
                first = None;
                sent = taken;
            }
        }
        let request = self.new_send(to, tuple, data);
        self.queue(to, Outgoing::Eager { request, first, sent });
        self.flush(to);
        if self.transfers.get(request).done {
            self.transfers.remove(request);
            return Sent::Done;
        }
        Sent::Pending(crate::Request(request))
    }

    fn send_to_self(&mut self, tuple: Tuple, data: Data, mode: SendMode) -> Sent {
        if let Some(receive) = self.matching.arrive(&tuple) {
            self.finish_own(receive, tuple, &data);
            return Sent::Done;
        }
        let size = data.len() as u64;
        let me = self.mcm.me();
        if mode == SendMode::Standard && data.len() <= self.eager_limit {
            let mut bytes = vec![0; data.len()];
            data.gather(0, &mut bytes);
            let body = Body::Bytes { bytes, sync: None };
            let arrival = self.arrivals.insert(Arrival { tuple, from: me, size, body });
            self.matching.keep(tuple, arrival);
            return Sent::Done;
        }
        let request = self.new_send(me, tuple, data);
        self.mark_send(request, true, false);
        let body = Body::Own { request };
        let arrival = self.arrivals.insert(Arrival { tuple, from: me, size, body });
        self.matching.keep(tuple, arrival);
        Sent::Pending(crate::Request(request))
    }

    fn mark_send(&mut self, request: u32, match_awaited: bool, bytes_unsent: bool) {
        if let Side::Send { awaits_match, unsent, .. } = &mut self.transfers.get_mut(request).side {
            *awaits_match = match_awaited;
            *unsent = bytes_unsent;
        }
    }

    /// Notes what has become of a send, and completes it when nothing is missing.
    fn advance_send(&mut self, request: u32, matched: bool, sent: bool) {
        let transfer = self.transfers.get_mut(request);
        if let Side::Send { awaits_match, unsent, .. } = &mut transfer.side {
            *awaits_match &= !matched;
            *unsent &= !sent;
            if !*awaits_match && !*unsent {
                self.complete(request);
            }
        }
    }

    fn complete(&mut self, request: u32) {
        self.moved = true;
        let transfer = self.transfers.get_mut(request);
        transfer.done = true;
        if let Data::Typed { .. } = transfer.data {
            // The program may free the type, which nobody needs any more.
            transfer.data = Data::none();
        }
        if transfer.released {
            self.transfers.remove(request);
        }
    }

    /// Sends a packet without payload, in order with what waits.
    fn control(&mut self, to: Proc, packet: Packet) {
        let header = packet.encode();
        let idle = self.outboxes[to as usize].queue.is_empty();
        if !idle || self.mcm.copy_and_send(to, &header, Payload::Bytes(&[])).is_none() {
            self.queue(to, Outgoing::Header(header));
        }
    }

    fn queue(&mut self, to: Proc, outgoing: Outgoing) {
        self.outboxes[to as usize].queue.push_back(outgoing);
        self.list(to);
    }

    fn list(&mut self, to: Proc) {
        let outbox = &mut self.outboxes[to as usize];
        if !outbox.listed {
            outbox.listed = true;
            self.busy.push(to);
        }
    }

    /// True when nothing waits to be sent.
    pub fn is_flushed(&self) -> bool {
        self.busy.is_empty()
    }

    /// Sends what waits, as far as the devices take it.
    #[inline]
    pub fn flush_all(&mut self) {
        if self.busy.is_empty() {
            return;
        }
        let mut at = 0;
        while at < self.busy.len() {
            let to = self.busy[at];
            self.flush(to);
            let outbox = &mut self.outboxes[to as usize];
            if outbox.queue.is_empty() && outbox.bulk.is_empty() {
                outbox.listed = false;
                self.busy.swap_remove(at);
            } else {
                at += 1;
            }
        }
    }

    fn flush(&mut self, to: Proc) {
        while let Some(outgoing) = self.outboxes[to as usize].queue.pop_front() {
            if let Some(rest) = self.push(to, outgoing) {
                self.outboxes[to as usize].queue.push_front(rest);
                return;
            }
            self.moved = true;
        }
        // Long messages take turns.
        while let Some(bulk) = self.outboxes[to as usize].bulk.pop_front() {
            match self.push_bulk(to, bulk) {
                Ok(None) => {}
                Ok(Some(rest)) => self.outboxes[to as usize].bulk.push_back(rest),
                Err(full) => {
                    self.outboxes[to as usize].bulk.push_front(full);
                    return;
                }
            }
            self.moved = true;
        }
    }

    /// Sends one queued item; returns what is left of it.
    fn push(&mut self, to: Proc, outgoing: Outgoing) -> Option<Outgoing> {
        match outgoing {
            Outgoing::Header(header) => {
                let gone = self.mcm.copy_and_send(to, &header, Payload::Bytes(&[]));
                gone.is_none().then_some(Outgoing::Header(header))
            }
            Outgoing::Request(header, memory) => {
                // Whatever part of the words goes: the receiver makes do without.
                let words = memory.encode();
                let gone = self.mcm.copy_and_send(to, &header, Payload::Bytes(&words));
                gone.is_none().then_some(Outgoing::Request(header, memory))
            }
            Outgoing::Eager { request, mut first, mut sent } => {
                let data = self.transfers.get(request).data.clone();
                let size = data.len();
                while first.is_some() || sent < size {
                    let header = first.unwrap_or_else(|| Packet::More.encode());
                    let len = (size - sent).min(chunk(size));
                    let Some(taken) =
                        data.with_payload(sent, len, |p| self.mcm.copy_and_send(to, &header, p))
                    else {
                        return Some(Outgoing::Eager { request, first, sent });
                    };
                    first = None;
                    sent += taken;
                    self.moved = true;
                }
                self.advance_send(request, false, true);
                None
            }
        }
    }

    /// Sends one packet of a long message: `Ok` with the rest, `Err` when there is no room.
    fn push_bulk(&mut self, to: Proc, mut bulk: Bulk) -> Result<Option<Bulk>, Bulk> {
        let data = &self.transfers.get(bulk.request).data;
        let header = Packet::Data { receiver: bulk.receiver, size: data.len() as u64 }.encode();
        let len = (bulk.end - bulk.sent).min(chunk(bulk.end));
        let taken = data.with_payload(bulk.sent, len, |p| self.mcm.copy_and_send(to, &header, p));
        let Some(taken) = taken else { return Err(bulk) };
        bulk.sent += taken;
        if bulk.sent < bulk.end {
            return Ok(Some(bulk));
        }
        self.advance_send(bulk.request, true, true);
        Ok(None)
    }

    // ---- receiving

    /// A receive that is not posted: a message is about to be given to it.
    pub fn receive_matched(&mut self, data: Data) -> u32 {
        let side =
            Side::Receive { place: None, published: Published::NOT, received: 0, expected: 0 };
        let status = Status::default();
        self.transfers.insert(Transfer { data, status, done: false, released: false, owner: None, side })
    }

    /// Starts a receive; `from` is the process that it names as the source, or [`UNKNOWN`].
    pub fn receive(&mut self, from: Proc, pattern: Pattern, data: Data) -> u32 {
        let long = data.len() >= self.direct_from && from != UNKNOWN;
        let request = self.receive_matched(data);
        if let Some(place) = self.matching.find_unexpected(&pattern) {
            let arrival = self.matching.take_unexpected(place);
            self.consume(arrival, request);
            return request;
        }
        self.transfers.get(request).data.expect();
        let visible = if long { self.publish(request, from, &pattern) } else { Published::NOT };
        let posted = self.matching.post(pattern, request);
        if visible.slot != NONE {
            self.matching.publish(posted);
        }
        if let Side::Receive { place, published, .. } = &mut self.transfers.get_mut(request).side {
            *place = Some(posted);
            *published = visible;
        }
        request
    }

    /// Begins a receive by a call that waits for nothing else, as transfer [`EXPECTED`]: nothing is
    /// allocated or listed. False when another such call is under way, and when the receive is long
    /// enough to be published. Ends by [`State::end_expected`].
    #[inline]
    pub fn expect(&mut self, data: Data) -> bool {
        if self.expecting || data.len() >= self.direct_from {
            return false;
        }
        self.expecting = true;
        let transfer = self.transfers.get_mut(EXPECTED);
        transfer.data = data;
        transfer.done = false;
        transfer.side =
            Side::Receive { place: None, published: Published::NOT, received: 0, expected: 0 };
        self.expected_begun = false;
        true
    }

    /// Opens that receive to what is about to be looked at, unless a message has matched it already.
    #[inline]
    pub fn open(&mut self, pattern: Pattern) {
        if self.expected_begun {
            return;
        }
        if let Some(place) = self.matching.find_unexpected(&pattern) {
            self.expected_begun = true;
            let arrival = self.matching.take_unexpected(place);
            self.consume(arrival, EXPECTED);
        } else {
            self.matching.expect(pattern, EXPECTED);
        }
    }

    /// Closes it again; its status when it is complete.
    #[inline]
    pub fn expected(&mut self) -> Option<Status> {
        self.expected_begun |= !self.matching.unexpect();
        let transfer = self.transfers.get(EXPECTED);
        transfer.done.then_some(transfer.status)
    }

    #[inline]
    pub fn end_expected(&mut self) {
        self.expecting = false;
        self.expected_begun = false;
    }

    /// True when the next message of the stream can only be for a receive into `data`, or
    /// for a later one, and nothing waits to be sent. Then no receive is published, and this one is
    /// too short to be. Tells where payloads lie.
    #[inline]
    pub fn may_take_next(&self, data: &Data) -> Option<Source> {
        let free = self.matching.is_empty() && !self.expected_begun && self.is_flushed();
        (free && self.is_short(data)).then_some(self.payload)
    }

    /// True for a receive that is too short to be published.
    #[inline]
    pub fn is_short(&self, data: &Data) -> bool {
        data.len() < self.direct_from
    }

    /// True while receives are posted and no message waits for one.
    #[inline]
    pub fn is_receiving(&self) -> bool {
        self.matching.is_receiving()
    }

    /// A receive that was complete when it started.
    #[inline]
    pub fn received(&mut self, status: Status) -> u32 {
        let request = self.receive_matched(Data::none());
        let transfer = self.transfers.get_mut(request);
        transfer.status = status;
        transfer.done = true;
        request
    }

    /// Gives an arrival, already out of matching, to a receive.
    pub fn consume(&mut self, arrival: u32, request: u32) {
        let Arrival { tuple, from, size, .. } = *self.arrivals.get(arrival);
        match self.arrivals.remove(arrival).body {
            Body::Bytes { bytes, sync } => {
                self.begin(request, &tuple, size);
                self.absorb(request, &bytes, Source::Any);
                if (bytes.len() as u64) < size {
                    // Only one message of a peer is on its way in pieces, so it is this one.
                    self.incoming[from as usize] = Incoming::Transfer(request);
                }
                if let Some(sender) = sync {
                    self.control(from, Packet::Ack { sender });
                }
            }
            Body::Waiting { sender, source } => {
                self.clear_to_send(request, from, &tuple, size, sender, &source);
            }
            Body::Own { request: own } => {
                let data = self.transfers.get(own).data.clone();
                self.finish_own(request, tuple, &data);
                self.advance_send(own, true, true);
            }
        }
    }

    /// Completes receive `request` with this process's own data.
    fn finish_own(&mut self, request: u32, tuple: Tuple, data: &Data) {
        self.begin(request, &tuple, data.len() as u64);
        copy(data, &self.transfers.get(request).data);
        if !data.is_empty() {
            self.complete(request);
        }
    }

    /// The hot path: a message that is whole in its packet has matched.
    #[inline]
    fn deliver(&mut self, request: u32, tuple: &Tuple, payload: &[u8]) {
        let transfer = self.transfers.get_mut(request);
        transfer.status = transfer.data.fill(tuple.source, tuple.tag, payload, self.payload);
        self.complete(request);
    }

    /// A message of `size` bytes has matched: notes it in the status; completes an empty one.
    #[inline]
    fn begin(&mut self, request: u32, tuple: &Tuple, size: u64) {
        let transfer = self.transfers.get_mut(request);
        transfer.status = transfer.data.received(tuple.source, tuple.tag, size);
        transfer.side = Side::Receive {
            place: None,
            published: Published::NOT,
            received: 0,
            expected: size as usize,
        };
        if size == 0 {
            self.complete(request);
        }
    }

    /// The next bytes of a message; completes it with the last.
    #[inline]
    fn absorb(&mut self, request: u32, bytes: &[u8], source: Source) {
        if bytes.is_empty() {
            return;
        }
        let transfer = self.transfers.get_mut(request);
        let Side::Receive { received, expected, .. } = &mut transfer.side else {
            unreachable!("bytes for a send")
        };
        let from = *received;
        *received += bytes.len();
        let last = *received >= *expected;
        let long = *expected >= LONG;
        let target = if long && from > 0 { self.target } else { Target::Soon };
        let start = (long && from == 0).then(Instant::now);
        transfer.data.scatter(from, bytes, source, target);
        if let Some(start) = start {
            self.target = Target::judge(bytes.len(), start.elapsed());
        }
        if last {
            self.complete(request);
        }
    }

    /// Copies the bytes that the receive has room for, or asks the sender for them.
    fn clear_to_send(
        &mut self,
        request: u32,
        from: Proc,
        tuple: &Tuple,
        size: u64,
        sender: u32,
        source: &Memory,
    ) {
        let room = self.transfers.get(request).data.len() as u64;
        let mut bytes = size.min(room);
        self.begin(request, tuple, size);
        if let Side::Receive { expected, .. } = &mut self.transfers.get_mut(request).side {
            *expected = bytes as usize;
        }
        if bytes > 0 && self.pull(request, from, source) {
            bytes = 0;
        }
        // Without a byte to send it tells the sender that all is done.
        self.control(from, Packet::Cts { sender, receiver: request, bytes });
        if bytes == 0 {
            self.complete(request);
        }
    }

    /// Takes the oldest receive that matches a message of the stream out of matching.
    #[inline]
    fn match_arrival(&mut self, from: Proc, tuple: &Tuple) -> Option<u32> {
        let mut found = self.matching.arrive(tuple);
        while let Some(request) = found
            && !self.win_back(request)
        {
            // Its sender has claimed it for an earlier message.
            if let Side::Receive { place, .. } = &mut self.transfers.get_mut(request).side {
                *place = None;
            }
            found = self.matching.arrive(tuple);
        }
        self.count_taken(from);
        found
    }

    // ---- packets

    fn eager(&mut self, from: Proc, tuple: Tuple, size: u64, sync: Option<u32>, payload: &[u8]) {
        let whole = payload.len() as u64 == size;
        if let Some(request) = self.match_arrival(from, &tuple) {
            if whole {
                self.deliver(request, &tuple, payload);
            } else {
                self.begin(request, &tuple, size);
                self.absorb(request, payload, self.payload);
                self.incoming[from as usize] = Incoming::Transfer(request);
            }
            if let Some(sender) = sync {
                self.control(from, Packet::Ack { sender });
            }
            return;
        }
        let mut bytes = Vec::with_capacity(size as usize);
        keep(&mut bytes, payload, self.payload);
        let body = Body::Bytes { bytes, sync };
        let arrival = self.arrivals.insert(Arrival { tuple, from, size, body });
        self.matching.keep(tuple, arrival);
        if !whole {
            self.incoming[from as usize] = Incoming::Arrival(arrival);
        }
    }

    fn more(&mut self, from: Proc, payload: &[u8]) {
        match self.incoming[from as usize] {
            Incoming::Transfer(request) => self.absorb(request, payload, self.payload),
            Incoming::Arrival(arrival) => {
                if let Body::Bytes { bytes, .. } = &mut self.arrivals.get_mut(arrival).body {
                    keep(bytes, payload, self.payload);
                }
            }
            Incoming::Nowhere => unreachable!("the rest of a message that never began"),
        }
    }

    fn request_to_send(&mut self, from: Proc, tuple: Tuple, size: u64, sender: u32, words: &[u8]) {
        let source = Memory::decode(words).unwrap_or(Memory::opaque(size as usize));
        if let Some(request) = self.match_arrival(from, &tuple) {
            return self.clear_to_send(request, from, &tuple, size, sender, &source);
        }
        let body = Body::Waiting { sender, source };
        let arrival = self.arrivals.insert(Arrival { tuple, from, size, body });
        self.matching.keep(tuple, arrival);
    }

    fn clear(&mut self, from: Proc, request: u32, receiver: u32, bytes: u64) {
        if bytes == 0 {
            return self.advance_send(request, true, true);
        }
        self.bulk(from, Bulk { request, receiver, sent: 0, end: bytes as usize });
    }

    fn bulk(&mut self, to: Proc, bulk: Bulk) {
        self.outboxes[to as usize].bulk.push_back(bulk);
        self.list(to);
    }
}

/// Keeps a packet's payload until a receive matches.
fn keep(bytes: &mut Vec<u8>, payload: &[u8], source: Source) {
    bytes.extend_from_slice(payload);
    // SAFETY: the payload is mapped.
    unsafe { give_back(payload.as_ptr(), payload.len(), source) };
}

impl Sink for State {
    #[inline]
    fn packet(&mut self, from: Proc, header: &Header, payload: &[u8]) {
        match Packet::decode(header) {
            Packet::Eager { tuple, size, sync } => self.eager(from, tuple, size, sync, payload),
            Packet::More => self.more(from, payload),
            Packet::Rts { tuple, size, sender } => {
                self.request_to_send(from, tuple, size, sender, payload);
            }
            Packet::Cts { sender, receiver, bytes } => self.clear(from, sender, receiver, bytes),
            Packet::Data { receiver, size } => self.data(receiver, size, payload),
            Packet::Ack { sender } => self.advance_send(sender, true, false),
            Packet::Cancel { tuple, sender } => self.give_back(from, tuple, sender),
            Packet::Cancelled { sender, success: true } => self.cancelled(sender),
            Packet::Cancelled { success: false, .. } => {}
        }
    }

    fn delivered(&mut self, receiver: u32, size: u64) {
        self.filled(receiver, size);
    }

    fn sent(&mut self, sender: u32) {
        self.advance_send(sender, true, true);
    }
}
