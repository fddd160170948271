//! The channels of a process: what goes to its peers and comes from them, in order.
//!
//! The parts above (tuple queues, rendezvous, accesses to remote memory, frequently used buffers) post their requests here.
//! What ends or comes for them waits in [`Channels::inbound`] until the device hands it on.

mod accesses;
mod arrive;
mod rings;
mod send;

use crate::accesses::Accesses;
use crate::channel::Channel;
use crate::connect::{Address, Connected, Connections, quiet, ring};
use crate::fabric::Fabric;
use crate::header;
use crate::incoming::Incoming;
use crate::pool::Pool;
use crate::registered::Registered;
use crate::send_queue::SendQueue;
use crate::settings::Settings;
use crate::wire::PREFIX;
use rustix::event::epoll;
use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use tern_counters as counters;
use tern_device::Abilities;

pub(crate) use send::Posted;

/// Receive buffers that may be free and not posted.
const REFILL: usize = 16;
/// Receive buffers to begin with, for peers that send before anything was polled.
const FIRST: usize = 256;
/// The most buffers that packets are built in.
const BOUNCES: usize = 4096;
/// Bytes of a packet at its sender that are not payload.
pub(crate) const FRONT: usize = PREFIX + header::LONGEST;

/// All channels of this process, and what they share. Peers are the numbers of the table of addresses.
pub(crate) struct Channels {
    pub(crate) me: u32,
    pub(crate) settings: Settings,
    pub(crate) abilities: Abilities,
    pub(crate) connections: Connections,
    addresses: Vec<Address>,
    /// By peer.
    ways: Box<[OnceCell<Way>]>,
    /// Peers with a channel.
    pub(crate) open: RefCell<Vec<u32>>,
    /// By the number of the queue pair.
    sends: RefCell<HashMap<u32, Rc<SendQueue>>>,
    /// Queue pairs on further ports ([`crate::ports`]).
    pub(crate) further_pairs: Cell<usize>,
    pub(crate) receives: Pool,
    /// Receive buffers that are free and not posted.
    pub(crate) spare: RefCell<Vec<u32>>,
    /// Receive buffers that packets may lie in.
    provided: Cell<usize>,
    /// What packets are built in.
    pub(crate) bounces: Pool,
    /// What has come and was not handed on.
    pub(crate) inbound: RefCell<VecDeque<Incoming>>,
    /// Peers whose channel wants something done as soon as that is possible.
    pub(crate) wanting: RefCell<Vec<u32>>,
    pub(crate) accesses: Accesses,
    pub(crate) registered: Registered,
    /// What [`tern_hca::Hca::not_ready`] said last.
    pub(crate) repeats: Cell<u64>,
    /// Peers that have a ring here.
    pub(crate) rings: RefCell<Vec<u32>>,
    /// All descriptors to sleep on.
    pub(crate) sleep: OwnedFd,
    /// One of them: ends a sleep after a moment.
    pub(crate) timer: OwnedFd,
    /// It is set.
    pub(crate) timed: Cell<bool>,
    /// Readable when this process is to be woken.
    pub(crate) alarm: Arc<OwnedFd>,
    /// Threads that sleep or are about to.
    pub(crate) sleepers: Cell<u32>,
    /// Counts what wakes a sleeper.
    pub(crate) rung: AtomicU32,
    /// Last, since all else is made of it.
    pub(crate) fabric: Fabric,
}

/// What became of a peer.
enum Way {
    Channel(Box<Channel>),
    /// It could not be reached.
    None,
}

impl Channels {
    /// Of process `me` of `world`, which has been told the addresses of all.
    ///
    /// Errors: buffers cannot be registered, or there is no descriptor left.
    pub(crate) fn new(
        me: u32, world: u32, settings: Settings, fabric: Fabric, connections: Connections, addresses: Vec<Address>,
        alarm: Arc<OwnedFd>,
    ) -> io::Result<Channels> {
        let size = FRONT + settings.packet;
        let buffers = settings.buffers as usize;
        let receives = Pool::new(&fabric.domain, size, buffers).map_err(io::Error::other)?;
        let bounces = Pool::new(&fabric.domain, size, BOUNCES).map_err(io::Error::other)?;
        let able = fabric.hca.capabilities();
        let abilities = Abilities {
            name: "verbs",
            packet: settings.packet,
            piece: None,
            eager: settings.eager,
            direct_from: settings.direct,
            inline: (fabric.limits().inline as usize).saturating_sub(FRONT).min(settings.packet),
            latency_ns: able.latency_ns,
            bandwidth: able.bandwidth,
            lines: false,
            look: 1,
            write_back: false,
        };
        let sleep = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&sleep, &fabric.notices, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
        epoll::add(&sleep, &*alarm, epoll::EventData::new_u64(1), epoll::EventFlags::IN)?;
        let registered = Registered::new(&fabric.domain, able.pins, settings.registered);
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        epoll::add(&sleep, &timer, epoll::EventData::new_u64(2), epoll::EventFlags::IN)?;
        let channels = Channels {
            me,
            settings,
            abilities,
            connections,
            addresses,
            ways: (0..world).map(|_| OnceCell::new()).collect(),
            open: RefCell::default(),
            sends: RefCell::default(),
            receives,
            spare: RefCell::default(),
            provided: Cell::new(0),
            bounces,
            inbound: RefCell::default(),
            wanting: RefCell::default(),
            accesses: Accesses::new(world),
            further_pairs: Cell::new(0),
            registered,
            repeats: Cell::new(0),
            rings: RefCell::default(),
            sleep,
            timer,
            timed: Cell::new(false),
            alarm,
            sleepers: Cell::new(0),
            rung: AtomicU32::new(0),
            fabric,
        };
        channels.provide(FIRST.min(world as usize * channels.settings.credits as usize));
        Ok(channels)
    }

