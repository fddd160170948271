//! Further ports of the HCA: queue pairs beside the channel, for the parts of long messages that may go in any order.
//!
//! All that has an order goes over the channel, on the first port. A message that is moved by reads or writes is cut into
//! stripes, and each goes to the port that has the fewest bytes to carry, of all peers together. The stripes land in any order;
//! the message is complete when the last of them has ended.
//!
//! The queue pairs to a peer are made when the first long message needs them, by messages over the channel; until both
//! ends are connected the first port carries everything. A port that fails is given up for that peer, and the message whose
//! part it had goes again, over the channel: one that is written behind the word that the port is given up ([`End`]).

mod end;
mod word;

use crate::channels::Channels;
use crate::token::Token;
use crate::wire::Kind;
use end::End;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use tern_counters as counters;
use tern_hca::{Connection, Data, Error, Operation, QueuePair, SendFlags, SendRequest};
use tern_policy::cuts::{least_loaded, stripe};
use word::Word;

/// The most ports, of which the first is the channel's.
pub(crate) const MOST: usize = 8;
struct Rail {
    pair: QueuePair,
    end: End,
    /// Requests whose completion is to come.
    flying: u32,
}

/// Towards one peer, from the second port on.
#[derive(Default)]
struct Rails {
    rails: Vec<Rail>,
    greeted: bool,
}

/// The ports of a process.
#[derive(Default)]
pub(crate) struct Ports {
    peers: RefCell<HashMap<u32, Rails>>,
    /// Bytes that each port has to carry.
    loads: Cell<[u64; MOST]>,
    /// Words that found no room, in order.
    unsaid: RefCell<VecDeque<(u32, Word)>>,
    /// Peers to which what failed ports carried may now be written again.
    repeatable: RefCell<Vec<u32>>,
}

impl Ports {
    /// A port carries so much more.
    pub fn load(&self, port: usize, bytes: u64) {
        let mut loads = self.loads.get();
        loads[port] += bytes;
        self.loads.set(loads);
    }

    /// A message has ended whose parts were these.
    pub fn unload(&self, parts: &[u64; MOST]) {
        let mut loads = self.loads.get();
        loads.iter_mut().zip(parts).for_each(|(load, part)| *load -= part);
        self.loads.set(loads);
    }

    /// Nothing goes to that peer any more: what was posted comes back.
    #[cold]
    pub fn lost(&self, peer: u32) {
        if let Some(it) = self.peers.borrow_mut().get_mut(&peer) {
            for rail in &mut it.rails {
                let _nobody_to_tell = rail.end.take_down();
                let _ = rail.pair.fail();
            }
        }
    }

    /// Queue pairs, to all peers together.
    fn count(&self) -> usize {
        self.peers.borrow().values().map(|it| it.rails.len()).sum()
    }

    /// The next peer to which writes through failed ports may be repeated.
    pub fn next_repeatable(&self) -> Option<u32> {
        self.repeatable.borrow_mut().pop()
    }

    /// As if a port towards a peer had failed.
    pub fn fail_port(&self, peer: u32, port: usize) {
        if let Some(rail) = self.peers.borrow().get(&peer).and_then(|it| it.rails.get(port - 1)) {
            let _ = rail.pair.fail();
        }
    }

    /// How many ports carry long messages to or from a peer now.
    pub fn open_ports(&self, peer: u32) -> usize {
        let peers = self.peers.borrow();
        1 + peers.get(&peer).map_or(0, |it| it.rails.iter().filter(|rail| rail.end.is_open()).count())
    }

    /// Bytes that are counted as on their way.
    pub fn carried(&self) -> u64 {
        self.loads.get().iter().sum()
    }

    fn is_open(&self, peer: u32, port: usize, depth: u32) -> bool {
        let peers = self.peers.borrow();
        let rail = peers.get(&peer).and_then(|it| it.rails.get(port.wrapping_sub(1)));
        rail.is_some_and(|rail| rail.end.is_open() && rail.flying < depth)
    }

    /// Whether what was written to a peer through these ports, a bit for each, may be written again ([`End::may_repeat`]).
    pub fn may_repeat(&self, peer: u32, ports: u8) -> bool {
        let peers = self.peers.borrow();
        let Some(it) = peers.get(&peer) else { return true };
        (1..).zip(&it.rails).all(|(port, rail)| ports & 1 << port == 0 || rail.end.may_repeat())
    }

