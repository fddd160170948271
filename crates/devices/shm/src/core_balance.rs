//! How processes are spread over the cores, where there are more of them than cores.
//!
//! Each says on which core it waits. So one who waits for another knows whether that one needs this core. And all see
//! when one core has several processes more than another one, as it is when they have been woken together: whatever they
//! do together then takes as long as the fullest core takes. The kernel looks at that some times a second; processes that
//! wait for each other do so after some changes of process.

use crate::segment::Segment;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::cell::Cell;
use tern_policy::rules;

/// Changes of process from one look at the cores to the next.
const OFTEN: u32 = 32;
/// The same when going elsewhere does not last: others than these processes use the cores, and the kernel knows more.
const SELDOM: u32 = 1 << 14;

/// When this process looks next.
pub(crate) struct CoreBalance {
    changes: Cell<u32>,
    pause: Cell<u32>,
}

impl Default for CoreBalance {
    fn default() -> CoreBalance {
        CoreBalance { changes: Cell::new(0), pause: Cell::new(OFTEN) }
    }
}

impl CoreBalance {
    /// Whether it is time to look.
    #[inline]
    fn is_due(&self) -> bool {
        let changes = self.changes.get() + 1;
        let due = changes >= self.pause.get();
        self.changes.set(if due { 0 } else { changes });
        due
    }

    /// Notes whether the look found something to do.
    fn looked(&self, moved: bool) {
        let pause = self.pause.get();
        self.pause.set(if moved { 2 * pause } else { pause / 2 }.clamp(OFTEN, SELDOM));
    }
}

/// The core that a process on `own` should go to: one of `allowed` with two processes less or fewer. `busy` has the core of
/// each process that is awake, this one's too.
fn better(own: u32, busy: &[u32], allowed: impl Iterator<Item = u32>) -> Option<u32> {
    let load = |core: u32| busy.iter().filter(|&&other| other == core).count();
    let here = load(own);
    allowed.map(|core| (load(core), core)).min().filter(|&(there, _)| there + 2 <= here).map(|(_, core)| core)
}

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

impl CoreBalance {
    /// To be called before each change of process: now and then this one, which is process `me`, goes where there are fewer.
    #[inline]
    pub fn now_and_then(&self, segment: &Segment, me: u32) {
        if self.is_due() && rules::SPREAD.applies() {
            self.balance(segment, me);
        }
    }

    #[cold]
    fn balance(&self, segment: &Segment, me: u32) {
        let core = wait_here(segment, me);
        let all = (0..segment.geometry.processes).map(|process| segment.status(process));
        let busy: Vec<u32> =
            all.filter(|status| !status.doorbell.is_raised()).filter_map(|status| status.core()).collect();
        let Ok(allowed) = sched_getaffinity(None) else { return };
        let cores = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).map(|core| core as u32);
        let better = better(core, &busy, cores);
        self.looked(better.is_some());
        if let Some(core) = better {
            go(core, &allowed);
            segment.status(me).set_core(core);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However processes lie, and whoever looks next: they end spread evenly, after as many moves as there are too many
        /// on a core, and then nobody moves.
        #[test]
        fn all_end_spread_evenly(mut busy in prop::collection::vec(0..4u32, 1..20)) {
            let mut moves = 0;
            while let Some((process, core)) =
                (0..busy.len()).find_map(|process| Some((process, better(busy[process], &busy, 0..4)?)))
            {
                busy[process] = core;
                moves += 1;
                prop_assert!(moves <= 20, "{busy:?}");
            }
            let load = |core: u32| busy.iter().filter(|&&other| other == core).count();
            let (least, most) = ((0..4).map(load).min(), (0..4).map(load).max());
            prop_assert!(most.unwrap() - least.unwrap() <= 1, "{busy:?}");
        }

        /// Nobody leaves the cores that are allowed to it.
        #[test]
        fn only_allowed_cores(busy in prop::collection::vec(0..4u32, 1..20), allowed in prop::collection::btree_set(0..4u32, 1..4)) {
            if let Some(core) = better(busy[0], &busy, allowed.iter().copied()) {
                prop_assert!(allowed.contains(&core));
            }
        }
    }

    #[test]
    fn a_move_that_does_not_last_is_made_more_seldom() {
        let spread = CoreBalance::default();
        (0..20).for_each(|_| spread.looked(true));
        assert_eq!(spread.pause.get(), SELDOM);
        assert_eq!((0..SELDOM).filter(|_| spread.is_due()).count(), 1);
        (0..20).for_each(|_| spread.looked(false));
        assert_eq!(spread.pause.get(), OFTEN);
    }

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
