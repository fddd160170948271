//! What arrives: packets, and the messages that no receive had matched.

use super::rendezvous::Offer;
use super::{Side, State};
use crate::data::copy;
use crate::packet::{Packet, Synchronous};
use crate::{Data, Proc, Tuple};
use tern_copy::{Source, Target, give_back};
use tern_counters as counters;
use tern_counters::events;
use tern_mcm::{Header, Memory, Place, Sink};
use tern_policy::rules;

/// A message that no receive had matched when it arrived.
#[derive(Debug)]
pub struct Arrival {
    pub tuple: Tuple,
    pub from: Proc,
    pub size: u64,
    pub body: Body,
}

impl Arrival {
    /// Bytes that are kept here for it, or will be.
    pub(super) fn memory(&self) -> u64 {
        if self.is_here() { self.size } else { 0 }
    }

    /// True when its bytes are kept here, or will be.
    pub(super) fn is_here(&self) -> bool {
        matches!(self.body, Body::Short(_) | Body::Bytes { .. })
    }
}

/// Longest message that is kept without further memory: what fits into the room of the other bodies.
const SHORT: usize = 39;

// Programs send a million messages ahead of the awaited one: this is what each of them takes, beside its place in matching.
const _: () = assert!(size_of::<Option<Arrival>>() <= 64);

#[derive(Debug)]
pub enum Body {
    /// All bytes of a short message.
    Short([u8; SHORT]),
    /// The bytes so far; of a synchronous send, the request to acknowledge.
    Bytes { bytes: Vec<u8>, sync: Option<Synchronous> },
    /// It waits at its sender.
    Waiting { sender: Synchronous, source: Box<Memory> },
    /// It is this process's own send.
    Own { request: u32, mark: u32 },
    /// There is none, only this word in its place.
    Missing(u32),
}

impl Body {
    /// Of a message of at most [`SHORT`] bytes.
    fn short(payload: &[u8]) -> Body {
        let mut bytes = [0; SHORT];
        bytes[..payload.len()].copy_from_slice(payload);
        Body::Short(bytes)
    }

    /// Of a message to this process itself.
    pub(super) fn gathered(data: &Data) -> Body {
        if data.len() <= SHORT {
            let mut bytes = [0; SHORT];
            data.gather(0, &mut bytes[..data.len()]);
            return Body::Short(bytes);
        }
        let mut bytes = vec![0; data.len()];
        data.gather(0, &mut bytes);
        Body::Bytes { bytes, sync: None }
    }

    /// Of a message that is here as a whole.
    pub(super) fn whole(bytes: Vec<u8>) -> Body {
        if bytes.len() <= SHORT { Body::short(&bytes) } else { Body::Bytes { bytes, sync: None } }
    }
}

/// Where the next `More` packet of a peer belongs.
#[derive(Clone, Copy, Debug)]
pub enum Incoming {
    Nowhere,
    Transfer(u32),
    Arrival(u32),
}

/// For messages from here on it is found out whether streaming stores copy them to their place sooner: off cache 28 KiB take a seventh less, and
/// exchanges a third.
const LONG: usize = 16 << 10;

impl State {
    /// Keeps a message until a receive matches.
    pub(super) fn keep(&mut self, arrival: Arrival) -> u32 {
        let Arrival { tuple, size, .. } = arrival;
        counters::UNEXPECTED_EVER.add(1);
        counters::UNEXPECTED.raise(1);
        counters::UNEXPECTED_BYTES.raise(arrival.memory());
        if let Some(bytes) = self.capped(&arrival) {
            self.count_kept(arrival.from, bytes);
        }
        events::raise(events::Kind::Unexpected, [tuple.source as u64, tuple.tag as u64, size]);
        let arrival = self.arrivals.insert(arrival);
        self.matching.keep(tuple, arrival);
        self.wake_others();
        arrival
    }

    /// Takes a message that was kept, once it is out of matching.
    pub(super) fn drop_arrival(&mut self, arrival: u32) -> Arrival {
        let arrival = self.arrivals.remove(arrival);
        counters::UNEXPECTED.lower(1);
        counters::UNEXPECTED_BYTES.lower(arrival.memory());
        if let Some(bytes) = self.capped(&arrival) {
            self.count_given_up(arrival.from, bytes);
        }
        self.arrivals.trim();
        arrival
    }

