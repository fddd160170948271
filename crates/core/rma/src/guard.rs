//! Who may combine elements of a member's memory now: anybody, by the processor's atomic instructions, or
//! one at a time, under a guard.
//!
//! Some elements no instruction combines, so they always need the guard. For the others it depends on
//! what is done: single elements are combined fastest by instructions, rows by kernels, which are no
//! instructions. Since both may come at once, the member has a *mode*. In the mode of instructions a
//! process says in a line of its own that it is at the member's memory, looks at the mode, and goes on:
//! two stores and a load, none of which others write to. Who wants to change the mode holds the guard,
//! changes it, makes all processes pass a fence (`membarrier`), and then waits for those that are still
//! at the memory. In the other mode all use the guard.
//!
//! A change takes as long as instructions for some thousand elements. So each mode lasts until what it has cost,
//! beside the other one, comes to that much: rows alone, or single elements alone, lose no more than about one change to the
//! wrong mode, and another one to leave it. Where they take turns, and the guard turns out to be the wrong one, the next try comes
//! later each time.

use crate::atomics::{AtomicI32, AtomicU32, Ordering};

/// What a change of the mode costs. All such numbers are in elements that one process combines by instructions.
const CHANGE: i32 = if cfg!(loom) { 4 } else { 4096 };

/// What entering the guard costs one who was there last.
const ENTRY: i32 = if cfg!(loom) { 2 } else { 6 };

/// What it costs another one, who waits for cache lines.
const OTHER_ENTRY: i32 = if cfg!(loom) { 3 } else { 40 };

/// The guard is the right mode when it has saved so much. It takes more than being wrong, for many accesses are of one kind
/// by chance.
const RIGHT: i32 = if cfg!(loom) { CHANGE } else { 4 * CHANGE };

/// So often, at most, is the time until instructions are forbidden doubled.
const DOUBLINGS: u32 = 7;

/// The guard of a member's memory, and its mode. Nobody waits for anything of another process while
/// holding it, but for those that use instructions, who wait for nothing either.
#[derive(Default)]
#[repr(C, align(128))]
pub struct Guard {
    word: AtomicU32,
    /// The rank of who was inside last.
    last: AtomicU32,
    /// How much better the guard would have been, or has been, than instructions since the mode has changed. Rows by
    /// instructions change it as they come: it does not matter if one of them is lost.
    better: AtomicI32,
    /// So often has the guard been the wrong mode, without the times it was the right one.
    wrong: AtomicU32,
    mode: Mode,
}

/// 1: only under the guard. In a line of its own, which all read and seldom anybody writes.
#[derive(Default)]
#[repr(C, align(128))]
struct Mode(AtomicU32);

/// Whose memory a process is at with atomic instructions: the member's rank + 1.
#[repr(C, align(128))]
pub struct Busy(AtomicU32);

