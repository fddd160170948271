//! Rings for the eager packets of busy peers, written by RDMA.
//!
//! A process that has taken many short packets from a peer offers it a ring of cells in its own memory. The peer
//! writes packets there as long as they fit and there are free cells, and the process looks there at each poll; the
//! shared receive queue takes the rest. Both count the packets of the channel in one sequence, so that they are
//! taken in the order of sending: what comes through the queue shows that all that was written before is there.
//!
//! Nothing completes at the receiver of a write, so nobody who sleeps is woken. Before it sleeps a process asks its
//! peers to pause. Until they all have said that they do, it sleeps only for moments.

use crate::Verbs;
use crate::arrive::{Incoming, Place};
use crate::channel::{Channel, Frame};
use crate::header;
use crate::ring::{Reader, Writer};
use crate::wire::{Kind, PREFIX, Prefix};
use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use tern_counters as counters;
use tern_device::{Header, Payload};
use tern_hca::{Access, Maker, MemoryRegion, Operation, ProtectionDomain, Remote};
use tern_policy::rules;

/// Alignment of a ring.
const PAGE: usize = 4096;
/// How long one sleeps while a peer may still write to a ring, in nanoseconds.
const MOMENT: i64 = 500_000;
/// Requests for a packet, at most.
const WRITES: u64 = 2;
/// The most packets past a ring before it is used again.
const PATIENCE: u32 = 1 << 12;

/// What is said about a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Use this one.
    Offer { at: Remote, cells: u32, size: u32 },
    /// Write no more, and say so.
    Pause,
    /// Write again.
    Resume,
    /// Nothing more is written, until [`Word::Resume`].
    Paused,
}

impl Word {
    /// Bytes of a word.
    pub const LEN: usize = 24;

    pub fn encode(&self) -> [u8; Word::LEN] {
        let mut bytes = [0; Word::LEN];
        match *self {
            Word::Offer { at, cells, size } => {
                bytes[..8].copy_from_slice(&at.address.to_le_bytes());
                bytes[8..12].copy_from_slice(&at.key.to_le_bytes());
                bytes[12..16].copy_from_slice(&cells.to_le_bytes());
                bytes[16..20].copy_from_slice(&size.to_le_bytes());
                bytes[20] = 1;
            }
            Word::Pause => bytes[20] = 2,
            Word::Resume => bytes[20] = 3,
            Word::Paused => bytes[20] = 4,
        }
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Option<Word> {
        let bytes: &[u8; Word::LEN] = bytes.try_into().ok()?;
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let address = word(0) as u64 | (word(4) as u64) << 32;
        Some(match bytes[20] {
            1 => Word::Offer { at: Remote { address, key: word(8) }, cells: word(12).max(1), size: word(16) },
            2 => Word::Pause,
            3 => Word::Resume,
            4 => Word::Paused,
            _ => return None,
        })
    }
}

/// Whether the peer writes to a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Active,
    /// It has been asked to pause.
    Pausing,
    Paused,
}

/// A ring in this process's memory.
pub struct Inbox {
    region: Option<MemoryRegion>,
    base: NonNull<u8>,
    layout: Layout,
    cells: u32,
    size: u32,
    reader: RefCell<Reader>,
    state: Cell<Use>,
    /// Packets past the ring after which a paused one is used again.
    after: Cell<u32>,
}

impl Inbox {
    fn new(domain: &ProtectionDomain, cells: u32, size: u32, after: u32) -> Option<Inbox> {
        let layout = Layout::from_size_align(cells as usize * size as usize, PAGE).ok()?;
        // SAFETY: the length is not 0.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let reader = RefCell::new(Reader::new(cells));
        let state = Cell::new(Use::Active);
        let mut inbox = Inbox { region: None, base, layout, cells, size, reader, state, after: Cell::new(after) };
        // SAFETY: freed after the region is dropped; a cell is read only when its prefix says that it is written,
        // and not written again before the peer has been told that it is free.
        inbox.region = unsafe { domain.register(base.as_ptr(), layout.size(), Access::ALL) }.ok();
        inbox.region.is_some().then_some(inbox)
    }

    fn offer(&self) -> Word {
        let key = self.region.as_ref().expect("registered").remote_key();
        let at = Remote { address: self.base.as_ptr() as u64, key };
        Word::Offer { at, cells: self.cells, size: self.size }
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.layout.size()
    }

