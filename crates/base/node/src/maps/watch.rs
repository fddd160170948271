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
//! Not told: MADV_FREE, which takes nothing from memory that is pinned; guard pages (Linux 6.13), which a
//! program puts where it has no data; mprotect; and shmdt and the truncation of files. A child of fork has no watch; it notices by a
//! page that the kernel clears.

mod userfaultfd;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::io::{Errno, Result, write};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tern_threads::Unseen;
use userfaultfd::{Userfaultfd, read_events};

/// Ranges that may wait to be taken; with more, all memory counts as changed.
const RING: usize = 512;

/// What the thread and its owner share.
struct Shared {
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
    file: Userfaultfd,
    shared: Box<Shared>,
    /// Written to end the thread.
    stop: OwnedFd,
    /// `None` while this is dropped.
    reader: Option<Unseen>,
    mine: Mine,
}

impl Watch {
    /// Starts the watch.
    ///
    /// Errors: EPERM or ENOSYS where userfaultfd is refused (containers) or not there; EINVAL where it
    /// lacks write protection or events (Linux before 5.7); ENOSYS before Linux 5.9.
    pub fn start() -> Result<Watch> {
        let file = Userfaultfd::open()?;
        let stop = eventfd(0, EventfdFlags::CLOEXEC)?;
        let (shared, mine) = (Box::new(Shared::new()), Mine::new()?);
        let address = (&raw const *shared).cast::<c_void>();
        // SAFETY: `run` keeps to the rules; `shared` is dropped after the reader, and is made of atomics.
        let reader = unsafe { Unseen::start(c"tern-unmap", run, address, &[file.as_fd(), stop.as_fd()])? };
        Ok(Watch { file, shared, stop, reader: Some(reader), mine })
    }

    /// Whether [`Watch::start`] would find a userfaultfd that does what it needs. Errors: as there.
    pub fn is_possible() -> Result<()> {
        Userfaultfd::open().map(drop)
    }

    /// Its userfaultfd, as /proc shows it.
    pub fn descriptor(&self) -> RawFd {
        self.file.as_fd().as_raw_fd()
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
        self.file.register(start, end)
    }

    /// Watches these whole pages no longer. Best effort: events too many do no harm.
    pub fn leave(&self, start: u64, end: u64) {
        let _ = self.file.unregister(start, end);
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
        let Some(reader) = self.reader.take() else { return };
        if !self.is_mine() {
            // The thread is the parent's.
            return reader.forget();
        }
        let _ = write(&self.stop, &1u64.to_ne_bytes());
        drop(reader);
    }
}

/// The thread. Every unmapping of watched memory waits for it: it must not wait for anything else. See [`Unseen`] for what else it
/// must not do.
fn run(shared: *const c_void, files: &[BorrowedFd<'_>]) {
    let &[file, stop] = files else { return };
    // SAFETY: what `Watch::start` has given; it outlives the thread.
    let shared = unsafe { &*shared.cast::<Shared>() };
    loop {
        let mut ready = [PollFd::new(&file, PollFlags::IN), PollFd::new(&stop, PollFlags::IN)];
        if poll(&mut ready, None).is_err_and(|error| error != Errno::INTR) || !ready[1].revents().is_empty() {
            return;
        }
        // Release and acquire of the kernel's locks are between this and the end of the call that is read of.
        shared.reading.store(true, Ordering::SeqCst);
        while read_events(file, |range| shared.note(range)) {}
        // Release: all is noted (partner: `take`).
        shared.reading.store(false, Ordering::Release);
    }
}
