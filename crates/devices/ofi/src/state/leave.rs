//! Packets that go.

use super::{INJECT, State, WINDOW};
use crate::fabric::Posted;
use crate::packet::{HEAD, Head, Kind};
use crate::ways::Way;
use std::time::{Duration, Instant};
use tern_counters as counters;
use tern_device::{Header, Payload};

/// How many packets wait, in words.
fn packets(count: usize) -> String {
    if count == 1 { "1 packet still waits".into() } else { format!("{count} packets still wait") }
}

impl State {
    /// Takes a packet with as much of the payload as one has room for. `None`: there is no room now, or the peer is lost.
    pub fn send(&mut self, peer: u32, header: &Header, mut payload: Payload<'_>) -> Option<usize> {
        if self.peers[peer as usize].farewell {
            self.lose(peer, "it has ended");
        }
        if self.peers[peer as usize].lost {
            return None;
        }
        if !self.has_room(peer) {
            self.progress();
            if !self.has_room(peer) {
                counters::OFI_STALLS.add(1);
                return None;
            }
        }
        let len = payload.len().min(self.packet);
        if HEAD + len <= self.inject {
            let mut bytes = [0; INJECT];
            let bytes = &mut bytes[..HEAD + len];
            bytes[..HEAD].copy_from_slice(&self.head(peer, Kind::Data, header));
            payload.write_to(&mut bytes[HEAD..]);
            if !self.inject(peer, bytes) {
                let buffer = self.buffer(peer, HEAD + len)?;
                self.sends.bytes(buffer).copy_from_slice(bytes);
                self.push(peer, buffer);
            }
        } else {
            let buffer = self.buffer(peer, HEAD + len)?;
            let head = self.head(peer, Kind::Data, header);
            let (first, rest) = self.sends.bytes(buffer).split_at_mut(HEAD);
            first.copy_from_slice(&head);
            payload.write_to(rest);
            self.push(peer, buffer);
        }
        let it = &mut self.peers[peer as usize];
        it.sent = it.sent.wrapping_add(1);
        Some(len)
    }

    fn has_room(&self, peer: u32) -> bool {
        let it = &self.peers[peer as usize];
        it.sent.wrapping_sub(it.acknowledged) < WINDOW
    }

    /// A buffer to send from.
    fn buffer(&mut self, peer: u32, len: usize) -> Option<u32> {
        self.sends.take(peer, len).or_else(|| {
            self.progress();
            self.sends.take(peer, len)
        })
    }

    fn head(&mut self, peer: u32, kind: Kind, header: &Header) -> [u8; HEAD] {
        let (pass, _) = self.passes(peer);
        let it = &mut self.peers[peer as usize];
        it.told = it.taken;
        let head = Head { pass, from: self.me, kind, number: it.sent, taken: it.taken, header: *header };
        head.encode()
    }

    /// The address of a peer. `None`: it is lost, or has no address.
    pub(super) fn address(&mut self, peer: u32) -> Option<u64> {
        let it = &mut self.peers[peer as usize];
        if it.lost {
            return None;
        }
        if it.address.is_none() {
            match self.fabric.insert(&it.name) {
                Ok(address) => it.address = Some(address),
                Err(error) => self.lose(peer, &format!("it has no address here: {error}")),
            }
        }
        self.peers[peer as usize].address
    }

    /// Injects a packet if nothing else waits for that peer. False: it has to wait, or there is nobody to wait for.
    fn inject(&mut self, peer: u32, bytes: &[u8]) -> bool {
        if !self.peers[peer as usize].outbox.is_empty() || bytes.len() > self.inject {
            return false;
        }
        let Some(to) = self.address(peer) else { return false };
        match self.fabric.inject(bytes, to) {
            Posted::Done => {
                let it = &mut self.peers[peer as usize];
                (it.injected, it.is_reached, it.refused) = (true, true, None);
                it.short += 1;
                true
            }
            Posted::Busy => false,
            Posted::Failed(error) => {
                self.lose_by(peer, error);
                false
            }
        }
    }

    /// Sends a buffer, behind those that wait.
    fn push(&mut self, peer: u32, buffer: u32) {
        if self.peers[peer as usize].lost {
            return self.sends.give(buffer);
        }
        let outbox = &mut self.peers[peer as usize].outbox;
        outbox.push_back(buffer);
        if outbox.len() == 1 && !self.drain(peer) {
            self.queued.push_back(peer);
        }
    }

    /// Gives the endpoint a buffer that goes to a peer.
    fn post(&mut self, peer: u32, buffer: u32, to: u64) -> Posted {
        let posted = self.sends.send(&self.fabric, buffer, to);
        if posted == Posted::Done {
            let it = &mut self.peers[peer as usize];
            (it.injected, it.is_reached, it.refused) = (false, true, None);
            it.posted += 1;
            self.under_way += 1;
        }
        posted
    }

