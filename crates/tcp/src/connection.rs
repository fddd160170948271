//! An open connection: sending, what is left of a frame, receiving.

use crate::frame::{Garbage, HEAD, Head, Kind};
use rustix::buffer::spare_capacity;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use std::cell::{Cell, RefCell};
use std::io::{IoSlice, IoSliceMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tern_device::{Header, Payload, Sink};

/// Bytes that one read takes at most.
pub const SCRATCH: usize = 256 << 10;
/// Bytes that a frame lacks from which on a read takes no more than these: no memory is cleared for them then.
const LONG_REST: usize = 4 << 10;

/// The writing end, which the thread of the device uses too.
pub struct Outlet {
    pub socket: OwnedFd,
    /// What a socket did not take of the last frame, and how much of that has gone since.
    left: Mutex<(Vec<u8>, usize)>,
    /// The process waits for room.
    pub awaited: AtomicBool,
    /// The peer has given no sign for too long ([`crate::vigil`]); the connection was ended for that.
    pub silent: AtomicBool,
}

impl Outlet {
    /// `first` goes before all else.
    pub fn new(socket: OwnedFd, first: Vec<u8>) -> Outlet {
        Outlet { socket, left: Mutex::new((first, 0)), awaited: AtomicBool::new(false), silent: AtomicBool::new(false) }
    }

    fn left(&self) -> MutexGuard<'_, (Vec<u8>, usize)> {
        // Whole at any time: a write that panics has changed nothing.
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what is left, as much as goes. True when nothing is left.
    ///
    /// Errors: the connection has ended.
    pub fn flush(&self) -> Result<bool, Errno> {
        let mut left = self.left();
        let (bytes, done) = &mut *left;
        while *done < bytes.len() {
            match write(&self.socket, &[IoSlice::new(&bytes[*done..])]) {
                Ok(count) => *done += count,
                Err(Errno::AGAIN) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        bytes.clear();
        *done = 0;
        Ok(true)
    }
}

/// Writes without waiting, and without a signal where the peer is gone.
fn write(socket: &OwnedFd, parts: &[IoSlice<'_>]) -> Result<usize, Errno> {
    let mut no_files = SendAncillaryBuffer::default();
    retry_on_intr(|| sendmsg(socket, parts, &mut no_files, SendFlags::NOSIGNAL | SendFlags::DONTWAIT))
}

/// How a frame went.
pub enum Sent {
    /// With so many bytes of payload.
    Whole(usize),
    /// The same, but the socket has taken a part: [`Outlet::flush`] writes the rest.
    Partly(usize),
    /// Nothing went.
    No,
}

/// A connection to one peer. Belongs to the process's thread that is in the library.
pub struct Connection {
    pub peer: u32,
    pub outlet: Arc<Outlet>,
    /// Something may be left in the outlet.
    has_left: Cell<bool>,
    inbox: RefCell<Vec<u8>>,
    /// The peer has said that it ends.
    pub farewell: Cell<bool>,
    /// Why nothing more comes.
    pub ended: Cell<Option<Errno>>,
}

impl Connection {
    pub fn new(peer: u32, outlet: Arc<Outlet>) -> Connection {
        Connection {
            peer,
            outlet,
            has_left: Cell::new(true),
            inbox: RefCell::default(),
            farewell: Cell::new(false),
            ended: Cell::new(None),
        }
    }

    /// Sends one frame with at most `most` bytes of payload. `scratch` is for payloads that are gathered.
    ///
    /// Errors: the connection has ended.
    pub fn send(
        &self, kind: Kind, header: &Header, mut payload: Payload<'_>, most: usize, scratch: &mut Vec<u8>,
    ) -> Result<Sent, Errno> {
        if !self.flush()? {
            return Ok(Sent::No);
        }
        let len = payload.len().min(most);
        let head = Head { kind, len, header: *header }.encode();
        let body = run(&mut payload, len, scratch);
        let count = match write(&self.outlet.socket, &[IoSlice::new(&head), IoSlice::new(body)]) {
            Ok(count) => count,
            Err(Errno::AGAIN) => return Ok(Sent::No),
            Err(error) => return Err(error),
        };
        if count == HEAD + len {
            return Ok(Sent::Whole(len));
        }
        let mut left = self.outlet.left();
        left.0.extend_from_slice(&head[count.min(HEAD)..]);
        left.0.extend_from_slice(&body[count.saturating_sub(HEAD)..]);
        self.has_left.set(true);
        Ok(Sent::Partly(len))
    }

    /// Writes what is left of the last frame. True when nothing is.
    pub fn flush(&self) -> Result<bool, Errno> {
        if self.has_left.get() && self.outlet.flush()? {
            self.has_left.set(false);
        }
        Ok(!self.has_left.get())
    }

    /// Reads once, and hands whole frames to `sink`. Returns the number of packets.
    pub fn receive(&self, most: usize, scratch: &mut [u8], sink: &mut dyn Sink) -> usize {
        let mut packets = 0;
        let mut take = |header: &Header, payload: &[u8]| {
            sink.packet(self.peer, header, payload);
            packets += 1;
            true
        };
        let known = self.offer_known(most, &mut take);
        if known.is_ok() {
            let _ = self.read(scratch, |bytes| self.offer(bytes, most, &mut take));
        }
        packets
    }

    /// Offers the next packet alone, and keeps what follows. True when `take` has used it; `None`: nothing has come.
    pub fn receive_one(
        &self, most: usize, scratch: &mut [u8], take: &mut dyn FnMut(&Header, &[u8]) -> bool,
    ) -> Option<bool> {
        let first = Cell::new(None);
        let mut once = |header: &Header, payload: &[u8]| {
            if first.get().is_some() {
                return false;
            }
            let used = take(header, payload);
            first.set(Some(used));
            used
        };
        let known = self.offer_known(most, &mut once);
        if known.is_ok() && first.get().is_none() {
            let _ = self.read(scratch, |bytes| self.offer(bytes, most, &mut once));
        }
        first.get()
    }

    /// Offers the whole frames that were read before.
    fn offer_known(&self, most: usize, take: &mut dyn FnMut(&Header, &[u8]) -> bool) -> Result<(), Errno> {
        if self.inbox.borrow().is_empty() {
            return Ok(());
        }
        // Taken out meanwhile, since `take` may come back here.
        let mut bytes = self.inbox.take();
        let used = self.offer(&bytes, most, take);
        let used = used.map_err(|Garbage| self.end(Errno::PROTO))?;
        bytes.drain(..used);
        self.inbox.replace(bytes);
        Ok(())
    }

    /// Reads what has come behind the bytes of the inbox, and has it offered. What was not used is kept.
    fn read(&self, scratch: &mut [u8], mut offer: impl FnMut(&[u8]) -> Result<usize, Garbage>) -> Result<(), Errno> {
        if self.ended.get().is_some() {
            return Err(Errno::CONNRESET);
        }
        let mut known = self.inbox.take();
        let fresh = match self.read_into(&mut known, scratch) {
            Ok(count) => &scratch[..count],
            Err(Errno::AGAIN) => &scratch[..0],
            Err(error) => return Err(self.end(error)),
        };
        // First the frame that had come in part.
        let result = (|| {
            if !known.is_empty() {
                let used = offer(&known)?;
                known.drain(..used);
            }
            if !fresh.is_empty() {
                let used = if known.is_empty() { offer(fresh)? } else { 0 };
                known.extend_from_slice(&fresh[used..]);
            }
            Ok(())
        })();
        self.inbox.replace(known);
        result.map_err(|Garbage| self.end(Errno::PROTO))
    }

    /// Reads once: what the frame in `known` lacks goes behind it, and more to `scratch`. Returns the bytes there.
    ///
    /// Errors: CONNRESET where nothing more comes; those of the system.
    fn read_into(&self, known: &mut Vec<u8>, scratch: &mut [u8]) -> Result<usize, Errno> {
        let (before, missing) = (known.len(), missing(known));
        if missing >= LONG_REST {
            known.reserve_exact(missing);
            let count = retry_on_intr(|| rustix::io::read(&self.outlet.socket, spare_capacity(known)))?;
            return if count == 0 { Err(Errno::CONNRESET) } else { Ok(0) };
        }
        known.resize(before + missing, 0);
        let mut parts = [IoSliceMut::new(&mut known[before..]), IoSliceMut::new(scratch)];
        let parts = if missing == 0 { &mut parts[1..] } else { &mut parts[..] };
        let count = retry_on_intr(|| rustix::io::readv(&self.outlet.socket, parts));
        known.truncate(before + missing.min(*count.as_ref().unwrap_or(&0)));
        match count? {
            0 => Err(Errno::CONNRESET),
            count => Ok(count.saturating_sub(missing)),
        }
    }

    /// Hands the packets of whole frames to `take` until it declines one; returns the bytes of the frames that are done.
    fn offer(&self, bytes: &[u8], most: usize, take: &mut dyn FnMut(&Header, &[u8]) -> bool) -> Result<usize, Garbage> {
        let mut at = 0;
        while let Some(head) = Head::decode(&bytes[at..], most)? {
            let Some(payload) = bytes.get(at + HEAD..at + head.total()) else { break };
            match head.kind {
                Kind::Packet if !take(&head.header, payload) => break,
                Kind::Farewell => self.farewell.set(true),
                Kind::Packet | Kind::Bell => {}
            }
            at += head.total();
        }
        Ok(at)
    }

    /// A packet has come whole and waits here.
    pub fn has_known(&self, most: usize) -> bool {
        let inbox = self.inbox.borrow();
        let head = Head::decode(&inbox, most);
        matches!(head, Ok(Some(head)) if inbox.len() >= head.total())
    }

    fn end(&self, why: Errno) -> Errno {
        // Relaxed: set before the end that was seen.
        let why = if self.outlet.silent.load(Ordering::Relaxed) { Errno::TIMEDOUT } else { why };
        self.ended.set(Some(why));
        why
    }

    pub fn descriptor(&self) -> rustix::fd::BorrowedFd<'_> {
        self.outlet.socket.as_fd()
    }
}

/// The first `len` bytes of a payload in one run.
pub fn run<'a>(payload: &'a mut Payload<'_>, len: usize, scratch: &'a mut Vec<u8>) -> &'a [u8] {
    match payload {
        Payload::Bytes(bytes) | Payload::Part(bytes, _) => &bytes[..len],
        Payload::Gather(gather) => {
            scratch.resize(len, 0);
            gather.write_to(scratch);
            scratch
        }
    }
}

/// Bytes that the first frame of `known` lacks. Where its head has not come whole, those of the head.
fn missing(known: &[u8]) -> usize {
    if known.is_empty() {
        return 0;
    }
    match Head::decode(known, usize::MAX) {
        Ok(Some(head)) => head.total().saturating_sub(known.len()),
        Ok(None) => HEAD - known.len(),
        Err(Garbage) => 0,
    }
}
