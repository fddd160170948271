//! Accesses that are over when their call returns and need nothing but the target's memory, mapped here: of dense
//! bytes, or of dense elements that the processor's instructions combine. The functions decline, before
//! anything has happened, what is not of that kind; [`Window::put`] and its kin serve everything.

use crate::accumulate::count;
use crate::combine::{Combination, is_swapped_by_instruction};
use crate::guarded::Part;
use crate::remote::Held;
use crate::window::Window;
use crate::words::Try;
use tern_coll::ops::Op;
use tern_counters as counters;
use tern_layout::Basic;
use tern_mcm::Direction;

impl Window {
    /// Where so many bytes of `rank` lie here, if they are in the window and mapped; `atomic`: only where
    /// elements are combined by instructions.
    #[inline(always)]
    fn mapped(&self, rank: u32, displacement: i64, bytes: usize, atomic: bool) -> Option<*mut u8> {
        let remote = self.remotes.get(rank as usize)?;
        // Negative displacements and ends beyond 63 bits are larger than any window.
        let start = (displacement as u64).checked_mul(remote.unit as u64)?;
        let end = start.checked_add(bytes as u64)?;
        let range = if atomic { &remote.atomic } else { &remote.near };
        let reached = range.start as u64 <= start && end <= range.end as u64;
        reached.then(|| remote.here.wrapping_add(start as usize))
    }

    /// Moves `bytes` from `origin` to displacement `displacement` of `rank`; false when declined.
    #[inline(always)]
    pub fn put_now(&self, origin: *const u8, rank: u32, displacement: i64, bytes: usize) -> bool {
        let Some(target) = self.mapped(rank, displacement, bytes, false) else { return false };
        counters::PUT.add(1);
        counters::PUT_BYTES.add(bytes as u64);
        self.stored.set(true);
        // SAFETY: the origin is the program's; the target lies in the window.
        unsafe { self.move_mapped(origin, target, bytes, Direction::Put) };
        true
    }

    /// The reverse of [`Window::put_now`].
    #[inline(always)]
    pub fn get_now(&self, origin: *mut u8, rank: u32, displacement: i64, bytes: usize) -> bool {
        let Some(target) = self.mapped(rank, displacement, bytes, false) else { return false };
        counters::GET.add(1);
        counters::GET_BYTES.add(bytes as u64);
        // SAFETY: as for `put_now`.
        unsafe { self.move_mapped(target, origin, bytes, Direction::Get) };
        true
    }

    /// As [`Window::get_accumulate`], of `elements` dense elements at both sides; `result` may be null. False when
    /// declined.
    #[inline(always)]
    pub fn combine_now(
        &self, operand: *const u8, result: *mut u8, rank: u32, displacement: i64, elements: usize,
        (op, basic): (Op, Basic),
    ) -> bool {
        let Ok(combination) = Combination::find(op, basic) else { return false };
        let bytes = elements * combination.size;
        let Some(target) = self.mapped(rank, displacement, bytes, true) else { return false };
        if elements == 0 || !combination.is_atomic(target) {
            return false;
        }
        let part = Part { operand, target, result, count: elements };
        // SAFETY: the target lies in the window; origin and result are the program's.
        let done = unsafe {
            self.combine_by_instructions(rank, combination, &part) || self.combine_under_guard(rank, combination, part)
        };
        if done {
            count(bytes);
        }
        done
    }

    /// As [`Window::compare_and_swap`], of an element of `size` bytes; false when declined.
    #[inline(always)]
    pub fn swap_now(
        &self, origin: *const u8, compare: *const u8, result: *mut u8, rank: u32, displacement: i64, size: usize,
    ) -> bool {
        let Some(target) = self.mapped(rank, displacement, size, true) else { return false };
        // SAFETY: all are one element, and the target lies in the window.
        let swapped = is_swapped_by_instruction(size, target)
            && unsafe {
                self.swap_by_instruction(rank, size, origin, compare, result, target)
                    || self.swap_under_guard(rank, size, origin, compare, result, target)
            };
        if swapped {
            count(size);
        }
        swapped
    }

    /// [`Window::flush`] of one rank, or of all, if nothing is under way; `local`: at the origin only. False when
    /// declined.
    #[inline(always)]
    pub fn flush_now(&self, rank: Option<u32>, local: bool) -> bool {
        if !self.at_once && !self.is_flushed_now(rank) {
            return false;
        }
        if !local {
            self.order();
        }
        true
    }

    #[inline(never)]
    fn is_flushed_now(&self, rank: Option<u32>) -> bool {
        let flushed = match rank {
            Some(rank) => self.messages.is_flushed(rank),
            None => self.messages.is_all_flushed(),
        };
        // What follows a flush on windows whose members lie apart may wait.
        flushed && !self.apart && self.gathered.get() == 0
    }

    /// [`Window::lock`] if nobody is in the way; false when somebody is.
    #[inline(always)]
    pub fn lock_now(&self, rank: u32, exclusive: bool) -> bool {
        if self.aside {
            return false;
        }
        let lock = &self.shared.member(rank).lock;
        let attempt = if exclusive { lock.try_exclude(self.shared.common(), self.rank()) } else { lock.try_share() };
        let taken = self.tried(attempt);
        if taken {
            self.remote(rank).held.set(if exclusive { Held::Alone } else { Held::Shared });
        }
        taken
    }

    /// [`Window::lock_all`] if nobody is in the way; false when somebody is.
    #[inline]
    pub fn lock_all_now(&self) -> bool {
        let taken = !self.aside && self.tried(self.shared.common().try_lock_all(self.locks()));
        if taken {
            self.all.set(true);
        }
        taken
    }

    #[inline]
    fn tried(&self, attempt: Try) -> bool {
        if attempt == Try::Disturbed {
            self.rouse();
        }
        attempt == Try::Taken
    }
}
