//! Composer: starting a send. It goes at once if it can, or becomes a request.

use super::State;
use super::facts::{Planned, Sending};
use crate::packet::{Packet, RtsFlags, Synchronous};
use crate::parts::call::Exchanges;
use crate::parts::stream::Outgoing;
use crate::parts::unexpected::{Arrival, Body};
use crate::transfer::Stage;
use crate::{Data, Proc, REVOKED, SendMode, Sent, Tuple};
use tern_counters as counters;
use tern_mcm::{Cut, Memory};
use tern_policy::cuts::PIECE;
use tern_policy::{Address, LOOK_EVERY, LOOK_EVERY_SHORT, Packets, SendPlan, Unmatched, asks_nothing};

/// Counts a message of `size` bytes that goes without asking.
#[inline]
fn count_eager(size: usize) {
    counters::SENT_EAGER.add(1);
    counters::SENT_EAGER_BYTES.add(size as u64);
}

impl State {
    /// The short path of [`State::send`]: a short dense message goes now, as one packet, if nothing is in its way. False if something is, and then
    /// nothing has happened.
    #[inline(always)]
    pub fn send_fast(&mut self, to: Proc, tuple: &Tuple, base: *const u8, len: usize) -> bool {
        if !self.short.takes(len) || to == self.mcm.me() || !self.stream.is_flushed() {
            return false;
        }
        if self.queues.is_turn(to, LOOK_EVERY_SHORT) {
            // The longer way looks at what has come.
            return false;
        }
        let header = Packet::Eager { tuple: *tuple, size: len as u64, sync: None, preferred: false }.encode();
        // SAFETY: the caller of the send keeps the buffer valid (see `Data`).
        let bytes = if len == 0 { &[] } else { unsafe { std::slice::from_raw_parts(base, len) } };
        let gone = self.mcm.send_short(to, &header, bytes);
        if gone {
            self.learned.order.send();
            self.queues.put(to, tuple);
            counters::SHORT.count(len);
        }
        gone
    }

    /// Starts a send. `waits`: the caller does nothing else until the buffer may be reused.
    pub fn send(&mut self, to: Proc, tuple: Tuple, data: Data, mode: SendMode, waits: bool) -> Sent {
        if data.len() < self.direct_from {
            return self.start_send(to, tuple, data, mode, waits);
        }
        self.starts(waits && !self.call.waits);
        self.learned.transfer();
        // What a collective sends beside the program is not waited for by it.
        self.learned.habits.send(!waits && self.call.exchanges == Exchanges::Nothing, self.clock);
        let sent = self.start_send(to, tuple, data, mode, waits);
        self.learned.habits.is_started(self.clock);
        sent
    }

    #[inline]
    fn start_send(&mut self, to: Proc, tuple: Tuple, data: Data, mode: SendMode, waits: bool) -> Sent {
        self.learned.order.send();
        if to == self.mcm.me() {
            return match self.loss.has_ended(tuple.context) {
                true => self.fail_send(to, tuple, data, REVOKED),
                false => self.send_to_self(tuple, data, mode),
            };
        }
        if self.queues.is_turn(to, LOOK_EVERY) {
            self.look_aside(to);
        }
        if let Some(lost) = self.loss.of_send(to, tuple.context) {
            return self.fail_send(to, tuple, data, lost);
        }
        let size = data.len();
        let asks_nothing = asks_nothing(size, [self.direct_from, self.lends_from], || self.eager_limit(to));
        if asks_nothing && !self.stream.is_full(to) {
            self.queues.put(to, &tuple);
            self.note_short(to, size);
            return self.send_packets(to, tuple, data, mode, Packets::Only);
        }
        self.send_by_plan(to, tuple, data, mode, waits)
    }

    /// A send to a lost process, or in a context that has ended ([`REVOKED`]), where nobody would answer it. It is over at once.
    #[cold]
    fn fail_send(&mut self, to: Proc, tuple: Tuple, data: Data, lost: Proc) -> Sent {
        let request = self.requests.start_send(to, tuple, data);
        self.fail(request, lost);
        Sent::Pending(crate::Request(request))
    }

