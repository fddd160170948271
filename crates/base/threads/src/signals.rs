//! Signals are for the threads of the program.

/// Runs `start` with all signals blocked, so that threads which it starts get none: signals are for the program's own.
pub fn without_signals<R>(start: impl FnOnce() -> R) -> R {
    // SAFETY: sets of signals are plain data that the calls fill and read.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let result = start();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocked() -> libc::sigset_t {
        // SAFETY: sets of signals are plain data; the call writes this thread's.
        unsafe {
            let mut now: libc::sigset_t = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_SETMASK, std::ptr::null(), &mut now);
            now
        }
    }

    #[test]
    fn a_thread_gets_no_signal_and_its_starter_does_again() {
        // SAFETY: reads a set.
        let has = |set: &libc::sigset_t| unsafe { libc::sigismember(set, libc::SIGUSR1) } == 1;
        let before = has(&blocked());
        let thread = without_signals(|| std::thread::spawn(blocked));
        assert!(has(&thread.join().expect("no panic")));
        assert_eq!(has(&blocked()), before);
    }
}
