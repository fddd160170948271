//! What can be set about the device.

use crate::transport::Transport;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use tern_hca::{Faults, Link, Maker};

/// The settings of a device. [`Settings::default`] are those of a user who sets nothing.
#[derive(Clone, Debug)]
pub struct Settings {
    pub maker: Maker,
    /// See [`tern_hca::Options::interface`].
    pub interface: Option<String>,
    pub link: Link,
    pub faults: Faults,
    /// Where peers find this process to connect queue pairs; `None`: the device finds it out.
    pub address: Option<IpAddr>,
    /// RC is taken where the HCA has no XRC.
    pub transport: Transport,
    /// Tells nodes apart: with XRC a process has one queue pair to all processes of a node.
    pub node: u32,
    /// A file that the processes of the node have in common, and nobody else; real cards need it for XRC.
    pub node_file: Option<Arc<OwnedFd>>,
    /// Payload bytes of the largest packet.
    pub packet: usize,
    /// Receive buffers granted to each peer.
    pub credits: u32,
    /// The most receive buffers of the process.
    pub buffers: u32,
    /// Bytes that may go without asking.
    pub eager: usize,
    /// Smallest transfer that is published, or asks with where its memory lies, in bytes.
    pub direct: usize,
    /// Receives are published to their senders.
    pub tuples: bool,
    /// With XRC: queues of the card for tuples, at most, in which receives are published; 0: they are published for RDMA
    /// writes.
    pub queues: u32,
    /// Receives of a tuple before it gets a queue.
    pub queue_after: u32,
    /// Messages for published receives up to so many bytes are copied by their sender.
    pub tuple_copy: usize,
    /// Bytes of memory that stay registered for the next transfer.
    pub registered: u64,
    /// Buffers that are often sent from are registered.
    pub frequent: bool,
    /// At how many percent of the uses from which on that pays.
    pub frequent_share: u32,
    /// Ports of the HCA that carry long messages together, 8 at most.
    pub ports: u32,
    /// Process 0 prints what is measured.
    pub explain: bool,
    /// The most peers that may write their short packets into a ring here.
    pub rings: u32,
    /// Short packets after which a peer is offered a ring.
    pub ring_after: u32,
    /// Cells of a ring, 255 at most, and bytes of each.
    pub ring_cells: u32,
    pub ring_cell: u32,
    /// Headers travel as what differs from the last one.
    pub header_cache: bool,
    /// How long a call waits for the machine of a peer to answer.
    pub silence: Duration,
    /// How long a call waits for the process of a peer, whose machine has answered.
    pub patience: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            maker: Maker::Software,
            interface: None,
            link: Link::NONE,
            faults: Faults::default(),
            address: None,
            transport: Transport::Rc,
            node: 0,
            node_file: None,
            packet: 8 << 10,
            credits: 32,
            buffers: 1024,
            eager: 16 << 10,
            direct: 8 << 10,
            tuples: true,
            queues: 0,
            queue_after: 3,
            tuple_copy: 16 << 10,
            registered: 4 << 30,
            frequent: true,
            frequent_share: 25,
            ports: 1,
            explain: false,
            rings: 16,
            ring_after: 64,
            ring_cells: 32,
            ring_cell: 1024,
            header_cache: true,
            silence: Duration::from_secs(30),
            patience: Duration::from_secs(30),
        }
    }
}
