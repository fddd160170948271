//! A thread that the C library does not know of.
//!
//! A watch must have one: who unmaps memory waits until somebody else has read of it. A thread of the C library's would make
//! the process one with several threads, for which its functions take locks and promotion is over. This one only sleeps, in one system
//! call, and shares nothing with the program but its memory. It has
//! - descriptors of its own, those that it was given: a program that closes all it finds does not close these;
//! - all signals blocked: the program's handlers run in its own threads;
//! - the thread-local storage of the thread that has started it, so that it must use none: no allocation, no call into the C library
//!   that can fail (`errno`), no panic.

use super::userfaultfd::last_error;
use rustix::fd::{AsRawFd, BorrowedFd, RawFd};
use rustix::io::{Errno, Result};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use rustix::thread::{futex, set_name};
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU32, Ordering};
use tern_threads::without_signals;

/// Bytes of its stack.
const STACK: usize = 64 << 10;

/// Threads of this kind that this process has.
static READERS: AtomicU32 = AtomicU32::new(0);

/// See [`READERS`]: the C library knows of none of them. In a child of fork, those of its parent.
pub fn readers() -> u32 {
    // Relaxed: it changes when a watch is started or ended, by whoever asks.
    READERS.load(Ordering::Relaxed)
}

/// How far it has come.
const STARTING: u32 = 0;
const RUNNING: u32 = 1;
const FAILED: u32 = 2;

/// What a reader does, with its two descriptors.
pub type Work = fn(shared: *const c_void, files: [BorrowedFd<'_>; 2]);

/// What it is started with, at the top of its stack.
struct Begin {
    work: Work,
    shared: *const c_void,
    files: [RawFd; 2],
    state: AtomicU32,
    /// 0 when the thread has ended: the kernel says so.
    alive: AtomicU32,
}

/// A running reader.
pub struct Reader {
    stack: *mut c_void,
    begin: *mut Begin,
}

impl Reader {
    /// Starts a thread that does `work`. It has copies of the two descriptors, under the same numbers, and no others.
    ///
    /// Errors: those of mmap and clone; ENOSYS before Linux 5.9, or what a sandbox says to close_range.
    ///
    /// # Safety
    /// `work` keeps to the rules above. What is at `shared` stays while the reader lives, and may be used by any thread.
    pub unsafe fn start(work: Work, shared: *const c_void, files: [BorrowedFd<'_>; 2]) -> Result<Reader> {
        let files = files.map(|file| file.as_raw_fd());
        // SAFETY: fresh memory.
        let stack = unsafe {
            mmap_anonymous(std::ptr::null_mut(), STACK, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)?
        };
        // Its top, aligned as the kernel and the compiler want it.
        let begin = stack.wrapping_byte_add(STACK - size_of::<Begin>().next_multiple_of(64)).cast::<Begin>();
        let state = AtomicU32::new(STARTING);
        // SAFETY: inside the stack, of which nobody knows yet.
        unsafe { begin.write(Begin { work, shared, files, state, alive: AtomicU32::new(1) }) };
        let reader = ManuallyDrop::new(Reader { stack, begin });
        // SAFETY: an own stack that stays until the kernel has said that the thread has ended; `main` is made for this.
        if let Err(error) = unsafe { without_signals(|| spawn(begin)) } {
            // SAFETY: there is no thread.
            let _ = unsafe { munmap(stack, STACK) };
            return Err(error);
        }
        // Relaxed, here and in `drop`: a number alone.
        READERS.fetch_add(1, Ordering::Relaxed);
        let reader = ManuallyDrop::into_inner(reader);
        wait_while(&reader.begin().state, STARTING);
        // Acquire: as in `main`.
        if reader.begin().state.load(Ordering::Acquire) == FAILED { Err(Errno::NOSYS) } else { Ok(reader) }
    }

    fn begin(&self) -> &Begin {
        // SAFETY: written before the thread was started, and unmapped in `drop` alone; both sides share it.
        unsafe { &*self.begin }
    }

    /// To be called in a child of fork, where the thread is not: its memory stays.
    pub fn forget(self) {
        std::mem::forget(self);
    }
}

impl Drop for Reader {
    /// Waits for the end of the thread, which the caller has told to end.
    fn drop(&mut self) {
        wait_while(&self.begin().alive, 1);
        READERS.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: the thread has ended, and nobody else knows of it.
        let _ = unsafe { munmap(self.stack, STACK) };
    }
}

/// Returns when the word is another.
fn wait_while(word: &AtomicU32, value: u32) {
    // Acquire: partner is the release in `main`, or the kernel's when the thread has ended.
    while word.load(Ordering::Acquire) == value {
        // Not private: the kernel wakes who waits for the end of a thread as if it might be of another process.
        let _ = futex::wait(word, futex::Flags::empty(), value, None);
    }
}

/// # Safety
/// `begin` lies at the top of a stack of [`STACK`] bytes that nobody else uses.
unsafe fn spawn(begin: *mut Begin) -> Result<()> {
    // Memory, signal handlers and the process are shared; descriptors are not.
    let flags = libc::CLONE_VM
        | libc::CLONE_FS
        | libc::CLONE_SIGHAND
        | libc::CLONE_THREAD
        | libc::CLONE_SYSVSEM
        | libc::CLONE_CHILD_CLEARTID;
    let none = std::ptr::null_mut::<c_void>();
    // SAFETY: contract; `alive` is where the kernel writes a 0 when the thread has ended.
    let thread = unsafe {
        let alive = (*begin).alive.as_ptr();
        libc::clone(
            main,
            begin.cast(),
            flags,
            begin.cast(),
            none.cast::<libc::pid_t>(),
            none,
            alive.cast::<libc::pid_t>(),
        )
    };
    if thread < 0 { Err(last_error()) } else { Ok(()) }
}

/// The thread.
extern "C" fn main(begin: *mut c_void) -> libc::c_int {
    // SAFETY: what `start` has written; it stays until this thread has ended.
    let begin = unsafe { &*begin.cast::<Begin>() };
    let _ = set_name(c"tern-unmap");
    let kept = keep_alone(begin.files);
    // Release: partner is the acquire in `wait_while` and `start`.
    begin.state.store(if kept { RUNNING } else { FAILED }, Ordering::Release);
    let _ = futex::wake(&begin.state, futex::Flags::empty(), 1);
    if kept {
        // SAFETY: open in this thread, and nobody else closes them.
        (begin.work)(begin.shared, begin.files.map(|file| unsafe { BorrowedFd::borrow_raw(file) }));
    }
    0
}

/// Closes all of this thread's descriptors but two: else a pipe that the program closes would stay open here.
fn keep_alone(files: [RawFd; 2]) -> bool {
    let (low, high) = (files[0].min(files[1]) as u32, files[0].max(files[1]) as u32);
    let close = |first: u32, last: u32| {
        // SAFETY: this thread's own descriptors. An error writes `errno`, which is that of the thread in `start`.
        first > last || unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } == 0
    };
    (low == 0 || close(0, low - 1)) && close(low + 1, high - 1) && close(high + 1, u32::MAX)
}
