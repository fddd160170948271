//! The software HCA as an object, and what all its objects share.

use super::address::{self, Address, machine};
use super::clock::now;
use super::completion::{CompletionChannel, CompletionQueue};
use super::datagrams::{Boxes, Datagrams};
use super::domain::{ProtectionDomain, Xrc, XrcDomain};
use super::engine::{Engine, Tag};
use super::near;
use super::queue_pair::{Caller, MESSAGE};
use super::regions::SEGMENTS;
use crate::link::pass;
use crate::{Atomics, Capabilities, Error, Event, Faults, Limits, Link, Options, ReceiveLimits, Result};
use rustix::event::{EventfdFlags, eventfd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, listen, socket_with};
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tern_node::random;
use tern_proof::Token;
use tern_threads::{Mutex, RwLock};

/// Inline bytes unless the link model says otherwise.
const INLINE: u32 = 256;
/// Ports, each with a link of its own.
const PORTS: usize = 8;
/// The deepest queue.
const DEPTH: u32 = 32 << 10;

/// What the objects of an HCA share.
pub struct Shared {
    engine: Arc<Engine>,
    number: u32,
    /// The secret of this HCA.
    pub token: Token,
    /// As [`Address::name`].
    pub name: u64,
    /// The secrets of HCAs whose addresses have been seen, by their names.
    known: Mutex<HashMap<u64, Token>>,
    pub ip: IpAddr,
    listener: OwnedFd,
    /// Where processes of this machine call, if they can.
    near: Option<OwnedFd>,
    port: u16,
    pub boxes: Boxes,
    pub capabilities: Capabilities,
    pub link: Link,
    /// Until when the link of each port is busy with what was sent.
    busy: [AtomicU64; PORTS],
    faults: RwLock<Faults>,
    pub counts: Counts,
    events: Mutex<VecDeque<Event>>,
    event: OwnedFd,
    next_domain: AtomicU32,
    /// Domains of XRC, among whose receive queues initiators may ask for one.
    xrc: Mutex<Vec<Weak<Xrc>>>,
}

/// How often something has happened of which faults take some.
#[derive(Default)]
pub struct Counts {
    pub sends: AtomicU64,
    pub accesses: AtomicU64,
    pub posts: AtomicU64,
    /// Requests that the peer had no receive for.
    pub not_ready: AtomicU64,
    pub registrations: AtomicU64,
    pub registered: AtomicU64,
}

impl Shared {
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// As the engine knows it.
    pub fn number(&self) -> u32 {
        self.number
    }

    pub fn listener(&self) -> &OwnedFd {
        &self.listener
    }

    pub fn near_listener(&self) -> Option<&OwnedFd> {
        self.near.as_ref()
    }

    pub fn forked(&self) -> bool {
        self.engine.forked()
    }

    #[inline]
    pub fn alive(&self) -> Result<()> {
        if self.forked() { Err(Error::Forked) } else { Ok(()) }
    }

    pub fn faults(&self) -> Faults {
        *self.faults.read()
    }

    /// The address of a queue pair, or with another port that of a box.
    pub fn address(&self, port: u16, number: u32) -> Address {
        let socket = SocketAddr::new(self.ip, port);
        Address { socket, name: self.name, token: Some(self.token), machine: machine(), number }
    }

    /// Reads an address; the secret that one has is kept for those that have the name alone.
    pub fn read_address(&self, bytes: &[u8]) -> Result<Address> {
        let mut address = Address::decode(bytes)?;
        let mut known = self.known.lock();
        match address.token {
            Some(token) => drop(known.insert(address.name, token)),
            None => address.token = known.get(&address.name).copied(),
        }
        Ok(address)
    }

    pub fn pair_address(&self, number: u32) -> Address {
        self.address(self.port, number)
    }

    /// An initiator has called for a receive queue.
    pub fn guest(self: &Arc<Shared>, queue: u32, caller: Caller) {
        let domains: Vec<Arc<Xrc>> = self.xrc.lock().iter().filter_map(Weak::upgrade).collect();
        let found = domains.iter().find(|domain| domain.shared.find(queue).is_some());
        if let Some(domain) = found
            && let Ok(target) = domain.target(self)
        {
            let pair = target.pair.clone();
            domain.guests.lock().push(target);
            pair.welcome(caller);
        }
    }

    pub fn tell(&self, event: Event) {
        let mut events = self.events.lock();
        events.push_back(event);
        let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
    }

    /// Keeps the caller for so long.
    pub fn occupy(&self, time: Duration) {
        if !time.is_zero() {
            pass(Instant::now() + time);
        }
    }

    /// Gives the link of a port so many bytes to carry; returns when they are there, or 0 for at once.
    pub fn carry(&self, port: u8, bytes: u64, fetched: bool) -> u64 {
        if self.link == Link::NONE {
            return 0;
        }
        let time = now();
        let busy = self.link.busy_ns(bytes);
        let end = self.busy[usize::from(port)]
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |before| Some(before.max(time) + busy))
            .map_or(time, |before| before.max(time) + busy);
        let fetch = if fetched { self.link.fetch } else { Duration::ZERO };
        end + (self.link.latency + fetch).as_nanos() as u64
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.engine.leave_hca(self.number);
    }
}

impl Engine {
    fn leave_hca(self: &Arc<Engine>, number: u32) {
        if !self.forked() {
            self.remove_hca(number);
            self.leave();
        }
    }
}

