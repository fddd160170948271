//! A device of one file: packets through pipes between processes of one machine.
//!
//! No job is faster by it. `docs/adding-a-device.md` explains with it what a device has to do, and `TERN_NETWORK=pipes`
//! carries the packets of simulated nodes over it. Each pair of processes has two pipes, one for each direction, so a
//! receiver that is slow stops nobody but those who send to it. The kernel writes up to `PIPE_BUF` bytes whole or not at
//! all (pipe(7)): a packet is one write.

use std::cell::Cell;
use std::io::{Error, Result};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pipe::{PIPE_BUF, PipeFlags, pipe_with};
use tern_device::{Abilities, Channel, Header, Payload, Sink};

/// In front of a payload: its length, and the header.
const HEAD: usize = 4 + size_of::<Header>();
/// The longest payload of a packet.
const ROOM: usize = PIPE_BUF - HEAD;
/// The "length" of a packet that only wakes its receiver.
const BELL: u32 = u32::MAX;

/// A process that has its pipes, and does not know its peers yet.
pub struct Endpoint {
    me: u32,
    inlets: Vec<OwnedFd>,
}

impl Endpoint {
    /// Opens the pipes to process `me` of `world`.
    ///
    /// Error: no descriptor is left.
    pub fn open(me: u32, world: u32) -> Result<Endpoint> {
        let inlet = |_| {
            let (reader, _) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
            // Both ways, as peers open it: a pipe that always has a writer never ends.
            reopen(std::process::id(), reader.as_raw_fd())
        };
        Ok(Endpoint { me, inlets: (0..world).map(inlet).collect::<Result<_>>()? })
    }
}

impl tern_device::Endpoint for Endpoint {
    /// The number of the process, and those of its descriptors, by sender.
    fn address(&self) -> Vec<u8> {
        let fds = self.inlets.iter().map(AsRawFd::as_raw_fd);
        std::process::id().to_le_bytes().into_iter().chain(fds.flat_map(i32::to_le_bytes)).collect()
    }

    /// Errors: an address is something else.
    fn join(self: Box<Self>, addresses: &[&[u8]]) -> Result<Box<dyn Channel>> {
        let Endpoint { me, inlets } = *self;
        let outlet = |address: &&[u8]| {
            let mut words = address.chunks(4).map(|word| word.try_into().map(i32::from_le_bytes));
            let (pid, fd) = (words.next(), words.nth(me as usize));
            let (Some(Ok(pid)), Some(Ok(fd)), true) = (pid, fd, address.len() == 4 + 4 * inlets.len()) else {
                return Err(Error::other(format!("{} bytes are no address of {} pipes", address.len(), inlets.len())));
            };
            Ok(Outlet { pid: pid as u32, fd, pipe: OnceLock::new() })
        };
        let outlets = addresses.iter().map(outlet).collect::<Result<_>>()?;
        Ok(Box::new(Pipes { me, inlets, outlets, refused: Mutex::default(), lost: Cell::default() }))
    }
}

/// The pipe behind a descriptor of any process. Opened both ways, it stays when the other process ends, and writing to it
/// raises no SIGPIPE.
fn reopen(pid: u32, fd: i32) -> Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let path = format!("/proc/{pid}/fd/{fd}");
    rustix::fs::open(&path, flags, Mode::empty())
        .map_err(|errno| Error::new(Error::from(errno).kind(), format!("the pipe {path} cannot be opened: {errno}")))
}

/// The pipe to a peer, opened when it is first used.
struct Outlet {
    pid: u32,
    fd: i32,
    pipe: OnceLock<Option<OwnedFd>>,
}

impl Outlet {
    /// None: the peer has ended, or is another user's.
    fn pipe(&self) -> Option<&OwnedFd> {
        self.pipe.get_or_init(|| reopen(self.pid, self.fd).ok()).as_ref()
    }
}

/// What the layers above count on. Latency and bandwidth decide between devices and protocols; these are guesses.
static ABILITIES: Abilities = Abilities {
    name: "pipes",
    packet: ROOM,
    piece: None,
    eager: 8 * ROOM,
    direct_from: usize::MAX,
    inline: 256,
    latency_ns: 5000.0,
    bandwidth: 0.5,
    lines: false,
    look: 10,
    write_back: false,
};

/// The device of a process.
struct Pipes {
    me: u32,
    /// From each process to this one.
    inlets: Vec<OwnedFd>,
    /// To each process.
    outlets: Vec<Outlet>,
    /// Peers that had no room for a packet since this process last slept.
    refused: Mutex<Vec<u32>>,
    /// Peers that could not be reached since the last poll.
    lost: Cell<Vec<u32>>,
}

