//! The conditions on the whole process: threads, limits, core dumps, devices, memory.

use super::hidden;
use super::refusal::Refusal;
use crate::host::{self, text};
use crate::room::{self, Kept};
use crate::slack;
use rustix::fd::RawFd;
use rustix::process::{Resource, getrlimit};
use std::io::{BufRead, BufReader};

/// Memory that must be left when all copies have been made.
const SPARE: u64 = 64 << 20;

/// All that can change from one promotion to the next, but for the memory. `own`: a descriptor of ours that would be refused.
pub fn check(own: Option<RawFd>) -> Result<(), Refusal> {
    if !host::has_one_thread() {
        return Err(Refusal::Threads);
    }
    // The kernel would end the process with a signal when the node's file grows beyond it.
    if getrlimit(Resource::Fsize).current.is_some() {
        return Err(Refusal::FileLimit);
    }
    if !is_dumped_alike() {
        return Err(Refusal::CoreFilter);
    }
    check_holds(own)
}

/// Whether nothing that is open or mapped may use memory behind the program's back. `own`: as in [`check`].
pub fn check_holds(own: Option<RawFd>) -> Result<(), Refusal> {
    check_descriptors(own)?;
    check_mappings()?;
    hidden::check()
}

/// Whether this process has no more address space and data than its limits allow by now, so that what it gives up can be had again.
pub fn is_within_limits() -> bool {
    let Some(text) = text("/proc/self/statm") else { return false };
    // proc(5): pages of address space, and as the sixth, of data and stack.
    let pages = |index| text.split_ascii_whitespace().nth(index)?.parse::<u64>().ok();
    let page = rustix::param::page_size() as u64;
    [(0, Resource::As), (5, Resource::Data)].into_iter().all(|(index, resource)| {
        let limit = getrlimit(resource).current.unwrap_or(u64::MAX);
        pages(index).is_some_and(|count| count * page <= limit)
    })
}

/// Whether a core dump treats shared memory without a name (bit 1) like private memory (bit 0);
/// core(5).
fn is_dumped_alike() -> bool {
    let filter = text("/proc/self/coredump_filter");
    let filter = filter.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    filter.is_some_and(|bits| bits & 3 == 0 || bits & 3 == 3)
}

/// Refuses open descriptors of anything that could use memory behind the processor's back.
fn check_descriptors(own: Option<RawFd>) -> Result<(), Refusal> {
    let own = own.map(|number| number.to_string());
    let unknown = || Refusal::Descriptor("/proc/self/fd".to_owned());
    for entry in std::fs::read_dir("/proc/self/fd").map_err(|_| unknown())? {
        let path = entry.map_err(|_| unknown())?.path();
        if own.as_ref().is_some_and(|own| path.ends_with(own)) {
            continue;
        }
        let link = std::fs::read_link(&path).map_err(|_| unknown())?;
        let link = link.to_string_lossy();
        let harmless = if link.starts_with("socket:") { is_plain_socket(&path) } else { is_harmless(&link) };
        if !harmless {
            return Err(Refusal::Descriptor(link.into_owned()));
        }
    }
    Ok(())
}

/// By what /proc/self/fd shows: files, pipes, terminals, and the kernel's objects for waiting.
fn is_harmless(link: &str) -> bool {
    // /dev/tern keeps no page that the program has replaced, and what it pins is counted (`hidden`).
    const DEVICES: [&str; 12] = [
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/dev/random",
        "/dev/urandom",
        "/dev/tty",
        "/dev/console",
        "/dev/ptmx",
        "/dev/pts/",
        "/dev/shm/",
        "/dev/hugepages/",
        "/dev/tern",
    ];
    const OBJECTS: [&str; 6] = ["[eventpoll]", "[eventfd]", "[timerfd]", "[signalfd]", "[pidfd]", "inotify"];
    if let Some(object) = link.strip_prefix("anon_inode:") {
        return OBJECTS.contains(&object);
    }
    if link.starts_with("/dev/") {
        return DEVICES.iter().any(|known| link.starts_with(known));
    }
    link.starts_with('/') || link.starts_with("pipe:")
}

/// Of a family that does not register memory (as AF_XDP does).
fn is_plain_socket(path: &std::path::Path) -> bool {
    let number = path.file_name().and_then(|name| name.to_str()?.parse().ok());
    number.is_some_and(|number: i32| {
        let mut family = 0;
        let mut len = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: writes one int; a number that is no socket's is an error.
        let result = unsafe {
            libc::getsockopt(number, libc::SOL_SOCKET, libc::SO_DOMAIN, (&raw mut family).cast(), &raw mut len)
        };
        result == 0 && [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK].contains(&family)
    })
}

/// Refuses mapped devices and rings of asynchronous input and output: some of them need no open
/// descriptor.
fn check_mappings() -> Result<(), Refusal> {
    let unknown = || Refusal::Descriptor("/proc/self/maps".to_owned());
    let maps = std::fs::File::open("/proc/self/maps").map_err(|_| unknown())?;
    for line in BufReader::new(maps).split(b'\n') {
        let line = line.map_err(|_| unknown())?;
        let line = String::from_utf8_lossy(&line);
        // Address, permissions, offset, device, inode; the name may hold blanks.
        let name = line.splitn(6, ' ').nth(5).unwrap_or("").trim_start();
        let harmless = if name.starts_with("anon_inode:") || name.starts_with("/dev/") {
            is_harmless(name)
        } else {
            !name.starts_with("/[aio]")
        };
        if !harmless {
            return Err(Refusal::Descriptor(name.to_owned()));
        }
    }
    Ok(())
}

/// Whether `len` bytes more can be promoted with memory to spare, by the whole machine and by the
/// cgroups of this process (within a cgroup, too much is deadly): for the second copy now, and for copies of all that is promoted then,
/// `promoted` bytes and these, which forks need. `processes` may need as much each.
pub fn has_memory(len: usize, promoted: u64, processes: u32) -> bool {
    let len = len as u64;
    if !slack::is_to_spare(len) {
        return false;
    }
    let copies = (promoted + len).saturating_mul(COPIES.max(2 * u64::from(processes)));
    room::has(copies.saturating_add(len + SPARE), &Kept::new())
}

/// Copies of what is promoted that there must be memory for, at the least.
const COPIES: u64 = 4;

/// Whether the memory at `address` follows no policy of its own about NUMA nodes.
pub fn has_no_policy(address: usize) -> bool {
    const MPOL_F_ADDR: libc::c_long = 2;
    let mut mode: libc::c_int = -1;
    let none = std::ptr::null_mut::<libc::c_ulong>();
    // SAFETY: writes one int; no set of nodes is asked for.
    let result = unsafe { libc::syscall(libc::SYS_get_mempolicy, &raw mut mode, none, 0, address, MPOL_F_ADDR) };
    // A kernel without NUMA has no policies.
    if result == 0 { mode == 0 } else { std::io::Error::last_os_error().raw_os_error() == Some(libc::ENOSYS) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors() {
        for link in
            ["/home/me/nvidia0", "/dev/null", "/dev/pts/3", "pipe:[17]", "/memfd:x (deleted)", "anon_inode:[eventfd]"]
        {
            assert!(is_harmless(link), "{link}");
        }
        for link in [
            "anon_inode:[io_uring]",
            "anon_inode:[userfaultfd]",
            "/dev/infiniband/uverbs0",
            "/dev/nvidia0",
            "/dev/kfd",
            "/dev/dri/renderD128",
            "/dev/vfio/7",
            "socket:[9]",
            "unheard-of:[1]",
        ] {
            assert!(!is_harmless(link), "{link}");
        }
    }
}
