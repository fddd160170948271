//! What the device takes of memory and of the card, as numbers for reports.

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
