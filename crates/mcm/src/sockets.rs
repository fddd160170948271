//! A plain network device over TCP, which needs nothing but the kernel.
//!
//! A process connects to a peer when it first sends to it, and writes to that connection alone: what comes the other
//! way comes on the peer's own. A packet is the length of its payload (4 bytes), the header (32) and the payload.

use rustix::event::epoll;
use std::cell::{Cell, OnceCell, RefCell};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;
use tern_device::{Abilities, Device, Header, Payload, Sink};

/// Payload of one packet.
const PACKET: usize = 32 << 10;
/// Bytes in front of it.
const FRONT: usize = 4 + 32;
/// Bytes that wait for the kernel to take them, for one peer: more than one packet, less than two.
const WAITING: usize = PACKET;
/// Bytes read at once.
const READ: usize = 256 << 10;

/// The device of one process.
pub struct Sockets {
    me: u32,
    abilities: Abilities,
    peers: Vec<SocketAddr>,
    listener: TcpListener,
    /// All descriptors, to sleep on.
    epoll: OwnedFd,
    outbound: Vec<OnceCell<Outbound>>,
    inbound: RefCell<Vec<Inbound>>,
    /// Peers for which something waits.
    stuck: RefCell<Vec<u32>>,
    /// A peer that cannot be reached, until the sink is told.
    failed: Cell<Option<(u32, io::Error)>>,
    polls: Cell<u8>,
}

struct Outbound {
    stream: TcpStream,
    /// What the kernel has not taken yet, from `taken` on.
    waiting: RefCell<Vec<u8>>,
    taken: Cell<usize>,
}

struct Inbound {
    stream: TcpStream,
    /// Its rank, once it has said so.
    from: Option<u32>,
    bytes: Vec<u8>,
}

/// A process that can be found, but knows nobody yet.
pub struct Listening {
    me: u32,
    listener: TcpListener,
}

impl Sockets {
    /// Opens a port.
    pub fn listen(me: u32) -> io::Result<Listening> {
        let listener = TcpListener::bind((IpAddr::V4(Ipv4Addr::LOCALHOST), 0))?;
        listener.set_nonblocking(true)?;
        Ok(Listening { me, listener })
    }
}

impl Listening {
    /// What the peers must know.
    pub fn address(&self) -> Vec<u8> {
        self.listener.local_addr().map(|address| address.to_string().into_bytes()).unwrap_or_default()
    }

    /// The device, from the addresses of all.
    pub fn connect(self, addresses: &[Vec<u8>]) -> io::Result<Sockets> {
        let parse = |bytes: &Vec<u8>| std::str::from_utf8(bytes).ok()?.parse().ok();
        let peers: Option<Vec<SocketAddr>> = addresses.iter().map(parse).collect();
        let peers = peers.ok_or_else(|| io::Error::other("the address of a process is damaged"))?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &self.listener, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
        Ok(Sockets {
            me: self.me,
            abilities: Abilities {
                name: "sockets",
                packet: PACKET,
                eager: 4 * PACKET,
                inline: 1 << 10,
                latency_ns: 10_000.0,
                bandwidth: 2.0,
                lines: false,
                write_back: false,
            },
            outbound: peers.iter().map(|_| OnceCell::new()).collect(),
            peers,
            listener: self.listener,
            epoll,
            inbound: RefCell::default(),
            stuck: RefCell::default(),
            failed: Cell::new(None),
            polls: Cell::new(0),
        })
    }
}

impl Outbound {
    fn new(to: SocketAddr, me: u32) -> io::Result<Outbound> {
        let mut stream = TcpStream::connect(to)?;
        stream.set_nodelay(true)?;
        stream.write_all(&me.to_le_bytes())?;
        stream.set_nonblocking(true)?;
        Ok(Outbound { stream, waiting: RefCell::default(), taken: Cell::new(0) })
    }

