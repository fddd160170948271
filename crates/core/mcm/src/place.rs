//! Where a process is, as far as memory can be shared.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use tern_pmi::Job;

/// A number that processes have in common which can share memory and reach each other by Unix sockets: of one machine and
/// one network namespace. Simulated nodes are places of their own. Never 0.
pub fn here(job: &Job) -> u64 {
    let mut place = DefaultHasher::new();
    // Where neither is told, the name of the machine decides.
    std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default().hash(&mut place);
    std::fs::metadata("/proc/self/ns/net").map_or(0, |file| file.ino()).hash(&mut place);
    rustix::system::uname().nodename().hash(&mut place);
    job.simulated.then_some(job.node).hash(&mut place);
    place.finish().max(1)
}
