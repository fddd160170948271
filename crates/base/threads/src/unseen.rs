//! A thread that the C library does not know of.
//!
//! A thread of the C library's would make the process one with several threads: its functions take locks then, and memory of the program's
//! can no longer become shared in place. Two of Tern's threads share nothing with the program but its memory, and are of this kind: the one
//! that reads what is unmapped, for which whoever unmaps memory waits, and the one that copies. Such a thread has
//! - descriptors of its own, those that it was given: a program that closes all it finds does not close these;
//! - all signals blocked: the program's handlers run in its own threads;
//! - the thread-local storage of the thread that has started it, so that it must use none: no allocation, no panic, no call into the C
//!   library but those that cannot fail, for a failure writes `errno`.

use crate::without_signals;
use rustix::fd::{AsRawFd, BorrowedFd, RawFd};
use rustix::io::{Errno, Result};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use rustix::thread::{futex, set_name};
use std::ffi::{CStr, c_void};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of its stack.
const STACK: usize = 64 << 10;

/// Threads of this kind that this process has.
static THREADS: AtomicU32 = AtomicU32::new(0);

/// How many threads of this process the C library does not know of. In a child of fork, those of its parent.
pub fn unseen() -> u32 {
    // Relaxed: it changes when such a thread is started or ended, by whoever asks.
    THREADS.load(Ordering::Relaxed)
}

/// How far it has come.
const STARTING: u32 = 0;
const RUNNING: u32 = 1;
const FAILED: u32 = 2;

/// What such a thread does, with its descriptors, which are those that it was given.
pub type Work = fn(shared: *const c_void, files: &[BorrowedFd<'_>]);

/// The most descriptors that a thread is given.
const FILES: usize = 2;

/// What it is started with, at the top of its stack.
struct Begin {
    name: &'static CStr,
    work: Work,
    shared: *const c_void,
    files: [RawFd; FILES],
    given: usize,
    state: AtomicU32,
    /// 0 when the thread has ended: the kernel says so.
    alive: AtomicU32,
}

/// A running thread of this kind.
pub struct Unseen {
    stack: *mut c_void,
    begin: *mut Begin,
}

impl Unseen {
    /// Starts a thread of that name, 15 bytes at most, that does `work`. It has copies of the descriptors, two at most, under the same
    /// numbers, and no others.
    ///
    /// Errors: those of mmap and clone; ENOSYS before Linux 5.9, or what a sandbox says to close_range.
    ///
    /// # Safety
    /// `work` keeps to the rules above. What is at `shared` stays while the thread lives, and may be used by any thread.
    pub unsafe fn start(
        name: &'static CStr, work: Work, shared: *const c_void, files: &[BorrowedFd<'_>],
    ) -> Result<Unseen> {
        let given = files.len();
        let mut numbers = [-1; FILES];
        numbers[..given].iter_mut().zip(files).for_each(|(number, file)| *number = file.as_raw_fd());
        // SAFETY: fresh memory.
        let stack = unsafe {
            mmap_anonymous(std::ptr::null_mut(), STACK, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)?
        };
        // Its top, aligned as the kernel and the compiler want it.
        let begin = stack.wrapping_byte_add(STACK - size_of::<Begin>().next_multiple_of(64)).cast::<Begin>();
        let state = AtomicU32::new(STARTING);
        // SAFETY: inside the stack, of which nobody knows yet.
        unsafe { begin.write(Begin { name, work, shared, files: numbers, given, state, alive: AtomicU32::new(1) }) };
        let thread = ManuallyDrop::new(Unseen { stack, begin });
        // SAFETY: an own stack that stays until the kernel has said that the thread has ended; `main` is made for this.
        if let Err(error) = unsafe { without_signals(|| spawn(begin)) } {
            // SAFETY: there is no thread.
            let _ = unsafe { munmap(stack, STACK) };
            return Err(error);
        }
        // Relaxed, here and in `drop`: a number alone.
        THREADS.fetch_add(1, Ordering::Relaxed);
        let thread = ManuallyDrop::into_inner(thread);
        wait_while(&thread.begin().state, STARTING);
        // Acquire: as in `main`.
        if thread.begin().state.load(Ordering::Acquire) == FAILED { Err(Errno::NOSYS) } else { Ok(thread) }
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

impl Drop for Unseen {
    /// Waits for the end of the thread, which the caller has told to end.
    fn drop(&mut self) {
        wait_while(&self.begin().alive, 1);
        THREADS.fetch_sub(1, Ordering::Relaxed);
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
    if thread < 0 { Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)) } else { Ok(()) }
}

/// The thread.
extern "C" fn main(begin: *mut c_void) -> libc::c_int {
    // SAFETY: what `start` has written; it stays until this thread has ended.
    let begin = unsafe { &*begin.cast::<Begin>() };
    let _ = set_name(begin.name);
    let files = &begin.files[..begin.given];
    let kept = keep_alone(files);
    // Release: partner is the acquire in `wait_while` and `start`.
    begin.state.store(if kept { RUNNING } else { FAILED }, Ordering::Release);
    let _ = futex::wake(&begin.state, futex::Flags::empty(), 1);
    if kept {
        // SAFETY: a descriptor is laid out as its number; those are open in this thread, and nobody else closes them.
        let files = unsafe { std::slice::from_raw_parts(files.as_ptr().cast::<BorrowedFd<'_>>(), files.len()) };
        (begin.work)(begin.shared, files);
    }
    0
}

/// Closes all of this thread's descriptors but those: else a pipe that the program closes would stay open here.
fn keep_alone(files: &[RawFd]) -> bool {
    let next = |from: u32| files.iter().map(|&file| file as u32).filter(|&file| file >= from).min();
    let mut first = 0;
    while let Some(kept) = next(first) {
        if kept > first && !close(first, kept - 1) {
            return false;
        }
        first = kept + 1;
    }
    close(first, u32::MAX)
}

/// Closes these of this thread's descriptors.
fn close(first: u32, last: u32) -> bool {
    // SAFETY: this thread's own descriptors. An error writes `errno`, which is that of the thread in `start`.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) == 0 }
}
