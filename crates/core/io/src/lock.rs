//! Byte-range locks: of the open file description, so that they also hold between two handles of one
//! process, and go with it when it dies.

use std::ops::Range;
use std::os::fd::AsRawFd;

use rustix::io::Errno;

use crate::error::Error;
use crate::file::{File, again};

/// Who else may hold a lock on a byte at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Others that share too.
    Shared,
    /// Nobody.
    Exclusive,
}

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub struct Guard<'a> {
    file: &'a File,
    range: Range<u64>,
}

impl File {
    /// Waits until nobody stands in the way, and locks the bytes of `range` against other `File`s.
    /// None if the file system has no locks. Shared locks need a file that can be read, exclusive ones
    /// one that can be written; the other kind is taken if need be.
    pub fn lock(&self, sharing: Sharing, range: Range<u64>) -> Result<Option<Guard<'_>>, Error> {
        if !self.locks.get() || range.is_empty() {
            return Ok(None);
        }
        let kind = match sharing {
            Sharing::Shared if self.readable() => libc::F_RDLCK,
            _ => libc::F_WRLCK,
        };
        match again(|| self.control(libc::F_OFD_SETLKW, kind, range.clone())) {
            Ok(_) => {
                tern_counters::FILE_LOCKS.add(1);
                Ok(Some(Guard { file: self, range }))
            }
            Err(Errno::NOLCK | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => {
                self.locks.set(false);
                tern_settings::info!("{}: the file system has no byte-range locks", self.path().display());
                Ok(None)
            }
            Err(errno) => Err(self.failed(&format!("lock bytes {} to {}", range.start, range.end), errno)),
        }
    }

    /// Whether byte-range locks work, without which atomic mode is not possible.
    pub fn has_locks(&self) -> bool {
        match self.lock(Sharing::Shared, 0..1) {
            Ok(guard) => guard.is_some(),
            Err(_) => false,
        }
    }

    /// Sets or removes a lock of that kind, or asks about it; returns what the kernel then says of its kind.
    pub(crate) fn control(
        &self, command: libc::c_int, kind: libc::c_int, range: Range<u64>,
    ) -> Result<libc::c_int, Errno> {
        let mut lock = libc::flock {
            l_type: kind as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: range.start as i64,
            l_len: (range.end - range.start) as i64,
            l_pid: 0,
        };
        // SAFETY: the descriptor is open, and the kernel reads and writes one struct flock.
        match unsafe { libc::fcntl(self.fd().as_raw_fd(), command, &mut lock) } {
            -1 => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
            _ => Ok(lock.l_type as libc::c_int),
        }
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        // To give up a lock that one holds cannot fail, and nobody could be told.
        let _ = self.file.control(libc::F_OFD_SETLK, libc::F_UNLCK, self.range.clone());
    }
}
