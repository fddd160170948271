//! Composer: what arrives, by the kind of packet; messages are given to receives, or kept.

use super::State;
use super::rendezvous::Offer;
use crate::data::copy;
use crate::packet::{Packet, Synchronous};
use crate::parts::stream::Incoming;
use crate::parts::unexpected::{Arrival, Body, SHORT};
use crate::transfer::{Side, Stage};
use crate::{Data, Proc, Tuple};
use tern_copy::{Source, Target, give_back};
use tern_counters as counters;
use tern_counters::events;
use tern_mcm::{Header, Place, Sink};
use tern_policy::Way;
use tern_policy::stores::LONG_IN_PACKETS;

impl State {
    /// Keeps a message until a receive matches.
    pub(super) fn keep(&mut self, arrival: Arrival) -> u32 {
        let Arrival { tuple, from, size, .. } = arrival;
        let (arrival, full) = self.unexpected.keep(arrival, self.mcm.me());
        if full && !self.loss.has(from) {
            self.tell_full(from);
        }
        events::raise(events::Kind::Unexpected, [tuple.source as u64, tuple.tag as u64, size]);
        self.matching.keep(tuple, arrival);
        self.wake_others();
        arrival
    }

    /// Takes a message that was kept, once it is out of matching.
    pub(super) fn drop_arrival(&mut self, arrival: u32) -> Arrival {
        let mut released = Vec::new();
        let arrival = self.unexpected.take(arrival, self.mcm.me(), |peer| released.push(peer));
        for peer in released {
            self.control(peer, Packet::Room);
        }
        arrival
    }

