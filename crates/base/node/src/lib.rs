//! This machine, as far as this process may use it: cores, cgroup limits, memory, name, interfaces.
//!
//! Everything here costs a few system calls at most, and is asked for only when needed. The layout
//! of the machine (sockets, caches, NUMA) is in [`topology`], which reads many files and is for
//! tools, not for MPI_Init.

mod cgroup;
pub mod clock;
mod connection;
mod interfaces;
mod kernel;
mod locality;
mod made;
pub mod maps;
mod name;
mod shape;
mod shown;
mod system_files;
mod ticks;
pub mod topology;

use std::sync::OnceLock;

pub use cgroup::Limits;
pub use connection::{Connection, unacknowledged};
pub use interfaces::{Interface, interfaces, network};
pub use kernel::{end_process, keep_alive, random};
pub use locality::Locality;
pub use made::{Made, save};
pub use name::is_this_machine;
pub use shape::{Shape, Thread, Unit};
pub use shown::{BOUND, check, is_shown};
pub use system_files::parse_list;
pub use ticks::Ticks;

/// The numbers of the cores (hardware threads) that this thread is placed on, in order: those that it may run on, or those that it counts as
/// bound to on a machine that TERN_TOPOLOGY shows. Where nothing is known, core 0.
///
/// This is for questions of place: what is near to what, and who shares a cache. Who counts cores to run on asks [`usable_cores`].
pub fn affinity() -> Vec<usize> {
    shown::own().unwrap_or_else(kernel_affinity)
}

/// The same for the first thread of another process. `None` if there is no such process, or nothing is known of it.
pub fn affinity_of(process: rustix::process::Pid) -> Option<Vec<usize>> {
    if is_shown() { shown::of(process) } else { kernel_affinity_of(process) }
}

/// The numbers of the real cores that the kernel runs this thread on, in order, whatever TERN_TOPOLOGY shows. Cores above 1023 are not seen.
/// If the kernel refuses to say, core 0.
pub fn kernel_affinity() -> Vec<usize> {
    affinity_in(None).unwrap_or_else(|| vec![0])
}

/// The same for the first thread of another process. `None` if there is no such process.
pub fn kernel_affinity_of(process: rustix::process::Pid) -> Option<Vec<usize>> {
    affinity_in(Some(process))
}

fn affinity_in(process: Option<rustix::process::Pid>) -> Option<Vec<usize>> {
    let set = rustix::thread::sched_getaffinity(process).ok()?;
    let cores = 0..rustix::thread::CpuSet::MAX_CPU;
    Some(cores.filter(|core| set.is_set(*core)).collect())
}

/// How many real cores this thread may run on; at least 1.
pub fn affinity_count() -> usize {
    rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count().max(1) as usize)
}

/// The limits of this process's cgroups, read on the first call.
pub fn limits() -> Limits {
    static LIMITS: OnceLock<Limits> = OnceLock::new();
    *LIMITS.get_or_init(Limits::of_this_process)
}

/// How many cores this process can keep busy: the real cores of its affinity mask, but not more than
/// its cgroup's share of processor time, rounded up. At least 1.
pub fn usable_cores() -> usize {
    usable(affinity_count(), limits().cpus)
}

fn usable(affinity: usize, quota: Option<f64>) -> usize {
    let quota = quota.map_or(usize::MAX, |cpus| cpus.ceil() as usize);
    affinity.min(quota).max(1)
}

/// The most that a page has on any machine, in bytes: those of arm64 have pages of 4, 16 or 64 KiB. What has to begin at a page wherever it is
/// read begins at a multiple of this.
pub const LARGEST_PAGE: usize = 64 << 10;

/// Bytes of a page.
pub fn page_size() -> usize {
    rustix::param::page_size()
}

/// Bytes of memory of the machine.
pub fn memory_total() -> u64 {
    let info = rustix::system::sysinfo();
    // The fields are `unsigned long`, 32 bits wide on some machines.
    #[allow(clippy::useless_conversion)]
    u64::from(info.totalram).saturating_mul(u64::from(info.mem_unit))
}

/// Bytes of memory that this process can have: the machine's, or less if its cgroup says so.
pub fn memory_limit() -> u64 {
    limits().memory.map_or(memory_total(), |limit| limit.min(memory_total()))
}

/// Bytes of memory that this process could still take now: those that the machine has left, or less if its cgroups or the
/// limit of its address space say so. 0 if the kernel does not tell.
pub fn memory_free() -> u64 {
    cgroup::free_memory().min(address_space_left())
}

fn address_space_left() -> u64 {
    let limit = rustix::process::getrlimit(rustix::process::Resource::As).current;
    let Some(limit) = limit else { return u64::MAX };
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split_ascii_whitespace().next()?.parse::<u64>().ok());
    pages.map_or(0, |pages| limit.saturating_sub(pages * page_size() as u64))
}

/// The name that the kernel has for this machine. Nothing is looked up.
pub fn hostname() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// A list of cores as Linux writes it: `0-3,8`.
pub fn list(cores: &[usize]) -> String {
    let mut sorted = cores.to_vec();
    sorted.sort_unstable();
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for core in sorted {
        match parts.last_mut() {
            Some((_, end)) if *end + 1 == core => *end = core,
            _ => parts.push((core, core)),
        }
    }
    let written = parts.iter().map(|(from, to)| match from == to {
        true => from.to_string(),
        false => format!("{from}-{to}"),
    });
    written.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quota_rounds_up_and_never_reaches_zero() {
        assert_eq!(usable(8, None), 8);
        assert_eq!(usable(8, Some(2.5)), 3);
        assert_eq!(usable(2, Some(16.0)), 2);
        assert_eq!(usable(8, Some(0.01)), 1);
    }

    #[test]
    fn affinity_follows_the_mask() {
        let all = kernel_affinity();
        assert_eq!(all.len(), affinity_count());
        let mut one = rustix::thread::CpuSet::new();
        one.set(all[0]);
        // This thread only; the test runner gives each test its own.
        rustix::thread::sched_setaffinity(None, &one).unwrap();
        assert_eq!(kernel_affinity(), [all[0]]);
        let first = rustix::process::getpid();
        assert!(affinity_of(first).is_some_and(|cores| !cores.is_empty()));
        let nobody = rustix::process::Pid::from_raw(i32::MAX).unwrap();
        assert_eq!((affinity_of(nobody), kernel_affinity_of(nobody)), (None, None));
        assert_eq!(usable_cores(), 1);
    }

    #[test]
    fn the_machine_has_memory_and_a_name() {
        assert!(page_size().is_power_of_two() && page_size() <= LARGEST_PAGE);
        assert!(memory_total() > 1 << 20);
        assert!(memory_limit() <= memory_total());
        assert_eq!(hostname(), std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim_end());
    }

    #[test]
    fn lists_are_short() {
        assert_eq!(list(&[]), "");
        assert_eq!(list(&[3]), "3");
        assert_eq!(list(&[8, 0, 1, 2, 9, 5]), "0-2,5,8-9");
    }
}
