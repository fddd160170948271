//! What accesses to the memory of other processes hold until they have ended.

use crate::send_queue::SendQueue;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tern_device::{Memory, Run};
use tern_hca::{MemoryRegion, QueuePair};

/// What a request holds until it has ended.
pub enum Held {
    Nothing,
    /// A buffer that was written from.
    Buffer(u32),
    /// A buffer whose bytes go to these runs.
    Scattered(u32, Vec<Run>),
    /// A buffer whose first word goes there, unless it is null.
    Answer(u32, *mut u64),
    Registered(Memory),
}

/// What is known of one peer.
#[derive(Default)]
pub struct Peer {
    pub begun: Cell<u64>,
    pub ended: Cell<u64>,
    pub lost: Cell<bool>,
    /// Of requests that have not ended, in order.
    pub held: RefCell<VecDeque<(u64, Held)>>,
}

impl Peer {
    /// Keeps what the last request that was posted still needs.
    pub fn keep(&self, held: Held) {
        self.held.borrow_mut().push_back((self.begun.get(), held));
    }
}

/// Accesses of this process to the memory of all.
pub struct Accesses {
    pub peers: Box<[Peer]>,
    pub revealed: RefCell<HashMap<u32, MemoryRegion>>,
    pub own: OnceCell<Option<Loop>>,
}

/// Two queue pairs of this process that are connected to each other. Requests are posted to the first.
pub struct Loop {
    pub pair: Arc<QueuePair>,
    pub sends: SendQueue,
    pub _other: Arc<QueuePair>,
}

impl Accesses {
    pub fn new(world: u32) -> Accesses {
        Accesses {
            peers: (0..world).map(|_| Peer::default()).collect(),
            revealed: RefCell::default(),
            own: OnceCell::new(),
        }
    }

    /// Whether requests to that peer are under way.
    pub fn are_under_way(&self, peer: u32) -> bool {
        !self.peers[peer as usize].held.borrow().is_empty()
    }

    /// What is under way to that peer will not end.
    pub fn lose(&self, peer: u32) {
        self.peers[peer as usize].lost.set(true);
    }

    /// Takes what is over, since the request of `peer` with that number has ended: its own number, and what it held.
    pub fn next_over(&self, peer: u32, number: u32) -> Option<(u64, Held)> {
        // Numbers of what is under way are far less than half their range apart.
        let is_over = |first: &mut (u64, Held)| (first.0 as u32).wrapping_sub(number).wrapping_sub(1) > u32::MAX / 2;
        self.peers[peer as usize].held.borrow_mut().pop_front_if(is_over)
    }
}
