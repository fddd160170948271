//! Threads and locks that leave nothing to run when a thread or the program ends.
//!
//! A program may call MPI from exit handlers, from destructors of static objects, and from threads that are ending. The standard
//! library's threads, and the usual crates of locks, keep state in variables of the thread that have a destructor. The loader has run
//! that destructor by then, and it runs it in a library that may have been closed. What is here has no such state.

mod condvar;
mod mutex;
mod rwlock;
mod signals;
mod thread;
mod unseen;

pub use condvar::Condvar;
pub use lock_api;
pub use mutex::{Mutex, MutexGuard, RawMutex};
pub use rwlock::{RwLock, RwLockReadGuard};
pub use signals::without_signals;
pub use thread::Thread;
pub use unseen::{Unseen, unseen};

use rustix::thread::futex;
use std::sync::atomic::AtomicU32;

/// Sleeps while `word` has this value; may end early.
fn sleep(word: &AtomicU32, value: u32) {
    // Whatever the kernel answers, the caller looks at the word again.
    let _ = futex::wait(word, futex::Flags::PRIVATE, value, None);
}

/// Wakes so many sleepers at most; returns how many there were.
fn wake(word: &AtomicU32, most: u32) -> usize {
    futex::wake(word, futex::Flags::PRIVATE, most).unwrap_or(0)
}

/// As many as there are.
const ALL: u32 = i32::MAX as u32;

#[cfg(test)]
mod tests;
