//! What all objects of a software HCA share.

use super::address::{Address, machine};
use super::clock::now;
use super::engine::{Engine, Host};
use crate::link::pass;
use crate::{Capabilities, Error, Event, Faults, Link, Options, Result};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with};
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tern_proof::Token;
use tern_threads::{Mutex, RwLock};

/// Ports, each with a link of its own.
pub const PORTS: usize = 8;

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
    port: u16,
    pub capabilities: Capabilities,
    pub link: Link,
    /// Until when the link of each port is busy with what was sent.
    busy: [AtomicU64; PORTS],
    faults: RwLock<Faults>,
    pub counts: Counts,
    events: Mutex<VecDeque<Event>>,
    event: OwnedFd,
    next_domain: AtomicU32,
    /// What takes those in who come from outside: it lives as long as there is something that they may come for.
    doors: OnceLock<Arc<dyn Host>>,
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
    /// `port`: where peers call. `name`, `token`: as an address has them. Whoever makes it has joined the engine, which its end leaves.
    pub fn new(
        engine: &Arc<Engine>, (ip, port): (IpAddr, u16), (name, token): (u64, Token), event: OwnedFd,
        capabilities: Capabilities, options: &Options,
    ) -> Shared {
        let number = engine.number();
        Shared {
            engine: engine.clone(),
            number,
            token,
            name,
            known: Mutex::new(HashMap::from([(name, token)])),
            ip,
            port,
            capabilities,
            link: options.link,
            busy: Default::default(),
            faults: RwLock::new(options.faults),
            counts: Counts::default(),
            events: Mutex::default(),
            event,
            next_domain: AtomicU32::new(number << 8),
            doors: OnceLock::new(),
        }
    }

    /// Lets those in who come to these doors, from now on.
    pub fn open(&self, doors: Arc<dyn Host>) {
        self.engine.add_hca(self.number, &doors);
        let _ = self.doors.set(doors);
    }

    /// A number for a protection domain.
    pub fn domain(&self) -> u32 {
        self.engine.number() ^ self.next_domain.fetch_add(1, Ordering::Relaxed) << 24
    }

    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// As the engine knows it.
    pub fn number(&self) -> u32 {
        self.number
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

    pub fn tell(&self, event: Event) {
        let mut events = self.events.lock();
        events.push_back(event);
        let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
    }

    pub fn next_event(&self) -> Option<Event> {
        if self.forked() {
            return None;
        }
        let mut events = self.events.lock();
        let event = events.pop_front();
        if events.is_empty() {
            let _ = rustix::io::read(&self.event, &mut [0; 8]);
        }
        event
    }

    pub fn set_faults(&self, faults: Faults) -> Result<()> {
        self.alive()?;
        *self.faults.write() = faults;
        Ok(())
    }

    /// Readable while there are events.
    pub fn events(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
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
        if !self.forked() {
            self.engine.remove_hca(self.number);
            self.engine.leave();
        }
    }
}

/// A socket at any free port of that address.
pub fn bound(ip: IpAddr, kind: SocketType) -> Result<(OwnedFd, u16)> {
    let family = if ip.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let failed = |error| Error::NoHca(format!("no socket at address {ip} for the software HCA: {error}"));
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None).map_err(failed)?;
    bind(&socket, &SocketAddr::new(ip, 0)).map_err(failed)?;
    let name = SocketAddr::try_from(getsockname(&socket).map_err(failed)?).map_err(failed)?;
    Ok((socket, name.port()))
}