    /// Bytes of a stripe of a message of `len` bytes to or from `peer`, if several ports carry it. Makes the way to
    /// them otherwise, if there are several.
    pub fn stripe(&self, channels: &Channels, peer: u32, len: u64) -> Option<u64> {
        if channels.fabric.ports() <= 1 || stripe(len, 2).is_none() {
            return None;
        }
        let known = self.peers.borrow().contains_key(&peer);
        if !known {
            self.make_rails(channels, peer);
            self.greet(channels, peer, false);
        }
        let peers = self.peers.borrow();
        let open = peers[&peer].rails.iter().filter(|rail| rail.end.is_open()).count();
        stripe(len, 1 + open)
    }

    /// Posts a part of a message where there is least to do, and returns on which port; 0 is the channel's, where the caller
    /// posts by itself.
    pub fn post_stripe(
        &self, channels: &Channels, peer: u32, value: u32, operation: Operation, data: Data<'_>,
    ) -> usize {
        let depth = channels.fabric.limits().depth;
        loop {
            let loads = self.loads.get();
            let port = least_loaded(&loads, |port| port == 0 || self.is_open(peer, port, depth));
            if port == 0 || self.post_on(channels, peer, port, value, operation, data) {
                return port;
            }
        }
    }

    /// False: the port is broken, and not open any more. It cannot be full, since all of its requests are counted.
    fn post_on(
        &self, channels: &Channels, peer: u32, port: usize, value: u32, operation: Operation, data: Data<'_>,
    ) -> bool {
        let mut peers = self.peers.borrow_mut();
        let Some(rail) = peers.get_mut(&peer).and_then(|it| it.rails.get_mut(port - 1)) else { return false };
        let id = Token::Stripe { peer, port: port as u8, value }.encode();
        let flags = SendFlags { signaled: true, fence: false };
        let posted = rail.pair.post_send(&SendRequest { id, operation, data, flags, receive_queue: 0 }).is_ok();
        if posted {
            rail.flying += 1;
            counters::NETWORK_STRIPES.add(1);
        }
        drop(peers);
        if !posted {
            self.take_down(channels, peer, port);
        }
        posted
    }

    /// A part that went over another port than the first has ended, well or not.
    pub fn stripe_ended(&self, channels: &Channels, peer: u32, port: u8, well: bool) {
        let mut peers = self.peers.borrow_mut();
        let Some(rail) = peers.get_mut(&peer).and_then(|it| it.rails.get_mut(usize::from(port) - 1)) else { return };
        rail.flying = rail.flying.saturating_sub(1);
        drop(peers);
        if !well {
            self.take_down(channels, peer, usize::from(port));
        }
    }

    /// Gives up a port towards a peer, and tells the peer.
    #[cold]
    fn take_down(&self, channels: &Channels, peer: u32, port: usize) {
        let mut peers = self.peers.borrow_mut();
        let Some(rail) = peers.get_mut(&peer).and_then(|it| it.rails.get_mut(port - 1)) else { return };
        if !rail.end.take_down() {
            return;
        }
        let why = rail.pair.reason().unwrap_or_else(|| "its queue pair takes no request".into());
        tern_settings::warn!("port {port} towards process {peer} has failed, and the others carry its part: {why}");
        // Before the peer is told, which may then write again where it has written through this port.
        let _ = rail.pair.fail();
        drop(peers);
        self.tell_ports(channels, peer, Word { down: 1 << port, ..Word::default() });
    }

    fn make_rails(&self, channels: &Channels, peer: u32) {
        let make = |port: u32| {
            let pair = channels.fabric.queue_pair()?;
            pair.select_port(port as u8)?;
            Ok::<_, Error>(Rail { pair, end: End::default(), flying: 0 })
        };
        // Fewer than asked for will do.
        let rails = (1..channels.fabric.ports().min(MOST as u32)).map_while(|port| make(port).ok()).collect();
        self.peers.borrow_mut().insert(peer, Rails { rails, greeted: false });
        channels.further_pairs.set(self.count());
    }

    /// Tells a peer the addresses of the queue pairs for it.
    fn greet(&self, channels: &Channels, peer: u32, connected: bool) {
        let word = {
            let mut peers = self.peers.borrow_mut();
            let it = peers.get_mut(&peer).expect("made before");
            it.greeted = true;
            Word {
                connected,
                addresses: it.rails.iter().map(|rail| rail.pair.open_address()).collect(),
                ..Word::default()
            }
        };
        self.tell_ports(channels, peer, word);
    }

