//! The writing end of a connection: what a socket did not take yet. The process and the thread of the device both write.

use crate::fault::Fault;
use crate::frame::{HEAD, Head, Kind, write};
use crate::spread::{Before, Many, Spread};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::Shutdown;
use std::io::IoSlice;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use tern_device::Cut;

/// Frames of a lent payload that go with one system call. The longer a write, the faster: 1 MiB over loopback takes 465 us in one, and 600 to
/// 700 us in four or more.
const AT_ONCE: usize = 16;

/// The writing end.
pub struct Outlet {
    pub socket: OwnedFd,
    left: Mutex<Left>,
    /// The process waits for room.
    pub awaited: AtomicBool,
    /// There are connections beside this one.
    spreads: AtomicBool,
    /// The process has tried to write since the thread last asked.
    touched: AtomicBool,
}

/// What is to go before all else.
#[derive(Default)]
struct Left {
    /// First the rest of a frame.
    before: Before,
    /// Then a payload of the program's, by this connection or by all of the pair.
    lent: Option<Lent>,
    many: Many,
    /// The sender of the last one, all of which has gone.
    finished: Option<u32>,
    /// Why the connection was ended.
    fault: Option<Fault>,
}

/// What came of an attempt to write what is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flushed {
    /// Nothing is left.
    pub empty: bool,
    /// Something was written.
    pub wrote: bool,
}

impl Flushed {
    pub const EMPTY: Flushed = Flushed { empty: true, wrote: false };
    const NOT: Flushed = Flushed { empty: false, wrote: false };
}

impl Outlet {
    /// `first` goes before all else.
    pub fn new(socket: OwnedFd, first: Vec<u8>) -> Outlet {
        let left = Mutex::new(Left { before: Before::new(first), ..Left::default() });
        let flag = || AtomicBool::new(false);
        Outlet { socket, left, awaited: flag(), spreads: flag(), touched: flag() }
    }

    fn left(&self) -> MutexGuard<'_, Left> {
        // Whole at any time: a write that panics has changed nothing.
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, unless the other of the two is writing.
    fn try_left(&self) -> Option<MutexGuard<'_, Left>> {
        match self.left.try_lock() {
            Ok(left) => Some(left),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Writes what is left, as much as goes at once.
    ///
    /// Errors: the connection has ended.
    pub fn flush(&self) -> Result<Flushed, Errno> {
        // Relaxed: a hint.
        self.touched.store(true, Ordering::Relaxed);
        self.try_left().map_or(Ok(Flushed::NOT), |mut left| left.flush(&self.socket))
    }

    /// The same by the thread. Also whether a payload has gone whole.
    pub fn flush_for(&self) -> Result<(Flushed, bool), Errno> {
        let Some(mut left) = self.try_left() else { return Ok((Flushed::NOT, false)) };
        let before = left.finished;
        let flushed = left.flush(&self.socket)?;
        Ok((flushed, left.finished != before))
    }

    /// Whether the process has tried to write since this was last asked.
    pub fn was_touched(&self) -> bool {
        // Relaxed: a hint.
        self.touched.swap(false, Ordering::Relaxed)
    }

    /// Puts what a socket has not taken of a frame behind all that is left.
    pub fn keep(&self, parts: [&[u8]; 2]) {
        let mut left = self.left();
        parts.into_iter().for_each(|part| left.before.push(part));
    }

    /// Whether anything is to be written, or is being written.
    pub fn has_left(&self) -> bool {
        self.try_left().is_none_or(|left| !left.before.is_empty() || left.lent.is_some() || left.many.lends())
    }

    /// Takes a payload behind all that is left; false while there is another one, or its sender has not been told of its end.
    pub fn lend(&self, lent: Lent) -> bool {
        self.take(|left| left.lent = Some(lent))
    }

    /// The same, for all connections of the pair.
    pub fn spread(&self, payload: Spread) -> bool {
        self.take(|left| left.many.lend(payload))
    }

    /// Puts a payload there by `put`, if there is none.
    fn take(&self, put: impl FnOnce(&mut Left)) -> bool {
        let Some(mut left) = self.try_left().filter(|left| !left.is_taken()) else { return false };
        put(&mut left);
        true
    }

    /// Whether there are connections beside this one.
    pub fn spreads(&self) -> bool {
        // Relaxed: the lock hands them over.
        self.spreads.load(Ordering::Relaxed)
    }

    /// Takes a connection to the same peer that leads to `to`, for pieces.
    pub fn add(&self, socket: OwnedFd, to: IpAddr) {
        self.left().many.add(Arc::new(socket), to);
        self.spreads.store(true, Ordering::Relaxed);
    }

    /// The connections beside this one, and where they lead.
    pub fn further(&self) -> Vec<(Arc<OwnedFd>, IpAddr)> {
        if !self.spreads() {
            return Vec::new();
        }
        self.left().many.wires().map(|(socket, to)| (socket.clone(), to)).collect()
    }

    /// Whether this connection, and which others, wait for room.
    pub fn waiting(&self) -> (bool, Vec<Arc<OwnedFd>>) {
        match self.try_left() {
            Some(left) if left.many.lends() => {
                let (first, further) = left.many.waiting();
                (first || !left.before.is_empty(), further)
            }
            _ => (true, Vec::new()),
        }
    }

    /// Ends the connection.
    pub fn fail(&self, fault: Fault) {
        self.left().fail(&self.socket, fault);
    }

    /// Why this side has ended the connection.
    pub fn fault(&self) -> Option<Fault> {
        self.left().fault
    }

    /// The sender of a payload that has gone whole, once.
    pub fn take_finished(&self) -> Option<u32> {
        self.try_left()?.finished.take()
    }

    /// Nothing is written from the program's memory any more.
    pub fn give_up(&self) {
        let mut left = self.left();
        left.lent = None;
        left.many.give_up();
    }

    /// A payload of the program's is under way.
    pub fn lends(&self) -> bool {
        let left = self.left();
        left.lent.is_some() || left.many.lends()
    }
}

impl Left {
    /// A payload is under way, or its sender has not been told of its end.
    fn is_taken(&self) -> bool {
        self.lent.is_some() || self.many.lends() || self.finished.is_some()
    }

