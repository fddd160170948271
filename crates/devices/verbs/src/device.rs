//! The device of one process: its channels, and the parts that use them.

use crate::channels::{Channels, FRONT};
use crate::connect::{Address, Connections, Terms};
use crate::copies::Copies;
use crate::credits;
use crate::fabric::{Fabric, own_address};
use crate::footprint::Footprint;
use crate::frequent::Frequent;
use crate::incoming::Incoming;
use crate::queues::Queues;
use crate::rendezvous::{Moved, Moves};
use crate::settings::Settings;
use crate::token::Token;
use crate::transport::Transport;
use crate::tuple::Tuples;
use crate::wire::Kind;
use rustix::event::{EventfdFlags, eventfd};
use std::cell::Cell;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use tern_counters as counters;
use tern_device::Sink;
use tern_hca::Status;

/// A process that peers can call, and that knows nobody yet.
pub struct Endpoint {
    me: u32,
    world: u32,
    settings: Settings,
    fabric: Fabric,
    connections: Connections,
    alarm: Arc<OwnedFd>,
}

impl Endpoint {
    /// Opens the HCA for process `me` of `world`.
    ///
    /// Errors: there is no HCA, or no socket to be called at; the text says which and why.
    pub fn open(me: u32, world: u32, settings: &Settings) -> io::Result<Endpoint> {
        let fabric = Fabric::open(settings, world).map_err(io::Error::other)?;
        let alarm = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let terms = Terms { credits: settings.credits.max(credits::FEWEST), buffer: (FRONT + settings.packet) as u32 };
        let host = own_address(settings);
        let connections = Connections::listen(me, host, settings, fabric.clone(), terms, alarm.clone())?;
        Ok(Endpoint { me, world, settings: settings.clone(), fabric, connections, alarm })
    }

    /// What its channels are made of; RC where the HCA has no XRC.
    pub fn transport(&self) -> Transport {
        self.fabric.transport()
    }

    /// What peers must know to reach this process.
    pub fn address(&self) -> Vec<u8> {
        self.connections.address().encode()
    }

    /// The device, with the addresses of all processes in the order of their numbers.
    ///
    /// Errors: an address is none, or buffers cannot be registered.
    pub fn join<A: AsRef<[u8]>>(self, addresses: &[A]) -> io::Result<Verbs> {
        let Endpoint { me, world, settings, fabric, connections, alarm } = self;
        let decode = |(rank, bytes): (usize, &A)| {
            let bytes = bytes.as_ref();
            let wrong = || io::Error::other(format!("the {} bytes that rank {rank} gave are no address", bytes.len()));
            Address::decode(bytes).ok_or_else(wrong)
        };
        let addresses = addresses.iter().enumerate().map(decode).collect::<io::Result<Vec<_>>>()?;
        let own = fabric.transport();
        if let Some(other) = addresses.iter().position(|address| address.transport != own) {
            return Err(io::Error::other(format!(
                "rank {me} has the transport {own:?} and rank {other} another: set TERN_VERBS_TRANSPORT to rc for all"
            )));
        }
        let (copied, link) = (settings.tuple_copy, settings.link);
        let channels = Channels::new(me, world, settings, fabric, connections, addresses, alarm)?;
        let copies = Rc::new(Copies::new(&channels.fabric.domain, copied, link));
        let frequent = Frequent::new();
        frequent.calibrate(&channels);
        Ok(Verbs {
            tuples: Tuples::new(&channels.fabric.domain, copies.clone()),
            queues: Queues::new(copies),
            moves: Moves::default(),
            frequent,
            settled: Cell::new(false),
            channels,
        })
    }
}

impl tern_device::Endpoint for Endpoint {
    fn address(&self) -> Vec<u8> {
        self.address()
    }

    fn join(self: Box<Self>, addresses: &[&[u8]]) -> std::io::Result<Box<dyn tern_device::Channel>> {
        Ok(Box::new((*self).join(addresses)?))
    }
}

/// The RDMA device. Peers are the numbers of the table of addresses.
pub struct Verbs {
    // Dropped first: nothing comes or goes any more when memory of the others is given back.
    pub(crate) channels: Channels,
    pub(crate) tuples: Tuples,
    pub(crate) queues: Queues,
    pub(crate) moves: Moves,
    pub(crate) frequent: Frequent,
    /// It has been said that everything was sent.
    pub(crate) settled: Cell<bool>,
}

impl Verbs {
    /// What this process holds now.
    pub fn footprint(&self) -> Footprint {
        let ring = |peer: &u32| Some(self.channels.known(*peer)?.inbox.get()?.memory());
        Footprint {
            peers: self.channels.open.borrow().len(),
            queue_pairs: self.channels.queue_pairs(),
            receive_memory: self.channels.receives.memory(),
            send_memory: self.channels.bounces.memory(),
            ring_memory: self.channels.rings.borrow().iter().filter_map(ring).sum(),
        }
    }

