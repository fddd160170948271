//! The reading end of a connection: frames out of what has come, and payloads that go straight to their place.

use crate::frame::{Garbage, HEAD, Head, Kind};
use crate::pieces::{self, Pieces};
use rustix::buffer::spare_capacity;
use rustix::fd::OwnedFd;
use rustix::io::{Errno, retry_on_intr};
use std::cell::{Cell, RefCell};
use std::io::IoSliceMut;
use std::rc::Rc;
use tern_device::{Header, Sink};

/// Bytes that one read takes at most behind what a frame lacks.
pub const SCRATCH: usize = 64 << 10;
/// The same where long frames come: so much of each is copied, before it is known where the rest belongs.
const LEAST: usize = 4 << 10;
/// Frames from here on are long.
const LONG: usize = 32 << 10;
/// Payloads from here on may go to their place.
const PLACED: usize = 8 << 10;
/// Bytes that a frame lacks from which on a read takes no more than these: no memory is cleared for them then.
const LONG_REST: usize = 4 << 10;

/// The reading end. Belongs to the process's thread that is in the library.
pub struct Inlet {
    peer: u32,
    /// Payload bytes of a packet at most.
    most: usize,
    /// What has come of frames that are not done.
    known: RefCell<Vec<u8>>,
    way: Cell<Way>,
    /// For payloads that come by several connections.
    pub pieces: RefCell<Pieces>,
    /// Bytes that a read takes behind what a frame lacks.
    window: Cell<usize>,
    /// The peer has said that it ends.
    pub farewell: Cell<bool>,
}

/// What comes next.
#[derive(Clone, Copy)]
enum Way {
    Frames,
    /// The rest of a payload on its way to its place: nothing is in `known` then.
    Placing(Placing),
    /// Pieces of a payload: as before.
    Pieces,
}

#[derive(Clone, Copy)]
struct Placing {
    /// Where the next byte belongs.
    at: *mut u8,
    missing: usize,
    len: usize,
    token: u32,
}

impl From<Garbage> for Errno {
    fn from(_: Garbage) -> Errno {
        Errno::PROTO
    }
}

impl Inlet {
    /// `ready` tells of connections that have something, as process `peer`.
    pub fn new(peer: u32, most: usize, ready: Rc<OwnedFd>) -> Inlet {
        Inlet {
            peer,
            most,
            known: RefCell::default(),
            way: Cell::new(Way::Frames),
            pieces: RefCell::new(Pieces::new(peer, ready)),
            window: Cell::new(LEAST),
            farewell: Cell::new(false),
        }
    }

    /// Hands what was read before to `sink`, and what one read brings. Counts packets.
    ///
    /// Errors: CONNRESET where nothing more comes, PROTO for bytes that are no frame; those of the system.
    pub fn receive(
        &self, socket: &OwnedFd, scratch: &mut [u8], sink: &mut dyn Sink, packets: &mut usize,
    ) -> Result<(), Errno> {
        let mut digest = |bytes: &[u8]| self.digest(bytes, sink, packets);
        self.offer_known(&mut digest)?;
        if matches!(self.way.get(), Way::Frames) {
            self.read(socket, scratch, &mut digest)?;
        }
        match self.way.get() {
            Way::Frames => Ok(()),
            Way::Placing(placing) => self.go_on_placing(placing, socket, scratch, sink, packets),
            Way::Pieces => self.receive_pieces(socket, sink, packets),
        }
    }

    fn go_on_placing(
        &self, placing: Placing, socket: &OwnedFd, scratch: &mut [u8], sink: &mut dyn Sink, packets: &mut usize,
    ) -> Result<(), Errno> {
        let fresh = self.read_placing(placing, socket, scratch)?;
        if let Way::Placing(Placing { missing: 0, token, len, .. }) = self.way.get() {
            self.way.set(Way::Frames);
            sink.placed(token, len);
            *packets += 1;
            let used = self.digest(&scratch[..fresh], sink, packets)?;
            self.known.borrow_mut().extend_from_slice(&scratch[used..fresh]);
        }
        Ok(())
    }

