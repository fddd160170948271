//! Children of fork that start no program of their own. A lock belongs to the open file, which a child has too: it would keep its parent's lock
//! after the parent's end. Therefore a handler of fork gives the child another file in the place of that one.

use rustix::fd::{AsRawFd, BorrowedFd};
use std::sync::Once;
use std::sync::atomic::{AtomicI32, Ordering};

/// The descriptors of the file with the lock, and of the other one. A process that forks has one device.
static LOCKED: AtomicI32 = AtomicI32::new(-1);
static PLAIN: AtomicI32 = AtomicI32::new(-1);

/// Children get `plain` in the place of `locked`. Both stay open until [`get_nothing_for`].
pub fn get_in_place_of(locked: BorrowedFd<'_>, plain: BorrowedFd<'_>) {
    static REGISTERED: Once = Once::new();
    // SAFETY: the handler makes one system call. Without memory for it a child keeps the lock.
    REGISTERED.call_once(|| _ = unsafe { libc::pthread_atfork(None, None, Some(in_child)) });
    PLAIN.store(plain.as_raw_fd(), Ordering::Relaxed);
    // Release: pairs with the acquire in `in_child`.
    LOCKED.store(locked.as_raw_fd(), Ordering::Release);
}

/// `locked` is about to be closed.
pub fn get_nothing_for(locked: BorrowedFd<'_>) {
    let _ = LOCKED.compare_exchange(locked.as_raw_fd(), -1, Ordering::Relaxed, Ordering::Relaxed);
}

extern "C" fn in_child() {
    // Acquire: pairs with the release in `get_in_place_of`.
    let locked = LOCKED.load(Ordering::Acquire);
    if locked >= 0 {
        // SAFETY: two descriptors of this library, which the child inherits; nobody looks at what the first one stands for.
        unsafe { libc::dup3(PLAIN.load(Ordering::Relaxed), locked, libc::O_CLOEXEC) };
    }
}
