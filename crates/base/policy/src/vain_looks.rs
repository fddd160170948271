//! Whether a program that looks for its messages in a loop passes its core on: the rule `give-way`.

use crate::rules;
use core::cell::Cell;

/// Looks in vain after which a program that calls MPI_Test or MPI_Iprobe in a loop passes its core on, and again after
/// so many more. It may as well do a little work between two looks; passing on after each then costs more than the work.
const VAIN: u32 = 16;

/// Looks of nonblocking calls, one after the other, that found nothing.
#[derive(Debug, Default)]
pub struct VainLooks(Cell<u32>);

impl VainLooks {
    /// A nonblocking call has looked, and something has `moved` or nothing has. Whether to let others on the core now: such a program waits without
    /// saying so. `crowded`: more processes are awake than there are cores.
    #[inline]
    pub fn look(&self, moved: bool, crowded: impl FnOnce() -> bool) -> bool {
        let vain = if moved { 0 } else { self.0.get().saturating_add(1) };
        self.0.set(vain);
        vain > 0 && vain.is_multiple_of(VAIN) && crowded() && rules::GIVE_WAY.applies()
    }

    /// How many there were since something last moved.
    pub fn count(&self) -> u32 {
        self.0.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sixteenth_look_in_vain_gives_way_where_cores_are_scarce() {
        let looks = VainLooks::default();
        let gives_way = |looks: &VainLooks| (1..=40).filter(|_| looks.look(false, || true)).count();
        assert_eq!(gives_way(&looks), 2);
        assert_eq!(looks.count(), 40);
        assert!(!looks.look(true, || unreachable!("something has moved")));
        assert_eq!((looks.count(), gives_way(&looks)), (0, 2), "it begins anew");
        assert!((0..100).all(|_| !looks.look(false, || false)), "there is a core for each");
    }
}