    /// The number of processes.
    pub(crate) fn world(&self) -> u32 {
        self.ways.len() as u32
    }

    /// The channel to a peer, connected on first use; `None` when it cannot be reached.
    #[inline]
    pub(crate) fn channel(&self, peer: u32) -> Option<&Channel> {
        let way = match self.ways[peer as usize].get() {
            Some(way) => way,
            None => self.connect(peer),
        };
        match way {
            Way::Channel(channel) => Some(channel),
            Way::None => None,
        }
    }

    #[cold]
    fn connect(&self, peer: u32) -> &Way {
        let made = self.connections.connect(peer, &self.addresses[peer as usize]);
        let way = &self.ways[peer as usize];
        match made {
            Ok(connected) => self.install(peer, connected),
            Err(why) => self.lose_unknown(peer, &why),
        }
        way.get().expect("it was set")
    }

    /// [`tern_device::Channel::reach`].
    pub(crate) fn reach(&self, peer: u32) {
        match self.ways[peer as usize].get() {
            None => self.connections.reach(peer, &self.addresses[peer as usize]),
            // A network that is cut shows as soon as something is to go over it.
            Some(_) => self.send_bell(peer),
        }
    }

    /// A peer is lost before there was a channel; the sink is told, unless it has been.
    #[cold]
    pub(crate) fn lose_unknown(&self, peer: u32, why: &str) {
        if self.ways[peer as usize].set(Way::None).is_ok() {
            self.inbound.borrow_mut().push_back(Incoming::Lost { peer, why: why.into(), broken: None });
            self.ring_self();
        }
    }

    #[cold]
    fn install(&self, peer: u32, connected: Connected) {
        self.open.borrow_mut().push(peer);
        self.provide(self.open.borrow().len() * self.settings.credits as usize);
        let pair = &connected.sending.pair;
        // Not all that it may have been given: the completion queue has room for what was asked for.
        let new = || Rc::new(SendQueue::new(pair.limits().depth.min(self.fabric.limits().depth)));
        let sends = self.sends.borrow_mut().entry(pair.number()).or_insert_with(new).clone();
        let channel = Box::new(Channel::new(peer, connected, sends, header::LONGEST, self.settings.ring_after));
        let _ = self.ways[peer as usize].set(Way::Channel(channel));
        counters::QUEUE_PAIRS.set(self.queue_pairs() as u64);
    }

    /// The channel of a peer from which something has come.
    #[inline]
    pub(crate) fn channel_from(&self, peer: u32) -> Option<&Channel> {
        if self.ways.get(peer as usize)?.get().is_none() {
            let connected = self.connections.accepted(peer)?;
            self.install(peer, connected);
        }
        self.channel(peer)
    }

    /// The channel of a peer, if there is one.
    pub(crate) fn known(&self, peer: u32) -> Option<&Channel> {
        match self.ways.get(peer as usize)?.get()? {
            Way::Channel(channel) => Some(channel),
            Way::None => None,
        }
    }

    /// Sees that so many packets can be received, if there are buffers for as many. Of more peers than that not all can
    /// send at once as much as they are granted; the card repeats what finds no buffer.
    fn provide(&self, packets: usize) {
        let missing = (REFILL + packets).saturating_sub(self.provided.get());
        let taken = (0..missing).map_while(|_| self.receives.take());
        self.spare.borrow_mut().extend(taken.inspect(|_| self.provided.set(self.provided.get() + 1)));
        self.refill();
    }

    /// Queue pairs: of the channels, with XRC those to nodes and their ends here, and those on further ports.
    pub(crate) fn queue_pairs(&self) -> usize {
        self.fabric.ways.as_ref().map_or(self.open.borrow().len(), |ways| ways.count()) + self.further_pairs.get()
    }

    /// Wakes whoever sleeps in this process.
    pub(crate) fn ring_self(&self) {
        // Release: pairs with the acquire in `sleep`.
        self.rung.fetch_add(1, std::sync::atomic::Ordering::Release);
        if self.sleepers.get() > 0 {
            ring(&self.alarm);
        }
    }

    /// Makes the alarm silent.
    pub(crate) fn hush(&self) {
        quiet(&self.alarm);
    }
}
