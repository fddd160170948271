//! What goes: packets are built in registered buffers and posted.

use super::Channels;
use crate::channel::{Channel, Frame};
use crate::header::{self, HeaderCache};
use crate::token::Token;
use crate::wire::{Kind, PREFIX, Prefix};
use std::time::{Duration, Instant};
use tern_counters as counters;
use tern_device::{Header, Payload};
use tern_hca::{Data, Error, Operation, Segment};

/// How long the end of the device waits for what was sent to arrive. A card that nobody answers says so after the time that was asked for
/// ([`tern_hca::Connection`], 4 s), or up to four times that (InfiniBand Architecture Specification, volume 1, 9.7.6.1.3).
const SETTLE: Duration = Duration::from_secs(20);
/// For so long it does nothing else, and then sleeps between two looks for so long.
const NAP: Duration = Duration::from_millis(1);
/// How long it waits then for what others send.
const FAREWELL: Duration = Duration::from_secs(5);

/// What became of a request of another part of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted {
    /// Its completion comes.
    Done,
    /// There is no room: try again after the next poll.
    Busy,
    /// The peer is lost; [`tern_device::Sink::lost`] tells or has told.
    Lost,
}

/// Room for a message.
pub struct Room {
    buffer: u32,
}

/// The same, and what the peer is told with it.
pub struct Reserved {
    buffer: u32,
    credits: u8,
}

impl Channels {
    /// [`tern_device::Channel::copy_and_send`].
    #[inline]
    pub(crate) fn send(&self, peer: u32, header: &Header, mut payload: Payload<'_>) -> Option<usize> {
        // Nothing is taken for a peer that is lost; the sink is told of it.
        let channel = self.channel(peer)?;
        let len = payload.len().min(channel.packet).min(self.abilities.packet);
        if channel.lost.get() {
            self.tell_lost(channel, "it has ended", None);
            return None;
        }
        if self.write_to_ring(channel, header, len, &mut payload) {
            return Some(len);
        }
        let write = |out: &mut [u8]| payload.write_to(out);
        if self.build(channel, Kind::Packet, Some(header), len, write) { Some(len) } else { None }
    }

    /// Sends a message of another part of the device, in order with packets. False: there is no room, try again after
    /// the next poll. A message is no longer than a packet.
    pub(crate) fn send_message(&self, peer: u32, kind: Kind, bytes: &[u8]) -> bool {
        let Some(channel) = self.channel(peer) else { return true };
        channel.lost.get() || self.build(channel, kind, None, bytes.len(), |out| out.copy_from_slice(bytes))
    }

    /// Posts a request of another part of the device, whose completion comes with `token`, surely if it `asks` for
    /// one: it may come all the same. Requests, packets and messages of a channel are executed in order.
    pub(crate) fn post(&self, peer: u32, token: Token, operation: Operation, data: Data<'_>, asks: bool) -> Posted {
        let Some(channel) = self.channel(peer) else { return Posted::Lost };
        if channel.lost.get() {
            return Posted::Lost;
        }
        if !channel.backlog.borrow().is_empty() {
            return Posted::Busy;
        }
        match channel.post(token.encode(), operation, data, asks) {
            Ok(()) => return Posted::Done,
            Err(Error::QueueFull) => {}
            Err(error) => self.lose(peer, &format!("a request was refused: {error}")),
        }
        if channel.lost.get() { Posted::Lost } else { Posted::Busy }
    }

    /// Sends a message to a tuple's queue, which comes with the number of a packet.
    pub(crate) fn post_to_queue(&self, channel: &Channel, queue: u32, token: Token, segments: &[Segment]) -> Posted {
        if channel.lost.get() {
            return Posted::Lost;
        }
        if !channel.backlog.borrow().is_empty() {
            return Posted::Busy;
        }
        let sequence = channel.next_out.get();
        let operation = Operation::SendWithImmediate(sequence.into());
        match channel.post_to(queue, token.encode(), operation, Data::Segments(segments), true) {
            Ok(()) => {
                channel.next_out.set(sequence.wrapping_add(1));
                return Posted::Done;
            }
            Err(Error::QueueFull) => {}
            Err(error) => self.lose(channel.peer, &format!("a message was refused: {error}")),
        }
        if channel.lost.get() { Posted::Lost } else { Posted::Busy }
    }