    /// Starts a send in the way that the policy finds best.
    #[inline(never)]
    fn send_by_plan(&mut self, to: Proc, tuple: Tuple, data: Data, mode: SendMode, waits: bool) -> Sent {
        let facts = self.send_facts(to, &data, mode, waits);
        let mut planned = Sending::new(self, to, &tuple, &data, &facts, data.memory()).plan();
        if let SendPlan::Deliver(way) = planned.decision.plan {
            if let Some(sent) = self.send_direct(to, &tuple, &data, (way, &planned)) {
                return sent;
            }
            planned = Sending::aside(self, to, &tuple, &data, &facts, &planned).plan();
        }
        if planned.passes_by {
            self.end_turn(&planned);
        }
        let Planned { decision, mut memory, span, .. } = planned;
        let (plan, mut sure) = (decision.plan, decision.address != (Address::Speculative { sure: false }));
        self.note_send(to, data.len(), &decision);
        self.queues.put(to, &tuple);
        let unmatched = match plan {
            SendPlan::Eager(packets) => {
                self.release_unused(&memory);
                return self.send_packets(to, tuple, data, mode, packets);
            }
            SendPlan::EagerZeroCopy(packets) => return self.send_zero_copy(to, tuple, data, packets),
            SendPlan::RndvGet(unmatched) | SendPlan::RndvKernel(unmatched) => unmatched,
            SendPlan::RndvSegments => {
                let region = span.and_then(|span| self.open_region(to, &data, &span));
                (memory, sure) = (region.unwrap_or(Memory::opaque(data.len())), true);
                Unmatched::Waits
            }
            SendPlan::RndvPackets | SendPlan::Deliver(_) => {
                memory = Memory::opaque(data.len());
                Unmatched::Waits
            }
        };
        let flags = RtsFlags {
            // Where nothing is offered, no address is speculative.
            unconfirmed: !sure && !memory.is_opaque(),
            may_buffer: unmatched.is_kept(),
            cma_get: matches!(plan, SendPlan::RndvKernel(_)),
        };
        let request = self.request_send(to, tuple, data, memory, flags);
        if unmatched == Unmatched::KeptPredicted {
            self.ready.note_predicted(request, self.stream.looks());
        }
        Sent::Pending(crate::Request(request))
    }

    /// A message that found no published receive goes so: if its trial has told it one copy, and it goes in packets, that counts for neither way.
    fn end_turn(&mut self, planned: &Planned) {
        let in_packets =
            matches!(planned.decision.plan, SendPlan::Eager(_) | SendPlan::EagerZeroCopy(_) | SendPlan::RndvPackets);
        if let Some(turn) = planned.turn.filter(|turn| turn.one_copy && in_packets) {
            self.learned.give_back(&turn);
        }
    }

    /// Starts a send in packets.
    #[inline]
    fn send_packets(&mut self, to: Proc, tuple: Tuple, data: Data, mode: SendMode, packets: Packets) -> Sent {
        let preferred = packets == Packets::Preferred;
        if mode == SendMode::Standard {
            return self.send_eager(to, tuple, data, preferred);
        }
        let size = data.len();
        let request = self.requests.start_send(to, tuple, data);
        count_eager(size);
        let send = self.requests.get_mut(request);
        send.set_missing(true, true);
        send.stage = Stage::Matching;
        let sync = Some(Synchronous { request, mark: self.call.mark });
        let packet = Packet::Eager { tuple, size: size as u64, sync, preferred };
        self.stream.queue(to, Outgoing::Eager { request, first: Some(packet.encode()), sent: 0 });
        self.flush(to);
        Sent::Pending(crate::Request(request))
    }

    /// The whole message goes now, without a request, if there is room.
    #[inline]
    fn send_eager(&mut self, to: Proc, tuple: Tuple, data: Data, preferred: bool) -> Sent {
        let size = data.len();
        let header = Packet::Eager { tuple, size: size as u64, sync: None, preferred }.encode();
        let (mut first, mut sent) = (Some(header), 0);
        let gone = self.stream.is_open(to) && self.send_pieces(to, &data, &mut first, &mut sent);
        match gone && self.short.takes(size) {
            true => counters::SHORT.count(size),
            false => count_eager(size),
        }
        if gone {
            return Sent::Done;
        }
        let request = self.requests.start_send(to, tuple, data);
        self.stream.queue(to, Outgoing::Eager { request, first, sent });
        self.flush(to);
        if self.requests.get(request).done {
            self.requests.remove(request);
            return Sent::Done;
        }
        Sent::Pending(crate::Request(request))
    }

