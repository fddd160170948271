//! What could not be sent at once: in order, as the devices take it.

use super::{Exchanges, State};
use crate::packet::Packet;
use crate::{Data, Proc};
use std::collections::VecDeque;
use tern_counters as counters;
use tern_mcm::{Cut, Header, Lending, Memory, Payload};

/// What could not be sent at once.
#[derive(Debug)]
pub enum Outgoing {
    Header(Header),
    /// A request to send, or to put, with where the data lies or belongs.
    Located(Header, Memory),
    /// The rest of an eager message; nothing of it has gone when `first` is there.
    Eager {
        request: u32,
        first: Option<Header>,
        sent: usize,
    },
}

/// Bytes that the receiver has asked for.
#[derive(Debug)]
pub struct Bulk {
    pub request: u32,
    pub receiver: u32,
    pub sent: usize,
    pub end: usize,
}

#[derive(Debug, Default)]
pub struct Outbox {
    /// In order.
    pub queue: VecDeque<Outgoing>,
    pub bulk: VecDeque<Bulk>,
    /// In `State::busy`.
    pub listed: bool,
    /// What came last found no room.
    full: bool,
}

/// What waits in an outbox and goes between two looks at what has come, at most.
const AT_ONCE: usize = 64;

/// Bytes of a message that go into one packet: the receiver copies one out while the sender copies the next in. Small enough to
/// start early, large enough that the packets themselves do not count: a message of this length goes sooner whole than as two.
pub const PIECE: usize = 8 << 10;

/// The same while so much of the message is left that the last ones can be shorter, if the device takes as much.
const LONG_PIECE: usize = 32 << 10;
const LONG: usize = 128 << 10;

/// The same in an exchange: nobody is idle while the last one is copied, since its sender has others to copy out, and its receiver to copy in.
/// The longer they are, the less often two that copy at the same time wait for each other (a twentieth of the time).
const EXCHANGED_PIECES: [usize; 2] = [64 << 10, 32 << 10];

/// Blocks of a column of a matrix that go into one packet: to copy one out or in takes a cache line, and as long as 64 bytes in one run. To and
/// fro, a column of 1024 doubles takes a fifth less so than as one packet.
const BLOCKS_OF_PIECE: usize = 256;

/// Bytes of long messages to one process that go between two looks at what has come: where both send, what has come is copied out before it
/// leaves the caches, and blocks come back.
const STRETCH: usize = 256 << 10;

/// Bytes of a message of which `left` are left that go into its next packet; `most` if the device wants as many in one
/// (`tern_device::Abilities::piece`).
#[inline]
fn piece(left: usize, most: Option<usize>, exchanged: bool) -> usize {
    if let Some(most) = most {
        return left.min(most);
    }
    if exchanged && let Some(long) = EXCHANGED_PIECES.into_iter().find(|&long| left >= long) {
        return long;
    }
    if left < LONG { cut(left, PIECE) } else { LONG_PIECE }
}

/// The same for packets of `len` bytes. What is less than two of them is not cut: a short packet behind a long one takes as long as another
/// long one (10 KiB 2.4 us instead of 1.65).
#[inline]
fn cut(left: usize, len: usize) -> usize {
    if left < 2 * len { left } else { len }
}

impl State {
    /// Sends a packet without payload, in order with what waits.
    pub(super) fn control(&mut self, to: Proc, packet: Packet) {
        if !self.lost.is_empty() && self.lost.contains_key(&to) {
            return;
        }
        self.send_or_queue(to, Outgoing::Header(packet.encode()));
    }

    /// Sends one packet at once, if none waits before it and there is room.
    #[inline]
    pub(super) fn send_or_queue(&mut self, to: Proc, outgoing: Outgoing) {
        if !self.outboxes[to as usize].queue.is_empty() {
            return self.queue(to, outgoing);
        }
        if let Some(rest) = self.push(to, outgoing) {
            self.queue(to, rest);
            self.found_full(to);
        }
    }

