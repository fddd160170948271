//! Composer: messages that no receive has asked for take too much memory. Their senders are told, and ask before they send more.

use super::State;
use crate::Proc;
use crate::packet::{Packet, RtsFlags, Synchronous};
use crate::parts::stream::Outgoing;
use crate::transfer::Stage;
use std::ops::Range;
use tern_counters as counters;
use tern_mcm::{Header, Memory, lock};

impl State {
    // ---- the receiver

    /// The sender of a message that is kept is to ask from now on.
    #[cold]
    pub(super) fn tell_full(&mut self, from: Proc) {
        if counters::UNEXPECTED_FULL.get() == 0 {
            tern_settings::warn!(
                "messages that came before their receives fill the memory for them, {} bytes (TERN_UNEXPECTED): until some \
                 are received, their senders wait for receives",
                self.unexpected.cap()
            );
        }
        counters::UNEXPECTED_FULL.add(1);
        self.control(from, Packet::Full);
    }

    /// These processes will not be heard of again.
    pub fn forget(&mut self, peers: &Range<Proc>) {
        for peer in peers.clone() {
            self.unexpected.forget(peer);
            self.note_full(peer, false);
        }
    }

    // ---- the sender

    /// A peer has told whether it is to be asked.
    pub(super) fn note_full(&mut self, peer: Proc, full: bool) {
        self.stream.note_full(peer, full);
        self.close_shortest();
    }

    /// A request to send in place of a message that waits in the outbox, and of which nothing has gone.
    pub(super) fn ask_instead(&mut self, request: u32, header: &Header) -> Outgoing {
        let Some(Packet::Eager { tuple, size, sync, .. }) = Packet::decode(header) else {
            unreachable!("a message begins with its tuple")
        };
        self.requests.get_mut(request).stage = Stage::Asked;
        let sender = sync.unwrap_or(Synchronous { request, mark: 0 });
        let packet = Packet::Rts { tuple, size, sender, flags: RtsFlags::default() };
        Outgoing::Located(packet.encode(), Memory::opaque(size as usize))
    }

    /// Takes what has come, for a program that sends and sends and looks at nothing else: if it has not looked since the last time that
    /// this was asked about `to`.
    #[cold]
    pub(super) fn look_aside(&mut self, to: Proc) {
        if self.stream.has_looked(to) {
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
