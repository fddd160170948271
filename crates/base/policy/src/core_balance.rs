//! Whether a process goes to another core, where there are more processes than cores: the rule `spread`.

use crate::rules;
use core::cell::Cell;

/// Changes of process from one look at the cores to the next.
const OFTEN: u32 = 32;
/// The same when going elsewhere does not last: others than these processes use the cores, and the kernel knows more.
const SELDOM: u32 = 1 << 14;

/// When a process looks next.
#[derive(Debug)]
pub struct CoreBalance {
    changes: Cell<u32>,
    pause: Cell<u32>,
}

impl Default for CoreBalance {
    fn default() -> CoreBalance {
        CoreBalance { changes: Cell::new(0), pause: Cell::new(OFTEN) }
    }
}

impl CoreBalance {
    /// The process is about to pass its core on: whether it is time to look.
    #[inline]
    pub fn is_due(&self) -> bool {
        let changes = self.changes.get() + 1;
        let due = changes >= self.pause.get();
        self.changes.set(if due { 0 } else { changes });
        due && rules::SPREAD.applies()
    }

    /// Notes whether the look found something to do.
    pub fn looked(&self, moved: bool) {
        let pause = self.pause.get();
        self.pause.set(if moved { 2 * pause } else { pause / 2 }.clamp(OFTEN, SELDOM));
    }
}

/// The core that a process on `own` should go to: one of `allowed` with two processes less or fewer. `busy` has the core of
/// each process that is awake, this one's too.
pub fn less_busy(own: u32, busy: &[u32], allowed: impl Iterator<Item = u32>) -> Option<u32> {
    let load = |core: u32| busy.iter().filter(|&&other| other == core).count();
    let here = load(own);
    allowed.map(|core| (load(core), core)).min().filter(|&(there, _)| there + 2 <= here).map(|(_, core)| core)
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
                (0..busy.len()).find_map(|process| Some((process, less_busy(busy[process], &busy, 0..4)?)))
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
            if let Some(core) = less_busy(busy[0], &busy, allowed.iter().copied()) {
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
}
