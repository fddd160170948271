//! A long payload that leaves over all connections of a pair: a piece at a time by each that has room.
//!
//! The payload goes in segments. The first connection says where a segment begins ([`Kind::Split`]), in order with all other
//! frames. Pieces ([`Kind::Piece`]) tell their segment and their place in it, and go by any connection. So the receiver
//! puts them where they belong in any order, and hands a segment on when it is whole.

use crate::fault::Fault;
use crate::frame::{HEAD, Head, Kind, PIECE, write};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::io::IoSlice;
use std::net::IpAddr;
use std::sync::Arc;
use tern_device::Cut;

/// Bytes of a segment: so much memory takes one at a receiver that has no place for it.
pub const SEGMENT: usize = 4 << 20;
/// Pieces that each connection is offered by one flush.
const AT_ONCE: usize = 16;

/// A payload that stays where it is until all of it is written, in pieces.
pub struct Spread {
    cut: Cut,
    at: *const u8,
    len: usize,
    /// Where the segment ends that was announced last, and where the next piece begins.
    announced: usize,
    next: usize,
    /// Whom it is for.
    sender: u32,
}

// SAFETY: the memory belongs to no thread, and is not changed while it is lent.
unsafe impl Send for Spread {}

impl Spread {
    /// # Safety
    /// As for [`crate::outlet::Lent::new`].
    pub unsafe fn new(cut: &Cut, payload: &[u8], sender: u32) -> Spread {
        Spread { cut: *cut, at: payload.as_ptr(), len: payload.len(), announced: 0, next: 0, sender }
    }
}

/// A piece on its way.
struct Piece {
    head: [u8; HEAD],
    at: *const u8,
    len: usize,
    /// How much has gone, with its head.
    gone: usize,
}

// SAFETY: as for `Spread`.
unsafe impl Send for Piece {}

impl Piece {
    /// Writes once. True when all has gone.
    fn write(&mut self, socket: &OwnedFd) -> Result<bool, Errno> {
        // SAFETY: inside of a payload, by the contract of `Spread::new`.
        let body = unsafe { std::slice::from_raw_parts(self.at, self.len) };
        let parts =
            [IoSlice::new(&self.head[self.gone.min(HEAD)..]), IoSlice::new(&body[self.gone.saturating_sub(HEAD)..])];
        self.gone += write(socket, &parts)?;
        Ok(self.gone == HEAD + self.len)
    }
}

/// A connection beside the first one. It carries pieces alone, one way.
struct Wire {
    socket: Arc<OwnedFd>,
    /// Where it leads.
    to: IpAddr,
    piece: Option<Piece>,
}

/// What goes by several connections.
#[derive(Default)]
pub struct Many {
    wires: Vec<Wire>,
    /// The piece on the first connection.
    first: Option<Piece>,
    payload: Option<Spread>,
    /// Segments that were announced to this peer.
    segments: u64,
}

impl Many {
    pub fn add(&mut self, socket: Arc<OwnedFd>, to: IpAddr) {
        self.wires.push(Wire { socket, to, piece: None });
    }

    pub fn lend(&mut self, payload: Spread) {
        self.payload = Some(payload);
    }

    /// A payload is under way.
    #[inline]
    pub fn lends(&self) -> bool {
        self.payload.is_some()
    }

    /// Nothing is written from the program's memory any more.
    pub fn give_up(&mut self) {
        (self.payload, self.first) = (None, None);
        self.wires.iter_mut().for_each(|wire| wire.piece = None);
    }

    /// The connections beside the first, and where they lead.
    pub fn wires(&self) -> impl Iterator<Item = (&Arc<OwnedFd>, IpAddr)> {
        self.wires.iter().map(|wire| (&wire.socket, wire.to))
    }

    /// Whether the first connection, and which others, are in the middle of a piece. The first one counts, too, while pieces are left
    /// to be taken: where one has room, it goes on at once.
    pub fn waiting(&self) -> (bool, Vec<Arc<OwnedFd>>) {
        let waiting = self.wires.iter().filter(|wire| wire.piece.is_some());
        let left = self.payload.as_ref().is_some_and(|payload| payload.next < payload.len);
        (left || self.first.is_some(), waiting.map(|wire| wire.socket.clone()).collect())
    }

    /// Writes what each connection takes; `before` goes on the first one, between pieces. Says whether something was written, and
    /// for whom the payload was, if all of it has gone.
    pub fn flush(&mut self, socket: &OwnedFd, before: &mut Before) -> Result<(bool, Option<u32>), Fault> {
        let mut wrote = false;
        for _ in 0..AT_ONCE {
            let mut more = self.write_first(socket, before).map_err(|errno| Fault { errno, to: None })?;
            for at in 0..self.wires.len() {
                more |= self.write_further(at, before).map_err(|errno| Fault { errno, to: Some(self.wires[at].to) })?;
            }
            if !more {
                break;
            }
            wrote = true;
        }
        let gone = |payload: &mut Spread| payload.next == payload.len;
        let idle = before.is_empty() && self.first.is_none() && self.wires.iter().all(|wire| wire.piece.is_none());
        let ended = if idle { self.payload.take_if(gone) } else { None };
        Ok((wrote, ended.map(|payload| payload.sender)))
    }