impl Guard {
    #[inline]
    pub fn try_enter(&self) -> bool {
        // Acquire: pairs with the release in `leave`.
        self.word.load(Ordering::Relaxed) == 0
            && self.word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[inline]
    pub fn leave(&self) {
        // Release: pairs with the acquire in `try_enter`.
        self.word.store(0, Ordering::Release);
    }

    /// True when instructions may be used by one who holds the guard, and so the mode.
    #[inline]
    pub fn allows_instructions(&self) -> bool {
        self.mode.0.load(Ordering::Relaxed) == 0
    }

    /// Forbids instructions; the caller holds the guard. The caller then makes all processes pass a
    /// fence and waits until none [`Busy::is_at`] this member's memory.
    pub fn forbid_instructions(&self) {
        self.mode.0.store(1, Ordering::Relaxed);
        self.better.store(0, Ordering::Relaxed);
    }

    /// Takes back what [`Guard::forbid_instructions`] has done.
    pub fn allow_instructions(&self) {
        self.better.store(0, Ordering::Relaxed);
        // Release: pairs with the acquire in `begin`.
        self.mode.0.store(0, Ordering::Release);
    }

    /// Notes a row that is to be combined by instructions. False when they are forbidden, or a change of the mode costs no
    /// more than this row, or than all that have come.
    #[inline(never)]
    pub fn bears(&self, elements: usize) -> bool {
        if !self.allows_instructions() || elements >= CHANGE as usize {
            return false;
        }
        let better = self.better.load(Ordering::Relaxed) + elements as i32 - ENTRY;
        let bears = better < CHANGE << self.wrong.load(Ordering::Relaxed);
        if bears {
            self.better.store(better, Ordering::Relaxed);
        }
        bears
    }

    /// Notes elements combined by `rank` under the guard, which it holds, where instructions are forbidden and could
    /// have done it. When they would have been better for long enough, they are allowed again.
    #[inline]
    pub fn note(&self, elements: usize, rank: u32) {
        let entry = if self.last.load(Ordering::Relaxed) == rank { ENTRY } else { OTHER_ENTRY };
        self.last.store(rank, Ordering::Relaxed);
        let better = self.better.load(Ordering::Relaxed) + elements.min(CHANGE as usize) as i32 - entry;
        self.better.store(better.min(RIGHT), Ordering::Relaxed);
        if better <= -CHANGE || better >= RIGHT {
            self.judge(better > 0);
        }
    }

    /// The mode has proved right, or wrong.
    #[inline(never)]
    fn judge(&self, right: bool) {
        let wrong = self.wrong.load(Ordering::Relaxed);
        let wrong = if right { wrong.saturating_sub(1) } else { (wrong + 1).min(DOUBLINGS) };
        self.wrong.store(wrong, Ordering::Relaxed);
        if !right {
            self.allow_instructions();
        }
    }

    /// Notes what no instruction does, so that the mode is right: a change would cost another one the next time.
    pub fn note_kernel(&self) {
        self.better.store(CHANGE, Ordering::Relaxed);
    }
}

impl Busy {
    /// Begins to use instructions on the memory of member `rank`, if its guard allows it. Ends by
    /// [`Busy::end`]; nothing is waited for between.
    #[inline]
    pub fn begin(&self, rank: u32, guard: &Guard) -> bool {
        self.0.store(rank + 1, Ordering::Relaxed);
        // The other side of it is the fence of who changes the mode. The compiler must not delay the store.
        #[cfg(not(loom))]
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
        // The model checker knows no membarrier: it takes the fence that this puts here.
        #[cfg(loom)]
        loom::sync::atomic::fence(Ordering::SeqCst);
        // Acquire: pairs with the release in `allow_instructions`.
        let allowed = guard.mode.0.load(Ordering::Acquire) == 0;
        if !allowed {
            self.end();
        }
        allowed
    }

    #[inline]
    pub fn end(&self) {
        // Release: pairs with the acquire in `is_at`.
        self.0.store(0, Ordering::Release);
    }

    /// True while instructions may be under way on the memory of member `rank`.
    pub fn is_at(&self, rank: u32) -> bool {
        // Acquire: pairs with the release in `end`.
        self.0.load(Ordering::Acquire) == rank + 1
    }
}

#[cfg(all(test, loom))]
mod model;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{CHANGE, ENTRY, Guard, OTHER_ENTRY};

    /// What elements cost that `rank` combines, and the changes of the mode that come with them.
    fn combine(guard: &Guard, rank: u32, elements: usize) -> i32 {
        let by_instructions = if elements > 1 { guard.bears(elements) } else { guard.allows_instructions() };
        if by_instructions {
            return elements as i32;
        }
        let change = if guard.allows_instructions() { CHANGE } else { 0 };
        if change > 0 {
            guard.forbid_instructions();
        }
        let entry = if guard.last.load(super::Ordering::Relaxed) == rank { ENTRY } else { OTHER_ENTRY };
        guard.note(elements, rank);
        change + entry
    }

    #[test]
    fn rows_come_under_the_guard_when_instructions_have_cost_a_change() {
        let guard = Guard::default();
        let cost: i32 = (0..1000).map(|_| combine(&guard, 0, 100)).sum();
        assert!(!guard.allows_instructions());
        assert!(cost <= 1000 * ENTRY + 2 * CHANGE, "{cost}");
    }

    #[test]
    fn a_long_row_is_worth_a_change() {
        let guard = Guard::default();
        assert_eq!(combine(&guard, 0, 100_000), CHANGE + ENTRY);
    }

    #[test]
    fn single_elements_come_back_to_instructions() {
        let guard = Guard::default();
        while guard.allows_instructions() {
            combine(&guard, 0, 100);
        }
        let cost: i32 = (0..10_000).map(|at| combine(&guard, at % 2, 1)).sum();
        assert!(guard.allows_instructions());
        assert!(cost <= 10_000 + 2 * CHANGE, "{cost}");
    }

    #[test]
    fn where_the_guard_is_wrong_it_is_seldom_tried() {
        let guard = Guard::default();
        let mut least = 0;
        let rounds = 20_000;
        let cost: i32 = (0..rounds)
            .map(|round| {
                // Two ranks take turns at the single elements, as if they came at once.
                let row = combine(&guard, round % 2, 64);
                least += 64 + 8;
                row + (0..8).map(|at| combine(&guard, at % 2, 1)).sum::<i32>()
            })
            .sum();
        assert!(cost < least + least / 5, "{cost} of {least}");
    }
}
