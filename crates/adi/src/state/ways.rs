//! How the messages of each peer have come.

use super::State;
use crate::Proc;
use tern_policy::{GAUGED_AFTER, Way, rules};

impl State {
    /// A message of `len` bytes, that could have gone either way, has come from a peer.
    #[inline]
    pub(super) fn note_way(&mut self, from: Proc, len: u64, way: Way) {
        if len == 0 {
            return;
        }
        if self.ways[from as usize].note(len as usize, way) {
            self.gauge.yield_to_peer(len as usize, GAUGED_AFTER);
        }
    }

    /// Whether the last message of about `len` bytes from a peer has come in packets although it could have gone in one copy.
    pub(super) fn chooses_packets(&self, from: Proc, len: usize) -> bool {
        len > 0 && self.ways[from as usize].of(len) == Some(Way::ChosenPackets) && rules::LEAVE_CHOSEN.applies()
    }

    /// A message of `len` bytes has come in packets for a receive that waited for it; `preferred`: by its sender, to one copy.
    #[inline]
    pub fn note_packets(&mut self, from: Proc, len: u64, preferred: bool) {
        if len >= self.direct_from as u64 {
            self.note_way(from, len, if preferred { Way::ChosenPackets } else { Way::Packets });
        }
    }
}