    /// Gives the endpoint what waits for a peer. False: something is left.
    fn drain(&mut self, peer: u32) -> bool {
        let Some(to) = self.address(peer) else { return true };
        while let Some(&buffer) = self.peers[peer as usize].outbox.front() {
            match self.post(peer, buffer, to) {
                Posted::Done => _ = self.peers[peer as usize].outbox.pop_front(),
                Posted::Busy => return self.gives_up(peer),
                Posted::Failed(error) => {
                    self.lose_by(peer, error);
                    return true;
                }
            }
        }
        true
    }

    /// The endpoint has refused a request to that peer. True: it was never heard, for so long that it is lost. That the endpoint accepted
    /// packets for it says little: the peer may have ended before it took them.
    pub(super) fn gives_up(&mut self, peer: u32) -> bool {
        let it = &mut self.peers[peer as usize];
        let since = *it.refused.get_or_insert_with(Instant::now);
        if it.is_heard || since.elapsed() < self.patience {
            return false;
        }
        let provider = self.fabric.offer.provider();
        let waits = match self.waiting(peer) {
            0 => String::new(),
            count => format!(", and {} for it", packets(count)),
        };
        let why = format!(
            "it cannot be reached over {provider}{waits}: see whether a firewall is in the way, or name the interface \
             (TERN_INTERFACE)"
        );
        self.lose(peer, &why);
        true
    }

    /// Finds out whether a peer can be reached that this process waits for: it is rung, and is lost if it takes that no more than
    /// anything else.
    pub fn reach(&mut self, peer: u32) {
        let it = &self.peers[peer as usize];
        if it.outbox.is_empty() && it.posted == 0 && !it.farewell {
            self.close_off(peer, Kind::Bell);
        }
    }

    /// A peer that is lost here has sent something. It is told, if the endpoint takes a packet for it now: over the connection of its
    /// own call it may be reached, though it could not be called.
    pub(super) fn refuse(&mut self, peer: u32) {
        let bytes = self.head(peer, Kind::Lost, &[0; 4]);
        let Some(to) = self.peers[peer as usize].address else { return };
        if self.inject >= HEAD {
            let _ = self.fabric.inject(&bytes, to);
        } else if let Some(buffer) = self.sends.take(peer, HEAD) {
            self.sends.bytes(buffer).copy_from_slice(&bytes);
            if self.post(peer, buffer, to) != Posted::Done {
                self.sends.give(buffer);
            }
        }
    }

    /// The peer has lost this process. It has taken of it what it acknowledges, and no more.
    pub(super) fn lost_by(&mut self, peer: u32) {
        let it = &self.peers[peer as usize];
        let is_left = it.sent != it.acknowledged;
        self.lose_with(peer, "it could not call this process, and has given it up", is_left);
    }

    /// Packets with data to a peer that have not left for certain.
    fn waiting(&self, peer: u32) -> usize {
        let it = &self.peers[peer as usize];
        let left = it.outbox.len() + (it.posted + it.short) as usize;
        left.min(it.sent.wrapping_sub(it.acknowledged) as usize)
    }

    /// Whether some peer has refused everything so far, and has time to take it yet.
    pub fn is_calling(&self) -> bool {
        self.peers.iter().any(|it| !it.lost && !it.is_reached && it.refused.is_some())
    }

    /// This process ends, and has waited for `time`: what has not left yet never will. The peers that it is for are lost, but for those that
    /// have ended before. `ways`: what the kernel knows of the way to each, if it tells.
    pub fn give_up_rest(&mut self, time: Duration, ways: Option<&[Option<Way>]>) {
        for peer in 0..self.world() {
            let (begun, ended, _) = self.accesses_to(peer);
            let (waiting, transfers) = (self.waiting(peer), (begun - ended) as usize);
            let it = &self.peers[peer as usize];
            // Its farewell may be lost with the connection. A way that is cut still has one.
            let has_ended = it.farewell || it.is_heard && ways.is_some_and(|ways| ways[peer as usize].is_none());
            if it.lost || has_ended || waiting + transfers == 0 {
                continue;
            }
            let (what, provider) = (packets(waiting + transfers), self.fabric.offer.provider());
            let why = format!(
                "it takes nothing any more over {provider}, and {what} for it after {} s: see whether it is stopped or a firewall \
                 is in the way; TERN_PEER_TIMEOUT gives it more time, and TERN_OFI_PROVIDER names another provider",
                time.as_secs_f32()
            );
            self.lose_with(peer, &why, true);
        }
    }

    /// Gives the endpoint what waits.
    pub(super) fn flush(&mut self) {
        for _ in 0..self.queued.len() {
            let Some(peer) = self.queued.pop_front() else { break };
            if !self.drain(peer) {
                self.queued.push_back(peer);
            }
        }
        for _ in 0..self.owed.len() {
            let peer = self.owed.swap_remove(0);
            if !self.pay(peer) {
                self.owed.push(peer);
            }
        }
    }

