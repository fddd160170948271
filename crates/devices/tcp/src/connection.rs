//! An open connection: both its ends, and whether it goes on.

use crate::frame::write;
use crate::frame::{HEAD, Head, Kind};
use crate::inlet::Inlet;
use crate::outlet::{Flushed, Outlet};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use std::cell::Cell;
use std::io::IoSlice;
use std::rc::Rc;
use std::sync::Arc;
use tern_device::{Header, Payload, Sink};

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
    /// A payload was lent, and its sender has not been told of its end.
    lends: Cell<bool>,
    /// Further connections were asked for.
    pub asked: Cell<bool>,
    pub inlet: Inlet,
    /// Why nothing more comes.
    pub ended: Cell<Option<Errno>>,
}

impl Connection {
    /// `most`: payload bytes of a packet that comes. `ready` tells of connections that have something.
    pub fn new(peer: u32, outlet: Arc<Outlet>, most: usize, ready: Rc<OwnedFd>) -> Connection {
        let (has_left, lends, asked) = (Cell::new(true), Cell::new(false), Cell::new(false));
        let inlet = Inlet::new(peer, most, ready);
        Connection { peer, outlet, has_left, lends, asked, inlet, ended: Cell::new(None) }
    }

    /// Sends one frame with at most `most` bytes of payload. `scratch` is for payloads that are gathered.
    ///
    /// Errors: the connection has ended.
    pub fn send(
        &self, kind: Kind, header: &Header, mut payload: Payload<'_>, most: usize, scratch: &mut Vec<u8>,
    ) -> Result<Sent, Errno> {
        if !self.flush()?.empty {
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
        self.outlet.keep([&head[count.min(HEAD)..], &body[count.saturating_sub(HEAD)..]]);
        self.has_left.set(true);
        Ok(Sent::Partly(len))
    }

    /// Begins to send a payload from where it is; `put` gives it to the outlet, if that takes one. `None`: not now. Else whether all of it has
    /// gone.
    ///
    /// Errors: the connection has ended; nothing is lent then.
    pub fn lend(&self, put: impl FnOnce(&Outlet) -> bool) -> Result<Option<bool>, Errno> {
        if self.lends.get() || !self.flush()?.empty || !put(&self.outlet) {
            return Ok(None);
        }
        self.has_left.set(true);
        self.lends.set(true);
        // Who reads sees an end, and gives the payload up.
        Ok(Some(self.flush().is_ok_and(|flushed| flushed.empty)))
    }

    /// Writes what is left of what was sent, as much as goes at once.
    ///
    /// Errors: the connection has ended.
    #[inline]
    pub fn flush(&self) -> Result<Flushed, Errno> {
        if !self.has_left.get() {
            return Ok(Flushed::EMPTY);
        }
        let flushed = self.outlet.flush()?;
        self.has_left.set(!flushed.empty);
        Ok(flushed)
    }

    /// The sender of a payload that has gone whole, once.
    #[inline]
    pub fn take_finished(&self) -> Option<u32> {
        if !self.lends.get() {
            return None;
        }
        let finished = self.outlet.take_finished();
        self.lends.set(finished.is_none());
        finished
    }

    /// Hands to `sink` what has come. Returns the number of packets.
    pub fn receive(&self, scratch: &mut [u8], sink: &mut dyn Sink) -> usize {
        let mut packets = 0;
        if self.ended.get().is_none()
            && let Err(why) = self.inlet.receive(&self.outlet.socket, scratch, sink, &mut packets)
        {
            self.end(why);
        }
        packets
    }

    /// Offers the next packet alone, and keeps what follows. True when `take` has used it; `None`: nothing has come.
    pub fn receive_one(&self, scratch: &mut [u8], take: &mut dyn FnMut(&Header, &[u8]) -> bool) -> Option<bool> {
        if self.ended.get().is_some() {
            return Some(false);
        }
        let received = self.inlet.receive_one(&self.outlet.socket, scratch, take);
        received.unwrap_or_else(|why| {
            self.end(why);
            None
        })
    }

    fn end(&self, why: Errno) {
        self.ended.set(Some(self.outlet.fault().map_or(why, |fault| fault.errno)));
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
