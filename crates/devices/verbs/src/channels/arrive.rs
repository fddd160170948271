//! What comes: completions are taken and put in order.

use super::{Channels, REFILL};
use crate::channel::Channel;
use crate::incoming::{Incoming, Place};
use crate::token::{READ, Token};
use crate::wire::{Kind, PREFIX, Prefix};
use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tern_counters as counters;
use tern_device::Header;
use tern_hca::{Completion, Event, Status};

/// How long a broken queue pair waits for the peer's word why.
const EXPLANATION: Duration = Duration::from_millis(200);
/// How long a peer may take, after that, to end its side of the socket.
const PARTING: Duration = Duration::from_secs(1);

impl Channels {
    /// Counts what the network has repeated since it was last asked.
    pub(crate) fn count_repeats(&self) {
        let Some(now) = self.fabric.hca.not_ready() else { return };
        let before = self.repeats.replace(now);
        if now != before {
            counters::NETWORK_NOT_READY.add(now - before);
        }
    }

    /// [`tern_device::Channel::take_next`].
    #[inline]
    pub(crate) fn offer(&self, peer: u32, looks: u32, take: &mut dyn FnMut(&Header, &[u8]) -> bool) -> bool {
        for _ in 0..looks {
            if self.inbound.borrow().is_empty() && self.pump() == 0 {
                std::hint::spin_loop();
                continue;
            }
            let first = match self.inbound.borrow().front() {
                Some(Incoming::Packet { from, header, payload }) if *from == peer => (*header, *payload),
                // Something else comes first: the next poll sees to it.
                Some(_) => return false,
                None => continue,
            };
            let (header, payload) = first;
            let used = take(&header, self.bytes(payload));
            if used {
                self.settings.link.copies(payload.len as usize, || ());
                self.inbound.borrow_mut().pop_front();
                self.taken(peer, payload);
            }
            return used;
        }
        false
    }

    /// Takes what has completed; returns how much that was.
    #[inline]
    pub(crate) fn pump(&self) -> usize {
        let mut batch = [Completion::default(); 16];
        let count = match self.fabric.completions.poll(&mut batch) {
            Ok(count) => count,
            Err(error) => return self.lose_all(&error),
        };
        for completion in &batch[..count] {
            self.take(completion);
        }
        let written = self.look_at_rings();
        if !self.wanting.borrow().is_empty() {
            self.attend();
        }
        count + written
    }

    fn take(&self, completion: &Completion) {
        let token = Token::decode(completion.id);
        let failed = completion.status != Status::Success;
        match token {
            Token::Receive { buffer } if failed => {
                self.spare.borrow_mut().push(buffer);
                if let Some(channel) = self.by_pair(completion.queue_pair) {
                    self.broken(channel, completion.status);
                }
            }
            Token::Receive { buffer } => self.arrived(buffer, completion),
            Token::Frame { peer, buffer } | Token::Upkeep { peer, buffer } => {
                buffer.into_iter().for_each(|buffer| self.bounces.give(buffer));
                self.ended(peer, completion);
            }
            Token::Stripe { .. } => {
                let (status, len) = (completion.status, completion.len);
                self.inbound.borrow_mut().push_back(Incoming::Completed { token, status, len });
            }
            Token::Queue { peer, value } if value & READ == 0 => self.arrived_in_queue(peer, token, completion),
            Token::Rendezvous { peer, .. }
            | Token::Tuple { peer, .. }
            | Token::Queue { peer, .. }
            | Token::Frequent { peer, .. } => {
                let (status, len) = (completion.status, completion.len);
                self.inbound.borrow_mut().push_back(Incoming::Completed { token, status, len });
                self.ended(peer, completion);
            }
            Token::Remote { peer, number } => {
                self.accesses_ended(peer, number, !failed);
                self.ended(peer, completion);
                // Another thread may wait for it.
                self.ring_self();
            }
        }
    }

    /// A request of a channel has ended.
    #[inline]
    fn ended(&self, peer: u32, completion: &Completion) {
        let Some(channel) = self.known(peer) else { return };
        channel.sends.completed();
        if completion.status != Status::Success {
            self.failed(channel, completion);
        }
    }

