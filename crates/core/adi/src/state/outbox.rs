//! Composer: packets on the stream. They go at once if nothing waits before them and there is room, else when the devices take them.

use super::State;
use crate::packet::Packet;
use crate::parts::call::Exchanges;
use crate::parts::stream::{Bulk, Outgoing};
use crate::{Data, Proc};
use tern_mcm::{Cut, Header, Lending, Payload};
use tern_policy::cuts::{cut, piece, scattered_piece};

/// What waits in an outbox and goes between two looks at what has come, at most.
const AT_ONCE: usize = 64;

/// Bytes of long messages to one process that go between two looks at what has come: where both send, what has come is copied out before it
/// leaves the caches, and blocks come back.
const STRETCH: usize = 256 << 10;

impl State {
    /// Sends a packet without payload, in order with what waits.
    pub(super) fn control(&mut self, to: Proc, packet: Packet) {
        if self.loss.has(to) {
            return;
        }
        self.send_or_queue(to, Outgoing::Header(packet.encode()));
    }

    /// Sends one packet at once, if none waits before it and there is room.
    #[inline]
    pub(super) fn send_or_queue(&mut self, to: Proc, outgoing: Outgoing) {
        if !self.stream.is_open(to) {
            return self.stream.queue(to, outgoing);
        }
        if let Some(rest) = self.push(to, outgoing) {
            self.stream.queue(to, rest);
            self.stream.found_full(to);
        }
    }

    /// Sends what waits, as far as the devices take it.
    #[inline]
    pub fn flush_all(&mut self) {
        let mut at = 0;
        while let Some(to) = self.stream.busy_at(at) {
            self.flush(to);
            if !self.stream.unlist(at) {
                at += 1;
            }
        }
    }

    pub(super) fn flush(&mut self, to: Proc) {
        for _ in 0..AT_ONCE {
            let Some(outgoing) = self.stream.next(to) else { break };
            if let Some(rest) = self.push(to, outgoing) {
                return self.stream.put_back(to, rest);
            }
            self.stream.found_room(to);
            self.moved = true;
        }
        if !self.stream.is_open(to) {
            // The peer may take them as fast as they go, and say meanwhile that it has too many.
            return;
        }
        // Long messages take turns.
        let (mut gone, exchanged) = (0, self.call.exchanges == Exchanges::All || self.learned.habits.exchanges());
        while gone < STRETCH
            && let Some(bulk) = self.stream.next_bulk(to)
        {
            let len = piece(bulk.end - bulk.sent, self.mcm.piece(to), exchanged);
            gone += len;
            match self.push_bulk(to, bulk, len) {
                Ok(None) => {}
                Ok(Some(rest)) => self.stream.end_turn(to, rest),
                Err(full) => return self.stream.put_back_bulk(to, full),
            }
            self.stream.found_room(to);
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
            Outgoing::Located(header, memory) => {
                // Whatever part of the words goes: the receiver makes do without.
                let words = memory.encode();
                let gone = self.mcm.copy_and_send(to, &header, Payload::Bytes(&words));
                gone.is_none().then_some(Outgoing::Located(header, memory))
            }
            Outgoing::Notice { bytes, sent } => {
                let sent = self.push_notice(to, &bytes, sent);
                (sent < bytes.len()).then_some(Outgoing::Notice { bytes, sent })
            }
            Outgoing::Eager { request, first: Some(header), .. } if self.stream.is_full(to) => {
                let asking = self.ask_instead(request, &header);
                self.push(to, asking)
            }
            Outgoing::Eager { request, mut first, mut sent } => {
                let data = self.requests.get(request).data.clone();
                let before = sent;
                let gone = self.send_pieces(to, &data, &mut first, &mut sent);
                self.moved |= gone || sent > before;
                if !gone {
                    return Some(Outgoing::Eager { request, first, sent });
                }
                self.advance_send(request, false, true);
                None
            }
        }
    }

    /// Sends packets of a notice while there is room, from byte `sent` on; returns how many bytes have gone.
    pub(super) fn push_notice(&self, to: Proc, bytes: &[u8], mut sent: usize) -> usize {
        let header = Packet::Notice { size: bytes.len() as u64 }.encode();
        while sent < bytes.len()
            && let Some(taken) = self.mcm.copy_and_send(to, &header, Payload::Bytes(&bytes[sent..]))
        {
            sent += taken;
        }
        sent
    }

    /// Sends packets of an eager message while there is room, from byte `sent` on, with `first` as the header until it is gone; true
    /// when all are.
    #[inline]
    pub(super) fn send_pieces(&self, to: Proc, data: &Data, first: &mut Option<Header>, sent: &mut usize) -> bool {
        let size = data.len();
        let most = self.mcm.piece(to);
        let scattered = if most.is_none() { self.scattered_piece(to, data) } else { None };
        while first.is_some() || *sent < size {
            let header = first.unwrap_or_else(|| Packet::More.encode());
            let left = size - *sent;
            let len = scattered.map_or_else(|| piece(left, most, false), |len| cut(left, len));
            let Some(taken) = data.with_payload(*sent, len, |p| self.mcm.copy_and_send(to, &header, p)) else {
                return false;
            };
            *first = None;
            *sent += taken;
        }
        true
    }

    /// Bytes of an eager message that go into one packet, where that is fewer than [`piece`] says. In an exchange both sides copy
    /// all the time, and nothing is won by beginning early.
    #[inline]
    fn scattered_piece(&self, to: Proc, data: &Data) -> Option<usize> {
        let piece = scattered_piece(data.len(), || data.block_per_line())?;
        let exchanged = self.call_exchanges(to, data.len()) || self.exchanges_with(to, data.len());
        (!exchanged).then_some(piece)
    }

    /// Sends one packet of a long message, of `len` bytes: `Ok` with the rest, `Err` when there is no room.
    fn push_bulk(&mut self, to: Proc, mut bulk: Bulk, len: usize) -> Result<Option<Bulk>, Bulk> {
        if self.lend_bulk(to, &bulk) {
            return Ok(None);
        }
        let data = &self.requests.get(bulk.request).data;
        let header = Packet::Data { receiver: bulk.receiver, size: data.len() as u64 }.encode();
        let taken = data.with_payload(bulk.sent, len, |p| self.mcm.copy_and_send(to, &header, p));
        let Some(taken) = taken else { return Err(bulk) };
        bulk.sent += taken;
        if bulk.sent < bulk.end {
            return Ok(Some(bulk));
        }
        self.advance_send(bulk.request, true, true);
        Ok(None)
    }

    /// Has a device that pays for each packet send all that is left from where it lies.
    fn lend_bulk(&self, to: Proc, bulk: &Bulk) -> bool {
        let Some(len) = self.mcm.piece(to) else { return false };
        let Data::Bytes(base, all) = self.requests.get(bulk.request).data else { return false };
        let header = Packet::Data { receiver: bulk.receiver, size: all as u64 }.encode();
        // SAFETY: the caller of the send keeps the buffer valid and unchanged until the request is complete (see `Data`), and the receiver has
        // asked for no more than it has.
        unsafe {
            let payload = std::slice::from_raw_parts(base.add(bulk.sent), bulk.end - bulk.sent);
            let cut = Cut { first: header, rest: header, len };
            self.mcm.lending(to, payload) == Lending::Always && self.mcm.send_from(to, &cut, payload, bulk.request)
        }
    }
}
