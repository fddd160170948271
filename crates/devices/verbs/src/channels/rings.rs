//! Packets by rings ([`crate::rings`]), for the channels of a process.

use super::Channels;
use crate::channel::{Channel, Frame};
use crate::header;
use crate::incoming::{Incoming, Place};
use crate::rings::{Inbox, Outbox, Use, Word};
use crate::wire::{Kind, PREFIX, Prefix};
use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
use tern_counters as counters;
use tern_device::{Header, Payload};
use tern_hca::{Maker, Operation, Remote};
use tern_policy::{Ring, RingStep};

/// How long one sleeps while a peer may still write to a ring, in nanoseconds.
const MOMENT: i64 = 500_000;
/// Requests for a packet, at most.
const WRITES: u64 = 2;

impl Channels {
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
        let part = |at, len, follows, operation| Frame { buffer, at, len, inline, follows, upkeep: false, operation };
        // Cards write the bytes of one request in order; the software HCA leaves that to the kernel, which does not.
        if front == 0 || self.settings.maker == Maker::RdmaCore {
            return self.submit(channel, part(0, front + prefix, false, to(front)));
        }
        self.submit(channel, part(0, front, true, to(front)));
        self.submit(channel, part(front, prefix, false, to(0)));
    }

    // ---- the receiver

    /// Counts a packet that came past the ring, and says about one what the policy says.
    #[inline]
    pub(crate) fn count_past(&self, channel: &Channel, len: usize) {
        if self.settings.rings == 0 || len > self.settings.ring_cell as usize {
            return;
        }
        let ring = || match channel.inbox.get().map(|inbox| inbox.state.get()) {
            None => Ring::None { room: self.rings.borrow().len() < self.settings.rings as usize },
            Some(Use::Paused) => Ring::Paused,
            Some(Use::Active | Use::Pausing) => Ring::InUse,
        };
        if let Some(step) = channel.demand.pass(ring) {
            self.take_ring_step(channel, step);
        }
    }

    #[cold]
    fn take_ring_step(&self, channel: &Channel, step: RingStep) {
        let word = match step {
            RingStep::Resume => {
                if let Some(inbox) = channel.inbox.get() {
                    inbox.state.set(Use::Active);
                }
                Word::Resume
            }
            RingStep::Offer => {
                let cells = self.settings.ring_cells.clamp(1, 255);
                // Where no memory can be registered, the shared queue does.
                let Some(made) = Inbox::new(&self.fabric.domain, cells, self.ring_size()) else { return };
                self.rings.borrow_mut().push(channel.peer);
                channel.inbox.get_or_init(|| made).offer()
            }
        };
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
                let _ = channel.outbox.set(Outbox::new(at, cells, size));
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
                channel.demand.pause();
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
