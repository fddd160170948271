//! Starts one process.
//!
//! The child shares the launcher's memory until it executes its program (`CLONE_VM` and
//! `CLONE_VFORK`), so that nothing is copied and an error comes back in a variable. Unlike
//! posix_spawn this allows a death signal and an affinity mask.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::fd::RawFd;
use std::ptr;

use rustix::io::Errno;

/// What to start, prepared so that the child has nothing left to allocate.
pub struct Process<'a> {
    /// File to execute.
    pub file: &'a CStr,
    /// Arguments, the first one being the name as the user gave it.
    pub args: &'a [CString],
    /// Environment, `NAME=VALUE`.
    pub env: &'a [&'a CStr],
    /// Working directory, if another.
    pub wdir: Option<&'a CStr>,
    /// Pairs of a descriptor and the number that it gets in the child, done in order.
    pub fds: &'a [(RawFd, RawFd)],
    /// Cores to run on, if bound.
    pub cores: Option<&'a [usize]>,
    /// The signal mask of the program.
    pub mask: &'a libc::sigset_t,
    /// The limit on open files to go back to, if the launcher raised its own.
    pub files: Option<libc::rlimit>,
}

/// What the child must do, as plain pointers, and what went wrong.
struct Orders {
    file: *const c_char,
    args: *const *const c_char,
    /// The same with a shell in front, for scripts that do not name theirs.
    shell_args: *const *const c_char,
    env: *const *const c_char,
    wdir: *const c_char,
    fds: *const (RawFd, RawFd),
    fd_count: usize,
    cores: *const libc::cpu_set_t,
    mask: *const libc::sigset_t,
    files: *const libc::rlimit,
    parent: libc::pid_t,
    failed: c_int,
}

/// Bytes of stack for the child, which calls the system and nothing deep.
const STACK: usize = 64 << 10;

/// Starts the process and returns its number once its program runs, or why it does not.
///
/// The process gets SIGKILL when the calling thread ends.
pub fn spawn(process: &Process<'_>) -> Result<libc::pid_t, Errno> {
    let mut args: Vec<*const c_char> = process.args.iter().map(|arg| arg.as_ptr()).collect();
    args.push(ptr::null());
    let mut shell_args = vec![c"/bin/sh".as_ptr(), process.file.as_ptr()];
    shell_args.extend_from_slice(&args[1..]);
    let mut env: Vec<*const c_char> = process.env.iter().map(|entry| entry.as_ptr()).collect();
    env.push(ptr::null());
    let cores = process.cores.map(cpu_set);
    let mut orders = Orders {
        file: process.file.as_ptr(),
        args: args.as_ptr(),
        shell_args: shell_args.as_ptr(),
        env: env.as_ptr(),
        wdir: process.wdir.map_or(ptr::null(), CStr::as_ptr),
        fds: process.fds.as_ptr(),
        fd_count: process.fds.len(),
        cores: cores.as_ref().map_or(ptr::null(), ptr::from_ref),
        mask: process.mask,
        files: process.files.as_ref().map_or(ptr::null(), ptr::from_ref),
        parent: rustix::process::getpid().as_raw_pid(),
        failed: 0,
    };
    // Not written to: the child touches a page or two of it.
    let mut stack = Vec::<u128>::with_capacity(STACK / size_of::<u128>());
    let top = stack.spare_capacity_mut().as_mut_ptr_range().end;
    // SAFETY: the stack is the child's alone, its top is aligned to 16 bytes, and `orders` and all
    // it points to outlive the child's use: CLONE_VFORK holds this thread until the child has
    // executed its program or exited. Every signal is blocked (see `signals`), so no handler runs
    // in the child meanwhile.
    let pid = unsafe {
        libc::clone(
            child,
            top.cast(),
            libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
            ptr::from_mut(&mut orders).cast(),
        )
    };
    if pid < 0 {
        return Err(last_errno());
    }
    // SAFETY: `orders` is a live local; the read is volatile because the child wrote it.
    match unsafe { ptr::read_volatile(&raw const orders.failed) } {
        0 => Ok(pid),
        errno => {
            // It has exited; it must not be counted among the ranks.
            let _ =
                rustix::process::waitpid(rustix::process::Pid::from_raw(pid), rustix::process::WaitOptions::empty());
            Err(Errno::from_raw_os_error(errno))
        }
    }
}

/// Runs in the child. Never returns.
extern "C" fn child(orders: *mut c_void) -> c_int {
    // SAFETY: the pointer that `spawn` gave; its thread waits, so nobody else uses it.
    let orders = unsafe { &mut *orders.cast::<Orders>() };
    // SAFETY: as above.
    let errno = unsafe { obey(orders) };
    // SAFETY: as above; volatile, for the parent reads it in what it takes for one run.
    unsafe { ptr::write_volatile(&raw mut orders.failed, errno) };
    // SAFETY: ends the child without running the parent's exit handlers.
    unsafe { libc::_exit(127) }
}

/// Prepares the process and executes the program. Returns only if that fails, with the errno.
///
/// # Safety
/// To be called in a child that shares memory with its waiting parent, with valid orders.
unsafe fn obey(orders: &Orders) -> c_int {
    let failed = |result: c_int| result < 0;
    // SAFETY: plain system calls whose pointers come from `spawn` and are valid; none of them
    // allocates or takes a lock of the parent's memory.
    unsafe {
        if failed(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL)) {
            return last_errno().raw_os_error();
        }
        if libc::getppid() != orders.parent {
            // The launcher died before the death signal was set.
            libc::_exit(127);
        }
        // Rust ignores SIGPIPE for the launcher; programs expect the default.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        if !orders.cores.is_null() {
            // A core may have gone offline since; then the rank runs unbound.
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), orders.cores);
        }
        if !orders.wdir.is_null() && failed(libc::chdir(orders.wdir)) {
            return last_errno().raw_os_error();
        }
        for at in 0..orders.fd_count {
            let (from, to) = *orders.fds.add(at);
            let done = if from == to { libc::fcntl(to, libc::F_SETFD, 0) } else { libc::dup2(from, to) };
            if failed(done) {
                return last_errno().raw_os_error();
            }
        }
        // The descriptors' numbers may be above it, so it comes last.
        if !orders.files.is_null() {
            libc::setrlimit(libc::RLIMIT_NOFILE, orders.files);
        }
        libc::sigprocmask(libc::SIG_SETMASK, orders.mask, ptr::null_mut());
        libc::execve(orders.file, orders.args, orders.env);
        let errno = last_errno();
        if errno == Errno::NOEXEC {
            libc::execve(c"/bin/sh".as_ptr(), orders.shell_args, orders.env);
        }
        errno.raw_os_error()
    }
}

fn last_errno() -> Errno {
    // SAFETY: errno of this thread, which glibc always has.
    Errno::from_raw_os_error(unsafe { *libc::__errno_location() })
}

fn cpu_set(cores: &[usize]) -> libc::cpu_set_t {
    // SAFETY: a set of bits; all zero is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for core in cores {
        // SAFETY: cores come from an affinity mask of this size.
        unsafe { libc::CPU_SET(*core, &mut set) };
    }
    set
}
