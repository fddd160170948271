//! The userfaultfd of a watch: the kernel's interface to it, and nothing else.

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::io::{Errno, Result, read};
use std::ops::Range;

// From <linux/userfaultfd.h>.
const USER_MODE_ONLY: libc::c_int = 1;
const API: u64 = 0xaa;
const EVENT_REMAP: u64 = 1 << 2;
const EVENT_REMOVE: u64 = 1 << 3;
const EVENT_UNMAP: u64 = 1 << 6;
const MODE_WRITE_PROTECT: u64 = 1 << 1;
const REMAP: u8 = 0x14;
const REMOVE: u8 = 0x15;
const UNMAP: u8 = 0x16;

#[repr(C)]
struct Handshake {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct Register {
    start: u64,
    len: u64,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct Stretch {
    start: u64,
    len: u64,
}

/// Bytes of `struct uffd_msg`: the event in the first of its four words, then its arguments: from, to and length of REMAP, first and past
/// the last of REMOVE and UNMAP.
const MESSAGE: usize = 32;

/// `_IOWR` and `_IOR` of type 0xaa.
const fn both<T>(number: u64) -> u64 {
    3 << 30 | (size_of::<T>() as u64) << 16 | API << 8 | number
}
const fn reads<T>(number: u64) -> u64 {
    2 << 30 | (size_of::<T>() as u64) << 16 | API << 8 | number
}

/// Asks the userfaultfd for something.
fn control<T>(file: &OwnedFd, request: u64, argument: &mut T) -> Result<()> {
    // SAFETY: the numbers of the requests carry the size of `T`, which the kernel reads and writes.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), request as _, std::ptr::from_mut(argument)) };
    if result < 0 { Err(last_error()) } else { Ok(()) }
}

pub fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Tells of unmappings, moves and emptied memory, and of no faults. Not blocking.
pub struct Userfaultfd(OwnedFd);

impl Userfaultfd {
    /// Errors: EPERM or ENOSYS where userfaultfd is refused (containers) or not there; EINVAL where it
    /// lacks write protection or events (Linux before 5.7).
    pub fn open() -> Result<Userfaultfd> {
        let flags = USER_MODE_ONLY | libc::O_CLOEXEC | libc::O_NONBLOCK;
        // SAFETY: plain arguments.
        let file = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
        if file < 0 {
            return Err(last_error());
        }
        // SAFETY: a fresh descriptor, which nobody else owns.
        let file = unsafe { OwnedFd::from_raw_fd(file as i32) };
        let features = EVENT_REMAP | EVENT_REMOVE | EVENT_UNMAP;
        control(&file, both::<Handshake>(0x3f), &mut Handshake { api: API, features, ioctls: 0 })?;
        Ok(Userfaultfd(file))
    }

    /// Tells of these whole pages from now on, as long as they are mapped.
    ///
    /// Errors: EINVAL for memory that cannot be watched, EBUSY when somebody else watches it.
    pub fn register(&self, start: u64, end: u64) -> Result<()> {
        let mut register = Register { start, len: end - start, mode: MODE_WRITE_PROTECT, ioctls: 0 };
        control(&self.0, both::<Register>(0), &mut register)
    }

    /// Tells of them no longer.
    pub fn unregister(&self, start: u64, end: u64) -> Result<()> {
        control(&self.0, reads::<Stretch>(1), &mut Stretch { start, len: end - start })
    }
}

impl AsFd for Userfaultfd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Reads events that wait, eight at the most, and notes the memory that they are about; false when there was none. Its system call
/// goes past the C library.
pub fn read_events(file: BorrowedFd<'_>, mut note: impl FnMut(Range<u64>)) -> bool {
    let mut bytes = [0u8; 8 * MESSAGE];
    let Some(len) = read(file, &mut bytes).ok().filter(|&len| len > 0) else { return false };
    for message in bytes[..len].chunks_exact(MESSAGE) {
        let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| message[8 * at + byte]));
        match message[0] {
            REMAP => note(word(1)..word(1) + word(3)),
            REMOVE | UNMAP => note(word(1)..word(2)),
            _ => {}
        }
    }
    true
}