    /// Sends from where the data lies, or in packets that are copied if something is in the way. The buffer is free when the request is done.
    #[cold]
    fn send_zero_copy(&mut self, to: Proc, tuple: Tuple, data: Data, packets: Packets) -> Sent {
        let preferred = packets == Packets::Preferred;
        match self.lend(to, tuple, &data, preferred) {
            Some(request) => Sent::Pending(crate::Request(request)),
            None => self.send_eager(to, tuple, data, preferred),
        }
    }

    /// Has the network send from where the data lies; `None` when it does not, or something waits before it.
    fn lend(&mut self, to: Proc, tuple: Tuple, data: &Data, preferred: bool) -> Option<u32> {
        let Data::Bytes(base, len) = *data else { return None };
        if !self.stream.is_open(to) {
            return None;
        }
        let request = self.requests.start_send(to, tuple, data.clone());
        // Cut like what is copied: the receiver copies one packet out while the next is on its way.
        let piece = self.mcm.piece(to).unwrap_or(PIECE);
        let first = Packet::Eager { tuple, size: len as u64, sync: None, preferred }.encode();
        let cut = Cut { first, rest: Packet::More.encode(), len: piece };
        // SAFETY: the caller of the send keeps the buffer valid and unchanged until the request is complete (see `Data`).
        let lent = unsafe { self.mcm.send_from(to, &cut, std::slice::from_raw_parts(base, len), request) };
        if !lent {
            self.requests.remove(request);
            return None;
        }
        count_eager(len);
        Some(request)
    }

    /// Buffers may be lent at all.
    pub fn may_lend(&self) -> bool {
        self.lends_from < usize::MAX
    }

    /// A collective begins, in which messages are that long.
    pub fn begin_together(&mut self, longest: usize) {
        if longest >= self.lends_from {
            self.call.lends = Some(self.learned.lends_together(longest, self.clock));
        }
    }

    /// Whether a call that waits until the buffer is free should lend it all the same; `saves`: what that saves of a copy,
    /// in nanoseconds.
    pub(super) fn pays_to_wait(&mut self, len: usize, saves: u32) -> bool {
        // One choice for all that a call sends: it waits for all of it at its end.
        let lends = match self.call.lends.filter(|_| self.call.waits) {
            Some(lends) => lends,
            None => self.learned.lends(len, self.clock),
        };
        self.call.lends = Some(lends);
        self.learned.lending_saves(saves);
        lends
    }

    fn send_to_self(&mut self, tuple: Tuple, data: Data, mode: SendMode) -> Sent {
        counters::SENT_SELF.add(1);
        counters::SENT_SELF_BYTES.add(data.len() as u64);
        if let Some(receive) = self.matching.arrive(&tuple) {
            // It is not published, but others may wait for its end.
            self.win_back(receive);
            self.finish_own(receive, tuple, &data);
            self.note_mark(receive, self.call.mark);
            return Sent::Done;
        }
        let size = data.len() as u64;
        let me = self.mcm.me();
        if mode == SendMode::Standard && data.len() <= self.eager_limit(me) {
            let body = Body::gathered(&data);
            self.keep(Arrival { tuple, from: me, size, body });
            return Sent::Done;
        }
        let request = self.requests.start_send(me, tuple, data);
        self.requests.get_mut(request).set_missing(true, false);
        self.keep(Arrival { tuple, from: me, size, body: Body::Own { request, mark: self.call.mark } });
        Sent::Pending(crate::Request(request))
    }

    /// Notes what has become of a send, and completes it when nothing is missing.
    pub(super) fn advance_send(&mut self, request: u32, matched: bool, sent: bool) {
        if self.requests.get_mut(request).advance(matched, sent) {
            self.complete(request);
        }
    }
}
