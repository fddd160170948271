//! The cap on memory of messages that no receive has asked for: who is told, and what senders do about it.

use super::outbox::Outgoing;
use super::{Arrival, State};
use crate::Proc;
use crate::packet::{Packet, RtsFlags, Synchronous};
use crate::unexpected::BESIDE;
use std::ops::Range;
use tern_counters as counters;
use tern_mcm::{Header, Memory, lock};

/// Tells how many bytes this process may take for messages beside what it has, as things are now.
pub type FreeMemory = Box<dyn Fn() -> u64>;

impl State {
    // ---- the receiver

    /// See [`crate::Adi::cap_unexpected`].
    pub fn cap_kept(&mut self, bytes: u64) {
        self.kept.set(bytes);
        self.free_memory = None;
    }

    /// See [`crate::Adi::cap_unexpected_by`].
    pub fn cap_kept_by(&mut self, bytes: u64, free: FreeMemory) {
        self.kept.set(bytes);
        self.free_memory = Some(free);
    }

    /// Doubles the cap if there is memory for that, or leaves it as it is for good.
    #[cold]
    fn raise_cap(&mut self) {
        let limit = self.kept.limit();
        if self.free_memory.as_ref().is_some_and(|free| free() >= limit) {
            self.kept.set(limit.saturating_mul(2));
        } else {
            self.free_memory = None;
        }
    }

    /// What a message counts for the cap: those that wait elsewhere, and the process's own, for nothing.
    pub(super) fn capped(&self, arrival: &Arrival) -> Option<u64> {
        (arrival.is_here() && arrival.from != self.mcm.me()).then(|| arrival.memory() + BESIDE)
    }

    pub(super) fn count_kept(&mut self, from: Proc, bytes: u64) {
        while self.free_memory.is_some() && self.kept.is_short_of(bytes) {
            self.raise_cap();
        }
        if self.kept.keep(from, bytes) && !self.lost.contains_key(&from) {
            self.tell_full(from);
        }
    }

    #[cold]
    fn tell_full(&mut self, from: Proc) {
        if counters::UNEXPECTED_FULL.get() == 0 {
            tern_settings::warn!(
                "messages that came before their receives fill the memory for them, {} bytes (TERN_UNEXPECTED): until some \
                 are received, their senders wait for receives",
                self.kept.limit()
            );
        }
        counters::UNEXPECTED_FULL.add(1);
        self.control(from, Packet::Full);
    }

    pub(super) fn count_given_up(&mut self, from: Proc, bytes: u64) {
        let mut released = Vec::new();
        self.kept.give_up(from, bytes, |peer| released.push(peer));
        for peer in released {
            self.control(peer, Packet::Room);
        }
    }

    /// These processes will not be heard of again.
    pub fn forget(&mut self, peers: &Range<Proc>) {
        for peer in peers.clone() {
            self.kept.forget(peer);
            self.note_full(peer, false);
        }
    }

    // ---- the sender

    /// True when `to` is to be asked before each message.
    #[inline]
    pub(super) fn is_full(&self, to: Proc) -> bool {
        !self.full.is_empty() && self.full.contains(&to)
    }

    /// A peer has told whether it is to be asked.
    pub(super) fn note_full(&mut self, peer: Proc, full: bool) {
        if full {
            self.full.insert(peer);
        } else {
            self.full.remove(&peer);
        }
        self.close_shortest();
    }

    /// The shortest ways ask nothing: they are closed while something is to be asked.
    pub(super) fn close_shortest(&mut self) {
        self.short.set_open(self.lost.is_empty() && self.full.is_empty());
    }

    /// A request to send in place of a message that waits in the outbox, and of which nothing has gone.
    pub(super) fn ask_instead(&self, request: u32, header: &Header) -> Outgoing {
        let Some(Packet::Eager { tuple, size, sync, .. }) = Packet::decode(header) else {
            unreachable!("a message begins with its tuple")
        };
        let sender = sync.unwrap_or(Synchronous { request, mark: 0 });
        let packet = Packet::Rts { tuple, size, sender, flags: RtsFlags::default() };
        Outgoing::Located(packet.encode(), Memory::opaque(size as usize))
    }

    /// Takes what has come, for a program that sends and sends and looks at nothing else: if it has not looked since the last time that
    /// this was asked about `to`.
    #[cold]
    pub(super) fn look_aside(&mut self, to: Proc) {
        let before = std::mem::replace(&mut self.looked[to as usize], self.looks);
        if before != self.looks {
            return;
        }
        let mcm = self.mcm.clone();
        if mcm.poll(self) > 0 {
            self.moved = true;
            if lock::enabled() {
                // Another thread may sleep for what has just come.
                mcm.ring(mcm.me());
            }
        }
    }
}
