//! What the device takes of memory and of the card, as numbers for reports.

use crate::Verbs;

/// What a process holds for its peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Peers that it is connected to.
    pub peers: usize,
    /// Queue pairs that it sends or receives with: one for each peer, or with XRC one for each node, and the receiving
    /// ends that it holds for its node; and those on further ports.
    pub queue_pairs: usize,
    /// Bytes of receive buffers, for all peers together.
    pub receive_memory: usize,
    /// Bytes of buffers that packets are built in.
    pub send_memory: usize,
    /// Bytes of rings that peers write to.
    pub ring_memory: usize,
}

impl Verbs {
    /// What this process holds now.
    pub fn footprint(&self) -> Footprint {
        let peers = self.open.borrow().len();
        let ring = |peer: &u32| Some(self.known(*peer)?.inbox.get()?.memory());
        Footprint {
            peers,
            queue_pairs: self.fabric.ways.as_ref().map_or(peers, |ways| ways.count()) + self.ports.count(),
            receive_memory: self.receives.memory(),
            send_memory: self.bounces.memory(),
            ring_memory: self.rings.borrow().iter().filter_map(ring).sum(),
        }
    }
}
