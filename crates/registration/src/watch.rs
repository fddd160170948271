//! What this process unmaps, told by the kernel before the unmapping call returns.
//!
//! A range is registered with userfaultfd for write protection, and nothing is ever protected: so
//! no access faults, but munmap, mremap, madvise(MADV_DONTNEED or MADV_REMOVE), brk and mmap over the
//! range raise an event, and their caller waits until somebody has read it. That somebody is a thread
//! of its own, since the caller may hold any lock of the program, the allocator's among them. The
//! thread therefore takes no lock and allocates nothing: it notes the range in a ring.
//!
//! The caller goes on when the event has been *read*, which is before it is noted. So the thread says
//! that it is reading before it reads, and [`Watch::take`] waits while it does.
//!
//! Nobody would read what the thread itself unmaps. So it has mapped its own memory before [`Watch::start`] returns: a program
//! that unmaps memory and then maps other at its place finds nothing of the thread's there. And the userfaultfd is closed before
//! it ends, which frees what it had: the C library may give memory back then.
//!
//! Not told: MADV_FREE, which takes nothing from memory that is pinned; guard pages (Linux 6.13), which a
//! program puts where it has no data; and shmdt and the truncation of files, so that only private
//! memory of no file is watched. A child of fork has no watch; it notices by a page that the kernel
//! clears.

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use rustix::io::{Errno, Result, read, write};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;

/// Ranges that may wait to be taken; with more, all memory counts as changed.
const RING: usize = 512;

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

/// `struct uffd_msg`, whose arguments are those of REMAP (from, to, length), or of REMOVE and UNMAP
/// (first, past the last).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Message {
    event: u8,
    reserved: [u8; 7],
    arguments: [u64; 3],
}

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

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// What the thread and its owner share.
struct Shared {
    /// The thread runs.
    started: Barrier,
    /// The thread reads events and has not noted them.
    reading: AtomicBool,
    /// Ranges noted ever, and taken ever.
    noted: AtomicU64,
    taken: AtomicU64,
    /// A range found no room.
    lost: AtomicBool,
    ranges: [(AtomicU64, AtomicU64); RING],
}

impl Shared {
    fn new() -> Shared {
        Shared {
            started: Barrier::new(2),
            reading: AtomicBool::new(false),
            noted: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            lost: AtomicBool::new(false),
            ranges: std::array::from_fn(|_| Default::default()),
        }
    }

    fn note(&self, range: Range<u64>) {
        let noted = self.noted.load(Ordering::Relaxed);
        // Acquire: the place has been read before it is written (partner: `take`).
        if noted - self.taken.load(Ordering::Acquire) == RING as u64 {
            // Relaxed: the release of `reading` follows.
            return self.lost.store(true, Ordering::Relaxed);
        }
        let (start, end) = &self.ranges[noted as usize % RING];
        start.store(range.start, Ordering::Relaxed);
        end.store(range.end, Ordering::Relaxed);
        // Release: the range is written before it counts (partner: `take`).
        self.noted.store(noted + 1, Ordering::Release);
    }
}

/// A word that is 1 in this process and 0 in a child of fork.
struct Mine(*const u64);

impl Mine {
    fn new() -> Result<Mine> {
        let page = rustix::param::page_size();
        // SAFETY: fresh memory of one page, which nobody else knows.
        unsafe {
            let at = mmap_anonymous(std::ptr::null_mut(), page, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)?;
            let mine = Mine(at.cast());
            madvise(at, page, Advice::LinuxWipeOnFork)?;
            at.cast::<u64>().write_volatile(1);
            Ok(mine)
        }
    }

    fn is_set(&self) -> bool {
        // SAFETY: mapped until this is dropped.
        unsafe { self.0.read_volatile() == 1 }
    }
}