    /// Reads pieces; hands their payload on when it is whole.
    #[cold]
    fn receive_pieces(&self, socket: &OwnedFd, sink: &mut dyn Sink, packets: &mut usize) -> Result<(), Errno> {
        let mut pieces = self.pieces.borrow_mut();
        if !pieces.read(socket)? {
            return Ok(());
        }
        let Some((segment, behind)) = pieces.end() else { return Ok(()) };
        drop(pieces);
        self.known.replace(behind);
        self.way.set(Way::Frames);
        match segment.token {
            Some(token) => sink.placed(token, segment.len),
            None => sink.packet(self.peer, &segment.header, &segment.own),
        }
        *packets += 1;
        Ok(())
    }

    /// Offers the next packet alone, and keeps what follows. True when `take` has used it; `None`: nothing has come.
    ///
    /// Errors: as for [`Inlet::receive`].
    pub fn receive_one(
        &self, socket: &OwnedFd, scratch: &mut [u8], take: &mut dyn FnMut(&Header, &[u8]) -> bool,
    ) -> Result<Option<bool>, Errno> {
        if !matches!(self.way.get(), Way::Frames) || self.begins_long() {
            // It is for `receive`.
            return Ok(Some(false));
        }
        let first = Cell::new(None);
        let mut once = |bytes: &[u8]| {
            self.offer(bytes, &mut |header, payload| {
                if first.get().is_some() {
                    return false;
                }
                let used = take(header, payload);
                first.set(Some(used));
                used
            })
        };
        self.offer_known(&mut once)?;
        if first.get().is_none() {
            self.read(socket, scratch, &mut once)?;
        }
        Ok(first.get())
    }

    /// A packet has come whole and waits here.
    pub fn has_known(&self) -> bool {
        let known = self.known.borrow();
        let head = Head::decode(&known, self.most);
        matches!(head, Ok(Some(head)) if known.len() >= head.total())
    }

    /// The frame that has come in part may have its place, or what follows comes in pieces.
    fn begins_long(&self) -> bool {
        let known = self.known.borrow();
        let head = Head::decode(&known, self.most);
        matches!(head, Ok(Some(head)) if head.kind == Kind::Split || head.len >= PLACED && known.len() < head.total())
    }

    /// Offers the whole frames that were read before.
    fn offer_known(&self, offer: &mut dyn FnMut(&[u8]) -> Result<usize, Garbage>) -> Result<(), Errno> {
        if self.known.borrow().is_empty() {
            return Ok(());
        }
        // Taken out meanwhile, since the sink may come back here.
        let mut bytes = self.known.take();
        let used = offer(&bytes)?;
        bytes.drain(..used);
        self.known.replace(bytes);
        Ok(())
    }

    /// Reads what has come behind the bytes that are known, and has it offered. What was not used is kept.
    fn read(
        &self, socket: &OwnedFd, scratch: &mut [u8], offer: &mut dyn FnMut(&[u8]) -> Result<usize, Garbage>,
    ) -> Result<(), Errno> {
        let mut known = self.known.take();
        let mut fresh = match self.read_into(socket, &mut known, scratch) {
            Ok(count) => &scratch[..count],
            Err(Errno::AGAIN) => &scratch[..0],
            Err(error) => return Err(error),
        };
        // First the frame that had come in part.
        if !known.is_empty() {
            if missing(&known) > 0 {
                // Its head had not come whole.
                known.extend_from_slice(fresh);
                fresh = &[];
            }
            let used = offer(&known)?;
            known.drain(..used);
            if matches!(self.way.get(), Way::Pieces) {
                self.pieces.borrow_mut().feed(fresh)?;
                fresh = &[];
            }
        }
        if !fresh.is_empty() {
            let used = if known.is_empty() { offer(fresh)? } else { 0 };
            known.extend_from_slice(&fresh[used..]);
        }
        self.known.replace(known);
        Ok(())
    }

    /// Reads once: what the frame in `known` lacks goes behind it, and more to `scratch`. Returns the bytes there.
    ///
    /// Errors: CONNRESET where nothing more comes; those of the system.
    fn read_into(&self, socket: &OwnedFd, known: &mut Vec<u8>, scratch: &mut [u8]) -> Result<usize, Errno> {
        let (before, missing) = (known.len(), missing(known));
        if missing >= LONG_REST {
            known.reserve_exact(missing);
            let count = retry_on_intr(|| rustix::io::read(socket, spare_capacity(known)))?;
            return if count == 0 { Err(Errno::CONNRESET) } else { Ok(0) };
        }
        known.resize(before + missing, 0);
        let window = self.window.get();
        let mut parts = [IoSliceMut::new(&mut known[before..]), IoSliceMut::new(&mut scratch[..window])];
        let parts = if missing == 0 { &mut parts[1..] } else { &mut parts[..] };
        let count = retry_on_intr(|| rustix::io::readv(socket, parts));
        known.truncate(before + missing.min(*count.as_ref().unwrap_or(&0)));
        match count? {
            0 => Err(Errno::CONNRESET),
            count => {
                if count == missing + window {
                    // More has come than there was room for.
                    self.window.set((2 * window).min(scratch.len()));
                }
                Ok(count.saturating_sub(missing))
            }
        }
    }