    /// As [`Channels::post`], for what must follow what was posted before: waits for room in the send queue, which takes no
    /// more than the network.
    pub(crate) fn post_surely(&self, peer: u32, token: Token, operation: Operation, data: Data<'_>, asks: bool) {
        while self.post(peer, token, operation, data, asks) == Posted::Busy {
            self.pump();
        }
    }

    /// Room for one message, kept until [`Channels::commit`] or [`Channels::give_up`]. Nothing is sent and nothing pumped in
    /// between.
    pub(crate) fn reserve(&self, peer: u32) -> Option<Room> {
        let channel = self.channel(peer)?;
        let buffer = self.take_bounce()?;
        if !channel.may_send() {
            self.pump();
        }
        if channel.lost.get() || !channel.may_send() {
            self.bounces.give(buffer);
            return None;
        }
        Some(Room { buffer })
    }

    pub(crate) fn give_up(&self, room: Room) {
        self.bounces.give(room.buffer);
    }

    /// Takes what the message needs: it will go, whatever happens until [`Channels::send_reserved`].
    pub(crate) fn commit(&self, peer: u32, room: Room) -> Reserved {
        let channel = self.channel(peer).expect("room was found there");
        Reserved { buffer: room.buffer, credits: channel.credits.borrow_mut().spend() }
    }

    /// Sends a message of another part of the device for which room was reserved.
    pub(crate) fn send_reserved(&self, peer: u32, reserved: Reserved, kind: Kind, bytes: &[u8]) {
        let Reserved { buffer, credits } = reserved;
        let channel = self.channel(peer);
        // What was posted since may have filled the send queue: that takes no more than the network.
        while channel.is_some_and(|channel| !channel.lost.get() && !channel.may_post(1)) {
            self.pump();
        }
        match channel {
            Some(channel) if !channel.lost.get() => {
                self.post_built(channel, buffer, kind, credits, None, bytes.len(), |out| out.copy_from_slice(bytes));
            }
            _ => self.bounces.give(buffer),
        }
    }

    /// Builds a packet and posts it. False: there is no room.
    #[inline]
    fn build(
        &self, channel: &Channel, kind: Kind, header: Option<&Header>, len: usize, write: impl FnOnce(&mut [u8]),
    ) -> bool {
        if !channel.may_send() {
            // Perhaps the word that there is room has come.
            self.pump();
            if !channel.may_send() {
                counters::NETWORK_STALLS.add(1);
                return false;
            }
        }
        let Some(buffer) = self.take_bounce() else { return false };
        if !channel.may_send() {
            // The look for a buffer has sent something else.
            self.bounces.give(buffer);
            return false;
        }
        let credits = channel.credits.borrow_mut().spend();
        self.post_built(channel, buffer, kind, credits, header, len, write);
        true
    }

