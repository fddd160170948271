//! The reading end of what [`crate::spread`] has sent: pieces of one segment come by several connections, in any order.
//!
//! What does not belong to the segment waits where it is: behind a segment's last piece on the first connection, and in the
//! sockets of the others. The kernel is asked to tell of a connection only while it may be read from, or a process
//! could not sleep.

use crate::frame::{Garbage, HEAD, Head, Kind, PIECE};
use crate::spread::SEGMENT;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, retry_on_intr};
use std::io::IoSliceMut;
use std::rc::Rc;
use tern_device::{Header, Place};

/// A segment that is coming.
pub struct Segment {
    pub header: Header,
    pub len: usize,
    /// Of the place that the payload has; `None`: it goes to `own`.
    pub token: Option<u32>,
    pub own: Vec<u8>,
    at: *mut u8,
    number: u64,
    /// Bytes of which no head has come, and bytes that have not come.
    unclaimed: usize,
    missing: usize,
}

/// Where a connection is in its stream.
struct Cursor {
    head: [u8; HEAD],
    have: usize,
    /// Of the piece on its way: where the next byte belongs, and what is missing.
    at: *mut u8,
    missing: usize,
}

/// A connection beside the first one.
struct Wire {
    socket: OwnedFd,
    cursor: Cursor,
    /// The kernel tells of it.
    heard: bool,
    over: bool,
}

/// The reading ends of one peer's connections, while pieces come.
pub struct Pieces {
    peer: u32,
    /// What tells of connections that have something.
    ready: Rc<OwnedFd>,
    segment: Option<Segment>,
    /// Segments that have begun.
    begun: u64,
    first: Cursor,
    /// What has come on the first connection behind its pieces.
    behind: Vec<u8>,
    first_heard: bool,
    wires: Vec<Wire>,
}

impl Cursor {
    const START: Cursor = Cursor { head: [0; HEAD], have: 0, at: std::ptr::null_mut(), missing: 0 };

    /// The frame that begins here is no piece of this segment.
    fn is_held(&self) -> bool {
        self.have == HEAD
    }

    /// Puts a head that begins no piece of the segment behind the pieces.
    fn hold(&mut self, behind: &mut Vec<u8>) {
        if self.is_held() {
            behind.extend_from_slice(&self.head);
            self.have = 0;
        }
    }

