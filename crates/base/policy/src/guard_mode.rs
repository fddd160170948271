//! Whether elements of a member's memory are combined by the processor's atomic instructions or by kernels under its guard: the rule `guard-mode`.
//!
//! Single elements are combined fastest by instructions, rows by kernels. While kernels may come, all go under the guard: that is the guard's *mode*, and to
//! change it takes as long as instructions for some thousand elements. So each mode lasts until what it has cost, beside the other one, comes to that
//! much: rows alone, or single elements alone, lose no more than about one change to the wrong mode, and another one to leave it. Where they take turns, and
//! the guard turns out to be the wrong one, the next try comes later each time.
//!
//! What has been learned are two numbers, which lie beside the guard, in memory that all members share. *Better* says how much better the guard would have
//! been, or has been, than instructions since the mode has changed. *Wrong* says how often the guard has been the wrong mode, without the times it was the
//! right one. Costs are in elements that one process combines by instructions.

use crate::rules;

/// A row has more elements. Fewer take as long by instructions as entering a guard does.
const FEW: usize = 16;
/// What a change of the mode costs. It is small for the model checker, as all such numbers.
pub const CHANGE: i32 = if cfg!(loom) { 4 } else { 4096 };
/// What entering the guard costs one who was there last.
const ENTRY: i32 = if cfg!(loom) { 2 } else { 6 };
/// What it costs another one, who waits for cache lines.
const OTHER_ENTRY: i32 = if cfg!(loom) { 3 } else { 40 };
/// The guard is the right mode when it has saved so much. It takes more than being wrong, for many accesses are of one kind
/// by chance.
const RIGHT: i32 = if cfg!(loom) { CHANGE } else { 4 * CHANGE };
/// So often, at most, is the time until instructions are forbidden doubled.
const DOUBLINGS: u32 = 7;

/// Whether a row of elements is combined by atomic instructions, where the mode of its guard allows them, and not by a kernel under
/// the guard. `whole`: the row is to be replaced all at once, which instructions cannot. `bears`: what the guard has learned of rows.
#[inline(always)]
pub fn by_instructions(elements: usize, whole: bool, bears: impl FnOnce() -> bool) -> bool {
    !whole && (elements <= FEW || bears() || !rules::GUARD_MODE.applies())
}

/// A row is to be combined where instructions are allowed: how much better the guard would have been then. `None`: a change of the mode costs no more than
/// this row, or than all that have come.
#[inline]
pub fn bears(better: i32, wrong: u32, elements: usize) -> Option<i32> {
    if elements >= CHANGE as usize {
        return None;
    }
    let better = better + elements as i32 - ENTRY;
    (better < CHANGE << wrong).then_some(better)
}

/// Elements were combined under the guard, where instructions are forbidden and could have done it: how much better it has been then, and whether it has
/// proved right or wrong, if it has proved either. `again`: by the one who was inside last.
#[inline]
pub fn combined(better: i32, elements: usize, again: bool) -> (i32, Option<bool>) {
    let entry = if again { ENTRY } else { OTHER_ENTRY };
    let better = better + elements.min(CHANGE as usize) as i32 - entry;
    let proved = better <= -CHANGE || better >= RIGHT;
    (better.min(RIGHT), proved.then_some(better > 0))
}

/// How often the guard has been the wrong mode, once it has proved right or wrong.
pub fn wrong_after(wrong: u32, right: bool) -> u32 {
    if right { wrong.saturating_sub(1) } else { (wrong + 1).min(DOUBLINGS) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A guard, as one thread sees it.
    #[derive(Default)]
    struct Guard {
        forbids: bool,
        better: i32,
        wrong: u32,
        last: usize,
    }

    impl Guard {
        fn bears(&mut self, elements: usize) -> bool {
            let better = if self.forbids { None } else { bears(self.better, self.wrong, elements) };
            self.better = better.unwrap_or(self.better);
            better.is_some()
        }

        fn change(&mut self, forbids: bool) {
            (self.forbids, self.better) = (forbids, 0);
        }
    }

    /// What elements cost that `rank` combines, and the changes of the mode that come with them.
    fn combine(guard: &mut Guard, rank: usize, elements: usize) -> i32 {
        let allowed = !guard.forbids;
        if allowed && by_instructions(elements, false, || guard.bears(elements)) {
            return elements as i32;
        }
        if allowed {
            guard.change(true);
        }
        let again = std::mem::replace(&mut guard.last, rank) == rank;
        let (better, right) = combined(guard.better, elements, again);
        guard.better = better;
        if let Some(right) = right {
            guard.wrong = wrong_after(guard.wrong, right);
            if !right {
                guard.change(false);
            }
        }
        (if allowed { CHANGE } else { 0 }) + if again { ENTRY } else { OTHER_ENTRY }
    }

    #[test]
    fn rows_come_under_the_guard_when_instructions_have_cost_a_change() {
        let mut guard = Guard::default();
        let cost: i32 = (0..1000).map(|_| combine(&mut guard, 0, 100)).sum();
        assert!(guard.forbids);
        assert!(cost <= 1000 * ENTRY + 2 * CHANGE, "{cost}");
    }

    #[test]
    fn a_long_row_is_worth_a_change() {
        assert_eq!(combine(&mut Guard::default(), 0, 100_000), CHANGE + ENTRY);
    }

    #[test]
    fn single_elements_come_back_to_instructions() {
        let mut guard = Guard::default();
        while !guard.forbids {
            combine(&mut guard, 0, 100);
        }
        let cost: i32 = (0..10_000).map(|at| combine(&mut guard, at % 2, 1)).sum();
        assert!(!guard.forbids);
        assert!(cost <= 10_000 + 2 * CHANGE, "{cost}");
    }

    #[test]
    fn where_the_guard_is_wrong_it_is_seldom_tried() {
        let mut guard = Guard::default();
        let mut least = 0;
        let rounds = 20_000;
        let cost: i32 = (0..rounds)
            .map(|round| {
                // Two ranks take turns at the single elements, as if they came at once.
                let row = combine(&mut guard, round % 2, 64);
                least += 64 + 8;
                row + (0..8).map(|at| combine(&mut guard, at % 2, 1)).sum::<i32>()
            })
            .sum();
        assert!(cost < least + least / 5, "{cost} of {least}");
    }

    #[test]
    fn long_rows_go_by_instructions_while_the_guard_bears_them() {
        let unasked = || -> bool { unreachable!("short rows are not asked about") };
        assert!(by_instructions(FEW, false, unasked) && !by_instructions(FEW, true, unasked));
        assert!(by_instructions(FEW + 1, false, || true) && !by_instructions(FEW + 1, false, || false));
    }
}