    pub(crate) fn take_bounce(&self) -> Option<u32> {
        self.bounces.take().or_else(|| {
            self.pump();
            self.bounces.take()
        })
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of a packet")]
    #[inline]
    fn post_built(
        &self, channel: &Channel, buffer: u32, kind: Kind, credits: u8, header: Option<&Header>, len: usize,
        write: impl FnOnce(&mut [u8]),
    ) {
        let front = self.build_front(channel, buffer, kind, credits, header);
        let total = front + len;
        // SAFETY: a free buffer, longer than any packet that a channel lets pass.
        let out = unsafe { std::slice::from_raw_parts_mut(self.bounces.at(buffer), total) };
        self.settings.link.copies(len, || write(&mut out[front..]));
        counters::NETWORK_PACKETS.add(1);
        counters::NETWORK_BYTES.add(total as u64);
        let (inline, operation) = (total <= channel.inline, Operation::SendWithImmediate(self.me));
        let (len, upkeep) = (total as u32, kind.is_upkeep());
        self.submit(channel, Frame { buffer, at: 0, len, inline, follows: false, upkeep, operation });
    }

    /// Posts what was built, now or as soon as there is room.
    #[inline]
    pub(crate) fn submit(&self, channel: &Channel, frame: Frame) {
        // What is numbered goes in order.
        let waits = !channel.backlog.borrow().is_empty();
        if waits || !self.post_frame(channel, frame) {
            channel.backlog.borrow_mut().push_back(frame);
            self.want(channel);
        }
    }

    /// Builds what is in front of the payload of the next packet; returns its length.
    #[inline]
    pub(crate) fn build_front(
        &self, channel: &Channel, buffer: u32, kind: Kind, credits: u8, header: Option<&Header>,
    ) -> usize {
        let (mask, changed, bytes) = match header {
            Some(header) => self.cached(&mut channel.outgoing.borrow_mut(), header),
            None => (0, 0, [0; header::LONGEST]),
        };
        let sequence = channel.next_out.replace(channel.next_out.get().wrapping_add(1));
        let prefix = Prefix { kind, lap: 0, credits, cells: channel.free_cells(), mask, sequence, len: 0 };
        // SAFETY: a free buffer, longer than this.
        let out = unsafe { std::slice::from_raw_parts_mut(self.bounces.at(buffer), PREFIX + changed) };
        out[..PREFIX].copy_from_slice(&prefix.encode());
        out[PREFIX..].copy_from_slice(&bytes[..changed]);
        PREFIX + changed
    }

    /// Keeps a packet of `len` bytes that was built until the send queue has room.
    pub(crate) fn hold_back(&self, channel: &Channel, buffer: u32, len: usize) {
        let (inline, operation) = (len <= channel.inline, Operation::SendWithImmediate(self.me));
        let frame = Frame { buffer, at: 0, len: len as u32, inline, follows: false, upkeep: false, operation };
        channel.backlog.borrow_mut().push_back(frame);
        self.want(channel);
    }

    #[inline]
    pub(crate) fn cached(&self, cache: &mut HeaderCache, header: &Header) -> (u8, usize, [u8; header::LONGEST]) {
        let mut bytes = [0; header::LONGEST];
        let (mask, changed) = if self.settings.header_cache {
            cache.encode(header, &mut bytes)
        } else {
            cache.encode_whole(header, &mut bytes)
        };
        if mask != header::WHOLE {
            counters::NETWORK_HEADERS.add(1);
        }
        (mask, changed, bytes)
    }

    /// Posts a packet that was built. False: the queue is full.
    #[inline]
    fn post_frame(&self, channel: &Channel, frame: Frame) -> bool {
        let Frame { buffer, at, len, inline, follows, upkeep, operation } = frame;
        let (peer, kept) = (channel.peer, (!inline && !follows).then_some(buffer));
        let token = match upkeep {
            false => Token::Frame { peer, buffer: kept },
            true => Token::Upkeep { peer, buffer: kept },
        };
        let (segments, bytes);
        let data = if inline {
            // SAFETY: the packet that was built there.
            bytes = [unsafe { std::slice::from_raw_parts(self.bounces.at(buffer).add(at as usize), len as usize) }];
            Data::Inline(&bytes)
        } else {
            let whole = self.bounces.segment(buffer, at + len);
            segments = [Segment { address: whole.address + at as u64, len, ..whole }];
            Data::Segments(&segments)
        };
        match channel.post(token.encode(), operation, data, !inline && !follows) {
            Ok(()) if !inline => return true,
            Ok(()) => {}
            Err(Error::QueueFull) => return false,
            Err(error) => self.lose(channel.peer, &format!("a packet was refused: {error}")),
        }
        if !follows {
            self.bounces.give(buffer);
        }
        true
    }

    /// Wakes a peer if it sleeps.
    pub(crate) fn send_bell(&self, peer: u32) {
        let Some(channel) = self.channel(peer) else { return };
        if !channel.lost.get() && !self.build(channel, Kind::Bell, None, 0, |_| ()) {
            channel.bell.set(true);
            self.want(channel);
        }
    }

    /// Returns credits and cells that are due, now or as soon as it is possible.
    #[inline]
    pub(crate) fn return_due(&self, channel: &Channel) {
        if !self.returns(channel) {
            self.want(channel);
        }
    }

    /// The same; false: it is not possible now.
    #[inline]
    fn returns(&self, channel: &Channel) -> bool {
        if channel.credits.borrow().is_due() {
            return self.send_return(channel);
        }
        // The last credit is for credits: cells wait, since the peer does not need them to go on.
        let due = channel.inbox.get().is_some_and(|inbox| inbox.is_due());
        !due || channel.may_send() && self.send_return(channel)
    }

    #[cold]
    fn send_return(&self, channel: &Channel) -> bool {
        if channel.lost.get() {
            return true;
        }
        if !channel.may_post(1) {
            return false;
        }
        let Some(buffer) = self.bounces.take() else { return false };
        let Some(credits) = channel.credits.borrow_mut().return_alone() else {
            self.bounces.give(buffer);
            return false;
        };
        counters::NETWORK_RETURNS.add(1);
        self.post_built(channel, buffer, Kind::Return, credits, None, 0, |_| ());
        true
    }

    /// Puts a channel into the list of those that want something done.
    pub(crate) fn want(&self, channel: &Channel) {
        if !channel.listed.replace(true) {
            self.wanting.borrow_mut().push(channel.peer);
        }
    }

    /// Does what channels want, as far as that is possible.
    #[cold]
    pub(crate) fn attend(&self) {
        for peer in self.wanting.take() {
            let channel = self.known(peer).expect("it has stood in the list");
            channel.listed.set(false);
            if !self.satisfy(channel) {
                self.want(channel);
            }
        }
    }

    fn satisfy(&self, channel: &Channel) -> bool {
        loop {
            let Some(frame) = channel.backlog.borrow_mut().pop_front() else { break };
            if !self.post_frame(channel, frame) {
                channel.backlog.borrow_mut().push_front(frame);
                return false;
            }
        }
        if channel.lost.get() {
            return true;
        }
        while !channel.words.borrow().is_empty() && channel.may_send() {
            let Some(buffer) = self.bounces.take() else { return false };
            let word = channel.words.borrow_mut().pop_front().expect("there is one").encode();
            let credits = channel.credits.borrow_mut().spend();
            self.post_built(channel, buffer, Kind::Ring, credits, None, word.len(), |out| out.copy_from_slice(&word));
        }
        if channel.bell.get()
            && channel.may_send()
            && let Some(buffer) = self.bounces.take()
        {
            channel.bell.set(false);
            let credits = channel.credits.borrow_mut().spend();
            self.post_built(channel, buffer, Kind::Bell, credits, None, 0, |_| ());
        }
        let idle = !channel.bell.get() && channel.words.borrow().is_empty();
        self.returns(channel) && idle
    }

    /// With queue pairs that lead to nodes: waits until no peer sends any more, a few seconds at most. What was sent
    /// here after this process has gone would take the sender's queue pair to error, and with it what it has for others.
    pub(crate) fn stay_for_others(&self) {
        let end = Instant::now() + FAREWELL;
        while !self.connections.all_have_settled() && Instant::now() < end {
            if self.pump() == 0 {
                std::thread::sleep(Duration::from_micros(200));
            }
        }
    }

    /// Waits until everything that was sent has arrived, or is known to be lost, which takes some seconds.
    pub(crate) fn settle_all(&self) {
        let start = Instant::now();
        let open = self.open.borrow().clone();
        for channel in open.iter().filter_map(|&peer| self.known(peer)) {
            let mut asked = false;
            let left = || self.connections.has_left(channel.peer, Duration::ZERO);
            while !channel.is_settled() && !left() && start.elapsed() < SETTLE {
                // What went without a completion of its own has arrived when what follows it has.
                if !asked && channel.sends.flying() == 0 && channel.backlog.borrow().is_empty() {
                    channel.sends.ask();
                    asked = self.send_return(channel);
                }
                if self.pump() > 0 {
                    continue;
                }
                match start.elapsed() < NAP {
                    true => std::thread::yield_now(),
                    false => std::thread::sleep(NAP),
                }
            }
        }
    }
}
