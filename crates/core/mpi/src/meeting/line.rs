//! The line between two processes that are to get to know each other: a Unix socket, or a TCP connection between
//! machines on which both have proven that they may. What goes over the latter is sealed: nobody on the way reads the tokens
//! in it, or changes anything.

use crate::bridge::Roster;
use crate::constants::*;
use crate::error::{Error, Result};
use crate::runtime::adi;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags};
use std::cell::RefCell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;
use tern_mcm::{Proven, Sealer, TAG};
use tern_pmi::parcel::{self, Parcel};

/// What a line is made of.
pub enum Wire {
    /// Of parcels, which may have descriptors with them.
    Near(OwnedFd),
    /// Of bytes: each message is sealed, and has its length in front, in eight of them.
    Far(OwnedFd, RefCell<Far>),
}

/// The ends of a connection between machines.
pub struct Far {
    sends: Sealer,
    receives: Sealer,
    /// What has come of the next message.
    known: Vec<u8>,
}

/// Longest message between machines: a bound on damage.
const MOST: u64 = 1 << 30;

/// The line between two roots.
pub struct Line {
    pub wire: Wire,
    /// This side makes the memory.
    pub host: bool,
    /// What has come already.
    pub early: Option<Vec<u8>>,
    pub deadline: Option<Instant>,
}

/// Looks for something that comes by a descriptor, until it is there; makes progress meanwhile, and lets
/// other threads in. `None` when `deadline` has passed.
pub fn wait_for<T>(
    fd: BorrowedFd<'_>, deadline: Option<Instant>, mut attempt: impl FnMut() -> Result<Option<T>>,
) -> Result<Option<T>> {
    const NAP: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
    loop {
        if let Some(found) = attempt()? {
            return Ok(Some(found));
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok(None);
        }
        if !adi().progress() {
            // A signal or an error: it looks again.
            let wait = || poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&NAP));
            let _ = tern_mcm::lock::outside(wait);
        }
    }
}

/// The error for a line that is broken.
pub fn lost(errno: Errno) -> Box<Error> {
    Error::new(MPI_ERR_PORT, format!("the process at the other end of the port is gone, or gave up: {errno}"))
}

impl Wire {
    pub fn far(proven: Proven) -> Wire {
        let [sends, receives] = [proven.session.sends, proven.session.receives].map(|key| Sealer::new(&key));
        Wire::Far(proven.socket, RefCell::new(Far { sends, receives, known: Vec::new() }))
    }

    fn socket(&self) -> BorrowedFd<'_> {
        match self {
            Wire::Near(socket) | Wire::Far(socket, _) => socket.as_fd(),
        }
    }

    fn send(&self, bytes: &[u8]) -> Result<()> {
        let (socket, far) = match self {
            Wire::Near(socket) => return parcel::send(socket, None, bytes, &[]).map_err(lost),
            Wire::Far(socket, far) => (socket.as_fd(), far),
        };
        let head = ((bytes.len() + TAG) as u64).to_le_bytes();
        let sealed = far.borrow_mut().sends.seal(&head, bytes).map_err(|_| lost(Errno::MSGSIZE))?;
        let all = [&head[..], &sealed].concat();
        let mut sent = 0;
        let push = || {
            match net::send(socket, &all[sent..], SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(more) => sent += more,
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(errno) => return Err(lost(errno)),
            }
            Ok((sent == all.len()).then_some(()))
        };
        wait_for(socket, None, push)?.expect("it waits without end");
        Ok(())
    }

    /// The next message, if it has come whole. Memory is taken for what has come alone.
    fn receive(&self) -> Result<Option<Parcel>> {
        let (socket, far) = match self {
            Wire::Near(socket) => return parcel::receive(socket).map_err(lost),
            Wire::Far(socket, far) => (socket, &mut *far.borrow_mut()),
        };
        let Far { receives, known, .. } = far;
        loop {
            let head = known.first_chunk().map(|head| u64::from_le_bytes(*head));
            let missing = match head {
                None => 8 - known.len() as u64,
                Some(length) if length > MOST => return Err(lost(Errno::PROTO)),
                Some(length) => 8 + length - known.len() as u64,
            };
            if missing == 0 {
                let (head, sealed) = known.split_at(8);
                let bytes = receives.open(head, sealed).map_err(|_| lost(Errno::PROTO))?;
                known.clear();
                return Ok(Some(Parcel { bytes, fds: Vec::new() }));
            }
            known.reserve(missing.min(64 << 10) as usize);
            let mut piece = [0; 4096];
            let most = missing.min(piece.len() as u64) as usize;
            match net::recv(socket, &mut piece[..most], RecvFlags::DONTWAIT) {
                Ok((_, 0)) => return Err(lost(Errno::CONNRESET)),
                Ok((_, more)) => known.extend_from_slice(&piece[..more]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(None),
                Err(errno) => return Err(lost(errno)),
            }
        }
    }
}

impl Line {
    /// Whether memory can be passed over it.
    pub fn is_near(&self) -> bool {
        matches!(self.wire, Wire::Near(_))
    }

    pub fn receive(&mut self) -> Result<Parcel> {
        match wait_for(self.wire.socket(), self.deadline, || self.wire.receive())? {
            Some(parcel) => Ok(parcel),
            None => err!(
                MPI_ERR_PORT,
                "nobody has accepted at the port in time: 10 minutes, or what the info key timeout gives"
            ),
        }
    }

    /// Gives bytes and gets those of the other root.
    pub fn exchange(&mut self, bytes: &[u8]) -> Result<Vec<u8>> {
        self.wire.send(bytes)?;
        if let Some(early) = self.early.take() {
            return Ok(early);
        }
        let bytes = self.receive()?.bytes;
        // Who has answered once is not waited for in vain.
        self.deadline = None;
        Ok(bytes)
    }

    /// The memory of a bridge with this roster, which one side makes and both get.
    pub fn share(&mut self, roster: &Roster) -> Result<OwnedFd> {
        if let (true, Wire::Near(socket)) = (self.host, &self.wire) {
            let file = roster.build()?;
            parcel::send(socket, None, &[], &[file.as_fd()]).map_err(lost)?;
            return Ok(file);
        }
        let file = self.receive()?.fds.pop();
        file.ok_or_else(|| Error::new(MPI_ERR_INTERN, "the other side has sent no memory"))
    }
}