    /// The peer is to be told how many packets were taken.
    pub(super) fn owe_credit(&mut self, peer: u32) {
        self.peers[peer as usize].owes.credit = true;
        self.owe(peer);
    }

    /// The peer is to be woken.
    pub fn owe_bell(&mut self, peer: u32) {
        self.peers[peer as usize].owes.bell = true;
        self.owe(peer);
    }

    fn owe(&mut self, peer: u32) {
        if !self.pay(peer) && !self.owed.contains(&peer) {
            self.owed.push(peer);
        }
    }

    /// Tells a peer what it is owed. False: there is no room.
    fn pay(&mut self, peer: u32) -> bool {
        let it = &self.peers[peer as usize];
        if it.lost || !it.owes.is_any() {
            return true;
        }
        // Every packet tells of what was taken.
        let (credit_alone, bell) = (!it.owes.goodbye && !it.owes.bell, it.owes.bell && !it.owes.goodbye);
        if credit_alone && it.taken == it.told {
            return true;
        }
        let kind = if bell {
            Kind::Bell
        } else if credit_alone {
            Kind::Credit
        } else {
            Kind::Goodbye
        };
        if !self.tell(peer, kind) {
            return false;
        }
        self.peers[peer as usize].owes = Default::default();
        true
    }

    /// Sends a packet without data, past those that wait where it is short enough to be injected.
    fn tell(&mut self, peer: u32, kind: Kind) -> bool {
        let told = self.peers[peer as usize].told;
        let bytes = self.head(peer, kind, &[0; 4]);
        let Some(to) = self.address(peer) else { return true };
        if self.inject >= HEAD {
            let posted = self.fabric.inject(&bytes, to);
            if posted != Posted::Done {
                self.peers[peer as usize].told = told;
            }
            if let Posted::Failed(error) = posted {
                self.lose_by(peer, error);
            }
            self.peers[peer as usize].injected |= posted == Posted::Done;
            return posted != Posted::Busy;
        }
        let Some(buffer) = self.sends.take(peer, HEAD) else {
            self.peers[peer as usize].told = told;
            return false;
        };
        self.sends.bytes(buffer).copy_from_slice(&bytes);
        self.push(peer, buffer);
        true
    }

    /// Sends something to each peer that completes only after what was injected has gone.
    pub fn mark(&mut self) {
        for peer in 0..self.world() {
            if self.peers[peer as usize].injected && !self.peers[peer as usize].farewell {
                self.close_off(peer, Kind::Bell);
            }
        }
    }

    /// Whether all that was sent has left, to those that may still take it. `all`: also to those that were never heard; that the endpoint has accepted
    /// packets for them says little.
    pub fn has_left(&self, all: bool) -> bool {
        (0..self.world()).all(|peer| {
            let it = &self.peers[peer as usize];
            let (begun, ended, _) = self.accesses_to(peer);
            let is_over = it.lost || it.farewell || !(all || it.is_heard);
            is_over || it.outbox.is_empty() && it.posted == 0 && begun == ended
        })
    }

    /// Tells everybody whom this process has exchanged packets with that it ends, once, but for those who have ended before: not every
    /// provider lets one send to an endpoint that is closed.
    pub fn bid_farewell(&mut self) {
        if std::mem::replace(&mut self.is_leaving, true) {
            return;
        }
        for peer in 0..self.world() {
            let it = &self.peers[peer as usize];
            if (it.sent != 0 || it.came != 0) && !it.farewell {
                self.close_off(peer, Kind::Farewell);
            }
        }
    }

    fn close_off(&mut self, peer: u32, kind: Kind) {
        if self.peers[peer as usize].lost {
            return;
        }
        let head = self.head(peer, kind, &[0; 4]);
        if let Some(buffer) = self.buffer(peer, HEAD) {
            self.sends.bytes(buffer).copy_from_slice(&head);
            self.peers[peer as usize].injected = false;
            self.push(peer, buffer);
        }
    }

    /// How many packets and accesses the program has begun.
    pub fn begun(&self) -> u64 {
        let begun = |peer: u32| u64::from(self.peers[peer as usize].sent) + self.accesses_to(peer).0;
        (0..self.world()).map(begun).sum()
    }

    /// Whether everybody who was told has answered, or has ended by itself; `all`: also those that were never heard.
    pub fn is_answered(&self, all: bool) -> bool {
        let is_told = |it: &super::Peer| (it.sent != 0 || it.came != 0) && (all || it.is_heard);
        let open = |it: &super::Peer| is_told(it) && !it.lost && !it.farewell && !it.goodbye;
        self.owed.is_empty() && !self.peers.iter().any(open)
    }
}
