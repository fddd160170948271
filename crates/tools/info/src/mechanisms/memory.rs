//! Ways to move data between processes of this machine.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::ptr;

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

use super::{Found, read};
use crate::print::size;

/// Memory from a memfd: what Tern cannot do without between processes.
pub fn memfd() -> Found {
    match try_memfd() {
        Ok(()) => Found::Yes("memfd, nothing in /dev/shm".into()),
        Err((step, errno)) => Found::No(format!(
            "{step}: {errno}; Tern needs this for jobs of more than one process. Look for a \
             seccomp filter or a limit (ulimit -a, memory of the control group)"
        )),
    }
}

/// Makes a page of shared memory and maps it twice.
fn try_memfd() -> Result<(), (&'static str, Errno)> {
    let page = rustix::param::page_size();
    let fd = tern_pmi::new_segment().map_err(|errno| ("memfd_create", errno))?;
    rustix::fs::ftruncate(&fd, page as u64).map_err(|errno| ("ftruncate", errno))?;
    let (a, b) = (map(&fd, page)?, map(&fd, page)?);
    // SAFETY: both mappings are a page long and used only here; volatile, for they are the same
    // memory at two addresses.
    let same = unsafe {
        ptr::write_volatile(a, 42);
        ptr::read_volatile(b) == 42
    };
    for address in [a, b] {
        // SAFETY: mapped above, not used after this.
        let _ = unsafe { rustix::mm::munmap(address.cast(), page) };
    }
    if same { Ok(()) } else { Err(("mmap", Errno::IO)) }
}

fn map(fd: &OwnedFd, length: usize) -> Result<*mut u8, (&'static str, Errno)> {
    // SAFETY: a new mapping at an address of the kernel's choice.
    let mapped = unsafe {
        rustix::mm::mmap(ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, fd, 0)
    };
    mapped.map(|address| address.cast()).map_err(|errno| ("mmap", errno))
}

/// Cross memory attach: process_vm_readv. Ranks are no descendants of each other, so a child tries
/// to read its parent, which is what a security policy may forbid.
pub fn cma() -> Found {
    match child_reads_parent() {
        None => Found::Yes("process_vm_readv between any two processes of a user".into()),
        Some(errno) => Found::No(format!("process_vm_readv: {errno}; {}", cma_remedy(errno))),
    }
}

fn cma_remedy(errno: Errno) -> String {
    let scope = read("/proc/sys/kernel/yama/ptrace_scope");
    match (errno, scope.as_deref()) {
        (Errno::NOSYS, _) => "the kernel was built without CONFIG_CROSS_MEMORY_ATTACH".into(),
        (_, Some(scope @ ("1" | "2" | "3"))) => {
            format!("kernel.yama.ptrace_scope is {scope}; as root: sysctl kernel.yama.ptrace_scope=0")
        }
        _ => "a container or a seccomp filter forbids it; for a container of Docker: \
              --cap-add=SYS_PTRACE. Tern works without it"
            .into(),
    }
}

/// Why a child cannot read a word of this process; none if it can.
fn child_reads_parent() -> Option<Errno> {
    let secret: u64 = 0x7465_726e;
    let address = ptr::from_ref(&secret) as usize;
    let parent = std::process::id() as libc::pid_t;
    // SAFETY: this program has one thread; the child makes one system call and exits with its
    // errno, which fits an exit code.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let mut copy = 0u64;
        let length = size_of::<u64>();
        let local = libc::iovec { iov_base: ptr::from_mut(&mut copy).cast(), iov_len: length };
        let remote = libc::iovec { iov_base: address as *mut _, iov_len: length };
        // SAFETY: the local vector is the word above; the remote one is memory of the parent,
        // which waits for this process.
        let code = unsafe {
            let got = libc::process_vm_readv(parent, &local, 1, &remote, 1, 0);
            match got == length as isize && copy == 0x7465_726e {
                true => 0,
                false => *libc::__errno_location(),
            }
        };
        // SAFETY: ends the child without the parent's exit handlers.
        unsafe { libc::_exit(code) };
    }
    let child = rustix::process::Pid::from_raw(child)?;
    let status = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty());
    match status.ok().flatten().and_then(|(_, status)| status.exit_status()) {
        Some(0) => None,
        Some(errno) => Some(Errno::from_raw_os_error(errno)),
        // A seccomp filter may kill instead of refusing.
        None => Some(Errno::NOSYS),
    }
}

/// Tern's own kernel module.
pub fn kernel_module() -> Found {
    match File::options().read(true).write(true).open("/dev/tern") {
        Ok(_) => Found::Yes("/dev/tern".into()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Found::No("/dev/tern is not there; the module is optional and not loaded".into())
        }
        Err(error) => Found::No(format!("/dev/tern: {error}; see its mode and group")),
    }
}

/// Turning private buffers into shared memory: needs PROCMAP_QUERY, and goes better with userfaultfd.
pub fn promotion() -> Found {
    if let Err(error) = tern_node::maps::Maps::open_exact() {
        return Found::No(format!("the kernel does not answer PROCMAP_QUERY, which came with Linux 6.11: {error}"));
    }
    Found::Yes(match tern_node::maps::watch::Watch::is_possible() {
        Ok(()) => "the kernel answers PROCMAP_QUERY, and tells what a program unmaps (userfaultfd)".into(),
        Err(error) => format!(
            "the kernel answers PROCMAP_QUERY; it is asked at each use, for it does not tell what a program unmaps \
             (userfaultfd: {error})"
        ),
    })
}

/// Huge pages, for shared memory.
pub fn huge_pages() -> Found {
    let meminfo = read("/proc/meminfo").unwrap_or_default();
    let number = |name: &str| -> u64 {
        let line = meminfo.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
    };
    let page = size(number("Hugepagesize:") << 10);
    let chosen = |path: &str| {
        let text = read(path)?;
        Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())
    };
    let private = chosen("/sys/kernel/mm/transparent_hugepage/enabled");
    let shared = chosen("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
    let reserved = number("HugePages_Free:");
    let say = |mode: &Option<String>| mode.clone().unwrap_or("not supported".into());
    let text = format!(
        "of {page}: {reserved} reserved and free; transparent ones for private memory: {}, for \
         shared memory: {}",
        say(&private),
        say(&shared)
    );
    let off = |mode: &Option<String>| matches!(mode.as_deref(), None | Some("never" | "deny"));
    if reserved == 0 && off(&private) && off(&shared) { Found::No(text) } else { Found::Yes(text) }
}
