//! What a channel is made of: a queue pair per peer (RC), or one per *node* (XRC).
//!
//! With XRC all that this process sends to a node goes through one queue pair, an *initiator*; each request names the shared
//! receive queue of the process that it is for. At the node it ends in a *target*, which the process made that was
//! connected first. Targets are few too, one for each remote process that sends to the node, and nobody uses them. So two
//! processes exchange three addresses: of a receive queue always, of an initiator if it is still to be connected, and of
//! a target that it can be connected to. What is not needed is dropped.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use tern_hca::{Hca, QueuePair, Result, XrcDomain};
use tern_threads::Mutex;

/// Which kind of queue pair carries the channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// One for each peer.
    #[default]
    Rc,
    /// One for each node.
    Xrc,
}

/// Where requests for a peer are posted.
#[derive(Clone)]
pub struct Sending {
    pub pair: Arc<QueuePair>,
    /// What requests name as their receive queue; 0 with RC.
    pub receive_queue: u32,
    /// The queue pair serves other peers too.
    pub shared: bool,
}

/// The ways of this process to nodes, and what leads to it.
pub struct Ways {
    pub domain: XrcDomain,
    pub nodes: Mutex<HashMap<u32, Arc<Way>>>,
    /// Receiving ends, which only have to be there.
    pub targets: Mutex<Vec<QueuePair>>,
}

/// The queue pair to a node.
pub struct Way {
    pub node: u32,
    pub pair: Arc<QueuePair>,
    pub connected: Mutex<bool>,
}

impl Ways {
    pub fn new(hca: &Hca, file: Option<&OwnedFd>) -> Result<Ways> {
        let domain = hca.xrc_domain(file.map(AsFd::as_fd))?;
        Ok(Ways { domain, nodes: Mutex::default(), targets: Mutex::default() })
    }

    /// Queue pairs, sending and receiving.
    pub fn count(&self) -> usize {
        self.nodes.lock().len() + self.targets.lock().len()
    }
}
