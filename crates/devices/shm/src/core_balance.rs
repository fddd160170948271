//! How processes are spread over the cores, where there are more of them than cores.
//!
//! Each says on which core it waits. So one who waits for another knows whether that one needs this core. And all see
//! when one core has several processes more than another one, as it is when they have been woken together: whatever they
//! do together then takes as long as the fullest core takes. The kernel looks at that some times a second; processes that
//! wait for each other do so after some changes of process.

use crate::segment::Segment;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tern_policy::{CoreBalance, less_busy};

/// The core that this thread runs on.
#[inline]
fn this_core() -> u32 {
    // The kernel lays the number of the core into a register for the C library's own use of it (12 bits, the node above).
    // To be read here saves a call into that library, whose page the processor would have forgotten since its last use.
    #[cfg(target_arch = "x86_64")]
    if *HAS_RDTSCP {
        let mut core = 0;
        // SAFETY: the processor has the instruction.
        unsafe { std::arch::x86_64::__rdtscp(&mut core) };
        return core & 0xfff;
    }
    // SAFETY: no arguments, and no memory of ours. What is not known counts as core 0.
    unsafe { libc::sched_getcpu() }.max(0) as u32
}

#[cfg(target_arch = "x86_64")]
static HAS_RDTSCP: std::sync::LazyLock<bool> = std::sync::LazyLock::new(|| {
    use std::arch::x86_64::__cpuid;
    const EXTENDED: u32 = 0x8000_0001;
    __cpuid(0x8000_0000).eax >= EXTENDED && __cpuid(EXTENDED).edx >> 27 & 1 == 1
});

/// Goes to `core`, and may be moved as before from then on.
fn go(core: u32, allowed: &CpuSet) {
    let mut only = CpuSet::new();
    only.set(core as usize);
    // Where that is refused, this process stays where it is.
    if sched_setaffinity(None, &only).is_ok() {
        let _ = sched_setaffinity(None, allowed);
    }
}

/// Says on which core process `me` waits, and returns that.
#[inline]
pub fn wait_here(segment: &Segment, me: u32) -> u32 {
    let core = this_core();
    segment.status(me).set_core(core);
    core
}

/// To be called before each change of process: now and then this one, which is process `me`, goes where there are fewer.
#[inline]
pub fn now_and_then(balance: &CoreBalance, segment: &Segment, me: u32) {
    if balance.is_due() {
        spread(balance, segment, me);
    }
}

#[cold]
fn spread(balance: &CoreBalance, segment: &Segment, me: u32) {
    let core = wait_here(segment, me);
    let all = (0..segment.geometry.processes).map(|process| segment.status(process));
    let busy: Vec<u32> = all.filter(|status| !status.doorbell.is_raised()).filter_map(|status| status.core()).collect();
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let cores = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).map(|core| core as u32);
    let better = less_busy(core, &busy, cores);
    balance.looked(better.is_some());
    if let Some(core) = better {
        go(core, &allowed);
        segment.status(me).set_core(core);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_goes_where_it_should() {
        let Ok(allowed) = sched_getaffinity(None) else { return };
        for core in (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)) {
            go(core as u32, &allowed);
            let after = sched_getaffinity(None).expect("as before");
            assert!((0..CpuSet::MAX_CPU).all(|core| after.is_set(core) == allowed.is_set(core)));
        }
    }
}