    /// Gives an arrival, already out of matching, to a receive.
    pub fn consume(&mut self, arrival: u32, request: u32) {
        let Arrival { tuple, from, size, body } = self.drop_arrival(arrival);
        if !self.lost.is_empty() && self.is_cut_off(from, size, &body) {
            return self.fail(request, from);
        }
        match body {
            Body::Short(bytes) => {
                self.begin(request, from, &tuple, size);
                self.absorb(request, &bytes[..size as usize], Source::Any);
            }
            Body::Bytes { bytes, sync } => {
                self.begin(request, from, &tuple, size);
                self.absorb(request, &bytes, Source::Any);
                if (bytes.len() as u64) < size {
                    // Only one message of a peer is on its way in pieces, so it is this one.
                    self.incoming[from as usize] = Incoming::Transfer(request);
                }
                if let Some(sender) = sync {
                    self.acknowledge(from, request, sender);
                }
            }
            Body::Waiting { sender, source } => {
                self.answer(request, &Offer { from, tuple, size, sender, source: &source, cma_get: false });
            }
            Body::Own { request: own, mark } => {
                let data = self.transfers.get(own).data.clone();
                self.finish_own(request, tuple, &data);
                self.note_mark(request, mark);
                self.advance_send(own, true, true);
            }
            Body::Missing(word) => self.end_without(request, &tuple, word),
        }
    }

    /// Completes receive `request` with this process's own data.
    pub(super) fn finish_own(&mut self, request: u32, tuple: Tuple, data: &Data) {
        self.begin(request, self.mcm.me(), &tuple, data.len() as u64);
        copy(data, &self.transfers.get(request).data);
        if !data.is_empty() {
            self.complete(request);
        }
    }

    /// A synchronous send has matched receive `request`.
    pub(super) fn acknowledge(&mut self, from: Proc, request: u32, sender: Synchronous) {
        self.note_mark(request, sender.mark);
        self.control(from, Packet::Ack { sender: sender.request });
    }

    /// Puts the mark of a message into the status of the receive that it has matched, which may be gone.
    pub(super) fn note_mark(&mut self, request: u32, mark: u32) {
        if mark != 0 && self.transfers.find(request).is_some() {
            self.transfers.get_mut(request).status.mark = mark;
        }
    }

    /// The hot path: a message that is whole in its packet has matched.
    #[inline]
    fn deliver(&mut self, request: u32, tuple: &Tuple, payload: &[u8]) {
        let transfer = self.transfers.get_mut(request);
        transfer.status = transfer.data.fill(tuple.source, tuple.tag, payload, self.payload);
        counters::received(payload.len());
        self.complete(request);
    }

    /// A message of `size` bytes from process `from` has matched: notes it in the status; completes an empty one.
    #[inline]
    pub(super) fn begin(&mut self, request: u32, from: Proc, tuple: &Tuple, size: u64) {
        self.transfers.get_mut(request).begin(from, tuple.source, tuple.tag, size);
        if size == 0 {
            self.complete(request);
        }
    }

    /// The next bytes of a message; completes it with the last.
    #[inline]
    pub(super) fn absorb(&mut self, request: u32, bytes: &[u8], source: Source) {
        if bytes.is_empty() {
            return;
        }
        let transfer = self.transfers.get_mut(request);
        let Side::Receive { received, expected, .. } = &mut transfer.side else { unreachable!("bytes for a send") };
        let from = *received;
        *received += bytes.len();
        let last = *received >= *expected;
        let long = *expected >= LONG;
        if long && from == 0 {
            self.target = self.gauge.target(&rules::STORES, *expected, self.clock);
            self.round.transfer();
        }
        let target = if long { self.target } else { Target::Soon };
        transfer.data.scatter(from, bytes, source, target);
        if last {
            self.complete(request);
        }
    }

    /// Takes the oldest receive that matches a message of the stream out of matching.
    #[inline]
    pub(super) fn match_arrival(&mut self, from: Proc, tuple: &Tuple) -> Option<u32> {
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
        self.count_taken(from, tuple);
        found
    }

    fn eager(
        &mut self, from: Proc, tuple: Tuple, size: u64, sync: Option<Synchronous>, preferred: bool, payload: &[u8],
    ) {
        let whole = payload.len() as u64 == size;
        if !whole && let Some(why) = State::flaw_of_eager(size, payload.len()) {
            let packet = Packet::Eager { tuple, size, sync, preferred };
            return self.report_damaged(from, &packet.encode(), payload.len(), why);
        }
        if let Some(request) = self.match_arrival(from, &tuple) {
            if whole {
                self.deliver(request, &tuple, payload);
            } else {
                self.begin(request, from, &tuple, size);
                self.absorb(request, payload, self.payload);
                self.incoming[from as usize] = Incoming::Transfer(request);
                if !preferred {
                    self.came_in_packets(from);
                }
            }
            self.note_packets(from, size, preferred);
            if let Some(sender) = sync {
                self.acknowledge(from, request, sender);
            }
            return;
        }
        let body = if whole && payload.len() <= SHORT && sync.is_none() {
            Body::short(payload)
        } else {
            let mut bytes = Vec::new();
            if bytes.try_reserve_exact(size as usize).is_err() {
                let packet = Packet::Eager { tuple, size, sync, preferred };
                return self.report_damaged(
                    from,
                    &packet.encode(),
                    payload.len(),
                    "there is no memory for its message",
                );
            }
            bytes.extend_from_slice(payload);
            Body::Bytes { bytes, sync }
        };
        // SAFETY: the payload is mapped.
        unsafe { give_back(payload.as_ptr(), payload.len(), self.payload) };
        let arrival = self.keep(Arrival { tuple, from, size, body });
        if !whole {
            self.incoming[from as usize] = Incoming::Arrival(arrival);
        }
    }