    /// The packet that comes next, if it has come: prefix, and the bytes in front of it.
    #[inline]
    fn peek(&self) -> Option<(Prefix, &[u8])> {
        let cell = self.reader.borrow().next();
        let end = (cell.index as usize + 1) * self.size as usize - PREFIX;
        // SAFETY: the last word of a cell, aligned, in memory that lives as long as this.
        let word = unsafe { &*self.base.as_ptr().add(end).cast::<AtomicU64>() };
        // Acquire: what was written before the prefix is seen after it.
        let prefix = Prefix::decode(&word.load(Ordering::Acquire).to_ne_bytes())?;
        if prefix.lap != cell.lap || prefix.len as usize > self.size as usize - PREFIX {
            return None;
        }
        let len = prefix.len as usize;
        // SAFETY: inside the cell, which the peer does not write to until it is told that it is free.
        let bytes = unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(end - len), len) };
        Some((prefix, bytes))
    }

    pub fn give_back(&self) -> u8 {
        self.reader.borrow_mut().give_back()
    }

    /// True when the peer should hear of free cells.
    pub fn is_due(&self) -> bool {
        self.reader.borrow().is_due()
    }

    /// The oldest packet that was seen has been used.
    pub fn taken(&self) {
        self.reader.borrow_mut().advance();
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.region = None;
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.base.as_ptr(), self.layout) };
    }
}

/// A ring in a peer's memory.
pub struct Outbox {
    at: Remote,
    size: u32,
    writer: RefCell<Writer>,
    paused: Cell<bool>,
}

impl Outbox {
    /// The peer has so many more cells free.
    pub fn returned(&self, cells: u8) {
        self.writer.borrow_mut().returned(cells);
    }
}

impl Verbs {
    // ---- the sender

    /// Writes a packet into the ring of a peer. False: there is none, or no room in it.
    #[inline]
    pub(crate) fn write_to_ring(
        &self, channel: &Channel, header: &Header, len: usize, payload: &mut Payload<'_>,
    ) -> bool {
        let Some(outbox) = channel.outbox.get() else { return false };
        let fits = PREFIX + header::LONGEST + len <= outbox.size as usize;
        if !fits || outbox.paused.get() || !channel.may_post(WRITES) {
            return false;
        }
        let Some(cell) = outbox.writer.borrow().next() else { return false };
        let Some(buffer) = self.take_bounce() else { return false };
        if outbox.paused.get() || !channel.may_post(WRITES) {
            // That has come with the look for a buffer.
            self.bounces.give(buffer);
            return false;
        }
        outbox.writer.borrow_mut().advance();
        let (mask, changed, bytes) = self.cached(&mut channel.outgoing.borrow_mut(), header);
        let sequence = channel.next_out.replace(channel.next_out.get().wrapping_add(1));
        let front = changed + len;
        let credits = channel.credits.borrow_mut().give_back();
        let cells = channel.free_cells();
        let prefix = Prefix { kind: Kind::Packet, lap: cell.lap, credits, cells, mask, sequence, len: front as u16 };
        // SAFETY: a free buffer, longer than any packet that a channel lets pass.
        let out = unsafe { std::slice::from_raw_parts_mut(self.bounces.at(buffer), front + PREFIX) };
        out[..changed].copy_from_slice(&bytes[..changed]);
        self.settings.link.copies(len, || payload.write_to(&mut out[changed..front]));
        out[front..].copy_from_slice(&prefix.encode());
        counters::NETWORK_PACKETS.add(1);
        counters::NETWORK_RING.add(1);
        counters::NETWORK_BYTES.add((front + PREFIX) as u64);
        let end = outbox.at.address + (cell.index as u64 + 1) * outbox.size as u64 - PREFIX as u64;
        self.post_write(channel, buffer, front as u32, Remote { address: end, key: outbox.at.key });
        true
    }

    /// Writes a packet of `front` bytes and a prefix so that the prefix comes to lie at `end`.
    fn post_write(&self, channel: &Channel, buffer: u32, front: u32, end: Remote) {
        let inline = front as usize + PREFIX <= channel.inline;
        let to = |before: u32| Operation::Write(Remote { address: end.address - before as u64, ..end });
        let prefix = PREFIX as u32;
        let part = |at, len, follows, operation| Frame { buffer, at, len, inline, follows, operation };
        // Cards write the bytes of one request in order; the software HCA leaves that to the kernel, which does not.
        if front == 0 || self.settings.maker == Maker::RdmaCore {
            return self.submit(channel, part(0, front + prefix, false, to(front)));
        }
        self.submit(channel, part(0, front, true, to(front)));
        self.submit(channel, part(front, prefix, false, to(0)));
    }

    // ---- the receiver

    /// Counts a packet that came past the ring, and thinks about one.
    #[inline]
    pub(crate) fn count_past(&self, channel: &Channel, len: usize) {
        if self.settings.rings == 0 || len > self.settings.ring_cell as usize {
            return;
        }
        channel.past.set(channel.past.get() + 1);
        let inbox = channel.inbox.get();
        let after = inbox.map_or(self.settings.ring_after, |inbox| inbox.after.get());
        if channel.past.get() >= after {
            channel.past.set(0);
            if rules::RINGS.is_on() {
                self.think_of_ring(channel, inbox);
            }
        }
    }