impl Drop for Mine {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`; nobody refers to it.
        let _ = unsafe { munmap(self.0.cast_mut().cast(), rustix::param::page_size()) };
    }
}

/// The watch over this process's address space.
pub struct Watch {
    /// The thread's too, which closes it. `None` while this is dropped.
    file: Option<Arc<OwnedFd>>,
    shared: Arc<Shared>,
    /// Written to end the thread.
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    mine: Mine,
}

impl Watch {
    /// Starts the watch.
    ///
    /// Errors: EPERM or ENOSYS where userfaultfd is refused (containers) or not there; EINVAL where it
    /// lacks write protection or events (Linux before 5.7).
    pub fn start() -> Result<Watch> {
        let flags = USER_MODE_ONLY | libc::O_CLOEXEC | libc::O_NONBLOCK;
        // SAFETY: plain arguments.
        let file = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
        if file < 0 {
            return Err(last_error());
        }
        // SAFETY: a fresh descriptor, which nobody else owns.
        let file = Arc::new(unsafe { OwnedFd::from_raw_fd(file as i32) });
        let features = EVENT_REMAP | EVENT_REMOVE | EVENT_UNMAP;
        control(&file, both::<Handshake>(0x3f), &mut Handshake { api: API, features, ioctls: 0 })?;
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let (shared, mine) = (Arc::new(Shared::new()), Mine::new()?);
        let watch = (file.clone(), stop.clone(), shared.clone());
        let name = std::thread::Builder::new().name("tern-unmap".into()).stack_size(64 << 10);
        let thread = without_signals(|| {
            name.spawn(move || {
                let (file, stop, shared) = watch;
                shared.started.wait();
                run(&file, &stop, &shared);
                // First of all that it drops.
                drop(file);
            })
        });
        let thread = thread.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))?;
        shared.started.wait();
        Ok(Watch { file: Some(file), shared, stop, thread: Some(thread), mine })
    }

    /// False in a child of fork, which has no watch.
    #[inline]
    pub fn is_mine(&self) -> bool {
        self.mine.is_set()
    }

    /// Watches these whole pages from now on, as long as they are mapped.
    ///
    /// Errors: EINVAL for memory that cannot be watched, EBUSY when somebody else watches it.
    pub fn watch(&self, start: u64, end: u64) -> Result<()> {
        let mut register = Register { start, len: end - start, mode: MODE_WRITE_PROTECT, ioctls: 0 };
        control(self.file(), both::<Register>(0), &mut register)
    }

    /// Watches these whole pages no longer. Best effort: events too many do no harm.
    pub fn leave(&self, start: u64, end: u64) {
        let _ = control(self.file(), reads::<Stretch>(1), &mut Stretch { start, len: end - start });
    }

    fn file(&self) -> &OwnedFd {
        self.file.as_ref().expect("open until the watch is dropped")
    }

    /// True when [`Watch::take`] has something to tell.
    #[inline]
    pub fn has_news(&self) -> bool {
        let shared = &*self.shared;
        // Acquire: as in `take`.
        let reading = shared.reading.load(Ordering::Acquire);
        reading
            || shared.noted.load(Ordering::Acquire) != shared.taken.load(Ordering::Relaxed)
            || shared.lost.load(Ordering::Relaxed)
    }

    /// Tells what has been unmapped, moved or emptied since the last call, before any call that has
    /// returned by now. False when that is unknown: any memory may have been.
    pub fn take(&mut self, changed: &mut dyn FnMut(u64, u64)) -> bool {
        let shared = &*self.shared;
        // Acquire: what was read is noted (partner: the release in `run`).
        while shared.reading.load(Ordering::Acquire) {
            // It may be on this core.
            std::thread::yield_now();
        }
        let mut taken = shared.taken.load(Ordering::Relaxed);
        // Acquire: the ranges are written (partner: `note`).
        while taken != shared.noted.load(Ordering::Acquire) {
            let (start, end) = &shared.ranges[taken as usize % RING];
            changed(start.load(Ordering::Relaxed), end.load(Ordering::Relaxed));
            taken += 1;
            // Release: the place has been read (partner: `note`).
            shared.taken.store(taken, Ordering::Release);
        }
        !shared.lost.swap(false, Ordering::Relaxed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.is_mine() {
            // The thread is the parent's.
            return std::mem::forget(self.thread.take());
        }
        // The thread's is the last, so that it is closed before the thread ends.
        drop(self.file.take());
        let _ = write(&self.stop, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Runs `start` with all signals blocked, which a thread started there inherits: the program's handlers run
/// in its own threads.
fn without_signals<R>(start: impl FnOnce() -> R) -> R {
    // SAFETY: both sets are plain values that the calls fill in.
    unsafe {
        let (mut all, mut before) = std::mem::zeroed::<(libc::sigset_t, libc::sigset_t)>();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let result = start();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        result
    }
}

/// The thread. Every unmapping of watched memory waits for it: it must not wait for anything else.
fn run(file: &OwnedFd, stop: &OwnedFd, shared: &Shared) {
    loop {
        let mut ready = [PollFd::new(file, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
        if poll(&mut ready, None).is_err_and(|error| error != Errno::INTR) || !ready[1].revents().is_empty() {
            return;
        }
        // Release and acquire of the kernel's locks are between this and the end of the call that is read of.
        shared.reading.store(true, Ordering::SeqCst);
        while let Some(messages) = next(file.as_fd()) {
            messages.into_iter().filter_map(changed).for_each(|range| shared.note(range));
        }
        // Release: all is noted (partner: `take`).
        shared.reading.store(false, Ordering::Release);
    }
}

/// Events that wait; `None` when there is none.
fn next(file: rustix::fd::BorrowedFd<'_>) -> Option<[Message; 8]> {
    let mut bytes = [0u8; 8 * size_of::<Message>()];
    let len = read(file, &mut bytes).ok().filter(|&len| len > 0)?;
    let mut messages = [Message::default(); 8];
    for (message, bytes) in messages.iter_mut().zip(bytes[..len].chunks_exact(size_of::<Message>())) {
        let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| bytes[8 * at + byte]));
        *message = Message { event: bytes[0], arguments: [word(1), word(2), word(3)], ..Message::default() };
    }
    Some(messages)
}

/// The memory that an event is about.
fn changed(message: Message) -> Option<Range<u64>> {
    let [first, second, len] = message.arguments;
    match message.event {
        REMAP => Some(first..first + len),
        REMOVE | UNMAP => Some(first..second),
        _ => None,
    }
}