    /// True when nothing waits to be sent to `to`.
    pub(super) fn is_idle(&self, to: Proc) -> bool {
        let outbox = &self.outboxes[to as usize];
        outbox.queue.is_empty() && outbox.bulk.is_empty()
    }

    pub(super) fn queue(&mut self, to: Proc, outgoing: Outgoing) {
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
            if self.is_idle(to) {
                self.outboxes[to as usize].listed = false;
                self.busy.swap_remove(at);
            } else {
                at += 1;
            }
        }
    }

    pub(super) fn flush(&mut self, to: Proc) {
        for _ in 0..AT_ONCE {
            let Some(outgoing) = self.outboxes[to as usize].queue.pop_front() else { break };
            if let Some(rest) = self.push(to, outgoing) {
                self.outboxes[to as usize].queue.push_front(rest);
                return self.found_full(to);
            }
            self.outboxes[to as usize].full = false;
            self.moved = true;
        }
        if !self.outboxes[to as usize].queue.is_empty() {
            // The peer may take them as fast as they go, and say meanwhile that it has too many.
            return;
        }
        // Long messages take turns.
        let (mut gone, exchanged) = (0, self.exchanges == Exchanges::All || self.habits.exchanges());
        while gone < STRETCH
            && let Some(bulk) = self.outboxes[to as usize].bulk.pop_front()
        {
            let len = piece(bulk.end - bulk.sent, self.mcm.piece(to), exchanged);
            gone += len;
            match self.push_bulk(to, bulk, len) {
                Ok(None) => {}
                Ok(Some(rest)) => self.outboxes[to as usize].bulk.push_back(rest),
                Err(full) => {
                    self.outboxes[to as usize].bulk.push_front(full);
                    return self.found_full(to);
                }
            }
            self.outboxes[to as usize].full = false;
            self.moved = true;
        }
    }

    /// There is no room for what is to go to `to`.
    fn found_full(&mut self, to: Proc) {
        if !std::mem::replace(&mut self.outboxes[to as usize].full, true) {
            counters::RING_FULL.add(1);
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
            Outgoing::Eager { request, first: Some(header), .. } if self.is_full(to) => {
                self.push(to, self.ask_instead(request, &header))
            }
            Outgoing::Eager { request, mut first, mut sent } => {
                let data = self.transfers.get(request).data.clone();
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
        if data.len() < 2 * BLOCKS_OF_PIECE {
            // It is whole in one packet whatever its blocks are.
            return None;
        }
        let piece = BLOCKS_OF_PIECE * data.block_per_line()?;
        let exchanged = self.call_exchanges(to, data.len()) || self.exchanges_with(to, data.len());
        (piece < PIECE && !exchanged).then_some(piece)
    }

    /// Sends one packet of a long message, of `len` bytes: `Ok` with the rest, `Err` when there is no room.
    fn push_bulk(&mut self, to: Proc, mut bulk: Bulk, len: usize) -> Result<Option<Bulk>, Bulk> {
        if self.lend_bulk(to, &bulk) {
            return Ok(None);
        }
        let data = &self.transfers.get(bulk.request).data;
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
        let Data::Bytes(base, all) = self.transfers.get(bulk.request).data else { return false };
        let header = Packet::Data { receiver: bulk.receiver, size: all as u64 }.encode();
        // SAFETY: the caller of the send keeps the buffer valid and unchanged until the request is complete (see `Data`), and the receiver has
        // asked for no more than it has.
        unsafe {
            let payload = std::slice::from_raw_parts(base.add(bulk.sent), bulk.end - bulk.sent);
            let cut = Cut { first: header, rest: header, len };
            self.mcm.lending(to, payload) == Lending::Always && self.mcm.send_from(to, &cut, payload, bulk.request)
        }
    }

    pub(super) fn bulk(&mut self, to: Proc, bulk: Bulk) {
        counters::STREAMED.add(1);
        counters::STREAMED_BYTES.add((bulk.end - bulk.sent) as u64);
        self.outboxes[to as usize].bulk.push_back(bulk);
        self.list(to);
    }
}