    #[cold]
    fn think_of_ring(&self, channel: &Channel, inbox: Option<&Inbox>) {
        let word = match inbox {
            Some(inbox) if inbox.state.get() == Use::Paused => {
                inbox.state.set(Use::Active);
                Word::Resume
            }
            Some(_) => return,
            None => {
                if self.rings.borrow().len() >= self.settings.rings as usize {
                    return;
                }
                let (cells, after) = (self.settings.ring_cells.clamp(1, 255), self.settings.ring_after);
                // Where no memory can be registered, the shared queue does.
                let Some(made) = Inbox::new(&self.fabric.domain, cells, self.ring_size(), after) else { return };
                self.rings.borrow_mut().push(channel.peer);
                channel.inbox.get_or_init(|| made).offer()
            }
        };
        rules::RINGS.count_one();
        self.say(channel, word);
    }

    /// Bytes of a cell: whole cache lines, so that prefixes are aligned.
    fn ring_size(&self) -> u32 {
        self.settings.ring_cell.clamp(64, 16 << 10).next_multiple_of(64)
    }

    fn say(&self, channel: &Channel, word: Word) {
        channel.words.borrow_mut().push_back(word);
        self.want(channel);
    }

    /// Hears what a peer says about rings.
    pub(crate) fn hear(&self, channel: &Channel, bytes: &[u8]) {
        match Word::decode(bytes) {
            Some(Word::Offer { at, cells, size }) => {
                let writer = RefCell::new(Writer::new(cells));
                let _ = channel.outbox.set(Outbox { at, size, writer, paused: Cell::new(false) });
            }
            Some(Word::Pause) => {
                channel.outbox.get().inspect(|outbox| outbox.paused.set(true));
                self.say(channel, Word::Paused);
            }
            Some(Word::Resume) => _ = channel.outbox.get().inspect(|outbox| outbox.paused.set(false)),
            Some(Word::Paused) => _ = channel.inbox.get().inspect(|inbox| inbox.state.set(Use::Paused)),
            None => self.lose(channel.peer, "what it says about rings is not understood"),
        }
    }

    /// Takes what has come in all rings; returns how many packets.
    #[inline]
    pub(crate) fn look_at_rings(&self) -> usize {
        let rings = self.rings.borrow();
        rings.iter().filter_map(|&peer| self.known(peer)).map(|channel| self.drain(channel)).sum()
    }

    /// Takes what has come in the ring of a peer and is next in its order.
    #[inline]
    pub(crate) fn drain(&self, channel: &Channel) -> usize {
        let Some(inbox) = channel.inbox.get() else { return 0 };
        let mut packets = 0;
        while let Some((prefix, bytes)) = inbox.peek() {
            if prefix.sequence != channel.next_in.get() || channel.lost.get() {
                break;
            }
            inbox.reader.borrow_mut().see();
            let Some((_, header, at)) = self.open_packet(channel, &prefix, bytes) else {
                self.lose(channel.peer, "what it wrote into its ring is no packet");
                break;
            };
            let payload = Place::in_ring(&bytes[at..]);
            self.inbound.borrow_mut().push_back(Incoming::Packet { from: channel.peer, header, payload });
            packets += 1;
        }
        packets
    }

    // ---- sleeping

    /// Asks all peers to pause. While some may still write, the next sleep is short.
    pub(crate) fn pause_rings(&self) {
        let rings = self.rings.borrow().clone();
        let mut waits = false;
        for channel in rings.into_iter().filter_map(|peer| self.known(peer)).filter(|channel| !channel.lost.get()) {
            let inbox = channel.inbox.get().expect("it is in the list");
            if inbox.state.get() == Use::Active {
                inbox.state.set(Use::Pausing);
                inbox.after.set((inbox.after.get() * 2).clamp(1, PATIENCE));
                self.say(channel, Word::Pause);
            }
            waits |= inbox.state.get() == Use::Pausing;
        }
        self.set_timer(if waits { MOMENT } else { 0 });
    }

    /// Makes the descriptor readable after so many nanoseconds; 0: not at all.
    fn set_timer(&self, nanoseconds: i64) {
        if nanoseconds == 0 && !self.timed.get() {
            return;
        }
        self.timed.set(nanoseconds != 0);
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        let it_value = Timespec { tv_sec: 0, tv_nsec: nanoseconds };
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &Itimerspec { it_interval, it_value });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_survive() {
        let at = Remote { address: u64::MAX - 7, key: 9 };
        for word in [Word::Offer { at, cells: 32, size: 1 << 20 }, Word::Pause, Word::Resume, Word::Paused] {
            assert_eq!(Word::decode(&word.encode()), Some(word));
        }
        assert_eq!(Word::decode(&[0; Word::LEN]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..96)) {
            let _ = Word::decode(&bytes);
        }
    }
}
