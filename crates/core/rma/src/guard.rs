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
//! When the mode changes is decided by [`tern_policy::guard_mode`].

use tern_atomics::{AtomicI32, AtomicU32, Ordering};
use tern_policy::guard_mode;

/// The guard of a member's memory, and its mode. Nobody waits for anything of another process while
/// holding it, but for those that use instructions, who wait for nothing either.
#[derive(Default)]
#[repr(C, align(128))]
pub struct Guard {
    /// The rank of who is inside + 1.
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
    /// Enters, if nobody is inside. `mark`: rank of this process + 1.
    #[inline]
    pub fn try_enter(&self, mark: u32) -> bool {
        // Acquire: pairs with the release in `leave`.
        self.word.load(Ordering::Relaxed) == 0
            && self.word.compare_exchange(0, mark, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// The rank of who is inside.
    pub fn inside(&self) -> Option<u32> {
        self.word.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Enters in the place of the member of rank `lost`, which is inside and has died. False: somebody else has done so.
    pub fn enter_for(&self, lost: u32, mark: u32) -> bool {
        // Acquire: pairs with the release in `leave` of those before the lost one.
        self.word.compare_exchange(lost + 1, mark, Ordering::Acquire, Ordering::Relaxed).is_ok()
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
        if !self.allows_instructions() {
            return false;
        }
        let (better, wrong) = (self.better.load(Ordering::Relaxed), self.wrong.load(Ordering::Relaxed));
        let better = guard_mode::bears(better, wrong, elements);
        better.inspect(|&better| self.better.store(better, Ordering::Relaxed)).is_some()
    }

    /// Notes elements combined by `rank` under the guard, which it holds, where instructions are forbidden and could
    /// have done it. When they would have been better for long enough, they are allowed again.
    #[inline]
    pub fn note(&self, elements: usize, rank: u32) {
        let again = self.last.load(Ordering::Relaxed) == rank;
        self.last.store(rank, Ordering::Relaxed);
        let (better, right) = guard_mode::combined(self.better.load(Ordering::Relaxed), elements, again);
        self.better.store(better, Ordering::Relaxed);
        if let Some(right) = right {
            self.judge(right);
        }
    }

    /// The mode has proved right, or wrong.
    #[inline(never)]
    fn judge(&self, right: bool) {
        let wrong = guard_mode::wrong_after(self.wrong.load(Ordering::Relaxed), right);
        self.wrong.store(wrong, Ordering::Relaxed);
        if !right {
            self.allow_instructions();
        }
    }

    /// Notes what no instruction does, so that the mode is right: a change would cost another one the next time.
    pub fn note_kernel(&self) {
        self.better.store(guard_mode::CHANGE, Ordering::Relaxed);
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
    use super::Guard;

    #[test]
    fn rows_forbid_instructions_and_single_elements_allow_them_again() {
        let guard = Guard::default();
        let rows = (0..1000).position(|_| !guard.bears(100)).expect("a change costs less some time");
        assert!((1..100).contains(&rows), "{rows}");
        guard.forbid_instructions();
        assert!(!guard.allows_instructions() && !guard.bears(100));
        let singles = (0..1000).position(|at| {
            guard.note(1, at % 2);
            guard.allows_instructions()
        });
        assert!(singles.is_some_and(|singles| singles > 10), "{singles:?}");
        assert!((0..rows).all(|_| guard.bears(100)) && guard.bears(100), "the guard was wrong, so it is tried later");
    }
}