#[derive(Clone)]
pub struct Hca(Arc<Shared>);

impl Hca {
    pub fn open(options: &Options) -> Result<Hca> {
        let engine = Engine::join()?;
        let opened = Hca::open_with(&engine, options);
        if opened.is_err() {
            engine.leave();
        }
        opened
    }

    fn open_with(engine: &Arc<Engine>, options: &Options) -> Result<Hca> {
        let ip = match &options.interface {
            None => IpAddr::from(Ipv4Addr::LOCALHOST),
            Some(text) => text.parse().map_err(|_| {
                Error::NoHca(format!("the software HCA wants the address of an interface, not '{text}'"))
            })?,
        };
        let (listener, port) = bound(ip, SocketType::STREAM)?;
        listen(&listener, 4096).map_err(|error| Error::System(format!("nobody can listen at {ip}: {error}")))?;
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|error| Error::Resources(format!("no descriptor for events: {error}")))?;
        let number = engine.number();
        let token =
            random().map_err(|error| Error::System(format!("no random bytes for the software HCA: {error}")))?;
        let name = address::name(&token);
        let near = if options.faults.tcp { None } else { near::listener(name).ok() };
        let shared = Arc::new(Shared {
            engine: engine.clone(),
            number,
            token,
            name,
            known: Mutex::new(HashMap::from([(name, token)])),
            ip,
            listener,
            near,
            port,
            boxes: Boxes::default(),
            capabilities: capabilities(&options.link, &options.faults),
            link: options.link,
            busy: Default::default(),
            faults: RwLock::new(options.faults),
            counts: Counts::default(),
            events: Mutex::default(),
            event,
            next_domain: AtomicU32::new(number << 8),
            xrc: Mutex::default(),
        });
        engine.add_hca(number, &shared);
        let watched = engine.watch(&shared.listener, Tag::Listener(number)).and_then(|()| match &shared.near {
            Some(near) => engine.watch(near, Tag::NearListener(number)),
            None => Ok(()),
        });
        match watched {
            Ok(()) => Ok(Hca(shared)),
            Err(error) => {
                // Its end leaves the engine, and so does the caller.
                let _again = Engine::join();
                Err(error)
            }
        }
    }

    pub fn capabilities(&self) -> &Capabilities {
        &self.0.capabilities
    }

    pub fn protection_domain(&self) -> Result<ProtectionDomain> {
        self.0.alive()?;
        let number = self.0.engine.number() ^ self.0.next_domain.fetch_add(1, Ordering::Relaxed) << 24;
        Ok(ProtectionDomain { number, hca: self.0.clone() })
    }

    pub fn completion_queue(&self, depth: u32, channel: Option<&CompletionChannel>) -> Result<CompletionQueue> {
        self.0.alive()?;
        Ok(CompletionQueue::new(&self.0, depth, channel))
    }

    pub fn completion_channel(&self) -> Result<CompletionChannel> {
        self.0.alive()?;
        CompletionChannel::new()
    }

    pub fn xrc_domain(&self) -> Result<XrcDomain> {
        self.0.alive()?;
        let domain = Arc::new(Xrc::default());
        self.0.xrc.lock().push(Arc::downgrade(&domain));
        Ok(XrcDomain { domain, hca: self.0.clone() })
    }

    pub fn datagrams(&self, channel: Option<&CompletionChannel>) -> Result<Datagrams> {
        self.0.alive()?;
        Datagrams::new(&self.0, channel)
    }

    pub fn next_event(&self) -> Option<Event> {
        if self.0.forked() {
            return None;
        }
        let mut events = self.0.events.lock();
        let event = events.pop_front();
        if events.is_empty() {
            let _ = rustix::io::read(&self.0.event, &mut [0; 8]);
        }
        event
    }

    pub fn not_ready(&self) -> u64 {
        self.0.counts.not_ready.load(Ordering::Relaxed)
    }

    pub fn set_faults(&self, faults: Faults) -> Result<()> {
        self.0.alive()?;
        *self.0.faults.write() = faults;
        Ok(())
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.event.as_fd()
    }
}

/// A socket at any free port of that address.
pub(super) fn bound(ip: IpAddr, kind: SocketType) -> Result<(OwnedFd, u16)> {
    let family = if ip.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let failed = |error| Error::NoHca(format!("no socket at address {ip} for the software HCA: {error}"));
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None).map_err(failed)?;
    bind(&socket, &SocketAddr::new(ip, 0)).map_err(failed)?;
    let name = SocketAddr::try_from(getsockname(&socket).map_err(failed)?).map_err(failed)?;
    Ok((socket, name.port()))
}

fn capabilities(link: &Link, faults: &Faults) -> Capabilities {
    let modelled = *link != Link::NONE;
    Capabilities {
        name: "software".into(),
        atomics: Atomics::Global,
        xrc: true,
        ports: PORTS as u8,
        shared_receive_queues: true,
        pins: faults.pins,
        send: Limits {
            depth: DEPTH,
            gather: SEGMENTS as u32,
            inline: if link.inline > 0 { link.inline } else { INLINE },
        },
        receive: ReceiveLimits { depth: DEPTH, scatter: SEGMENTS as u32 },
        completions: 1 << 20,
        message: MESSAGE,
        latency_ns: if modelled { link.latency.as_nanos() as f64 } else { 8_000.0 },
        bandwidth: if link.bandwidth > 0.0 { link.bandwidth } else { 3.0 },
    }
}
