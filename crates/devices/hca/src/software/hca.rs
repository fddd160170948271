//! The software HCA as an object.

use super::address;
use super::completion::{CompletionChannel, CompletionQueue};
use super::datagrams::Datagrams;
use super::domain::{ProtectionDomain, Xrc, XrcDomain};
use super::doors::Doors;
use super::engine::Engine;
use super::near;
use super::queue_pair::MESSAGE;
use super::regions::SEGMENTS;
use super::shared::{PORTS, Shared, bound};
use crate::{Atomics, Capabilities, Error, Event, Faults, Limits, Link, Options, ReceiveLimits, Result};
use rustix::event::{EventfdFlags, eventfd};
use rustix::net::{SocketType, listen};
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tern_node::random;

/// Inline bytes unless the link model says otherwise.
const INLINE: u32 = 256;
/// The deepest queue.
const DEPTH: u32 = 32 << 10;

#[derive(Clone)]
pub struct Hca {
    shared: Arc<Shared>,
    doors: Arc<Doors>,
}

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
        let token =
            random().map_err(|error| Error::System(format!("no random bytes for the software HCA: {error}")))?;
        let name = address::name(&token);
        let near = if options.faults.tcp { None } else { near::listener(name).ok() };
        let capabilities = capabilities(&options.link, &options.faults);
        let shared = Arc::new(Shared::new(engine, (ip, port), (name, token), event, capabilities, options));
        let doors = Arc::new(Doors::new(&shared, listener, near));
        shared.open(doors.clone());
        match doors.watch(&shared) {
            Ok(()) => Ok(Hca { shared, doors }),
            Err(error) => {
                // Its end leaves the engine, and so does the caller.
                let _again = Engine::join();
                Err(error)
            }
        }
    }

    pub fn capabilities(&self) -> &Capabilities {
        &self.shared.capabilities
    }

    pub fn protection_domain(&self) -> Result<ProtectionDomain> {
        self.shared.alive()?;
        Ok(ProtectionDomain { number: self.shared.domain(), hca: self.shared.clone() })
    }

    pub fn completion_queue(&self, depth: u32, channel: Option<&CompletionChannel>) -> Result<CompletionQueue> {
        self.shared.alive()?;
        Ok(CompletionQueue::new(&self.shared, depth, channel))
    }

    pub fn completion_channel(&self) -> Result<CompletionChannel> {
        self.shared.alive()?;
        CompletionChannel::new()
    }

    pub fn xrc_domain(&self) -> Result<XrcDomain> {
        self.shared.alive()?;
        let domain = Arc::new(Xrc::default());
        self.doors.add_xrc(&domain);
        Ok(XrcDomain { domain, hca: self.shared.clone() })
    }

    pub fn datagrams(&self, channel: Option<&CompletionChannel>) -> Result<Datagrams> {
        self.shared.alive()?;
        Datagrams::new(&self.shared, self.doors.boxes(), channel)
    }

    pub fn next_event(&self) -> Option<Event> {
        self.shared.next_event()
    }

    pub fn not_ready(&self) -> u64 {
        self.shared.counts.not_ready.load(Ordering::Relaxed)
    }

    pub fn set_faults(&self, faults: Faults) -> Result<()> {
        self.shared.set_faults(faults)
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.events()
    }
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
