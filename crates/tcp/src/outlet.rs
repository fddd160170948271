//! The writing end of a connection: what a socket did not take yet. The process and the thread of the device both write.

use crate::frame::{HEAD, Head, Kind};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use std::io::IoSlice;
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
    /// The peer has given no sign for too long ([`crate::vigil`]); the connection was ended for that.
    pub silent: AtomicBool,
    /// The process has tried to write since the thread last asked.
    touched: AtomicBool,
}

/// What is to go before all else.
#[derive(Default)]
struct Left {
    /// First the rest of a frame, and how much of that has gone.
    bytes: Vec<u8>,
    done: usize,
    /// Then a payload of the program's.
    lent: Option<Lent>,
    /// The sender of the last one, all of which has gone.
    finished: Option<u32>,
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
        let left = Mutex::new(Left { bytes: first, ..Left::default() });
        let flag = || AtomicBool::new(false);
        Outlet { socket, left, awaited: flag(), silent: flag(), touched: flag() }
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
        parts.into_iter().for_each(|part| left.bytes.extend_from_slice(part));
    }

    /// Takes a payload behind all that is left; false while there is another one, or its sender has not been told of its end.
    pub fn lend(&self, lent: Lent) -> bool {
        let Some(mut left) = self.try_left() else { return false };
        if left.lent.is_some() || left.finished.is_some() {
            return false;
        }
        left.lent = Some(lent);
        true
    }

    /// The sender of a payload that has gone whole, once.
    pub fn take_finished(&self) -> Option<u32> {
        self.try_left()?.finished.take()
    }

    /// Nothing is written from the program's memory any more.
    pub fn give_up(&self) {
        self.left().lent = None;
    }

    /// A payload of the program's is under way.
    pub fn lends(&self) -> bool {
        self.left().lent.is_some()
    }
}

impl Left {
    fn flush(&mut self, socket: &OwnedFd) -> Result<Flushed, Errno> {
        let mut wrote = false;
        while self.done < self.bytes.len() {
            match write(socket, &[IoSlice::new(&self.bytes[self.done..])]) {
                Ok(count) => self.done += count,
                Err(Errno::AGAIN) => return Ok(Flushed { empty: false, wrote }),
                Err(error) => return Err(error),
            }
            wrote = true;
        }
        self.bytes.clear();
        self.done = 0;
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

/// Writes without waiting, and without a signal where the peer is gone.
pub fn write(socket: &OwnedFd, parts: &[IoSlice<'_>]) -> Result<usize, Errno> {
    let mut no_files = SendAncillaryBuffer::default();
    retry_on_intr(|| sendmsg(socket, parts, &mut no_files, SendFlags::NOSIGNAL | SendFlags::DONTWAIT))
}