impl Pipes {
    /// Writes a packet. False: the pipe to `peer` has no room.
    fn write(&self, peer: u32, packet: &[u8]) -> bool {
        let Some(pipe) = self.outlets[peer as usize].pipe() else {
            let mut lost = self.lost.take();
            lost.push(peer);
            self.lost.set(lost);
            return false;
        };
        rustix::io::retry_on_intr(|| rustix::io::write(pipe, packet)).is_ok()
    }

    /// Reads so many bytes of the next packet, which the kernel has whole. False: there is none.
    fn read(&self, from: u32, bytes: &mut [u8]) -> bool {
        let read = rustix::io::retry_on_intr(|| rustix::io::read(&self.inlets[from as usize], &mut *bytes));
        read == Ok(bytes.len())
    }

    /// Hands the next packet from a process to `sink`. False: there is none.
    fn take(&self, from: u32, sink: &mut dyn Sink) -> bool {
        let (mut first, mut payload) = ([0; HEAD], [0; ROOM]);
        while self.read(from, &mut first) {
            let len = u32::from_le_bytes(word(&first, 0));
            if len == BELL {
                continue;
            }
            let payload = &mut payload[..len as usize];
            // To read nothing is no question to the kernel.
            if !payload.is_empty() && !self.read(from, payload) {
                break;
            }
            let header = std::array::from_fn(|at| u64::from_le_bytes(word(&first, 4 + 8 * at)));
            sink.packet(from, &header, payload);
            return true;
        }
        false
    }

    fn refused(&self) -> std::sync::MutexGuard<'_, Vec<u32>> {
        self.refused.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A packet's first bytes.
fn head(len: u32, header: &Header) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..4].copy_from_slice(&len.to_le_bytes());
    for (word, at) in header.iter().zip(head[4..].chunks_exact_mut(8)) {
        at.copy_from_slice(&word.to_le_bytes());
    }
    head
}

/// The word of 4 or 8 bytes at a place of a packet.
fn word<const N: usize>(head: &[u8; HEAD], at: usize) -> [u8; N] {
    head[at..at + N].try_into().expect("so many bytes")
}

impl Channel for Pipes {
    fn abilities(&self) -> &Abilities {
        &ABILITIES
    }

    fn reaches(&self, peer: u32) -> bool {
        peer != self.me && (peer as usize) < self.outlets.len()
    }

    fn copy_and_send(&self, peer: u32, header: &Header, payload: Payload<'_>) -> Option<usize> {
        let mut packet = [0; PIPE_BUF];
        let room = &mut packet[HEAD..];
        let len = match payload {
            Payload::Bytes(bytes) | Payload::Part(bytes, _) if bytes.is_empty() => 0,
            Payload::Bytes(bytes) => copy(bytes, room),
            Payload::Part(bytes, len) => copy(&bytes[..len], room),
            Payload::Gather(gather) => {
                let len = gather.len().min(room.len());
                gather.write_to(&mut room[..len]);
                len
            }
        };
        packet[..HEAD].copy_from_slice(&head(len as u32, header));
        if self.write(peer, &packet[..HEAD + len]) {
            return Some(len);
        }
        let mut refused = self.refused();
        if !refused.contains(&peer) {
            refused.push(peer);
        }
        None
    }

    /// One packet of each process: a sink may answer, and a peer that sends a lot keeps no other waiting.
    fn poll(&self, sink: &mut dyn Sink) -> usize {
        for peer in self.lost.take() {
            sink.lost(peer, "its process has ended");
        }
        (0..self.inlets.len() as u32).filter(|from| self.take(*from, sink)).count()
    }

    fn prepare_sleep(&self) -> u32 {
        0
    }

    /// Sleeps until there is something to read, or a pipe that was full has room. It needs no token: both stay so until
    /// somebody polls or sends.
    fn sleep(&self, _token: u32, timeout: Duration) {
        let refused = std::mem::take(&mut *self.refused());
        let full = refused.iter().filter_map(|peer| self.outlets[*peer as usize].pipe());
        let room = full.map(|pipe| PollFd::new(pipe, PollFlags::OUT));
        let news = self.inlets.iter().map(|inlet| PollFd::new(inlet, PollFlags::IN));
        let mut watched: Vec<PollFd<'_>> = room.chain(news).collect();
        let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) };
        // Woken by a signal, it looks again, as after any other sleep.
        let _ = poll(&mut watched, Some(&timeout));
    }

    fn end_sleep(&self) {}

    /// Nothing is known of the others: let all be awake.
    fn awake(&self) -> u32 {
        self.outlets.len() as u32
    }

    /// A full pipe wakes its reader as well.
    fn ring(&self, peer: u32) {
        self.write(peer, &head(BELL, &[0; 4]));
    }
}

/// Copies as much as there is room for; returns how much that is.
fn copy(bytes: &[u8], room: &mut [u8]) -> usize {
    let len = bytes.len().min(room.len());
    room[..len].copy_from_slice(&bytes[..len]);
    len
}