    /// As if a port towards a peer had failed.
    #[doc(hidden)]
    pub fn fail_port(&self, peer: u32, port: usize) {
        self.moves.ports.fail_port(peer, port);
    }

    /// How many ports carry long messages to or from a peer now.
    #[doc(hidden)]
    pub fn open_ports(&self, peer: u32) -> usize {
        self.moves.ports.open_ports(peer)
    }

    /// Bytes that are counted as on their way.
    #[doc(hidden)]
    pub fn carried(&self) -> u64 {
        self.moves.ports.carried()
    }

    /// [`tern_device::Channel::poll`].
    #[inline]
    pub(crate) fn deliver(&self, sink: &mut dyn Sink) -> usize {
        self.channels.pump();
        while let Some((peer, why)) = self.channels.connections.next_loss() {
            // What came before it comes first.
            while self.channels.pump() > 0 {}
            self.channels.lose(peer, &why);
        }
        let mut packets = 0;
        loop {
            let Some(incoming) = self.channels.inbound.borrow_mut().pop_front() else { break };
            match incoming {
                Incoming::Packet { from, header, payload } => {
                    let link = &self.channels.settings.link;
                    link.copies(payload.len as usize, || sink.packet(from, &header, self.channels.bytes(payload)));
                    self.channels.taken(from, payload);
                    packets += 1;
                }
                Incoming::Message { from, kind, payload } => {
                    self.message(from, kind, self.channels.bytes(payload), sink);
                    self.channels.taken(from, payload);
                }
                Incoming::Completed { token, status, len } => self.completed(token, status, len, sink),
                Incoming::Lost { peer, why, broken } => {
                    counters::NETWORK_LOST.add(1);
                    self.tuples.lost(peer);
                    self.queues.lost(peer);
                    self.moves.lost(peer);
                    self.moves.ports.lost(peer);
                    if broken.is_some_and(|broken| self.channels.is_missing_something(peer, broken)) {
                        sink.undeliverable(peer);
                    }
                    sink.lost(peer, &why);
                }
            }
        }
        self.tuples.progress(&self.channels);
        self.queues.progress(&self.channels);
        self.moves.move_on(&self.channels);
        self.moves.ports.say_unsaid(&self.channels);
        self.moves.repeat(&self.channels);
        if packets == 0 {
            self.channels.count_repeats();
        }
        packets
    }

    /// A message of another part of the device has come.
    fn message(&self, from: u32, kind: Kind, bytes: &[u8], sink: &mut dyn Sink) {
        match kind {
            Kind::Tuple => self.tuples.message(&self.channels, from, bytes, sink),
            Kind::Queue => self.queues.message(&self.channels, from, bytes),
            Kind::Ports => {
                self.moves.ports.hear_of_ports(&self.channels, from, bytes);
                self.moves.repeat(&self.channels);
            }
            _ => {}
        }
    }

    /// A request of another part of the device has ended.
    fn completed(&self, token: Token, status: Status, len: u32, sink: &mut dyn Sink) {
        match token {
            Token::Tuple { peer, value } => self.tuples.completed(&self.channels, peer, value, status, sink),
            Token::Rendezvous { value, .. } => self.tell_moved(self.moves.moved(&self.channels, value, status), sink),
            Token::Stripe { peer, port, value } => {
                self.tell_moved(self.moves.stripe_moved(&self.channels, peer, port, value, status), sink);
            }
            Token::Frequent { value, .. } => self.frequent.end_lent(&self.channels, value, status, sink),
            Token::Queue { peer, value } => self.queues.completed(&self.channels, peer, value, status, len, sink),
            Token::Receive { .. } | Token::Frame { .. } | Token::Upkeep { .. } | Token::Remote { .. } => {}
        }
    }

    /// Tells of a message that has been moved, if one has: first the peer, if its receive was published.
    fn tell_moved(&self, moved: Option<Moved>, sink: &mut dyn Sink) {
        match moved {
            None => {}
            Some(Moved { fetched: true, request, .. }) => sink.pulled(request),
            Some(Moved { request, peer, filled, .. }) => {
                filled.into_iter().for_each(|filled| self.tuples.tell(&self.channels, peer, filled));
                sink.sent(request);
            }
        }
    }
}

impl Drop for Verbs {
    fn drop(&mut self) {
        self.channels.settle_all();
        if self.settled.get() && self.channels.fabric.ways.is_some() {
            self.channels.stay_for_others();
        }
    }
}
