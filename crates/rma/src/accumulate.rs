//! Accumulates: each element is combined atomically, and those of one origin with one target in their
//! order (MPI 5.0, section 12.7.2).

use crate::access::{Spot, truncated};
use crate::combine::{Combination, is_swapped_by_instruction, swap_by_instruction, swap_under_guard};
use crate::elements::{Row, Side, runs};
use crate::guard::Guard;
use crate::messages::{Kind, Question};
use crate::window::{Way, Window};
use crate::{Class, Error, Started, Target};
use tern_adi::Data;
use tern_coll::ops::Op;
use tern_counters as counters;
use tern_layout::{Basic, Type};
use tern_mcm::{Direction, Step, lock};

/// Bytes of elements that the kernel fetches and brings back at once.
const CHUNK: usize = 64 << 10;
/// Looks at a guard before anything else is done.
const LOOKS: u32 = 100;

/// Elements from which on a row is combined by a kernel: it takes a change of the mode, at times.
const ROW: usize = 1024;

/// Instructions that combine are full fences, too.
const FENCES: bool = cfg!(target_arch = "x86_64");

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
    fn at(guard: &'a Guard, rank: u32) -> Option<Entered<'a>> {
        // Made only then: the guard is left when it is dropped.
        guard.try_enter().then(|| Entered(guard, rank))
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

/// The basic type of the elements.
#[inline]
fn basic_of(target: &Target<'_>) -> Result<Basic, Error> {
    target.ty.uniform_basic().ok_or_else(|| mixed(target))
}

#[cold]
fn mixed(target: &Target<'_>) -> Error {
    let what = format!("an accumulate to rank {} has elements of more than one basic type", target.rank);
    Error::new(Class::Type, what)
}

/// Counts an access that combines `len` bytes with the target's.
#[inline]
pub(crate) fn count(len: usize) {
    counters::ACCUMULATE.add(1);
    counters::ACCUMULATE_BYTES.add(len as u64);
}

impl Window {
    /// Combines a part of the memory of `rank`, of which `instructions` says whether they are possible.
    ///
    /// # Safety
    /// The part is valid for as many elements of the combination.
    #[inline]
    pub(crate) unsafe fn combine_part(&self, rank: u32, combination: &Combination, instructions: bool, part: &Part) {
        // SAFETY: contract of this function.
        if instructions && unsafe { self.combine_by_instructions(rank, combination, part) } {
            return;
        }
        let inside = self.enter(rank);
        // SAFETY: contract of this function.
        unsafe { self.combine_inside(&inside, combination, instructions, part) };
    }

    /// Combines a part of the memory of `rank` by instructions, which are possible there, if the guard's mode allows it
    /// and the part is no long row; else nothing has happened.
    ///
    /// # Safety
    /// As for [`Window::combine_part`].
    #[inline(always)]
    pub(crate) unsafe fn combine_by_instructions(&self, rank: u32, combination: &Combination, part: &Part) -> bool {
        if part.count >= ROW && self.fences {
            return false;
        }
        let (busy, guard) = (&self.shared.member(self.rank()).busy, &self.shared.member(rank).guard);
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
    pub(crate) unsafe fn combine_inside(&self, inside: &Entered<'_>, combination: &Combination, instructions: bool, part: &Part) {
        let Part { operand, target, result, count } = *part;
        let (rank, row) = (inside.1, count >= ROW);
        let guard = &self.shared.member(rank).guard;
        let allowed = instructions && guard.allows_instructions();
        self.stored.set(true);
        // SAFETY: contract of this function; the guard is held, and the mode does not change.
        unsafe {
            if allowed && !(row && self.forbid_instructions(rank)) {
                combination.by_instructions(operand, target, result, count);
            } else {
                combination.under_guard(operand, target, result, count);
                if instructions {
                    guard.note(row);
                }
            }
        }
    }

    /// Changes the mode of a guard that the caller holds; false: it cannot.
    #[cold]
    fn forbid_instructions(&self, rank: u32) -> bool {
        let guard = &self.shared.member(rank).guard;
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
            while self.shared.member(peer).busy.is_at(rank) {
                std::thread::yield_now();
            }
        }
        true
    }

    /// Enters the guard of `rank` if nobody is inside.
    pub(crate) fn try_enter(&self, rank: u32) -> Option<Entered<'_>> {
        Entered::at(&self.shared.member(rank).guard, rank)
    }

    /// Enters the guard of `rank`. Nothing may be waited for while inside.
    pub(crate) fn enter(&self, rank: u32) -> Entered<'_> {
        let guard = &self.shared.member(rank).guard;
        for _ in 0..LOOKS {
            if let Some(inside) = Entered::at(guard, rank) {
                return inside;
            }
            std::hint::spin_loop();
        }
        // Whoever is inside does not wait, but may have lost its core. Nobody rings when it leaves, so
        // this does not sleep.
        let mut inside = None;
        self.adi.mcm().wait(|| {
            inside = Entered::at(guard, rank);
            if inside.is_some() {
                return Step::Done;
            }
            self.adi.progress();
            lock::outside(std::thread::yield_now);
            Step::Moved
        });
        inside.expect("what was waited for")
    }

    /// `target = origin op target`, one element after the other, each atomically. [`Op::Replace`]
    /// and [`Op::NoOp`] are allowed.
    ///
    /// Errors: as for [`Window::put`]; elements of several basic types, or of one that the operation does
    /// not take.
    pub fn accumulate(&self, origin: &Data, target: &Target<'_>, op: Op) -> Result<Started, Error> {
        self.combine(origin, None, target, op)
    }

    /// As [`Window::accumulate`]; what was at the target before goes to `result`. With
    /// [`Op::NoOp`] `origin` is not looked at.
    ///
    /// Errors: as for [`Window::accumulate`]; `result` is too short.
    pub fn get_accumulate(
        &self,
        origin: &Data,
        result: &Data,
        target: &Target<'_>,
        op: Op,
    ) -> Result<Started, Error> {
        self.combine(origin, Some(result), target, op)
    }

    fn combine(&self, origin: &Data, result: Option<&Data>, target: &Target<'_>, op: Op) -> Result<Started, Error> {
        let spot = self.locate(target)?;
        let len = if op == Op::NoOp { spot.len } else { origin.len() };
        if len > spot.len {
            return Err(truncated("origin", len, "target", spot.len));
        }
        if let Some(result) = result
            && result.len() < len
        {
            return Err(truncated("target", len, "result", result.len()));
        }
        count(len);
        if len == 0 {
            return Ok(Started::Done);
        }
        let basic = basic_of(target)?;
        let combination = Combination::find(op, basic)?;
        let count = len / basic.size() as usize;
        if op == Op::NoOp && result.is_none() {
            return Ok(Started::Done);
        }
        if spot.key != 0 {
            return self.combine_by_card(origin, result, target, &spot, combination, count);
        }
        if spot.way == Way::Messages {
            return Ok(self.combine_by_messages(origin, result, target, &spot, combination, count));
        }
        if self.combine_dense(origin, result, target, &spot, combination, count) {
            return Ok(Started::Done);
        }
        let operand = match op {
            Op::NoOp => None,
            // SAFETY: the origin is the program's.
            _ => Some(unsafe { Row::of(origin, basic, count) }),
        };
        let old = result.map(|result| Row::into(result, basic, count));
        let start = |row: &Option<Row>| row.as_ref().map_or(std::ptr::null_mut(), Row::start);
        let (operand, into) = (start(&operand).cast_const(), start(&old));
        match spot.way {
            Way::Kernel => self.combine_by_kernel(operand, into, target, &spot, combination, count)?,
            _ => self.combine_here(operand, into, target, &spot, combination, count),
        }
        if let (Some(old), Some(result)) = (old, result) {
            // SAFETY: the result is the program's.
            unsafe { old.finish(result, basic, count) };
        }
        Ok(Started::Done)
    }

    /// Combines one run of words with another, as most accumulates do; false when it is not that simple.
    #[inline]
    fn combine_dense(
        &self,
        origin: &Data,
        result: Option<&Data>,
        target: &Target<'_>,
        spot: &Spot,
        combination: &Combination,
        count: usize,
    ) -> bool {
        let simple = spot.way == Way::Mapped && spot.atomic && target.ty.is_contiguous();
        if !simple || !combination.is_atomic(spot.here) {
            return false;
        }
        let (Data::Bytes(operand, _), result) = (origin, result) else { return false };
        let result = match result {
            None => std::ptr::null_mut(),
            Some(Data::Bytes(result, _)) => *result,
            Some(Data::Typed { .. }) => return false,
        };
        let part = Part { operand: *operand, target: spot.here, result, count };
        // SAFETY: the target lies in the window; origin and result have as many elements.
        unsafe { self.combine_part(target.rank, combination, true, &part) };
        true
    }

    /// In mapped memory. `into` may be null.
    fn combine_here(&self, operand: *const u8, into: *mut u8, target: &Target<'_>, spot: &Spot, combination: &Combination, count: usize) {
        let extent = combination.basic.extent() as usize;
        let mut done = 0;
        let _ = runs(target.ty, target.count, combination.basic, count, |at, count| {
            let to = spot.here.wrapping_offset(at as isize);
            let operand = operand.wrapping_add(done * extent);
            let into = if into.is_null() { into } else { into.wrapping_add(done * extent) };
            let part = Part { operand, target: to, result: into, count };
            let instructions = spot.atomic && combination.is_atomic(to);
            // SAFETY: the target lies in the window; operand and result have `count` elements in all.
            unsafe { self.combine_part(target.rank, combination, instructions, &part) };
            done += count;
            Ok::<(), ()>(())
        });
    }

    /// In memory that the kernel reaches: fetched, combined and brought back, under the guard.
    fn combine_by_kernel(
        &self,
        operand: *const u8,
        into: *mut u8,
        target: &Target<'_>,
        spot: &Spot,
        combination: &Combination,
        count: usize,
    ) -> Result<(), Error> {
        let (size, extent) = (combination.basic.size() as usize, combination.basic.extent() as usize);
        let dense = target.ty.is_contiguous() && size == extent;
        if dense && self.asks_owner(self.remote(target.rank), count * size) {
            self.send_puts(target.rank)?;
            let inside = self.enter(target.rank);
            // SAFETY: the target lies in the window; operand and result have `count` elements.
            if unsafe { self.ask_owner(&inside, combination, operand, into, spot.address, count) } {
                return Ok(());
            }
        }
        let most = (CHUNK / extent).min(count);
        let room = Row::room(combination.basic, most);
        let ty = Type::basic(combination.basic);
        let theirs = Side::new(spot.address as *mut u8, target.count, target.ty);
        let mut done = 0;
        while done < count {
            let count = (count - done).min(most);
            let own = Side::new(room.start(), count as i64, &ty);
            let (bytes, before) = (count * size, done * size);
            let inside = self.enter(target.rank);
            self.kernel_copy(target.rank, (&own, 0), (&theirs, before), bytes, Direction::Get)?;
            let operand = operand.wrapping_add(done * extent);
            let into = if into.is_null() { into } else { into.wrapping_add(done * extent) };
            // SAFETY: `room` has room for `most` elements; operand and result for all of them.
            unsafe { combination.under_guard(operand, room.start(), into, count) };
            if combination.op != Op::NoOp {
                self.kernel_copy(target.rank, (&own, 0), (&theirs, before), bytes, Direction::Put)?;
            }
            drop(inside);
            done += count;
        }
        Ok(())
    }

    fn combine_by_messages(
        &self,
        origin: &Data,
        result: Option<&Data>,
        target: &Target<'_>,
        spot: &Spot,
        combination: &Combination,
        count: usize,
    ) -> Started {
        let kind = if result.is_some() { Kind::Fetch } else { Kind::Combine };
        let question = Question { kind, op: combination.op, basic: combination.basic };
        let ticket = self.messages.begin(result.cloned());
        // SAFETY: the origin is the program's, which leaves it to the access.
        let gather = |from: usize, out: &mut [u8]| unsafe { Side::of(origin).gather(from, out) };
        self.ask_for_elements(ticket, target, spot, question, count, gather);
        Started::Pending(ticket)
    }

    /// [`Window::get_accumulate`] of one element (`target.count` is 1).
    ///
    /// Errors: as there.
    pub fn fetch_and_op(
        &self,
        origin: *const u8,
        result: *mut u8,
        target: &Target<'_>,
        op: Op,
    ) -> Result<Started, Error> {
        let (origin, result) = (Data::new(origin, 1, target.ty), Data::new(result, 1, target.ty));
        self.combine(&origin, Some(&result), target, op)
    }

    /// Where the target's element, of a predefined type, has the same bytes as `compare`, it becomes
    /// `origin`; what it was goes to `result` (`target.count` is 1).
    ///
    /// Errors: as for [`Window::put`].
    #[inline]
    pub fn compare_and_swap(
        &self,
        origin: *const u8,
        compare: *const u8,
        result: *mut u8,
        target: &Target<'_>,
    ) -> Result<Started, Error> {
        let spot = self.locate(target)?;
        let size = spot.len;
        count(size);
        if spot.way == Way::Mapped && spot.atomic && is_swapped_by_instruction(size, spot.here) {
            // SAFETY: all are one element, for which there is an instruction.
            if unsafe { self.swap_by_instruction(target.rank, size, origin, compare, result, spot.here) } {
                return Ok(Started::Done);
            }
        }
        self.swap_otherwise(origin, compare, result, target, &spot)
    }

    /// Compares and swaps an element of `rank` by an instruction, if the guard's mode allows it; else nothing has
    /// happened.
    ///
    /// # Safety
    /// All are one element of `size` bytes, for which there is an instruction.
    #[inline]
    pub(crate) unsafe fn swap_by_instruction(
        &self,
        rank: u32,
        size: usize,
        origin: *const u8,
        compare: *const u8,
        result: *mut u8,
        target: *mut u8,
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

    /// Compares and swaps one element, in memory of which `atomic` says whether instructions are used there,
    /// under its guard.
    ///
    /// # Safety
    /// All are one element of `size` bytes.
    pub(crate) unsafe fn swap_inside(
        &self,
        inside: &Entered<'_>,
        size: usize,
        atomic: bool,
        origin: *const u8,
        compare: *const u8,
        result: *mut u8,
        target: *mut u8,
    ) {
        let guard = &self.shared.member(inside.1).guard;
        self.stored.set(true);
        let instructions = atomic && is_swapped_by_instruction(size, target);
        // SAFETY: contract of this function; the guard is held, and the mode does not change.
        unsafe {
            if instructions && guard.allows_instructions() {
                swap_by_instruction(size, origin, compare, result, target);
            } else {
                swap_under_guard(size, origin, compare, result, target);
                if instructions {
                    guard.note(false);
                }
            }
        }
    }

    #[cold]
    fn swap_otherwise(
        &self,
        origin: *const u8,
        compare: *const u8,
        result: *mut u8,
        target: &Target<'_>,
        spot: &Spot,
    ) -> Result<Started, Error> {
        let (rank, size) = (target.rank, spot.len);
        if spot.key != 0 {
            return self.swap_by_card(basic_of(target)?, (origin, compare, result), rank, spot);
        }
        match spot.way {
            Way::Card => unreachable!("memory that the card reaches has a key"),
            Way::Mapped => {
                let inside = self.enter(rank);
                // SAFETY: all are one element.
                unsafe { self.swap_inside(&inside, size, spot.atomic, origin, compare, result, spot.here) };
            }
            Way::Kernel => {
                let theirs = Side::Dense(spot.address as *mut u8, size);
                let _inside = self.enter(rank);
                self.kernel_copy(rank, (&Side::Dense(result, size), 0), (&theirs, 0), size, Direction::Get)?;
                // SAFETY: both are one element.
                let equal = unsafe { std::slice::from_raw_parts(result, size) == std::slice::from_raw_parts(compare, size) };
                if equal {
                    let own = Side::Dense(origin.cast_mut(), size);
                    self.kernel_copy(rank, (&own, 0), (&theirs, 0), size, Direction::Put)?;
                }
            }
            Way::Messages => {
                let question = Question { kind: Kind::Swap, op: Op::Replace, basic: basic_of(target)? };
                let ticket = self.messages.begin(Some(Data::Bytes(result, size)));
                let fill = |out: &mut [u8]| {
                    let (first, second) = out.split_at_mut(size);
                    // SAFETY: both are one element.
                    unsafe {
                        Side::Dense(compare.cast_mut(), size).gather(0, first);
                        Side::Dense(origin.cast_mut(), size).gather(0, second);
                    }
                };
                self.messages.ask(ticket, rank, question, 0, size, &[(spot.address, 1)], 2 * size, fill);
                self.messages.end(ticket);
                return Ok(Started::Pending(ticket));
            }
        }
        Ok(Started::Done)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_let_in_leaves_the_guard_as_it_is() {
        let guard = Guard::default();
        let inside = Entered::at(&guard, 3).expect("nobody is inside");
        assert_eq!(inside.rank(), 3);
        assert!(Entered::at(&guard, 3).is_none());
        assert!(Entered::at(&guard, 3).is_none(), "the first one is still inside");
        drop(inside);
        assert!(Entered::at(&guard, 3).is_some());
    }
}
