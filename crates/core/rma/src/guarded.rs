//! Elements of a member's memory are combined one at a time by the processor's instructions, or under the member's guard:
//! see [`crate::guard`].

use crate::combine::{Combination, is_swapped_by_instruction, swap_by_instruction, swap_under_guard};
use crate::guard::Guard;
use crate::spot::Instructions;
use crate::window::Window;
use tern_coll::ops::Op;
use tern_mcm::Step;
use tern_policy::guard_mode;

/// Looks at a guard before anything else is done.
const LOOKS: u32 = 100;

/// True for what is combined all at once, and so by a kernel. Bytes are also structures, and though only each byte has to be
/// replaced atomically, programs rely on what all other libraries do: to see all of one replacement or nothing of it.
#[inline(always)]
fn is_whole(combination: &Combination, count: usize) -> bool {
    combination.size == 1 && count > 1
}

/// Instructions that combine are full fences, too.
const FENCES: bool = cfg!(target_arch = "x86_64");

/// Whether instructions suit so many elements where the mode allows them.
#[inline(always)]
fn suits_instructions(guard: &Guard, combination: &Combination, count: usize) -> bool {
    guard_mode::by_instructions(count, is_whole(combination, count), || guard.bears(count))
}

/// The guard of a member, held.
pub(crate) struct Entered<'a>(&'a Guard, u32);

/// Elements of a target that lie one extent apart, and what they are combined with.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub operand: *const u8,
    pub target: *mut u8,
    /// May be null.
    pub result: *mut u8,
    pub count: usize,
}