    /// Reads once: the rest of the piece, and the head behind it. Returns the bytes.
    fn read(&mut self, socket: &OwnedFd, segment: &mut Segment) -> Result<usize, Errno> {
        let rest: &mut [u8] = match self.missing {
            0 => &mut [],
            // SAFETY: inside of the segment, as `look` has seen; nobody else uses these bytes, by the contract of `Place`.
            missing => unsafe { std::slice::from_raw_parts_mut(self.at, missing) },
        };
        let mut parts = [IoSliceMut::new(rest), IoSliceMut::new(&mut self.head[self.have..])];
        match retry_on_intr(|| rustix::io::readv(socket, &mut parts)) {
            Ok(0) => Err(Errno::CONNRESET),
            Ok(count) => {
                let placed = count.min(self.missing);
                self.have += count - placed;
                self.advance(placed, segment)?;
                Ok(count)
            }
            Err(Errno::AGAIN) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Takes bytes that were read elsewhere; returns how many.
    fn take(&mut self, bytes: &[u8], segment: &mut Segment) -> Result<usize, Garbage> {
        if self.missing > 0 {
            let len = bytes.len().min(self.missing);
            // SAFETY: as in `read`.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at, len) };
            self.advance(len, segment)?;
            return Ok(len);
        }
        let len = bytes.len().min(HEAD - self.have);
        self.head[self.have..self.have + len].copy_from_slice(&bytes[..len]);
        self.have += len;
        self.look(segment)?;
        Ok(len)
    }

    /// So many bytes more of the piece are there.
    fn advance(&mut self, count: usize, segment: &mut Segment) -> Result<(), Garbage> {
        self.at = self.at.wrapping_add(count);
        self.missing -= count;
        segment.missing -= count;
        if self.missing == 0 { self.look(segment) } else { Ok(()) }
    }

    /// Begins a piece of this segment, if its head is there.
    fn look(&mut self, segment: &mut Segment) -> Result<(), Garbage> {
        if self.have < HEAD {
            return Ok(());
        }
        let Some(Head { kind: Kind::Piece, len, header: [number, offset, ..] }) = Head::decode(&self.head, PIECE)?
        else {
            return Ok(());
        };
        if number != segment.number {
            return Ok(());
        }
        let offset = usize::try_from(offset).map_err(|_| Garbage)?;
        // Each byte comes once: nothing is written any more when none is missing.
        if len == 0 || len > segment.unclaimed || offset.checked_add(len).is_none_or(|end| end > segment.len) {
            return Err(Garbage);
        }
        segment.unclaimed -= len;
        (self.at, self.missing, self.have) = (segment.at.wrapping_add(offset), len, 0);
        Ok(())
    }
}

impl Pieces {
    pub fn new(peer: u32, ready: Rc<OwnedFd>) -> Pieces {
        Pieces {
            peer,
            ready,
            segment: None,
            begun: 0,
            first: Cursor::START,
            behind: Vec::new(),
            first_heard: true,
            wires: Vec::new(),
        }
    }

    /// Takes a connection beside the first one.
    pub fn add(&mut self, socket: OwnedFd) {
        self.wires.push(Wire { socket, cursor: Cursor::START, heard: false, over: false });
        self.listen();
    }

    /// A segment of `len` bytes begins.
    ///
    /// Errors: it is longer than one may be.
    pub fn begin(&mut self, header: Header, len: usize, place: Option<Place>) -> Result<(), Garbage> {
        self.begun += 1;
        let (token, mut own) = match &place {
            Some(place) => (Some(place.token()), Vec::new()),
            None => (None, vec![0; len]),
        };
        let at = place.map_or(own.as_mut_ptr(), |place| place.at());
        let mut segment = Segment { header, len, token, own, at, number: self.begun, unclaimed: len, missing: len };
        // Pieces that had come before.
        self.wires.iter_mut().try_for_each(|wire| wire.cursor.look(&mut segment))?;
        self.segment = Some(segment);
        self.listen();
        Ok(())
    }

    /// Takes what was read on the first connection.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<(), Garbage> {
        let Some(segment) = &mut self.segment else { return Ok(()) };
        while !bytes.is_empty() {
            if !self.behind.is_empty() {
                self.behind.extend_from_slice(bytes);
                break;
            }
            let count = self.first.take(bytes, segment)?;
            bytes = &bytes[count..];
            self.first.hold(&mut self.behind);
        }
        Ok(())
    }

    /// Reads from all connections that may have some of the segment. True when it is whole.
    ///
    /// Errors: CONNRESET where nothing more comes, PROTO for bytes that are no piece; those of the system.
    pub fn read(&mut self, socket: &OwnedFd) -> Result<bool, Errno> {
        let Some(segment) = &mut self.segment else { return Ok(false) };
        for wire in &mut self.wires {
            if wire.over || wire.cursor.is_held() || segment.missing == 0 {
                continue;
            }
            match wire.cursor.read(&wire.socket, segment) {
                // The sender knows whether something is missing, and ends the first connection then.
                Err(Errno::CONNRESET) if wire.cursor.missing == 0 && wire.cursor.have == 0 => wire.over = true,
                other => drop(other?),
            }
        }
        if segment.missing > 0 && self.behind.is_empty() {
            self.first.read(socket, segment)?;
            self.first.hold(&mut self.behind);
        }
        let whole = self.segment.as_ref().is_some_and(|segment| segment.missing == 0);
        self.listen_to_first(socket, whole);
        self.listen();
        Ok(whole)
    }

    /// The segment, which is whole, and what has come behind it.
    pub fn end(&mut self) -> Option<(Segment, Vec<u8>)> {
        let segment = self.segment.take()?;
        self.listen();
        let mut behind = std::mem::take(&mut self.behind);
        behind.extend_from_slice(&self.first.head[..self.first.have]);
        self.first = Cursor::START;
        Some((segment, behind))
    }

    /// Nothing more comes.
    pub fn close(&mut self) {
        self.segment = None;
        self.listen();
    }

    fn listen_to_first(&mut self, socket: &OwnedFd, whole: bool) {
        let wanted = whole || self.behind.is_empty();
        hear(&self.ready, socket, self.peer, &mut self.first_heard, wanted);
    }

    /// Has the kernel tell of those connections that are read from.
    fn listen(&mut self) {
        let comes = self.segment.as_ref().is_some_and(|segment| segment.missing > 0);
        for wire in &mut self.wires {
            let wanted = comes && !wire.over && !wire.cursor.is_held();
            hear(&self.ready, &wire.socket, self.peer, &mut wire.heard, wanted);
        }
    }
}

fn hear(ready: &OwnedFd, socket: &OwnedFd, peer: u32, heard: &mut bool, wanted: bool) {
    if *heard == wanted {
        return;
    }
    let done = match wanted {
        true => epoll::add(ready, socket, EventData::new_u64(u64::from(peer)), EventFlags::IN),
        false => epoll::delete(ready, socket),
    };
    // Without it a process that waits looks again after its nap.
    *heard = wanted && done.is_ok();
}

/// Bytes of a segment, from the payload of the frame that announces it.
///
/// Errors: it has none, or too many.
pub fn announced(payload: &[u8]) -> Result<usize, Garbage> {
    let len = payload.try_into().map(u64::from_le_bytes).map_err(|_| Garbage)?;
    if len == 0 || len > SEGMENT as u64 { Err(Garbage) } else { Ok(len as usize) }
}