    /// Reads once: first what the payload on its way lacks, and more to `scratch`. Returns the bytes there.
    fn read_placing(&self, placing: Placing, socket: &OwnedFd, scratch: &mut [u8]) -> Result<usize, Errno> {
        // SAFETY: the place is the device's until its payload is whole, by the contract of `Place`.
        let place = unsafe { std::slice::from_raw_parts_mut(placing.at, placing.missing) };
        let mut parts = [IoSliceMut::new(place), IoSliceMut::new(&mut scratch[..LEAST])];
        let count = match retry_on_intr(|| rustix::io::readv(socket, &mut parts)) {
            Ok(0) => return Err(Errno::CONNRESET),
            Ok(count) => count,
            Err(Errno::AGAIN) => 0,
            Err(error) => return Err(error),
        };
        let placed = count.min(placing.missing);
        let (at, missing) = (placing.at.wrapping_add(placed), placing.missing - placed);
        self.way.set(Way::Placing(Placing { at, missing, ..placing }));
        Ok(count - placed)
    }

    /// Hands whole frames on, and begins to place a long one that has come in part. Returns the bytes that are done with.
    fn digest(&self, bytes: &[u8], sink: &mut dyn Sink, packets: &mut usize) -> Result<usize, Garbage> {
        let used = self.offer(bytes, &mut |header, payload| {
            sink.packet(self.peer, header, payload);
            *packets += 1;
            true
        })?;
        let Some(head) = Head::decode(&bytes[used..], self.most)? else { return Ok(used) };
        if head.kind != Kind::Packet {
            return self.begin_pieces(bytes, used, &head, sink);
        }
        if head.len >= LONG {
            self.window.set(LEAST);
        }
        if head.len < PLACED {
            return Ok(used);
        }
        let Some(place) = sink.place(self.peer, &head.header, head.len) else { return Ok(used) };
        let come = &bytes[used + HEAD..];
        // SAFETY: less than the payload, for which the place has room, by the contract of `Place`.
        unsafe { std::ptr::copy_nonoverlapping(come.as_ptr(), place.at(), come.len()) };
        let (at, missing) = (place.at().wrapping_add(come.len()), head.len - come.len());
        self.way.set(Way::Placing(Placing { at, missing, len: head.len, token: place.token() }));
        Ok(bytes.len())
    }

    /// Begins a payload that comes in pieces, with what has come of them, if the frame at `at` says so and is whole.
    #[cold]
    fn begin_pieces(&self, bytes: &[u8], at: usize, head: &Head, sink: &mut dyn Sink) -> Result<usize, Garbage> {
        if head.kind != Kind::Split {
            return Err(Garbage);
        }
        let Some(payload) = bytes.get(at + HEAD..at + head.total()) else { return Ok(at) };
        let len = pieces::announced(payload)?;
        let place = sink.place(self.peer, &head.header, len);
        let mut pieces = self.pieces.borrow_mut();
        pieces.begin(head.header, len, place)?;
        self.way.set(Way::Pieces);
        pieces.feed(&bytes[at + head.total()..])?;
        Ok(bytes.len())
    }

    /// Hands the packets of whole frames to `take` until it declines one; returns the bytes of the frames that are done.
    fn offer(&self, bytes: &[u8], take: &mut dyn FnMut(&Header, &[u8]) -> bool) -> Result<usize, Garbage> {
        let mut at = 0;
        while let Some(head) = Head::decode(&bytes[at..], self.most)? {
            let Some(payload) = bytes.get(at + HEAD..at + head.total()) else { break };
            match head.kind {
                Kind::Packet if !take(&head.header, payload) => break,
                Kind::Farewell => self.farewell.set(true),
                Kind::Packet | Kind::Bell => {}
                Kind::Split | Kind::Piece => break,
            }
            at += head.total();
        }
        Ok(at)
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
