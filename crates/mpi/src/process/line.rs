//! The line between two processes that are to get to know each other: a Unix socket.

use crate::constants::*;
use crate::error::{Error, Result};
use crate::process::bridge::Roster;
use crate::runtime::adi;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;
use tern_pmi::parcel::{self, Parcel};

/// The line between two roots.
pub struct Line {
    pub socket: OwnedFd,
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

impl Line {
    fn receive(&mut self) -> Result<Parcel> {
        let look = || parcel::receive(&self.socket).map_err(lost);
        match wait_for(self.socket.as_fd(), self.deadline, look)? {
            Some(parcel) => Ok(parcel),
            None => err!(
                MPI_ERR_PORT,
                "nobody has accepted at the port in time: 10 minutes, or what the info key timeout gives"
            ),
        }
    }

    /// Gives bytes and gets those of the other root.
    pub fn exchange(&mut self, bytes: &[u8]) -> Result<Vec<u8>> {
        parcel::send(&self.socket, None, bytes, &[]).map_err(lost)?;
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
        if self.host {
            let file = roster.build()?;
            parcel::send(&self.socket, None, &[], &[file.as_fd()]).map_err(lost)?;
            return Ok(file);
        }
        let file = self.receive()?.fds.pop();
        file.ok_or_else(|| Error::new(MPI_ERR_INTERN, "the other side has sent no memory"))
    }
}
