//! Which copies a process gives to a thread of the library, so that its program computes meanwhile (asynchronous copies of the KNEM paper, by
//! a core that the job leaves idle).
//!
//! A copy that is given away begins later by the time that a thread takes to wake up. That pays where the program goes on computing, the copy
//! is long, and the thread takes no core from anybody.

use crate::costs::{Costs, Mover, Placement, Warmth};
use crate::pair::Pair;
use tern_settings::Offload;

/// Shorter copies take less than a thread needs to wake up, whoever makes them: nothing has to be found out for them.
pub const MAY_PAY_FROM: u64 = 64 << 10;

/// What is known of the cores of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spare {
    /// The process has one thread, of the program's.
    pub one_thread: bool,
    /// Hardware threads that the process may run on, or what the limits of its container leave of them.
    pub cores: usize,
    /// Processes of the job that may run on one of these, with this one.
    pub sharers: usize,
}

impl Spare {
    /// Whether a thread that copies takes no core from a rank: each of those which share these cores could have such a thread.
    pub fn has_core(&self) -> bool {
        self.one_thread && self.cores >= 2 * self.sharers
    }
}

/// Who copies while the program goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// A thread of the process, through its view of the other's memory.
    View,
    /// A thread of the process, which has the kernel copy by process number.
    Number,
    /// The kernel module, which needs no thread of the process.
    Module,
}

/// Whether a process may have somebody that copies for it. `module`: the kernel module is there. `spare` is asked where it decides.
pub fn may_have_copier(asked: Offload, module: bool, spare: impl FnOnce() -> Spare) -> bool {
    match asked {
        Offload::Off => false,
        Offload::Thread => true,
        Offload::Module | Offload::Dma => module,
        Offload::Auto => spare().has_core(),
    }
}

/// Whether a message of `size` bytes goes beside the program: a thread may copy it, and the program does not wait. Then neither side is copied for by
/// the other's calls, even where both are in one collective.
pub fn goes_beside(pair: &Pair, size: usize, waits: bool) -> bool {
    pair.copies_beside && !waits && size as u64 >= MAY_PAY_FROM
}

/// Whether memory of `len` bytes is declared to the module at its first use, so that the module can be given copies of it.
pub fn declares(asked: Offload, len: usize) -> bool {
    matches!(asked, Offload::Module | Offload::Dma) && len as u64 >= MAY_PAY_FROM
}

/// Whether a copy out of, or into, memory that is declared to the module is given to that. Else a thread makes it, if one may.
pub fn goes_to_module(asked: Offload, costs: &Costs, placement: Placement, size: u64) -> bool {
    let at = |mover| costs.pace(placement).at(mover, Warmth::Warm, size);
    match asked {
        Offload::Module | Offload::Dma => true,
        Offload::Auto => at(Mover::Module) <= at(Mover::Cma),
        Offload::Off | Offload::Thread => false,
    }
}

/// Whether a thread may make a copy that does not go to the module.
pub fn has_thread(asked: Offload) -> bool {
    matches!(asked, Offload::Auto | Offload::Thread)
}

/// Whether a copy of `size` bytes is long enough to be given away: it takes twice the time that a thread needs to wake up.
pub fn is_worth_a_thread(costs: &Costs, placement: Placement, by_kernel: bool, size: u64) -> bool {
    let mover = if by_kernel { Mover::Cma } else { Mover::Mapped };
    costs.pace(placement).at(mover, Warmth::Warm, size) >= 2.0 * costs.wake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_takes_no_core_from_a_rank() {
        let own = Spare { one_thread: true, cores: 8, sharers: 1 };
        assert!(own.has_core() && Spare { sharers: 4, ..own }.has_core());
        assert!(!Spare { sharers: 5, ..own }.has_core(), "some would share a core");
        assert!(!Spare { cores: 1, ..own }.has_core(), "it is bound to its core");
        assert!(!Spare { one_thread: false, ..own }.has_core(), "the program's threads have the others");
    }

    #[test]
    fn what_the_user_asks_for_counts_first() {
        let none = Spare { one_thread: false, cores: 1, sharers: 1 };
        let asked = |asked| may_have_copier(asked, false, || none);
        assert_eq!([Offload::Off, Offload::Auto, Offload::Thread].map(asked), [false, false, true]);
        assert!(!may_have_copier(Offload::Off, true, || unreachable!("nobody asks")));
        let module = |module| may_have_copier(Offload::Module, module, || unreachable!("the kernel's threads copy"));
        assert!(module(true) && !module(false));
        assert!(may_have_copier(Offload::Auto, false, || Spare { one_thread: true, cores: 2, sharers: 1 }));
    }

    #[test]
    fn short_copies_are_made_at_once() {
        let costs = Costs::default();
        for by_kernel in [false, true] {
            let is_worth = |size| is_worth_a_thread(&costs, Placement::L3, by_kernel, size);
            assert!(!is_worth(4 << 10) && is_worth(1 << 20));
        }
        let sleepy = Costs { wake: 1e9, ..Costs::default() };
        assert!(!is_worth_a_thread(&sleepy, Placement::L3, false, 1 << 20));
    }
}
