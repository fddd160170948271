//! Accumulates: each element is combined atomically, and those of one origin with one target in their
//! order (MPI 5.0, section 12.7.2).

use crate::access::{Spot, truncated};
use crate::combine::{Combination, swap_by_instruction, swap_under_guard};
use crate::elements::{Row, Side, runs};
use crate::messages::{Asked, Kind, Question};
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

/// The guard of a member, held.
struct Entered<'a>(&'a Window, u32);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.shared.member(self.1).guard.leave();
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
fn count(len: usize) {
    counters::ACCUMULATE.add(1);
    counters::ACCUMULATE_BYTES.add(len as u64);
}

impl Window {
    /// Enters the guard of `rank`. Nothing may be waited for while inside.
    fn enter(&self, rank: u32) -> Entered<'_> {
        let guard = &self.shared.member(rank).guard;
        for _ in 0..LOOKS {
            if guard.try_enter() {
                return Entered(self, rank);
            }
            std::hint::spin_loop();
        }
        // Whoever is inside does not wait, but may have lost its core. Nobody rings when it leaves, so
        // this does not sleep.
        self.adi.mcm().wait(|| {
            if guard.try_enter() {
                return Step::Done;
            }
            self.adi.progress();
            lock::outside(std::thread::yield_now);
            Step::Moved
        });
        Entered(self, rank)
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
        let combination = Combination::new(op, basic)?;
        let count = len / basic.size() as usize;
        if op == Op::NoOp && result.is_none() {
            return Ok(Started::Done);
        }
        if spot.way == Way::Messages {
            return Ok(self.combine_by_messages(origin, result, target, &spot, &combination, count));
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
            Way::Kernel => self.combine_by_kernel(operand, into, target, &spot, &combination, count)?,
            _ => self.combine_here(operand, into, target, &spot, &combination, count),
        }
        if let (Some(old), Some(result)) = (old, result) {
            // SAFETY: the result is the program's.
            unsafe { old.finish(result, basic, count) };
        }
        Ok(Started::Done)
    }

    /// In mapped memory. `into` may be null.
    fn combine_here(&self, operand: *const u8, into: *mut u8, target: &Target<'_>, spot: &Spot, combination: &Combination, count: usize) {
        let extent = combination.basic.extent() as usize;
        let mut done = 0;
        let _ = runs(target.ty, target.count, combination.basic, count, |at, count| {
            let to = spot.here.wrapping_offset(at as isize);
            let operand = operand.wrapping_add(done * extent);
            let into = if into.is_null() { into } else { into.wrapping_add(done * extent) };
            // SAFETY: the target lies in the window; operand and result have `count` elements in all;
            // the way is the one for this memory.
            unsafe {
                if spot.atomic && combination.is_atomic(to) {
                    combination.by_instructions(operand, to, into, count);
                } else {
                    let _inside = self.enter(target.rank);
                    combination.under_guard(operand, to, into, count);
                }
            }
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

    /// [`Window::get_accumulate`] of one element of a predefined type (`target.count` is 1).
    ///
    /// Errors: as there.
    #[inline]
    pub fn fetch_and_op(
        &self,
        origin: *const u8,
        result: *mut u8,
        target: &Target<'_>,
        op: Op,
    ) -> Result<Started, Error> {
        let spot = self.locate(target)?;
        if spot.way == Way::Mapped && spot.atomic {
            let combination = Combination::new(op, basic_of(target)?)?;
            if combination.is_atomic(spot.here) {
                // SAFETY: all are one element; this is the way for this memory.
                unsafe { combination.by_instructions(origin, spot.here, result, 1) };
                count(spot.len);
                return Ok(Started::Done);
            }
        }
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
        // SAFETY: all are one element; this is the way for this memory.
        if spot.way == Way::Mapped && spot.atomic && unsafe { swap_by_instruction(size, origin, compare, result, spot.here) } {
            return Ok(Started::Done);
        }
        self.swap_otherwise(origin, compare, result, target, &spot)
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
        match spot.way {
            Way::Mapped => {
                let _inside = self.enter(rank);
                // SAFETY: all are one element; the guard is held.
                unsafe { swap_under_guard(size, origin, compare, result, spot.here) };
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

    /// True when own memory is combined by atomic instructions.
    fn is_own_atomic(&self, at: *const u8, len: usize) -> bool {
        if !self.dynamic {
            return self.remote(self.rank()).atomic;
        }
        let (first, end) = (at as u64, at as u64 + len as u64);
        let found = self.shared.table(self.rank()).find(|piece| piece.holds(first, end));
        matches!(found, Some((Some(piece), _)) if piece.place != 0)
    }

    /// An accumulate that another process has asked for.
    pub(crate) fn serve_guarded(&self, asked: &Asked<'_>, answer: &mut Vec<u8>) -> bool {
        let Asked { op, basic, kind, .. } = *asked;
        let Some((first, _)) = asked.runs().next() else { return true };
        let (size, extent) = (basic.size() as usize, basic.extent() as usize);
        let atomic = self.is_own_atomic(first, size);
        if kind == Kind::Swap {
            return self.serve_swap(asked, first, atomic, answer);
        }
        // The origin has seen that the operation takes the type.
        let Ok(combination) = Combination::new(op, basic) else { return true };
        let by_instructions = |to: *const u8| atomic && combination.is_atomic(to);
        let guard = asked.runs().any(|(to, _)| !by_instructions(to));
        if guard && !self.shared.member(self.rank()).guard.try_enter() {
            return false;
        }
        let _inside = guard.then(|| Entered(self, self.rank()));
        let count = asked.len / size;
        let data = Data::Bytes(asked.data.as_ptr().cast_mut(), asked.data.len());
        // SAFETY: the data is the message's.
        let operand = (op != Op::NoOp).then(|| unsafe { Row::of(&data, basic, count) });
        let old = (kind == Kind::Fetch).then(|| Row::room(basic, count));
        let mut done = 0;
        for (to, count) in asked.runs() {
            let at = |row: &Option<Row>| row.as_ref().map_or(std::ptr::null_mut(), |row| row.start().wrapping_add(done * extent));
            // SAFETY: the origin has seen that the target lies in the window; the rows hold all elements;
            // the guard is held where it must be.
            unsafe {
                match by_instructions(to) {
                    true => combination.by_instructions(at(&operand), to, at(&old), count),
                    false => combination.under_guard(at(&operand), to, at(&old), count),
                }
            }
            done += count;
        }
        if let Some(old) = old {
            let start = answer.len();
            answer.resize(start + asked.len, 0);
            let into = Data::Bytes(answer[start..].as_mut_ptr(), asked.len);
            let ty = Type::basic(basic);
            // SAFETY: both hold that many elements.
            unsafe { Side::of(&into).copy_from(&Side::new(old.start(), count as i64, &ty)) };
        }
        true
    }

    fn serve_swap(&self, asked: &Asked<'_>, to: *mut u8, atomic: bool, answer: &mut Vec<u8>) -> bool {
        let size = asked.len;
        let (compare, origin) = asked.data.split_at(size);
        let mut old = [0u8; 32];
        let (origin, compare, into) = (origin.as_ptr(), compare.as_ptr(), old.as_mut_ptr());
        // SAFETY: all are one element, of at most 32 bytes; this is the way for this memory.
        if !(atomic && unsafe { swap_by_instruction(size, origin, compare, into, to) }) {
            if !self.shared.member(self.rank()).guard.try_enter() {
                return false;
            }
            let _inside = Entered(self, self.rank());
            // SAFETY: as above; the guard is held.
            unsafe { swap_under_guard(size, origin, compare, into, to) };
        }
        answer.extend_from_slice(&old[..size]);
        true
    }
}
