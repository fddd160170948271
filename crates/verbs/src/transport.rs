//! What a channel is made of: a queue pair per peer (RC), or one per *node* (XRC).
//!
//! With XRC all that this process sends to a node goes through one queue pair, an *initiator*; each request names the shared
//! receive queue of the process that it is for. At the node it ends in a *target*, which the process made that was
//! connected first. Targets are few too, one for each remote process that sends to the node, and nobody uses them. So two
//! processes exchange three addresses: of a receive queue always, of an initiator if it is still to be connected, and of
//! a target that it can be connected to. What is not needed is dropped.

use crate::fabric::Fabric;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use tern_hca::{Connection, Hca, QueuePair, Result, State, XrcDomain};

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
    nodes: Mutex<HashMap<u32, Arc<Way>>>,
    /// Receiving ends, which only have to be there.
    targets: Mutex<Vec<QueuePair>>,
}

/// The queue pair to a node.
struct Way {
    node: u32,
    pair: Arc<QueuePair>,
    connected: Mutex<bool>,
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

/// This side of the connection to one peer, from before it is connected.
pub struct End {
    fabric: Fabric,
    half: Half,
    address: Vec<u8>,
}

enum Half {
    Rc(Arc<QueuePair>),
    Xrc {
        way: Arc<Way>,
        /// The way is to be connected to this peer's target.
        first: bool,
        target: Mutex<Option<QueuePair>>,
    },
}

impl Half {
    fn address(&self, fabric: &Fabric) -> Vec<u8> {
        match self {
            Half::Rc(pair) => pair.address(),
            Half::Xrc { way, first, target } => {
                let queue = fabric.receives.address().expect("a queue of an XRC domain");
                let initiator = if *first { way.pair.address() } else { Vec::new() };
                let target = target.lock().as_ref().map_or(Vec::new(), QueuePair::address);
                [queue, initiator, target].iter().flat_map(|part| [&[part.len() as u8], &part[..]].concat()).collect()
            }
        }
    }
}

impl End {
    /// Towards a peer on `node`.
    pub fn new(fabric: &Fabric, node: u32) -> Result<End> {
        let half = match &fabric.ways {
            None => Half::Rc(Arc::new(fabric.queue_pair()?)),
            Some(ways) => {
                let target = Mutex::new(Some(ways.domain.target()?));
                let mut nodes = ways.nodes.lock();
                let known = nodes.get(&node).filter(|way| way.pair.state() != State::Error).cloned();
                let first = known.is_none();
                let way = match known {
                    Some(way) => way,
                    None => {
                        let pair = Arc::new(fabric.initiator()?);
                        let way = Arc::new(Way { node, pair, connected: Mutex::new(false) });
                        nodes.insert(node, way.clone());
                        way
                    }
                };
                Half::Xrc { way, first, target }
            }
        };
        let address = half.address(fabric);
        Ok(End { fabric: fabric.clone(), half, address })
    }

    /// What the peer has to know.
    pub fn address(&self) -> Vec<u8> {
        self.address.clone()
    }

    /// Connects it to the end of the peer with that address. Call once.
    pub fn connect(&self, peer: &[u8], connection: &Connection) -> std::result::Result<Sending, String> {
        let text = |error: tern_hca::Error| error.to_string();
        let (way, first, offered) = match &self.half {
            Half::Rc(pair) => {
                pair.connect(peer, connection).map_err(text)?;
                return Ok(Sending { pair: pair.clone(), receive_queue: 0, shared: false });
            }
            Half::Xrc { way, first, target } => (way, *first, target.lock().take()),
        };
        let [queue, initiator, target] = parts(peer).ok_or("its address is none")?;
        if let (Some(offered), false) = (offered, initiator.is_empty()) {
            offered.connect(initiator, connection).map_err(text)?;
            self.fabric.ways.as_ref().expect("this is XRC").targets.lock().push(offered);
        }
        if first {
            way.pair.connect(target, connection).map_err(text)?;
            *way.connected.lock() = true;
        }
        let receive_queue = way.pair.reach(queue).map_err(text)?;
        Ok(Sending { pair: way.pair.clone(), receive_queue, shared: true })
    }

    /// Whether what [`End::connect`] gave can be used: the way may wait for the peer that it is connected to.
    pub fn is_connected(&self) -> bool {
        match &self.half {
            Half::Rc(_) => true,
            Half::Xrc { way, .. } => *way.connected.lock(),
        }
    }

    /// The peer cannot be reached. A way that was to be connected to it is left for the next to begin again.
    pub fn give_up(&self) {
        if let (Half::Xrc { way, first: true, .. }, Some(ways)) = (&self.half, &self.fabric.ways)
            && !*way.connected.lock()
        {
            let mut nodes = ways.nodes.lock();
            if nodes.get(&way.node).is_some_and(|known| Arc::ptr_eq(known, way)) {
                nodes.remove(&way.node);
            }
        }
    }
}

/// The three addresses in an address.
fn parts(mut bytes: &[u8]) -> Option<[&[u8]; 3]> {
    let mut part = || {
        let (&len, rest) = bytes.split_first()?;
        let (part, rest) = rest.split_at_checked(len as usize)?;
        bytes = rest;
        Some(part)
    };
    Some([part()?, part()?, part()?])
}
