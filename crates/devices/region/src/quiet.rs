//! Signals, kept away for a moment.

use std::mem::MaybeUninit;

/// No signal handler runs in this thread while this lives: it could store to memory that is being copied, or fork.
pub struct Quiet(libc::sigset_t);

impl Quiet {
    pub fn new() -> Quiet {
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: sigfillset initialises `all`, and pthread_sigmask `before`; with these arguments
        // neither fails.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            Quiet(before.assume_init())
        }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // SAFETY: a mask that pthread_sigmask gave.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }
}