    fn more(&mut self, from: Proc, header: &Header, payload: &[u8]) {
        let len = payload.len();
        match self.incoming[from as usize] {
            Incoming::Transfer(request) if self.receiving(from, request, len).is_some() => {
                self.absorb(request, payload, self.payload);
            }
            Incoming::Arrival(arrival) if self.is_arriving(from, arrival, len) => {
                if let Body::Bytes { bytes, .. } = &mut self.arrivals.get_mut(arrival).body {
                    bytes.extend_from_slice(payload);
                    // SAFETY: the payload is mapped.
                    unsafe { give_back(payload.as_ptr(), len, self.payload) };
                }
            }
            _ => self.report_damaged(from, header, len, "no message waits for so many bytes"),
        }
    }
}

impl Sink for State {
    #[inline]
    fn packet(&mut self, from: Proc, header: &Header, payload: &[u8]) {
        let Some(packet) = Packet::decode(header) else {
            return self.report_damaged(from, header, payload.len(), "its kind is unknown");
        };
        match packet {
            Packet::Eager { tuple, size, sync, preferred } => self.eager(from, tuple, size, sync, preferred, payload),
            Packet::More => self.more(from, header, payload),
            _ if self.refuses(from, header, &packet, payload) => {}
            Packet::Rts { tuple, size, sender, flags } => self.rts(from, tuple, size, sender, flags, payload),
            Packet::RtsConfirm { sender, right } => self.rts_confirm(from, sender, right),
            Packet::Cts { sender, receiver, bytes } => self.cts(from, sender, receiver, bytes),
            Packet::Data { receiver, size } => self.data(receiver, size, payload),
            Packet::Rtr { sender, receiver, bytes } => self.rtr(from, sender, receiver, bytes, payload),
            Packet::Fin { receiver } => self.complete(receiver),
            Packet::Join { sender, number } => self.join(from, sender, number),
            Packet::Ats { sender } => self.ats(from, sender),
            Packet::AtsKept { sender } => self.ats_kept(from, sender),
            Packet::AtsUnconfirmed { sender } => self.ats_unconfirmed(sender),
            Packet::Ack { sender } => self.advance_send(sender, true, false),
            Packet::Cancel { tuple, sender } => self.give_back(from, tuple, sender),
            Packet::Cancelled { sender, success: true } => self.cancelled(sender),
            Packet::Cancelled { success: false, .. } => {}
            Packet::Missing { tuple, word } => self.missing(from, tuple, word),
            Packet::Full => self.note_full(from, true),
            Packet::Room => self.note_full(from, false),
        }
    }

    fn place(&mut self, from: Proc, header: &Header, len: usize) -> Option<Place> {
        self.place_payload(from, header, len)
    }

    fn placed(&mut self, token: u32, len: usize) {
        self.end_placing(token, len);
    }

    /// With the end of the last receive that is open: whoever waits for it goes on, and may then open the one that the next
    /// message is for, which need not be kept until then.
    #[inline]
    fn has_enough(&mut self) -> bool {
        std::mem::take(&mut self.ended) && !self.matching.is_open()
    }

    fn delivered(&mut self, receiver: u32, size: u64) {
        self.filled(receiver, size);
    }

    fn retracted(&mut self, receiver: u32) {
        self.recalled(receiver);
    }

    fn sent(&mut self, sender: u32) {
        self.end_push(sender);
    }

    fn undelivered(&mut self, peer: Proc, sender: u32, receiver: u32, room: u64) {
        let len = self.transfers.get(sender).data.len() as u64;
        self.cts(peer, sender, receiver, len.min(room));
    }

    fn pulled(&mut self, receiver: u32) {
        self.end_pull(receiver);
    }

    fn lost(&mut self, peer: Proc, why: &str) {
        self.lose(peer, why);
    }
}