    /// A receive buffer has been filled.
    #[inline]
    fn arrived(&self, buffer: u32, completion: &Completion) {
        let from = completion.immediate.unwrap_or(u32::MAX);
        let len = (completion.len as usize).min(self.receives.size());
        // SAFETY: the HCA has given it back with so many bytes in it.
        let bytes = unsafe { std::slice::from_raw_parts(self.receives.at(buffer), len) };
        let channel = match self.channel_from(from) {
            Some(channel) if !channel.lost.get() => channel,
            _ => return self.spare.borrow_mut().push(buffer),
        };
        let prefix = Prefix::decode(bytes);
        if prefix.is_some_and(|prefix| prefix.sequence != channel.next_in.get()) {
            // What was written into the ring before it is there.
            self.drain(channel);
        }
        let opened = prefix.and_then(|prefix| self.open_packet(channel, &prefix, &bytes[PREFIX..]));
        let Some((kind, header, at)) = opened else {
            self.spare.borrow_mut().push(buffer);
            return self.lose(from, &format!("{len} bytes came from it that are no packet"));
        };
        let payload = Place::new(&bytes[PREFIX + at..], Some(buffer));
        match kind {
            Kind::Packet => {
                self.inbound.borrow_mut().push_back(Incoming::Packet { from, header, payload });
                return self.count_past(channel, len);
            }
            Kind::Rendezvous | Kind::Tuple | Kind::Queue | Kind::Ports => {
                return self.inbound.borrow_mut().push_back(Incoming::Message { from, kind, payload });
            }
            Kind::Return => {}
            Kind::Ring => self.hear(channel, self.bytes(payload)),
            Kind::Bell => self.ring_self(),
        }
        self.taken(from, payload);
    }

    /// A message has come to a tuple's queue.
    fn arrived_in_queue(&self, peer: u32, token: Token, completion: &Completion) {
        let (status, len) = (completion.status, completion.len);
        // What fails with the connection is told by that.
        let Some(channel) = self.channel_from(peer).filter(|_| status == Status::Success) else { return };
        let sequence = completion.immediate.unwrap_or(u32::MAX);
        if sequence != u32::from(channel.next_in.get()) {
            self.drain(channel);
        }
        if sequence != u32::from(channel.next_in.get()) {
            return self.lose(peer, "a message to a queue came out of order");
        }
        channel.next_in.set(channel.next_in.get().wrapping_add(1));
        self.inbound.borrow_mut().push_back(Incoming::Completed { token, status, len });
    }

    /// Takes what the prefix of a packet returns, and reads its header from `bytes`, which come with it; also where
    /// its payload begins there.
    #[inline]
    pub(crate) fn open_packet(
        &self, channel: &Channel, prefix: &Prefix, bytes: &[u8],
    ) -> Option<(Kind, Header, usize)> {
        if prefix.sequence != channel.next_in.get() {
            return None;
        }
        channel.next_in.set(prefix.sequence.wrapping_add(1));
        if prefix.credits > 0 {
            channel.credits.borrow_mut().returned(prefix.credits);
        }
        if prefix.cells > 0 {
            channel.outbox.get()?.returned(prefix.cells);
        }
        if prefix.kind != Kind::Packet {
            return Some((prefix.kind, Header::default(), 0));
        }
        let (header, len) = channel.incoming.borrow_mut().decode(prefix.mask, bytes)?;
        Some((prefix.kind, header, len))
    }

    #[inline]
    pub(crate) fn bytes(&self, place: Place) -> &[u8] {
        // SAFETY: memory that the HCA has given back, or the peer has written and will not write to, before `taken`.
        unsafe { std::slice::from_raw_parts(place.address, place.len as usize) }
    }

    /// What lay there has been used.
    #[inline]
    pub(crate) fn taken(&self, from: u32, place: Place) {
        if let Some(buffer) = place.buffer {
            self.spare.borrow_mut().push(buffer);
            if self.spare.borrow().len() >= REFILL {
                self.refill();
            }
        }
        let Some(channel) = self.known(from) else { return };
        match place.buffer {
            Some(_) => channel.credits.borrow_mut().taken(),
            None => channel.inbox.get().expect("it lies there").taken(),
        }
        self.return_due(channel);
    }

    /// Posts the receive buffers that are free.
    pub(crate) fn refill(&self) {
        let mut spare = self.spare.borrow_mut();
        while let Some(&buffer) = spare.last() {
            let segment = self.receives.segment(buffer, self.receives.size() as u32);
            if self.fabric.receives.post_receive(Token::Receive { buffer }.encode(), &[segment]).is_err() {
                // The queue is full: it serves later.
                break;
            }
            spare.pop();
        }
    }