impl<'a> Entered<'a> {
    /// The guard of `rank`, if nobody is inside.
    fn at(guard: &'a Guard, rank: u32, mark: u32) -> Option<Entered<'a>> {
        // Made only then: the guard is left when it is dropped.
        guard.try_enter(mark).then(|| Entered(guard, rank))
    }

    /// The member whose guard it is.
    pub fn rank(&self) -> u32 {
        self.1
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl Window {
    /// Combines a part of the memory of `rank`, of which `instructions` says whether they are possible.
    ///
    /// # Safety
    /// The part is valid for as many elements of the combination.
    #[inline]
    pub(crate) unsafe fn combine_part(
        &self, rank: u32, combination: &Combination, instructions: Instructions, part: &Part,
    ) {
        // SAFETY: contract of this function.
        if instructions == Instructions::Possible && unsafe { self.combine_by_instructions(rank, combination, part) } {
            return;
        }
        let inside = self.enter(rank);
        // By instructions also where others are at some of it under the guard, which is held.
        let instructions = instructions != Instructions::Never;
        // SAFETY: contract of this function.
        unsafe { self.combine_inside(&inside, combination, instructions, part) };
    }

    /// Combines a part of the memory of `rank` by instructions, which are possible there, if the guard's mode allows it
    /// and nothing else suits the part better; else nothing has happened.
    ///
    /// # Safety
    /// As for [`Window::combine_part`].
    #[inline(always)]
    pub(crate) unsafe fn combine_by_instructions(&self, rank: u32, combination: &Combination, part: &Part) -> bool {
        let (busy, guard) = (&self.shared.member(self.rank()).busy, &self.shared.member(rank).guard);
        if !suits_instructions(guard, combination, part.count) && self.fences {
            return false;
        }
        let allowed = busy.begin(rank, guard);
        if allowed {
            // SAFETY: contract of this function; the guard's mode allows it.
            unsafe { combination.by_instructions(part.operand, part.target, part.result, part.count) };
            busy.end();
            // A replacement whose old value nobody wants is a store; other instructions are fences on some machines.
            if combination.op == Op::Replace || !FENCES {
                self.stored.set(true);
            }
        }
        allowed
    }

    /// The same under the guard, which the caller holds.
    ///
    /// # Safety
    /// As for [`Window::combine_part`].
    pub(crate) unsafe fn combine_inside(
        &self, inside: &Entered<'_>, combination: &Combination, instructions: bool, part: &Part,
    ) {
        let Part { operand, target, result, count } = *part;
        let guard = inside.0;
        let allowed = instructions && guard.allows_instructions();
        self.stored.set(true);
        // SAFETY: contract of this function; the guard is held, and the mode does not change.
        unsafe {
            if allowed && (suits_instructions(guard, combination, count) || !self.forbid_instructions(inside)) {
                return combination.by_instructions(operand, target, result, count);
            }
            combination.under_guard(operand, target, result, count);
        }
        if !instructions {
            return;
        }
        if is_whole(combination, count) { guard.note_kernel() } else { guard.note(count, self.rank()) }
    }

    /// [`Window::combine_inside`], where instructions are possible, if nobody is inside or leaves soon; else nothing has
    /// happened.
    ///
    /// # Safety
    /// As for [`Window::combine_part`].
    #[inline(never)]
    pub(crate) unsafe fn combine_under_guard(&self, rank: u32, combination: &Combination, part: Part) -> bool {
        let Some(inside) = self.enter_soon(rank) else { return false };
        // SAFETY: contract of this function.
        unsafe { self.combine_inside(&inside, combination, true, &part) };
        true
    }

    /// Whoever holds the guard of `rank` combines elements without instructions, at some of which others may be by
    /// instructions: from now on these use the guard.
    pub(crate) fn keep_from_instructions(&self, inside: &Entered<'_>) {
        if inside.0.allows_instructions() {
            self.forbid_instructions(inside);
        }
        inside.0.note_kernel();
    }

    /// Changes the mode of a guard that the caller holds; false: it cannot.
    #[cold]
    fn forbid_instructions(&self, &Entered(guard, rank): &Entered<'_>) -> bool {
        if !self.fences {
            return false;
        }
        guard.forbid_instructions();
        if !self.direct().fence_all() {
            guard.allow_instructions();
            return false;
        }
        for peer in 0..self.peers.size() {
            // It may have lost its core, but waits for nothing.
            while self.shared.member(peer).busy.is_at(rank) && !self.has_died(peer) {
                tern_atomics::yield_now();
            }
        }
        true
    }

    /// Enters the guard of `rank` in the place of a lost member that has died inside. What it has done by then stays, whole or not.
    #[cold]
    fn enter_for_lost(&self, rank: u32) -> Option<Entered<'_>> {
        let (guard, request) = (&self.shared.member(rank).guard, &self.shared.member(rank).request);
        // Who waits here finds no time to be told of losses.
        let lost = guard.inside().filter(|&inside| self.has_died(inside))?;
        if !guard.enter_for(lost, self.mark) {
            return None;
        }
        let inside = Entered(guard, rank);
        // What it has asked of the owner is over before anything else is asked, or the owner's answer would be taken for that of another request.
        let process = self.peers.procs[rank as usize];
        if request.state.is_under_way() {
            _ = request.await_outcome(|| self.direct().peer_is(process, tern_mcm::PeerState::Alive));
        }
        if !guard.allows_instructions() {
            // It may have died before all others had seen the mode.
            self.forbid_instructions(&inside);
        }
        Some(inside)
    }

    /// Enters the guard of `rank` if nobody is inside.
    pub(crate) fn try_enter(&self, rank: u32) -> Option<Entered<'_>> {
        Entered::at(&self.shared.member(rank).guard, rank, self.mark)
    }

    /// Enters the guard of `rank` if nobody is inside, or leaves soon.
    fn enter_soon(&self, rank: u32) -> Option<Entered<'_>> {
        for _ in 0..LOOKS {
            if let Some(inside) = self.try_enter(rank) {
                return Some(inside);
            }
            tern_atomics::spin_loop();
        }
        None
    }