    fn tell_ports(&self, channels: &Channels, peer: u32, word: Word) {
        self.unsaid.borrow_mut().push_back((peer, word));
        self.say_unsaid(channels);
    }

    /// Says what found no room.
    #[inline]
    pub fn say_unsaid(&self, channels: &Channels) {
        if !self.unsaid.borrow().is_empty() {
            self.say_all(channels);
        }
    }

    #[cold]
    fn say_all(&self, channels: &Channels) {
        let mut rest = VecDeque::new();
        loop {
            let Some((peer, word)) = self.unsaid.borrow_mut().pop_front() else { break };
            // The words to a peer stay in order.
            let waits = rest.iter().any(|(other, _)| *other == peer);
            if waits || !channels.send_message(peer, Kind::Ports, &word.encode()) {
                rest.push_back((peer, word));
            } else if word.down != 0 {
                self.each_rail(peer, word.down, |_, rail| rail.end.told());
                self.repeatable.borrow_mut().push(peer);
            }
        }
        self.unsaid.borrow_mut().extend(rest);
    }

    /// A word of a peer about its ports.
    pub fn hear_of_ports(&self, channels: &Channels, peer: u32, bytes: &[u8]) {
        let Word { connected, down, addresses } = Word::decode(bytes);
        let known = self.peers.borrow().contains_key(&peer);
        if !known {
            self.make_rails(channels, peer);
        }
        if !addresses.is_empty() {
            self.connect_ports(channels, peer, &addresses);
        }
        if connected {
            self.each_rail(peer, u8::MAX, |_, rail| rail.end.peer_connected());
        }
        if down != 0 {
            self.each_rail(peer, down, |_, rail| {
                if rail.end.peer_down() {
                    let _ = rail.pair.fail();
                }
            });
            self.repeatable.borrow_mut().push(peer);
        }
    }

    /// Connects to a peer's queue pairs, and tells it.
    fn connect_ports(&self, channels: &Channels, peer: u32, addresses: &[Vec<u8>]) {
        if let Some(it) = self.peers.borrow_mut().get_mut(&peer) {
            // The other end may have fewer.
            it.rails.truncate(addresses.len());
        }
        channels.further_pairs.set(self.count());
        let greeted = self.peers.borrow()[&peer].greeted;
        let mut broken = 0u8;
        self.each_rail(peer, u8::MAX, |port, rail| {
            if rail.end.may_connect() {
                match rail.pair.connect(&addresses[port - 1], &Connection::default()) {
                    Ok(()) => rail.end.connected(),
                    Err(_) => broken |= 1 << port,
                }
            }
        });
        if greeted {
            self.tell_ports(channels, peer, Word { connected: true, ..Word::default() });
        } else {
            self.greet(channels, peer, true);
        }
        (1..MOST).filter(|port| broken & 1 << port != 0).for_each(|port| self.take_down(channels, peer, port));
    }

    /// Calls `act` for each of these ports towards a peer, a bit for each.
    fn each_rail(&self, peer: u32, ports: u8, mut act: impl FnMut(usize, &mut Rail)) {
        if let Some(it) = self.peers.borrow_mut().get_mut(&peer) {
            let chosen = (1..).zip(&mut it.rails).filter(|(port, _)| ports & 1 << port != 0);
            chosen.for_each(|(port, rail)| act(port, rail));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tern_policy::cuts::SHORTEST_STRIPE as SHORTEST;

    proptest! {
        /// Ports carry as much as each other, whatever they had to carry before, as far as there is enough to even it out.
        #[test]
        fn stripes_even_loads_out(before in prop::collection::vec(0..1u64 << 20, 1..MOST), stripes in 0..200u64) {
            let ports = before.len();
            let mut loads = [0; MOST];
            loads[..ports].copy_from_slice(&before);
            for _ in 0..stripes {
                loads[least_loaded(&loads, |port| port < ports)] += SHORTEST;
            }
            let (most, fewest) = (loads[..ports].iter().max().unwrap(), loads[..ports].iter().min().unwrap());
            let spread = before.iter().max().unwrap() - before.iter().min().unwrap();
            prop_assert!(most - fewest <= spread.max(SHORTEST));
            prop_assert!(stripes * SHORTEST < before.iter().max().unwrap() * ports as u64 || most - fewest <= SHORTEST);
        }
    }
}