    /// Gives an arrival, already out of matching, to a receive.
    pub fn consume(&mut self, arrival: u32, request: u32) {
        let Arrival { tuple, from, size, body } = self.drop_arrival(arrival);
        if self.loss.has(from) && !body.is_whole(size) {
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
                    self.expect_rest(from, request);
                }
                if let Some(sender) = sync {
                    self.acknowledge(from, request, sender);
                }
            }
            Body::Waiting { sender, source } => {
                self.answer(request, &Offer { from, tuple, size, sender, source: &source, cma_get: false });
            }
            Body::Own { request: own, mark } => {
                let data = self.requests.get(own).data.clone();
                self.finish_own(request, tuple, &data);
                self.note_mark(request, mark);
                self.advance_send(own, true, true);
            }
            Body::Missing(word) => self.end_without(request, &tuple, word),
        }
    }

    /// Completes receive `request` with this process's own data.
    pub(super) fn finish_own(&mut self, request: u32, tuple: Tuple, data: &Data) {
        copy(data, &self.requests.get(request).data);
        // An empty message completes the receive, which is gone then if it was given up.
        self.begin(request, self.mcm.me(), &tuple, data.len() as u64);
        if !data.is_empty() {
            self.complete(request);
        }
    }

    /// A synchronous send has matched receive `request`.
    pub(super) fn acknowledge(&mut self, from: Proc, request: u32, sender: Synchronous) {
        self.note_mark(request, sender.mark);
        self.control(from, Packet::Ack { sender: sender.request });
    }

    /// `Ack`: a receive has matched synchronous send `request`.
    fn ack(&mut self, request: u32) {
        self.requests.get_mut(request).stage = Stage::Unnamed;
        self.advance_send(request, true, false);
    }

    /// Puts the mark of a message into the status of the receive that it has matched, which may be gone.
    pub(super) fn note_mark(&mut self, request: u32, mark: u32) {
        if mark != 0 && self.requests.find(request).is_some() {
            self.requests.get_mut(request).status.mark = mark;
        }
    }

    /// The hot path: a message that is whole in its packet has matched.
    #[inline]
    fn deliver(&mut self, request: u32, tuple: &Tuple, payload: &[u8]) {
        let transfer = self.requests.get_mut(request);
        transfer.status = transfer.data.fill(tuple.source, tuple.tag, payload, self.payload);
        counters::received(payload.len());
        self.complete(request);
    }

    /// A message of `size` bytes from process `from` has matched: notes it in the status; completes an empty one.
    #[inline]
    pub(super) fn begin(&mut self, request: u32, from: Proc, tuple: &Tuple, size: u64) {
        self.requests.get_mut(request).begin(from, tuple.source, tuple.tag, size);
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
        let transfer = self.requests.get_mut(request);
        let Side::Receive { received, expected, .. } = transfer.side else { unreachable!("bytes for a send") };
        let last = transfer.count_bytes(bytes.len());
        let long = expected >= LONG_IN_PACKETS;
        if long && received == 0 {
            self.learned.begin_target(expected, self.clock);
        }
        let target = Target::streamed(long && self.learned.streams());
        transfer.data.scatter(received, bytes, source, target);
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
            self.requests.get_mut(request).clear_place();
            found = self.matching.arrive(tuple);
        }
        self.count_taken(from, tuple);
        found
    }

    /// The same of a message whose sender waits for no answer: in a context that has ended it is thrown away. Others wait there until their
    /// senders ask them back, which end so without having been received.
    #[inline]
    fn match_or_drop(&mut self, from: Proc, tuple: &Tuple) -> Option<u32> {
        let found = self.match_arrival(from, tuple);
        found.or_else(|| self.loss.has_ended(tuple.context).then(|| self.receive_nowhere()))
    }

    /// A message of `len` bytes has come in packets for a receive that waited for it; `preferred`: by its sender, to one copy.
    #[inline]
    pub fn note_packets(&mut self, from: Proc, len: u64, preferred: bool) {
        if len >= self.direct_from as u64 {
            self.learned.note_way(from, len as usize, if preferred { Way::ChosenPackets } else { Way::Packets });
        }
    }

    fn eager(
        &mut self, from: Proc, tuple: Tuple, size: u64, sync: Option<Synchronous>, preferred: bool, payload: &[u8],
    ) {
        let whole = payload.len() as u64 == size;
        if !whole && self.loss.has(from) {
            // Nobody knows whether the rest comes, and nobody would be told that it does not.
            return;
        }
        if !whole && let Some(why) = State::flaw_of_eager(size, payload.len()) {
            let packet = Packet::Eager { tuple, size, sync, preferred };
            return self.report_damaged(from, &packet.encode(), payload.len(), why);
        }
        let found = if sync.is_none() { self.match_or_drop(from, &tuple) } else { self.match_arrival(from, &tuple) };
        if let Some(request) = found {
            if whole {
                self.deliver(request, &tuple, payload);
            } else {
                self.begin(request, from, &tuple, size);
                self.absorb(request, payload, self.payload);
                self.expect_rest(from, request);
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
            let Ok(mut bytes) = tern_memory::room(size as usize) else {
                let packet = Packet::Eager { tuple, size, sync, preferred };
                return self.report_damaged(
                    from,
                    &packet.encode(),
                    payload.len(),
                    "there is no memory for its message",
                );
            };
            bytes.extend_from_slice(payload);
            Body::Bytes { bytes, sync }
        };
        // SAFETY: the payload is mapped.
        unsafe { give_back(payload.as_ptr(), payload.len(), self.payload) };
        let arrival = self.keep(Arrival { tuple, from, size, body });
        if !whole {
            self.stream.expect_rest(from, Incoming::Arrival(arrival));
        }
    }

    /// The rest of an eager message of process `from` belongs to receive `request`.
    pub(super) fn expect_rest(&mut self, from: Proc, request: u32) {
        self.requests.get_mut(request).stage = Stage::Eager;
        self.stream.expect_rest(from, Incoming::Transfer(request));
    }

    fn more(&mut self, from: Proc, header: &Header, payload: &[u8]) {
        let len = payload.len();
        match self.stream.incoming(from) {
            Incoming::Transfer(request) if self.receiving(from, request, len, &Packet::More).is_some() => {
                self.absorb(request, payload, self.payload);
            }
            Incoming::Arrival(arrival) if self.unexpected.misses(from, arrival, len) => {
                self.unexpected.append(arrival, payload);
                // SAFETY: the payload is mapped.
                unsafe { give_back(payload.as_ptr(), len, self.payload) };
            }
            _ if self.loss.has(from) => {}
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
            Packet::Ack { sender } => self.ack(sender),
            Packet::Cancel { tuple, sender } => self.give_back(from, tuple, sender),
            Packet::Cancelled { sender, success: true } => self.cancelled(sender),
            Packet::Cancelled { success: false, .. } => {}
            Packet::Missing { tuple, word } => self.missing(from, tuple, word),
            Packet::Full => self.note_full(from, true),
            Packet::Room => self.note_full(from, false),
            Packet::Notice { size } => self.notice(from, size, payload),
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
        self.requests.take_ended() && !self.matching.is_open()
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
        let len = self.requests.get(sender).data.len() as u64;
        self.cts(peer, sender, receiver, len.min(room));
    }

    fn pulled(&mut self, receiver: u32) {
        self.end_pull(receiver);
    }

    fn undeliverable(&mut self, peer: Proc) {
        self.note_undeliverable(peer);
    }

    fn lost(&mut self, peer: Proc, why: &str) {
        self.lose(peer, why);
    }
}
