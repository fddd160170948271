//! Signals, taken as messages instead of by handlers.

use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::io::Errno;

/// The signals that the launcher takes.
const TAKEN: [libc::c_int; 9] = [
    libc::SIGCHLD,
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGCONT,
];

/// A signal that came.
#[derive(Clone, Copy, Debug)]
pub struct Signal {
    /// Its number.
    pub number: libc::c_int,
    /// Whether the kernel sent it, as for a key on the terminal: then every process of the
    /// terminal's foreground group has it too.
    pub from_kernel: bool,
}

/// Blocks the signals that are taken, for this process; gives the mask from before, for the ranks.
pub fn block() -> libc::sigset_t {
    // SAFETY: both sets are initialised by the calls; a child status that the caller of mpiexec
    // chose to ignore would be lost, so its default comes back.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigprocmask(libc::SIG_BLOCK, &taken(), &mut before);
        before
    }
}

/// The signal mask of this thread.
pub fn current() -> libc::sigset_t {
    // SAFETY: plain data that the call fills.
    unsafe {
        let mut mask: libc::sigset_t = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut mask);
        mask
    }
}

/// Lets signals have their effect again.
pub fn unblock() {
    // SAFETY: a set of signals that are valid.
    unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, &taken(), std::ptr::null_mut()) };
}

fn taken() -> libc::sigset_t {
    // SAFETY: sigemptyset initialises the set, and the signals are valid.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in TAKEN {
            libc::sigaddset(&mut set, signal);
        }
        set
    }
}

/// Runs `work` with every signal blocked.
pub fn with_all_blocked<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: the sets are initialised by the calls.
    let before = unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigprocmask(libc::SIG_SETMASK, &all, &mut before);
        before
    };
    let result = work();
    // SAFETY: the mask from before.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &before, std::ptr::null_mut()) };
    result
}

/// Waits for the next of the signals that are taken.
pub fn wait() -> Signal {
    loop {
        // SAFETY: both are plain data that the call fills.
        let (number, info) = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            (libc::sigwaitinfo(&taken(), &mut info), info)
        };
        if number > 0 {
            return Signal { number, from_kernel: info.si_code == libc::SI_KERNEL };
        }
    }
}

/// The signals that are taken, as a descriptor to poll.
pub struct Signals(OwnedFd);

impl Signals {
    /// To be made after [`block`].
    pub fn new() -> rustix::io::Result<Signals> {
        // SAFETY: makes a new descriptor, which is owned from here on.
        unsafe {
            let fd = libc::signalfd(-1, &taken(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if fd < 0 {
                return Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::NFILE));
            }
            Ok(Signals(OwnedFd::from_raw_fd(fd)))
        }
    }

    /// The next signal that waits, if any.
    pub fn next(&self) -> Option<Signal> {
        let mut bytes = [0u8; size_of::<libc::signalfd_siginfo>()];
        let length = rustix::io::read(&self.0, &mut bytes).ok()?;
        if length != bytes.len() {
            return None;
        }
        // SAFETY: plain data of just this size, filled by the kernel.
        let info: libc::signalfd_siginfo = unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) };
        Some(Signal { number: info.ssi_signo as libc::c_int, from_kernel: info.ssi_code == libc::SI_KERNEL })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Sends a signal; a process that is gone is no error.
pub fn send(pid: libc::pid_t, signal: libc::c_int) {
    // 0 and negative numbers would mean groups.
    if pid > 0 {
        // SAFETY: a system call without memory.
        unsafe { libc::kill(pid, signal) };
    }
}

/// The name of a signal, such as SIGSEGV.
pub fn name(signal: libc::c_int) -> String {
    let known = match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL: an instruction that this processor does not know",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT: the program aborted itself",
        libc::SIGBUS => "SIGBUS: memory that is mapped but not there",
        libc::SIGFPE => "SIGFPE: wrong arithmetic, such as an integer division by zero",
        libc::SIGKILL => "SIGKILL: by somebody, or by the kernel for want of memory",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV: memory that is not mapped",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE: nobody reads its output",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU: its limit of processor time",
        libc::SIGXFSZ => "SIGXFSZ: its limit of file size",
        libc::SIGSYS => "SIGSYS: a system call that is not allowed",
        _ => return format!("signal {signal}"),
    };
    known.into()
}
