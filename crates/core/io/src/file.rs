//! An open file.

use std::cell::{Cell, RefCell};
use std::os::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::{FallocateFlags, FileType, Mode as Permission, OFlags};
use rustix::io::Errno;
use tern_counters as counters;

use crate::cost::Calls;
use crate::error::{Class, Error};
use crate::hints::AccessKind;

/// How a file is opened. MPI_MODE_APPEND is no matter of the file: it only says where pointers begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    pub read: bool,
    pub write: bool,
    /// Make it if it is not there, with the permissions 0666 less the umask.
    pub create: bool,
    /// With `create`: it must not be there.
    pub exclusive: bool,
}

/// An open file. Every `File` has an open file description of its own, also for a path that is open
/// already, so that locks of two of them exclude each other.
#[derive(Debug)]
pub struct File {
    fd: OwnedFd,
    path: PathBuf,
    /// Whether the system lets us read: also where only writing was asked for, if it does.
    readable: bool,
    /// Whether there was an RLIMIT_FSIZE when it was opened.
    limited: bool,
    /// Whether byte-range locks have worked so far.
    pub(crate) locks: Cell<bool>,
    /// How it writes beside others.
    pub(crate) habit: Cell<Practice>,
    /// A buffer that was used and is kept for the next access.
    spare: RefCell<Vec<u8>>,
    /// What calls on it cost, so far as seen.
    pub(crate) calls: Calls,
}

/// What others can rely on while a file is written: `write_plainly` and its like set it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Practice {
    /// A lock around each plain write, and no windows.
    #[default]
    Guarded,
    /// No windows; plain writes take no locks.
    Plain,
    /// A lock around each write; windows are written back.
    Windows,
}

/// Memory for data on its way, kept by the file from one access to the next: new pages would cost as
/// much as copying the data.
pub struct Buffer<'a> {
    file: &'a File,
    bytes: Vec<u8>,
}

impl Buffer<'_> {
    /// `len` bytes, with anything in them; those that were there before, unless there are more now.
    ///
    /// Errors: there is no memory for them.
    pub fn room(&mut self, len: usize) -> Result<&mut [u8], Error> {
        if self.bytes.len() < len {
            self.bytes =
                tern_memory::zeroed(len).map_err(|lack| Error::memory("data between memory and file", lack))?;
        }
        Ok(&mut self.bytes[..len])
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        // Another may have come back first: one is enough.
        let mut spare = self.file.spare.borrow_mut();
        if bytes.len() > spare.len() {
            *spare = bytes;
        }
    }
}

impl File {
    /// Opens `path`. A directory is an error of class `BadFile`.
    pub fn open(path: &Path, mode: Mode) -> Result<File, Error> {
        let mut flags = OFlags::CLOEXEC | OFlags::NOCTTY;
        flags.set(OFlags::CREATE, mode.create);
        flags.set(OFlags::EXCL, mode.create && mode.exclusive);
        let open = |access: OFlags| rustix::fs::open(path, flags | access, Permission::from_raw_mode(0o666));
        let (opened, readable) = match (mode.read, mode.write) {
            (_, false) => (open(OFlags::RDONLY), true),
            (true, true) => (open(OFlags::RDWR), true),
            // To change bytes between holes one reads the holes: ask for that too.
            (false, true) => match open(OFlags::RDWR) {
                Err(Errno::ACCESS | Errno::PERM) => (open(OFlags::WRONLY), false),
                opened => (opened, true),
            },
        };
        let what = || format!("open the file for {}", mode.words());
        let fd = opened.map_err(|errno| Error::system(&what(), path, errno))?;
        let status = rustix::fs::fstat(&fd).map_err(|errno| Error::system("look at the file", path, errno))?;
        if FileType::from_raw_mode(status.st_mode) == FileType::Directory {
            return Err(Error::system(&what(), path, Errno::ISDIR));
        }
        Ok(File::of(fd, path, readable))
    }

    /// A file that is open already, for writing, and for reading if it is `readable`.
    pub fn of(fd: OwnedFd, path: &Path, readable: bool) -> File {
        File {
            fd,
            path: path.into(),
            readable,
            limited: limit().is_some(),
            locks: Cell::new(true),
            habit: Cell::default(),
            spare: RefCell::default(),
            calls: Calls::default(),
        }
    }

    /// Removes the file `path` from its directory.
    pub fn delete(path: &Path) -> Result<(), Error> {
        rustix::fs::unlink(path).map_err(|errno| Error::system("delete the file", path, errno))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The descriptor, for what this crate has no word for.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Whether bytes can be read, be it only to write them back.
    pub(crate) fn readable(&self) -> bool {
        self.readable
    }

    /// The number of the device and of the file in it: equal for two names of one file.
    pub fn identity(&self) -> Result<(u64, u64), Error> {
        let status = rustix::fs::fstat(&self.fd).map_err(|errno| self.failed("look at the file", errno))?;
        Ok((status.st_dev, status.st_ino))
    }

    /// Nanoseconds that a call which moves little takes, as far as calls have shown it.
    pub fn call_cost(&self, way: AccessKind) -> u64 {
        self.calls.cost(way) as u64
    }

    /// Bytes in the file.
    pub fn size(&self) -> Result<u64, Error> {
        let status = rustix::fs::fstat(&self.fd).map_err(|errno| self.failed("ask for the size", errno))?;
        Ok(status.st_size as u64)
    }

    /// Cuts the file to `size` bytes, or lengthens it to them with zeros.
    pub fn set_size(&self, size: u64) -> Result<(), Error> {
        let what = || format!("set the size to {size} bytes");
        if self.size()? < size {
            self.check_limit(size, u64::MAX, &what)?;
        }
        again(|| rustix::fs::ftruncate(&self.fd, size)).map_err(|errno| self.failed(&what(), errno))
    }

    /// Has room on the device for the first `size` bytes; a shorter file is lengthened with zeros,
    /// a longer one stays as it is.
    pub fn preallocate(&self, size: u64) -> Result<(), Error> {
        let what = || format!("preallocate {size} bytes");
        if size == 0 {
            return Ok(());
        }
        let before = self.size()?;
        if before < size {
            self.check_limit(size, u64::MAX, &what)?;
        }
        match again(|| rustix::fs::fallocate(&self.fd, FallocateFlags::empty(), 0, size)) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.fill(before, size),
            done => done.map_err(|errno| self.failed(&what(), errno)),
        }
    }

