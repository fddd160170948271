//! Accumulates: each element is combined atomically, and those of one origin with one target in their
//! order (MPI 5.0, section 12.7.2).

use crate::access::truncated;
use crate::combine::Combination;
use crate::elements::{Row, Side, runs};
use crate::error::NotMade;
use crate::guarded::Part;
use crate::messages::{Kind, Question};
use crate::remote::Means;
use crate::spot::{Instructions, Spot};
use crate::window::Window;
use crate::{Class, Error, Started, Target};
use std::cell::Cell;
use std::ops::Range;
use tern_adi::Data;
use tern_coll::ops::Op;
use tern_counters as counters;
use tern_layout::{Basic, Type};
use tern_mcm::{Direction, NotCopied};

/// Bytes of elements that the kernel fetches and brings back at once.
const CHUNK: usize = 64 << 10;

/// The basic type of the elements.
#[inline]
pub(crate) fn basic_of(target: &Target<'_>) -> Result<Basic, Error> {
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
    pub fn get_accumulate(&self, origin: &Data, result: &Data, target: &Target<'_>, op: Op) -> Result<Started, Error> {
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
        if let Some(key) = spot.key {
            let keys = self.keys(target.rank, key);
            return self.combine_by_card(origin, result, target, (&spot, &keys), combination, count);
        }
        if spot.way == Means::Messages {
            return self.combine_by_messages(origin, result, target, &spot, combination, count);
        }
        if self.combine_dense(origin, result, target, &spot, combination, count) {
            return Ok(Started::Done);
        }
        let operand = match op {
            Op::NoOp => None,
            // SAFETY: the origin is the program's.
            _ => Some(unsafe { Row::of(origin, basic, count) }?),
        };
        let old = result.map(|result| Row::into(result, basic, count)).transpose()?;
        let start = |row: &Option<Row>| row.as_ref().map_or(std::ptr::null_mut(), Row::start);
        let (operand, into) = (start(&operand).cast_const(), start(&old));
        match spot.way {
            Means::Kernel => {
                let done = Cell::new(0);
                let ask = || self.combine_in_part(operand, into, target, &spot, combination, count, &done);
                match self.is_done_by_kernel(target.rank, ask)? {
                    true => {}
                    false if done.get() == 0 => {
                        return self.combine_by_messages(origin, result, target, &spot, combination, count);
                    }
                    false => self.combine_rest(operand, into, target, &spot, combination, done.get()..count)?,
                }
            }
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
        &self, origin: &Data, result: Option<&Data>, target: &Target<'_>, spot: &Spot, combination: &Combination,
        count: usize,
    ) -> bool {
        let simple =
            spot.way == Means::Mapped && spot.instructions == Instructions::Possible && target.ty.is_contiguous();
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
        unsafe { self.combine_part(target.rank, combination, Instructions::Possible, &part) };
        true
    }

    /// In mapped memory. `into` may be null.
    fn combine_here(
        &self, operand: *const u8, into: *mut u8, target: &Target<'_>, spot: &Spot, combination: &Combination,
        count: usize,
    ) {
        let extent = combination.basic.extent() as usize;
        let mut done = 0;
        let _ = runs(target.ty, target.count, combination.basic, count, |at, count| {
            let to = spot.here.wrapping_offset(at as isize);
            let operand = operand.wrapping_add(done * extent);
            let into = if into.is_null() { into } else { into.wrapping_add(done * extent) };
            let part = Part { operand, target: to, result: into, count };
            let instructions = if combination.is_atomic(to) { spot.instructions } else { Instructions::Never };
            // SAFETY: the target lies in the window; operand and result have `count` elements in all.
            unsafe { self.combine_part(target.rank, combination, instructions, &part) };
            done += count;
            Ok::<(), ()>(())
        });
    }

    /// In memory that the kernel reaches, of which some in the middle may be mapped. `so_far`: elements that are done, also
    /// when it fails.
    fn combine_in_part(
        &self, operand: *const u8, into: *mut u8, target: &Target<'_>, spot: &Spot, combination: &Combination,
        count: usize, so_far: &Cell<usize>,
    ) -> Result<(), NotMade> {
        let size = combination.size;
        let (from, to) = (spot.middle.0.div_ceil(size), (spot.middle.1 / size).min(count));
        let dense = target.ty.is_contiguous() && size == combination.basic.extent() as usize;
        if !dense || from >= to {
            return self.combine_by_kernel(operand, into, target, spot, combination, 0..count, so_far);
        }
        self.combine_by_kernel(operand, into, target, spot, combination, 0..from, so_far)?;
        let at = |row: *const u8| if row.is_null() { row } else { row.wrapping_add(from * size) };
        let here = spot.here.wrapping_add(from * size);
        let part = Part { operand: at(operand), target: here, result: at(into).cast_mut(), count: to - from };
        let instructions = if combination.is_atomic(here) { Instructions::Possible } else { Instructions::Never };
        // SAFETY: these elements are mapped; operand and result have as many.
        unsafe { self.combine_part(target.rank, combination, instructions, &part) };
        so_far.set(to);
        self.combine_by_kernel(operand, into, target, spot, combination, to..count, so_far)
    }

    /// In memory that the kernel reaches, part after part: by its owner, if that waits, or fetched, combined and brought
    /// back, under the guard.
    fn combine_by_kernel(
        &self, operand: *const u8, into: *mut u8, target: &Target<'_>, spot: &Spot, combination: &Combination,
        elements: Range<usize>, so_far: &Cell<usize>,
    ) -> Result<(), NotMade> {
        let (rank, op) = (target.rank, combination.op);
        let (size, extent) = (combination.basic.size() as usize, combination.basic.extent() as usize);
        let dense = target.ty.is_contiguous() && size == extent;
        let most = (CHUNK / extent).min(elements.len());
        let ty = Type::basic(combination.basic);
        let theirs = Side::new(spot.address as *mut u8, target.count, target.ty);
        // Of a dense run in a created window what is left for the kernel is mapped nowhere, but for an element that no
        // instruction combines.
        let shares = spot.instructions == Instructions::InPart && (self.dynamic || !dense);
        let mut done = elements.start;
        self.send_puts(rank)?;
        while done < elements.end {
            so_far.set(done);
            let count = (elements.end - done).min(most);
            let (bytes, before) = (count * size, done * size);
            let operand = operand.wrapping_add(done * extent);
            let into = if into.is_null() { into } else { into.wrapping_add(done * extent) };
            done += count;
            let asks = dense && self.suits_owner(op, !into.is_null(), bytes) && self.asks_owner(rank, spot.way);
            let inside = self.enter(rank);
            if shares {
                self.keep_from_instructions(&inside);
            }
            let target = spot.address + before as u64;
            // SAFETY: the target lies in the window; operand and result have `count` elements.
            if asks && unsafe { self.ask_owner(&inside, combination, operand, into, target, count)? } {
                continue;
            }
            if op == Op::Replace && into.is_null() {
                let own = Side::new(operand.cast_mut(), count as i64, &ty);
                self.kernel_copy(rank, (&own, 0), (&theirs, before), bytes, Direction::Put)?;
                continue;
            }
            self.with_room(count * extent, |room| {
                let own = Side::new(room, count as i64, &ty);
                self.kernel_copy(rank, (&own, 0), (&theirs, before), bytes, Direction::Get)?;
                // SAFETY: `room` has room for `count` elements, and the others have as many.
                unsafe { combination.under_guard(operand, room, into, count) };
                if op == Op::NoOp {
                    return Ok(());
                }
                match self.kernel_copy(rank, (&own, 0), (&theirs, before), bytes, Direction::Put) {
                    // Some of several runs may be combined by now, and must not be so twice.
                    Err(NotMade::NotCopied(NotCopied::Missed)) if !theirs.is_one_run(before, bytes) => {
                        Err(NotCopied::NotThere.into())
                    }
                    done => done,
                }
            })?;
        }
        Ok(())
    }

    /// The elements that are left when the kernel refuses in the middle; waits for them.
    fn combine_rest(
        &self, operand: *const u8, into: *mut u8, target: &Target<'_>, spot: &Spot, combination: &Combination,
        elements: Range<usize>,
    ) -> Result<(), Error> {
        let Combination { op, basic, .. } = *combination;
        let (count, before) = (elements.len() as i64, elements.start * basic.extent() as usize);
        let ty = Type::basic(basic);
        let result = (!into.is_null()).then(|| Data::new(into.wrapping_add(before), count, &ty));
        let own = Side::new(operand.wrapping_add(before).cast_mut(), count, &ty);
        let question = Question { kind: if into.is_null() { Kind::Combine } else { Kind::Fetch }, op, basic };
        self.announce_messages(target.rank);
        let ticket = self.messages.begin(result);
        // SAFETY: the operand is the caller's, and there while this waits.
        let gather = |from: usize, out: &mut [u8]| unsafe { own.gather(from, out) };
        self.ask_for_elements(ticket, target, spot, question, elements, gather);
        self.await_member(target.rank, &|| self.messages.is_done(ticket))
    }

    /// Lends memory for so many bytes of elements, aligned as any of them, which is kept for the next time.
    pub(crate) fn with_room<T>(&self, bytes: usize, using: impl FnOnce(*mut u8) -> T) -> T {
        let mut room = self.room.take();
        room.resize(room.len().max(bytes.div_ceil(16)), 0);
        let result = using(room.as_mut_ptr().cast());
        self.room.set(room);
        result
    }

    pub(crate) fn combine_by_messages(
        &self, origin: &Data, result: Option<&Data>, target: &Target<'_>, spot: &Spot, combination: &Combination,
        count: usize,
    ) -> Result<Started, Error> {
        self.announce_messages(target.rank);
        let kind = if result.is_some() { Kind::Fetch } else { Kind::Combine };
        let question = Question { kind, op: combination.op, basic: combination.basic };
        let ticket = self.messages.begin(result.cloned());
        // SAFETY: the origin is the program's, which leaves it to the access.
        let gather = |from: usize, out: &mut [u8]| unsafe { Side::of(origin).gather(from, out) };
        self.ask_for_elements(ticket, target, spot, question, 0..count, gather);
        // Some of the memory is mapped, or may be, or the kernel copies it the next time: what follows there must not overtake this.
        let mapped = !self.apart && (self.dynamic || !self.remote(target.rank).near.is_empty());
        if mapped || spot.way == Means::Kernel {
            self.await_member(target.rank, &|| self.messages.is_done(ticket))?;
            return Ok(Started::Done);
        }
        Ok(Started::Pending(ticket))
    }

    /// [`Window::get_accumulate`] of one element (`target.count` is 1).
    ///
    /// Errors: as there.
    pub fn fetch_and_op(
        &self, origin: *const u8, result: *mut u8, target: &Target<'_>, op: Op,
    ) -> Result<Started, Error> {
        let (origin, result) = (Data::new(origin, 1, target.ty), Data::new(result, 1, target.ty));
        self.combine(&origin, Some(&result), target, op)
    }
}
