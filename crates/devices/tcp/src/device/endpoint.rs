//! The way to the device: a process listens, tells its address, and is given those of its peers.

use super::{BELL, LOOK, Tcp};
use crate::Settings;
use crate::address::Address;
use crate::listen::listen;
use crate::service::Service;
use crate::shared::Shared;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fd::OwnedFd;
use std::cell::{Cell, RefCell};
use std::io::{Error, Result};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use tern_device::{Abilities, Channel};
use tern_node::random;
use tern_proof::{Keys, Token};
use tern_threads::Thread;

/// A process that listens, and does not know its peers yet.
pub struct Endpoint {
    me: u32,
    world: u32,
    settings: Settings,
    listener: OwnedFd,
    address: Address,
}

impl Endpoint {
    /// Listens, as process `me` of `world`.
    ///
    /// Errors: no port is free, or there are no sockets.
    pub fn open(me: u32, world: u32, settings: &Settings) -> Result<Endpoint> {
        let listener = listen(settings)?;
        let port = SocketAddr::try_from(rustix::net::getsockname(&listener)?)?.port();
        let token: Token = random()?;
        let sockets = settings.addresses.iter().map(|&ip| SocketAddr::new(ip, port)).collect();
        Ok(Endpoint { me, world, settings: settings.clone(), listener, address: Address { token, sockets } })
    }

    /// What the others have to know.
    pub fn address(&self) -> Vec<u8> {
        self.address.encode()
    }

    /// The device, with the addresses of all processes, by rank.
    ///
    /// Errors: an address is something else; no thread can be started.
    pub fn join(self, addresses: &[impl AsRef<[u8]>]) -> Result<Tcp> {
        let all: Vec<Address> = addresses.iter().map(|bytes| Address::decode(bytes.as_ref())).collect::<Result<_>>()?;
        if all.len() != self.world as usize {
            return Err(Error::other(format!("{} addresses for {} processes", all.len(), self.world)));
        }
        let tokens = all.iter().map(|address| address.token).collect();
        let peers = all.into_iter().map(|address| address.sockets).collect();
        let shared = Arc::new(Shared::new(Keys { me: self.me, tokens }, peers, self.settings.silence)?);
        let ready = Rc::new(epoll::create(CreateFlags::CLOEXEC)?);
        epoll::add(&ready, &shared.bell, EventData::new_u64(BELL), EventFlags::IN)?;
        let service = Service::new(shared.clone(), self.listener);
        let thread = Thread::start("tern-tcp", 128 << 10, move || service.run())?;
        let packet = self.settings.packet;
        let abilities = Abilities {
            name: "tcp",
            packet,
            piece: Some(self.settings.piece.max(packet)),
            eager: self.settings.eager,
            direct_from: usize::MAX,
            inline: packet.min(256),
            latency_ns: 5000.0,
            bandwidth: 5.0,
            lines: false,
            look: LOOK,
            write_back: false,
        };
        Ok(Tcp {
            me: self.me,
            world: self.world,
            longest: self.settings.piece.max(packet),
            together: self.settings.together,
            abilities,
            shared,
            thread: Some(thread),
            ready,
            connections: RefCell::default(),
            open: RefCell::default(),
            losses: RefCell::default(),
            undeliverable: RefCell::default(),
            unanswered: RefCell::default(),
            sleepers: Cell::new(0),
            scratch: Cell::default(),
            gathered: RefCell::default(),
        })
    }
}

impl tern_device::Endpoint for Endpoint {
    fn address(&self) -> Vec<u8> {
        self.address()
    }

    fn join(self: Box<Self>, addresses: &[&[u8]]) -> std::io::Result<Box<dyn Channel>> {
        Ok(Box::new((*self).join(addresses)?))
    }
}
