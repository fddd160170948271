//! This side of the connection to one peer, of one transport or the other.

use crate::fabric::Fabric;
use crate::transport::{Sending, Way};
use std::sync::Arc;
use tern_hca::{Connection, QueuePair, Result, State};
use tern_threads::Mutex;

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