    // ---- losses

    fn by_pair(&self, number: u32) -> Option<&Channel> {
        let open = self.open.borrow().clone();
        open.into_iter().filter_map(|peer| self.known(peer)).find(|channel| channel.pair.number() == number)
    }

    /// A request to a peer has failed.
    #[cold]
    fn failed(&self, channel: &Channel, completion: &Completion) {
        if Token::decode(completion.id).counts_as_sent() {
            channel.undelivered.set(true);
        }
        self.broken(channel, completion.status);
    }

    /// The queue pair of a channel has failed.
    #[cold]
    fn broken(&self, channel: &Channel, status: Status) {
        if channel.lost.get() {
            return;
        }
        if self.connections.has_left(channel.peer, EXPLANATION) {
            // It has ended as it should; that is no loss, unless somebody sends it more.
            channel.lost.set(true);
            return self.give_back(channel);
        }
        let why = channel.pair.reason().unwrap_or_else(|| format!("{status:?}"));
        let why = format!("the connection to it is broken: {why}");
        let now = Instant::now();
        self.lose_channel(channel, &why, Some(now));
        if channel.shared {
            self.lose_rest(channel, &why, now);
        }
    }

    /// Gives up all others to which the queue pair of a channel leads, which has broken at that time.
    fn lose_rest(&self, channel: &Channel, why: &str, broken: Instant) {
        let open = self.open.borrow().clone();
        for other in open.into_iter().filter_map(|peer| self.known(peer)) {
            if Arc::ptr_eq(&other.pair, &channel.pair) && !other.lost.get() {
                self.lose_channel(other, why, Some(broken));
            }
        }
    }

    /// Gives a peer up; the sink is told why.
    #[cold]
    pub(crate) fn lose(&self, peer: u32, why: &str) {
        match self.known(peer) {
            Some(channel) => self.lose_channel(channel, why, None),
            None => self.lose_unknown(peer, why),
        }
    }

    /// The same for a peer with a channel; `broken`: its queue pair has failed, at that time.
    fn lose_channel(&self, channel: &Channel, why: &str, broken: Option<Instant>) {
        if !channel.lost.replace(true) {
            self.connections.give_up(channel.peer, why);
            self.give_back(channel);
        }
        self.tell_lost(channel, why, broken);
    }

    /// Tells the sink, once, that a channel is lost.
    #[cold]
    pub(crate) fn tell_lost(&self, channel: &Channel, why: &str, broken: Option<Instant>) {
        if !channel.told.replace(true) {
            let lost = Incoming::Lost { peer: channel.peer, why: why.into(), broken };
            self.inbound.borrow_mut().push_back(lost);
            self.ring_self();
        }
    }

    /// Whether packets that a peer lacks, whose queue pair has broken at that time, were taken for it, and it may know nothing of the loss.
    #[cold]
    pub(crate) fn is_missing_something(&self, peer: u32, broken: Instant) -> bool {
        // What was under way comes back now.
        while self.pump() > 0 {}
        let undelivered = self.known(peer).is_some_and(|channel| channel.undelivered.get());
        undelivered && !self.connections.knows_of_the_end(peer, broken + PARTING)
    }

    /// Gives back what a lost channel holds. What was posted comes back as completions; at the latest when the
    /// connection ends, if the queue pair serves others too. Accesses cannot wait for that: they use memory of the
    /// program, which has it back when it is told of the loss.
    fn give_back(&self, channel: &Channel) {
        if !channel.shared || self.accesses.are_under_way(channel.peer) {
            let _ = channel.pair.fail();
        }
        for frame in channel.backlog.take() {
            if !frame.upkeep {
                channel.undelivered.set(true);
            }
            self.bounces.give(frame.buffer);
        }
    }

    /// Hears what no completion tells: that some were lost, of which the next look at their queue has the error, or that the HCA
    /// is broken.
    #[cold]
    pub(crate) fn hear_events(&self) {
        while let Some(event) = self.fabric.hca.next_event() {
            if let Event::Fatal(why) = event {
                self.lose_all(&why);
            }
        }
    }

    /// The HCA is broken, or its completion queue is.
    #[cold]
    fn lose_all(&self, error: &dyn Display) -> usize {
        self.accesses.lose(self.me);
        for peer in self.open.borrow().clone() {
            self.lose(peer, &format!("the HCA of this process is broken: {error}"));
        }
        0
    }
}