    /// Writes zeros from `from` to `to`: preallocation where the file system has none.
    fn fill(&self, from: u64, to: u64) -> Result<(), Error> {
        let zeros = tern_memory::zeroed(1 << 20).map_err(|lack| Error::memory("zeros to fill the file", lack))?;
        let mut at = from;
        while at < to {
            let len = (to - at).min(zeros.len() as u64) as usize;
            self.write_at(at, &zeros[..len])?;
            at += len as u64;
        }
        Ok(())
    }

    /// Brings all that was written to the device.
    pub fn sync(&self) -> Result<(), Error> {
        again(|| rustix::fs::fsync(&self.fd)).map_err(|errno| self.failed("bring the data to the device", errno))
    }

    /// Closes the file. Some file systems tell only now that they could not write.
    pub fn close(self) -> Result<(), Error> {
        let File { fd, path, .. } = self;
        // SAFETY: the descriptor was ours alone, and is not used again.
        match unsafe { libc::close(fd.into_raw_fd()) } {
            0 => Ok(()),
            _ => {
                let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
                Err(Error::system("close the file", &path, Errno::from_raw_os_error(errno)))
            }
        }
    }

    /// Reads from `offset` on; fewer bytes than asked for only at the end of the file.
    pub fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<usize, Error> {
        let mut done = 0;
        while done < out.len() {
            let (at, left) = (offset + done as u64, out.len() - done);
            match self.transfer(AccessKind::Read, at, left, |fd, at| rustix::io::pread(fd, &mut out[done..], at))? {
                0 => break,
                some => done += some,
            }
        }
        Ok(done)
    }

    /// Writes all of `bytes` at `offset`.
    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let end = offset + bytes.len() as u64;
        self.check_limit(end, bytes.len() as u64, &|| format!("write {} bytes at offset {offset}", bytes.len()))?;
        self.put(offset, bytes)
    }

    /// Writes all of `bytes` at `offset`; the limit has been checked.
    pub(crate) fn put(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let mut done = 0;
        while done < bytes.len() {
            let (at, left) = (offset + done as u64, bytes.len() - done);
            done += self.transfer(AccessKind::Write, at, left, |fd, at| rustix::io::pwrite(fd, &bytes[done..], at))?;
        }
        Ok(())
    }

    /// A call that transfers some of `len` bytes; returns how many. To write nothing is an error: a
    /// device that takes nothing and says nothing would be asked for ever.
    pub(crate) fn transfer(
        &self, way: AccessKind, at: u64, len: usize, mut call: impl FnMut(BorrowedFd<'_>, u64) -> Result<usize, Errno>,
    ) -> Result<usize, Error> {
        let (verb, calls, bytes) = match way {
            AccessKind::Read => ("read", &counters::FILE_READS, &counters::FILE_READ_BYTES),
            AccessKind::Write => ("write", &counters::FILE_WRITES, &counters::FILE_WRITE_BYTES),
        };
        let begin = self.calls.is_due(len).then(Instant::now);
        let called = again(|| call(self.fd.as_fd(), at));
        if let Some(begin) = begin {
            self.calls.note(way, begin.elapsed());
        }
        let done = match (called, way) {
            (Ok(0), AccessKind::Write) => Err(Errno::IO),
            (done, _) => done,
        };
        calls.add(1);
        bytes.add(*done.as_ref().unwrap_or(&0) as u64);
        done.map_err(|errno| self.failed(&format!("{verb} {len} bytes at offset {at}"), errno))
    }

    /// The buffer of this file, until it is dropped; a second one meanwhile is new.
    pub fn buffer(&self) -> Buffer<'_> {
        Buffer { file: self, bytes: self.spare.take() }
    }

    /// The kernel answers a write beyond RLIMIT_FSIZE with a signal that kills: do not ask it. Short
    /// writes, which it would make slow, trust a limit that was not there when the file was opened to be
    /// not there still.
    pub(crate) fn check_limit(&self, end: u64, len: u64, what: &dyn Fn() -> String) -> Result<(), Error> {
        if !self.limited && len <= SHORT {
            return Ok(());
        }
        match limit() {
            Some(limit) if end > limit => {
                let path = self.path.display();
                let text =
                    format!("cannot {} ({path}): the limit of RLIMIT_FSIZE (ulimit -f) is {limit} bytes", what());
                Err(Error { class: Class::Quota, errno: Some(libc::EFBIG), text })
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn failed(&self, what: &str, errno: Errno) -> Error {
        Error::system(what, &self.path, errno)
    }
}

/// The most bytes of a write that does not ask for the limit.
const SHORT: u64 = 64 << 10;

/// Bytes that a file of this process may have.
fn limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Fsize).current
}

impl Mode {
    fn words(self) -> &'static str {
        match (self.read, self.write) {
            (true, true) => "reading and writing",
            (false, true) => "writing",
            (_, false) => "reading",
        }
    }
}

/// Calls again when a signal interrupted it.
pub(crate) fn again<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}