    fn flush(&mut self, socket: &OwnedFd) -> Result<Flushed, Errno> {
        if self.many.lends() {
            return self.flush_many(socket);
        }
        let wrote = self.before.write(socket)?;
        if !self.before.is_empty() {
            return Ok(Flushed { empty: false, wrote });
        }
        let Some(lent) = &mut self.lent else { return Ok(Flushed { empty: true, wrote }) };
        match lent.write(socket) {
            Ok(false) => Ok(Flushed { empty: false, wrote: true }),
            Ok(true) => {
                self.finished = self.lent.take().map(|lent| lent.sender);
                Ok(Flushed { empty: true, wrote: true })
            }
            Err(Errno::AGAIN) => Ok(Flushed { empty: false, wrote }),
            Err(error) => Err(error),
        }
    }

    #[cold]
    fn flush_many(&mut self, socket: &OwnedFd) -> Result<Flushed, Errno> {
        match self.many.flush(socket, &mut self.before) {
            Ok((wrote, finished)) => {
                self.finished = finished;
                Ok(Flushed { empty: finished.is_some(), wrote })
            }
            Err(fault) => {
                if fault.to.is_some() {
                    self.fail(socket, fault);
                }
                Err(fault.errno)
            }
        }
    }

    fn fail(&mut self, socket: &OwnedFd, fault: Fault) {
        // Who reads finds it when the connection has ended.
        self.fault.get_or_insert(fault);
        // The peer must not see the end before this process has told what it knows: it would only know that the connection has ended.
        let _ = rustix::net::shutdown(socket, Shutdown::Read);
    }
}

/// A payload that stays where it is until all of it is written, in frames.
pub struct Lent {
    cut: Cut,
    at: *const u8,
    len: usize,
    /// Where the frame begins that is under way, and how much of it has gone, with its head.
    frame: usize,
    gone: usize,
    /// Whom it is for.
    sender: u32,
}

// SAFETY: the memory belongs to no thread, and is not changed while it is lent.
unsafe impl Send for Lent {}

impl Lent {
    /// # Safety
    /// The payload is valid and not changed until [`Outlet::take_finished`] names `sender`, or [`Outlet::give_up`] returns.
    pub unsafe fn new(cut: &Cut, payload: &[u8], sender: u32) -> Lent {
        Lent { cut: *cut, at: payload.as_ptr(), len: payload.len(), frame: 0, gone: 0, sender }
    }

    /// Writes once, some frames. True when the last has gone.
    fn write(&mut self, socket: &OwnedFd) -> Result<bool, Errno> {
        let mut heads = [[0; HEAD]; AT_ONCE];
        let mut parts = [IoSlice::new(&[]); 2 * AT_ONCE];
        let (mut at, mut used) = (self.frame, 0);
        for (head, parts) in heads.iter_mut().zip(parts.as_chunks_mut::<2>().0) {
            if at == self.len {
                break;
            }
            let len = self.cut.len.min(self.len - at);
            *head = self.head(at, len);
            // SAFETY: inside of the payload, by the contract of `new`.
            let body = unsafe { std::slice::from_raw_parts(self.at.add(at), len) };
            // Of the first one a part has gone.
            let gone = if at == self.frame { self.gone } else { 0 };
            *parts = [IoSlice::new(&head[gone.min(HEAD)..]), IoSlice::new(&body[gone.saturating_sub(HEAD)..])];
            (at, used) = (at + len, used + 2);
        }
        let count = write(socket, &parts[..used])?;
        self.advance(count);
        Ok(self.frame == self.len)
    }

    fn head(&self, frame: usize, len: usize) -> [u8; HEAD] {
        let header = if frame == 0 { self.cut.first } else { self.cut.rest };
        Head { kind: Kind::Packet, len, header }.encode()
    }

    /// So many bytes more have gone, heads and all.
    fn advance(&mut self, count: usize) {
        self.gone += count;
        while self.frame < self.len {
            let len = self.cut.len.min(self.len - self.frame);
            if self.gone < HEAD + len {
                break;
            }
            (self.frame, self.gone) = (self.frame + len, self.gone - HEAD - len);
        }
    }
}
