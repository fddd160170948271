//! Composer: the bytes go in packets, once the receiver is ready: both processes copy.

use super::Wanted;
use crate::Proc;
use crate::packet::Packet;
use crate::parts::stream::Bulk;
use crate::state::State;
use crate::transfer::{Side, Stage};
use tern_counters as counters;
use tern_mcm::RecallReason;

impl State {
    /// Asks the sender for the bytes.
    pub(super) fn clear_to_send(&mut self, wanted: &Wanted) -> bool {
        let &Wanted { request, from, sender, bytes, .. } = wanted;
        self.learned.transfer();
        self.unconfirmed.forget(from, sender);
        self.requests.get_mut(request).stage = Stage::Cleared;
        self.control(from, Packet::Cts { sender, receiver: request, bytes });
        true
    }

    /// `Cts`: the receiver wants `bytes` bytes in packets.
    pub(in crate::state) fn cts(&mut self, from: Proc, request: u32, receiver: u32, bytes: u64) {
        self.unconfirmed.end_misplaced(request);
        self.requests.get_mut(request).stage = Stage::Unnamed;
        self.stream.queue_bulk(from, Bulk { request, receiver, sent: 0, end: bytes as usize });
    }

    /// `Data`: the next bytes of a long message of `size` bytes.
    pub(in crate::state) fn data(&mut self, request: u32, size: u64, payload: &[u8]) {
        if let Side::Receive { published, .. } = self.requests.get(request).side
            && published.is_published()
        {
            // The first packet for a receive that was claimed to be filled so.
            self.direct().recall(published.peer, published.slot(), RecallReason::Packets);
            counters::PUBLISHED_PACKETS.add(1);
            self.claimed(request, size, false);
            let room = self.requests.get(request).data.len();
            let receive = self.requests.get_mut(request);
            receive.expect_bytes(room.min(size as usize));
            receive.stage = Stage::Cleared;
        }
        self.absorb(request, payload, self.payload);
    }
}