    /// Gives the kernel what waits; true when nothing does any more.
    fn flush(&self) -> io::Result<bool> {
        let mut waiting = self.waiting.borrow_mut();
        while self.taken.get() < waiting.len() {
            match (&self.stream).write(&waiting[self.taken.get()..]) {
                Ok(taken) => self.taken.set(self.taken.get() + taken),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        waiting.clear();
        self.taken.set(0);
        Ok(true)
    }
}

impl Inbound {
    /// Hands on the packets that have come; false at the end.
    fn drain(&mut self, sink: &mut dyn Sink, packets: &mut usize) -> io::Result<bool> {
        let had = self.bytes.len();
        self.bytes.resize(had + READ, 0);
        let got = self.stream.read(&mut self.bytes[had..]);
        self.bytes.truncate(had + got.as_ref().map_or(0, |got| *got));
        match got {
            Ok(0) => return Ok(false),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return Ok(true),
            Err(error) => return Err(error),
        }
        let mut at = 0;
        if self.from.is_none() && self.bytes.len() >= 4 {
            self.from = Some(word(&self.bytes, 0));
            at = 4;
        }
        if let Some(from) = self.from {
            while let Some(front) = self.bytes.get(at..at + FRONT) {
                let end = at + FRONT + word(front, 0) as usize;
                if self.bytes.len() < end {
                    break;
                }
                let header: Header =
                    [0, 1, 2, 3].map(|word| u64::from_le_bytes(front[4 + 8 * word..][..8].try_into().expect("8 bytes")));
                sink.packet(from, &header, &self.bytes[at + FRONT..end]);
                *packets += 1;
                at = end;
            }
        }
        self.bytes.drain(..at);
        Ok(true)
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

impl Sockets {
    fn to(&self, peer: u32) -> Option<&Outbound> {
        let cell = &self.outbound[peer as usize];
        if cell.get().is_none() {
            match Outbound::new(self.peers[peer as usize], self.me) {
                Ok(new) => _ = cell.set(new),
                Err(error) => self.failed.set(Some((peer, error))),
            }
        }
        cell.get()
    }

    fn flush(&self, peer: u32, outbound: &Outbound) -> bool {
        outbound.flush().unwrap_or_else(|error| {
            self.failed.set(Some((peer, error)));
            // Nobody will read it.
            outbound.waiting.borrow_mut().clear();
            outbound.taken.set(0);
            true
        })
    }

    fn accept(&self) {
        while let Ok((stream, _)) = self.listener.accept() {
            let _ = stream.set_nonblocking(true);
            let _ = epoll::add(&self.epoll, &stream, epoll::EventData::new_u64(0), epoll::EventFlags::IN);
            self.inbound.borrow_mut().push(Inbound { stream, from: None, bytes: Vec::new() });
        }
    }
}

impl Device for Sockets {
    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn reaches(&self, peer: u32) -> bool {
        peer != self.me && (peer as usize) < self.peers.len()
    }

    fn copy_and_send(&self, peer: u32, header: &Header, mut payload: Payload<'_>) -> Option<usize> {
        let outbound = self.to(peer)?;
        if outbound.waiting.borrow().len() - outbound.taken.get() >= WAITING && !self.flush(peer, outbound) {
            return None;
        }
        let len = payload.len().min(PACKET);
        let mut waiting = outbound.waiting.borrow_mut();
        let was_empty = waiting.is_empty();
        waiting.extend_from_slice(&(len as u32).to_le_bytes());
        header.iter().for_each(|word| waiting.extend_from_slice(&word.to_le_bytes()));
        let at = waiting.len();
        waiting.resize(at + len, 0);
        payload.write_to(&mut waiting[at..]);
        drop(waiting);
        if !self.flush(peer, outbound) && was_empty {
            self.stuck.borrow_mut().push(peer);
        }
        Some(len)
    }

    fn poll(&self, sink: &mut dyn Sink) -> usize {
        let mut packets = 0;
        self.polls.set(self.polls.get().wrapping_add(1));
        if self.polls.get().is_multiple_of(32) {
            self.accept();
        }
        self.stuck.borrow_mut().retain(|peer| !self.flush(*peer, self.to(*peer).expect("it is connected")));
        // What a sink sends may fail, but nothing is accepted meanwhile.
        let mut gone = Vec::new();
        for (at, inbound) in self.inbound.borrow_mut().iter_mut().enumerate() {
            match inbound.drain(sink, &mut packets) {
                Ok(true) => {}
                Ok(false) => gone.push(at),
                Err(error) => {
                    gone.push(at);
                    if let Some(from) = inbound.from {
                        self.failed.set(Some((from, error)));
                    }
                }
            }
        }
        for at in gone.into_iter().rev() {
            self.inbound.borrow_mut().swap_remove(at);
        }
        if let Some((peer, error)) = self.failed.take() {
            sink.lost(peer, &format!("{}: {error}", self.peers[peer as usize]));
        }
        packets
    }

    fn prepare_sleep(&self) -> u32 {
        self.accept();
        for &peer in self.stuck.borrow().iter() {
            if let Some(outbound) = self.outbound[peer as usize].get() {
                let flags = epoll::EventFlags::OUT | epoll::EventFlags::ONESHOT;
                let data = epoll::EventData::new_u64(0);
                let _ = epoll::add(&self.epoll, &outbound.stream, data, flags)
                    .or_else(|_| epoll::modify(&self.epoll, &outbound.stream, data, flags));
            }
        }
        0
    }

    fn sleep(&self, _token: u32, timeout: Duration) {
        let mut fds = [rustix::event::PollFd::new(&self.epoll, rustix::event::PollFlags::IN)];
        let timeout = rustix::event::Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
        let _ = rustix::event::poll(&mut fds, Some(&timeout));
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.epoll.as_fd())
    }

    fn awake(&self) -> u32 {
        1
    }

    fn end_sleep(&self) {}

    fn ring(&self, _peer: u32) {}
}