    /// Enters the guard of `rank`. Nothing may be waited for while inside.
    pub(crate) fn enter(&self, rank: u32) -> Entered<'_> {
        if let Some(inside) = self.enter_soon(rank) {
            return inside;
        }
        // Whoever is inside does not wait, but may have lost its core. Nobody rings when it leaves, so
        // this does not sleep.
        let mut inside = None;
        self.adi.mcm().wait(|| {
            inside = self.try_enter(rank);
            if inside.is_some() {
                return Step::Done;
            }
            self.adi.progress();
            inside = self.enter_for_lost(rank);
            if inside.is_some() {
                return Step::Done;
            }
            self.adi.mcm().give_way();
            Step::Moved
        });
        inside.expect("what was waited for")
    }

    /// Compares and swaps an element of `rank` by an instruction, if the guard's mode allows it; else nothing has
    /// happened.
    ///
    /// # Safety
    /// All are one element of `size` bytes, for which there is an instruction.
    #[inline]
    pub(crate) unsafe fn swap_by_instruction(
        &self, rank: u32, size: usize, origin: *const u8, compare: *const u8, result: *mut u8, target: *mut u8,
    ) -> bool {
        let (busy, guard) = (&self.shared.member(self.rank()).busy, &self.shared.member(rank).guard);
        let allowed = busy.begin(rank, guard);
        if allowed {
            // SAFETY: contract of this function; the guard's mode allows it.
            unsafe { swap_by_instruction(size, origin, compare, result, target) };
            busy.end();
            self.stored.set(!FENCES || self.stored.get());
        }
        allowed
    }

    /// [`Window::swap_inside`], where an instruction exists, if nobody is inside or leaves soon; else nothing has happened.
    ///
    /// # Safety
    /// As for [`Window::swap_by_instruction`].
    #[inline(never)]
    pub(crate) unsafe fn swap_under_guard(
        &self, rank: u32, size: usize, origin: *const u8, compare: *const u8, result: *mut u8, target: *mut u8,
    ) -> bool {
        let Some(inside) = self.enter_soon(rank) else { return false };
        // SAFETY: contract of this function.
        unsafe { self.swap_inside(&inside, size, true, origin, compare, result, target) };
        true
    }

    /// Compares and swaps one element, in memory of which `atomic` says whether instructions are used there,
    /// under its guard.
    ///
    /// # Safety
    /// All are one element of `size` bytes.
    pub(crate) unsafe fn swap_inside(
        &self, inside: &Entered<'_>, size: usize, atomic: bool, origin: *const u8, compare: *const u8, result: *mut u8,
        target: *mut u8,
    ) {
        let guard = inside.0;
        self.stored.set(true);
        let instructions = atomic && is_swapped_by_instruction(size, target);
        // SAFETY: contract of this function; the guard is held, and the mode does not change.
        unsafe {
            if instructions && guard.allows_instructions() {
                swap_by_instruction(size, origin, compare, result, target);
            } else {
                swap_under_guard(size, origin, compare, result, target);
                if instructions {
                    guard.note(1, self.rank());
                }
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_let_in_leaves_the_guard_as_it_is() {
        let guard = Guard::default();
        let inside = Entered::at(&guard, 3, 1).expect("nobody is inside");
        assert_eq!(inside.rank(), 3);
        assert!(Entered::at(&guard, 3, 1).is_none());
        assert!(Entered::at(&guard, 3, 1).is_none(), "the first one is still inside");
        drop(inside);
        assert!(Entered::at(&guard, 3, 1).is_some());
    }

    #[test]
    fn one_of_the_living_enters_for_a_lost_one() {
        let guard = Guard::default();
        assert!(guard.inside().is_none() && guard.try_enter(5) && guard.inside() == Some(4));
        assert!(!guard.enter_for(3, 1), "another one is inside");
        assert!(guard.enter_for(4, 1) && !guard.enter_for(4, 2), "only one enters");
        assert_eq!(guard.inside(), Some(0));
        guard.leave();
        assert!(guard.try_enter(2));
    }
}
