//! What a device has handed over, and chaos keeps back: packets of some peers, while others pass them, and completions.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use tern_device::{Header, Sink};

/// A packet that waits.
pub struct Packet {
    pub header: Header,
    pub payload: Box<[u8]>,
}

/// The end of a transfer that waits to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    Delivered { receiver: u32, size: u64 },
    Sent { sender: u32 },
    Pulled { receiver: u32 },
}

impl Completion {
    /// Tells it.
    pub fn tell(self, sink: &mut dyn Sink) {
        match self {
            Completion::Delivered { receiver, size } => sink.delivered(receiver, size),
            Completion::Sent { sender } => sink.sent(sender),
            Completion::Pulled { receiver } => sink.pulled(receiver),
        }
    }
}

/// All that is kept back.
#[derive(Default)]
pub struct Held {
    /// By peer, in order; no queue is empty.
    packets: RefCell<BTreeMap<u32, VecDeque<Packet>>>,
    /// With the peer of the transfer.
    completions: RefCell<VecDeque<(u32, Completion)>>,
    /// The peer of each request that fills memory of this process, and of each that is sent from here.
    receivers: RefCell<HashMap<u32, u32>>,
    senders: RefCell<HashMap<u32, u32>>,
    /// The request of each published receive, by peer and slot.
    published: RefCell<HashMap<(u32, u32), u32>>,
}

impl Held {
    /// Request `receiver` gets its message from `peer`.
    pub fn receives(&self, receiver: u32, peer: u32) {
        self.receivers.borrow_mut().insert(receiver, peer);
    }

    /// Request `receiver` is published for `peer`, in that slot.
    pub fn publishes(&self, receiver: u32, peer: u32, slot: u32) {
        self.receives(receiver, peer);
        self.published.borrow_mut().insert((peer, slot), receiver);
    }

    /// Request `sender` is for `peer`.
    pub fn sends(&self, sender: u32, peer: u32) {
        self.senders.borrow_mut().insert(sender, peer);
    }

    /// Whether packets of `peer` wait.
    pub fn has_packets_of(&self, peer: u32) -> bool {
        self.packets.borrow().contains_key(&peer)
    }

    /// Whether the end of a transfer with `peer` waits to be told.
    pub fn has_completion_of(&self, peer: u32) -> bool {
        self.completions.borrow().iter().any(|(other, _)| *other == peer)
    }

    /// Whether it waits to be told that the receive in that slot is filled. The device has given the slot up.
    pub fn has_filled(&self, peer: u32, slot: u32) -> bool {
        let Some(&receiver) = self.published.borrow().get(&(peer, slot)) else { return false };
        let fills = |completion: &Completion| matches!(completion, Completion::Delivered { receiver: one, .. } if *one == receiver);
        self.completions.borrow().iter().any(|(of, completion)| *of == peer && fills(completion))
    }

    /// A packet waits, behind those of its sender that do.
    pub fn keep_packet(&self, from: u32, header: &Header, payload: &[u8]) {
        let packet = Packet { header: *header, payload: payload.into() };
        self.packets.borrow_mut().entry(from).or_default().push_back(packet);
    }

    /// A completion waits. False: nobody knows with which peer the transfer was, and it is to be told at once.
    pub fn keep_completion(&self, completion: Completion) -> bool {
        let peer = match completion {
            Completion::Delivered { receiver, .. } | Completion::Pulled { receiver } => {
                self.receivers.borrow().get(&receiver).copied()
            }
            Completion::Sent { sender } => self.senders.borrow().get(&sender).copied(),
        };
        self.completions.borrow_mut().extend(peer.map(|peer| (peer, completion)));
        peer.is_some()
    }

    /// Peers of whom packets wait, in rising order.
    pub fn peers(&self) -> Vec<u32> {
        self.packets.borrow().keys().copied().collect()
    }

    /// How many packets of `peer` wait.
    pub fn count(&self, peer: u32) -> usize {
        self.packets.borrow().get(&peer).map_or(0, VecDeque::len)
    }

    /// The packet of `peer` that has waited longest.
    pub fn take_packet(&self, peer: u32) -> Option<Packet> {
        let mut packets = self.packets.borrow_mut();
        let queue = packets.get_mut(&peer)?;
        let packet = queue.pop_front();
        if queue.is_empty() {
            packets.remove(&peer);
        }
        packet
    }

    /// How many completions wait.
    pub fn completions(&self) -> usize {
        self.completions.borrow().len()
    }

    /// One of the completions.
    pub fn take_completion(&self, at: usize) -> Option<Completion> {
        self.completions.borrow_mut().remove(at).map(|(_, completion)| completion)
    }

    /// A completion of a transfer with `peer`.
    pub fn take_completion_of(&self, peer: u32) -> Option<Completion> {
        let at = self.completions.borrow().iter().position(|(other, _)| *other == peer)?;
        self.take_completion(at)
    }

    /// Nobody wants to know of `peer` any more.
    pub fn forget(&self, peer: u32) {
        self.packets.borrow_mut().remove(&peer);
        self.completions.borrow_mut().retain(|(other, _)| *other != peer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_a_pair_stay_in_order() {
        let held = Held::default();
        (0..3).for_each(|number| held.keep_packet(4, &[number, 0, 0, 0], &[number as u8; 5]));
        held.keep_packet(2, &[9, 0, 0, 0], &[]);
        assert_eq!((held.peers(), held.count(4)), (vec![2, 4], 3));
        let taken: Vec<u64> = std::iter::from_fn(|| held.take_packet(4)).map(|packet| packet.header[0]).collect();
        assert_eq!((taken, held.has_packets_of(4), held.has_packets_of(2)), (vec![0, 1, 2], false, true));
        held.forget(2);
        assert!(held.peers().is_empty());
    }

    #[test]
    fn a_filled_receive_is_known_by_its_slot_until_it_is_told() {
        let held = Held::default();
        let filled = Completion::Delivered { receiver: 7, size: 10 };
        assert!(!held.keep_completion(filled), "nobody knows its peer");
        held.publishes(7, 1, 3);
        held.sends(7, 2);
        assert!(held.keep_completion(filled) && held.keep_completion(Completion::Sent { sender: 7 }));
        assert!(held.has_filled(1, 3) && !held.has_filled(1, 4) && !held.has_filled(2, 3));
        assert!(held.has_completion_of(2) && !held.has_completion_of(3));
        assert_eq!(held.take_completion_of(1), Some(filled));
        assert!(!held.has_filled(1, 3));
        held.forget(2);
        assert_eq!(held.completions(), 0);
    }
}