    /// One step of the first connection. False: it has no room, or nothing to do.
    fn write_first(&mut self, socket: &OwnedFd, before: &mut Before) -> Result<bool, Errno> {
        if self.first.is_none() {
            self.announce(before);
            if !before.is_empty() {
                return before.write(socket);
            }
            self.first = self.take();
        }
        write_piece(&mut self.first, socket)
    }

    /// One step of another connection.
    fn write_further(&mut self, at: usize, before: &mut Before) -> Result<bool, Errno> {
        if self.wires[at].piece.is_none() {
            self.announce(before);
            self.wires[at].piece = self.take();
        }
        let wire = &mut self.wires[at];
        write_piece(&mut wire.piece, &wire.socket)
    }

    /// Begins the next segment, where all pieces of the last one are taken.
    fn announce(&mut self, before: &mut Before) {
        let Some(payload) = &mut self.payload else { return };
        if payload.next < payload.announced || payload.next == payload.len {
            return;
        }
        let header = if payload.next == 0 { payload.cut.first } else { payload.cut.rest };
        let len = SEGMENT.min(payload.len - payload.next);
        payload.announced = payload.next + len;
        self.segments += 1;
        before.push(&Head { kind: Kind::Split, len: 8, header }.encode());
        before.push(&(len as u64).to_le_bytes());
    }

    /// The next piece of the segment.
    fn take(&mut self) -> Option<Piece> {
        let payload = self.payload.as_mut()?;
        let len = PIECE.min(payload.announced - payload.next);
        if len == 0 {
            return None;
        }
        // Segments begin at multiples of their length.
        let header = [self.segments, (payload.next % SEGMENT) as u64, 0, 0];
        let head = Head { kind: Kind::Piece, len, header }.encode();
        let piece = Piece { head, at: payload.at.wrapping_add(payload.next), len, gone: 0 };
        payload.next += len;
        Some(piece)
    }
}

fn write_piece(piece: &mut Option<Piece>, socket: &OwnedFd) -> Result<bool, Errno> {
    let Some(some) = piece else { return Ok(false) };
    match some.write(socket) {
        Ok(whole) => {
            if whole {
                *piece = None;
            }
            Ok(true)
        }
        Err(Errno::AGAIN) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Bytes that go on the first connection before all else.
#[derive(Default)]
pub struct Before {
    bytes: Vec<u8>,
    done: usize,
}

impl Before {
    pub fn new(bytes: Vec<u8>) -> Before {
        Before { bytes, done: 0 }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Writes until all has gone, or the socket has no room. True when something has gone.
    pub fn write(&mut self, socket: &OwnedFd) -> Result<bool, Errno> {
        let mut wrote = false;
        while self.done < self.bytes.len() {
            match write(socket, &[IoSlice::new(&self.bytes[self.done..])]) {
                Ok(count) => self.done += count,
                Err(Errno::AGAIN) => return Ok(wrote),
                Err(error) => return Err(error),
            }
            wrote = true;
        }
        self.bytes.clear();
        self.done = 0;
        Ok(wrote)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn pair() -> (OwnedFd, UnixStream) {
        let (here, there) = UnixStream::pair().expect("sockets");
        (here.into(), there)
    }

    /// What one flush leaves though there is room is waited for by a connection that has room.
    #[test]
    fn what_is_left_is_waited_for() {
        let (first, _one) = pair();
        let (second, _two) = pair();
        let payload = vec![7; 40 * PIECE];
        let cut = Cut { first: [1; 4], rest: [2; 4], len: 1 };
        let (mut many, mut before) = (Many::default(), Before::default());
        many.add(Arc::new(second), IpAddr::from([127, 0, 0, 1]));
        // SAFETY: the payload outlives `many`.
        many.lend(unsafe { Spread::new(&cut, &payload, 9) });
        assert!(many.waiting().0, "nothing has been tried");
        // Nobody reads: both connections end up in the middle of a piece.
        while many.flush(&first, &mut before).is_ok_and(|(wrote, _)| wrote) {}
        let (of_first, others) = many.waiting();
        assert!(of_first && others.len() == 1);
        assert!(many.lends());
        many.give_up();
        assert!(!many.lends() && many.waiting().1.is_empty());
    }

    /// Pieces that a jammed connection has not taken go by the other one.
    #[test]
    fn a_jammed_connection_takes_no_more() {
        let (first, one) = pair();
        let (second, _two) = pair();
        // The second one is full from the start.
        while write(&second, &[IoSlice::new(&[0; 4096])]).is_ok() {}
        let payload = vec![7; 40 * PIECE];
        let cut = Cut { first: [1; 4], rest: [2; 4], len: 1 };
        let (mut many, mut before) = (Many::default(), Before::default());
        many.add(Arc::new(second), IpAddr::from([127, 0, 0, 1]));
        // SAFETY: the payload outlives `many`.
        many.lend(unsafe { Spread::new(&cut, &payload, 9) });
        let mut came = 0;
        one.set_nonblocking(true).expect("a socket");
        loop {
            let (wrote, _) = many.flush(&first, &mut before).unwrap_or_else(|failed| panic!("{}", failed.errno));
            let mut bytes = [0; 1 << 16];
            let count = std::io::Read::read(&mut &one, &mut bytes).unwrap_or(0);
            came += count;
            if !wrote && count == 0 {
                break;
            }
        }
        // All but the piece that the other one holds; two segments were announced.
        assert_eq!(came, 39 * (HEAD + PIECE) + 2 * (HEAD + 8));
        assert!(many.lends(), "that piece has not gone");
    }
}
