//! The short ways of one-sided communication; see [`crate::fast`], of which this is a part.

// The functions have the parameters of the standard.
#![allow(clippy::too_many_arguments)]

use super::accumulate::is_swapped;
use super::object::{Win, find, lookup};
use super::target::outcome;
use crate::constants::*;
use crate::datatype::predefined::{dense, dense_basic, dense_size};
use crate::error::Fast;
use crate::mode::is_single;
use crate::op;
use std::rc::Rc;
use tern_adi::Data;
use tern_coll::ops::Op;
use tern_layout::Basic;
use tern_rma::{Target, Window};

/// The window of a call that needs no lock, in place: nothing may be waited for while it is looked at.
#[inline(always)]
fn near<'a>(win: usize) -> Option<&'a Win> {
    // SAFETY: those that call this wait for nothing, and return.
    if is_single() { unsafe { find(win) } } else { None }
}

/// The target's rank, if there is one and it may be accessed now. It is asked last: a fence's epoch has been
/// used after that.
#[inline(always)]
fn open(win: &Win, rank: i32) -> Option<u32> {
    if win.epochs.is_open(rank) { Some(rank as u32) } else { opened(win, rank) }
}

/// As [`open`], where it is not that simple.
#[cold]
fn opened(win: &Win, rank: i32) -> Option<u32> {
    let rank = exists(win, rank)?;
    win.epochs.access(rank).ok()?;
    Some(rank)
}

#[inline(always)]
fn exists(win: &Win, rank: i32) -> Option<u32> {
    win.window.has(rank).then_some(rank as u32)
}

// ---- put and get: dense predefined types of one length at both sides

/// The bytes of an access, if it has some.
#[inline(always)]
fn bytes(buf: *mut u8, origin_count: i64, origin_type: usize, count: i64, datatype: usize) -> Option<usize> {
    let bytes = dense(buf, origin_count, origin_type)?.len();
    if count != origin_count || datatype != origin_type {
        // No data is read there: it only has to be as long.
        let there = dense(std::ptr::dangling_mut(), count, datatype)?;
        (there.len() == bytes).then_some(())?;
    }
    (bytes > 0).then_some(bytes)
}

// An error of those below is found again, and told, on the general way: nothing was moved.

#[inline(always)]
pub fn put(
    buf: *mut u8, origin_count: i64, origin_type: usize, rank: i32, displacement: i64, count: i64, datatype: usize,
    win: usize,
) -> Fast {
    let bytes = bytes(buf, origin_count, origin_type, count, datatype)?;
    let win = near(win)?;
    win.window.put_now(buf, open(win, rank)?, displacement, bytes).then_some(Ok(()))
}

/// The window of a call that needs no lock and may wait.
fn waiting(win: usize, rank: i32, displacement: i64) -> Option<(Rc<Win>, u32)> {
    if !is_single() {
        return None;
    }
    let win = lookup(win).ok().filter(|win| !win.notes)?;
    let rank = open(&win, rank).filter(|_| displacement >= 0 || win.is_dynamic())?;
    Some((win, rank))
}

/// [`put`] where the target is not mapped.
pub fn put_later(
    buf: *mut u8, origin_count: i64, origin_type: usize, rank: i32, displacement: i64, count: i64, datatype: usize,
    win: usize,
) -> Fast {
    let bytes = bytes(buf, origin_count, origin_type, count, datatype)?;
    let (win, rank) = waiting(win, rank, displacement)?;
    let target = Target { rank, displacement, ty: &win.byte, count: bytes as i64 };
    let done = match win.window.put_later(buf, bytes, &target) {
        Ok(false) => win.window.put(&Data::Bytes(buf, bytes), &target).map(drop),
        gathered => gathered.map(drop),
    };
    done.ok().map(Ok)
}

#[inline(always)]
pub fn get(
    buf: *mut u8, origin_count: i64, origin_type: usize, rank: i32, displacement: i64, count: i64, datatype: usize,
    win: usize,
) -> Fast {
    let bytes = bytes(buf, origin_count, origin_type, count, datatype)?;
    let win = near(win)?;
    win.window.get_now(buf, open(win, rank)?, displacement, bytes).then_some(Ok(()))
}

/// [`get`] where the target is not mapped.
pub fn get_later(
    buf: *mut u8, origin_count: i64, origin_type: usize, rank: i32, displacement: i64, count: i64, datatype: usize,
    win: usize,
) -> Fast {
    let bytes = bytes(buf, origin_count, origin_type, count, datatype)?;
    let (win, rank) = waiting(win, rank, displacement)?;
    let target = Target { rank, displacement, ty: &win.byte, count: bytes as i64 };
    win.window.get(&Data::Bytes(buf, bytes), &target).ok().map(|_| Ok(()))
}

// ---- accumulates: dense elements of one predefined type, which instructions combine, or the owner of private memory

/// The elements of an accumulate: the same number of one dense predefined type at all sides.
struct Elements {
    count: usize,
    basic: Basic,
    op: Op,
}

impl Elements {
    #[inline(always)]
    fn of(count: i64, datatype: usize, op: usize) -> Option<Elements> {
        // So that no number of bytes overflows.
        let few = (1..1 << 40).contains(&count);
        let basic = dense_basic(datatype).filter(|_| few)?;
        Some(Elements { count: count as usize, basic, op: op::known(op)? })
    }

    /// Of an accumulate.
    #[inline(always)]
    fn added(
        origin: *mut u8, (origin_count, origin_type): (i64, usize), (count, datatype): (i64, usize), op: usize,
    ) -> Option<Elements> {
        let elements = Elements::of(count, datatype, op).filter(|elements| elements.op != Op::NoOp)?;
        let given = !origin.is_null() && origin_count == count && origin_type == datatype;
        given.then_some(elements)
    }

    /// Of an accumulate that fetches.
    #[inline(always)]
    fn fetched(
        (origin, origin_count, origin_type): (*mut u8, i64, usize),
        (result, result_count, result_type): (*mut u8, i64, usize), (count, datatype): (i64, usize), op: usize,
    ) -> Option<Elements> {
        let elements = Elements::of(count, datatype, op)?;
        // The origin of MPI_NO_OP means nothing.
        let given = elements.op == Op::NoOp || (!origin.is_null() && origin_count == count && origin_type == datatype);
        let wanted = !result.is_null() && result_count == count && result_type == datatype;
        (given && wanted).then_some(elements)
    }

    /// Combines them; `result` is null where nobody wants the old values.
    #[inline(always)]
    fn combine(&self, origin: *const u8, result: *mut u8, rank: i32, displacement: i64, win: usize) -> Fast {
        let win = near(win)?;
        let rank = open(win, rank)?;
        let done = win.window.combine_now(origin, result, rank, displacement, self.count, (self.op, self.basic));
        done.then_some(Ok(()))
    }

    /// [`Elements::combine`] where the target is not mapped.
    #[inline]
    fn combine_later(&self, origin: *const u8, result: *mut u8, rank: i32, displacement: i64, win: usize) -> Fast {
        let bytes = self.count * self.basic.size() as usize;
        let what = (self.op, self.basic);
        by_owner(win, rank, displacement, bytes, |window, target| {
            window.combine_at_owner(origin, result, target, self.count, what)
        })
    }
}

/// Asks the owner of so many bytes, who is looked for without progress.
#[inline(always)]
fn by_owner(
    win: usize, rank: i32, displacement: i64, bytes: usize,
    ask: impl FnOnce(&Window, &Target<'_>) -> Result<bool, tern_rma::Error>,
) -> Fast {
    let win = near(win)?;
    let rank = open(win, rank).filter(|_| displacement >= 0 || win.is_dynamic())?;
    let done = ask(&win.window, &Target { rank, displacement, ty: &win.byte, count: bytes as i64 });
    match outcome(win, done) {
        Ok(true) => Some(Ok(())),
        Ok(false) => None,
        Err(error) => Some(Err(error)),
    }
}

#[inline(always)]
pub fn accumulate(
    origin: *mut u8, origin_count: i64, origin_type: usize, rank: i32, displacement: i64, count: i64, datatype: usize,
    op: usize, win: usize,
) -> Fast {
    let elements = Elements::added(origin, (origin_count, origin_type), (count, datatype), op)?;
    elements.combine(origin, std::ptr::null_mut(), rank, displacement, win)
}

/// [`accumulate`] where the target is not mapped.
pub fn accumulate_later(
    origin: *mut u8, origin_count: i64, origin_type: usize, rank: i32, displacement: i64, count: i64, datatype: usize,
    op: usize, win: usize,
) -> Fast {
    let elements = Elements::added(origin, (origin_count, origin_type), (count, datatype), op)?;
    elements.combine_later(origin, std::ptr::null_mut(), rank, displacement, win)
}

#[inline(always)]
pub fn get_accumulate(
    origin: *mut u8, origin_count: i64, origin_type: usize, result: *mut u8, result_count: i64, result_type: usize,
    rank: i32, displacement: i64, count: i64, datatype: usize, op: usize, win: usize,
) -> Fast {
    let (from, into) = ((origin, origin_count, origin_type), (result, result_count, result_type));
    let elements = Elements::fetched(from, into, (count, datatype), op)?;
    elements.combine(origin, result, rank, displacement, win)
}

/// [`get_accumulate`] where the target is not mapped.
pub fn get_accumulate_later(
    origin: *mut u8, origin_count: i64, origin_type: usize, result: *mut u8, result_count: i64, result_type: usize,
    rank: i32, displacement: i64, count: i64, datatype: usize, op: usize, win: usize,
) -> Fast {
    let (from, into) = ((origin, origin_count, origin_type), (result, result_count, result_type));
    let elements = Elements::fetched(from, into, (count, datatype), op)?;
    elements.combine_later(origin, result, rank, displacement, win)
}

#[inline(always)]
pub fn fetch_and_op(
    origin: *mut u8, result: *mut u8, datatype: usize, rank: i32, displacement: i64, op: usize, win: usize,
) -> Fast {
    let elements = Elements::fetched((origin, 1, datatype), (result, 1, datatype), (1, datatype), op)?;
    elements.combine(origin, result, rank, displacement, win)
}

/// [`fetch_and_op`] where the target is not mapped.
pub fn fetch_and_op_later(
    origin: *mut u8, result: *mut u8, datatype: usize, rank: i32, displacement: i64, op: usize, win: usize,
) -> Fast {
    let elements = Elements::fetched((origin, 1, datatype), (result, 1, datatype), (1, datatype), op)?;
    elements.combine_later(origin, result, rank, displacement, win)
}

/// The bytes of an element that is compared and swapped, if it can be.
#[inline(always)]
fn swapped(datatype: usize, pointers: [*mut u8; 3]) -> Option<usize> {
    let size = dense_size(datatype)?;
    (is_swapped(dense_basic(datatype)?) && pointers.iter().all(|at| !at.is_null())).then_some(size)
}

#[inline(always)]
pub fn compare_and_swap(
    origin: *mut u8, compare: *mut u8, result: *mut u8, datatype: usize, rank: i32, displacement: i64, win: usize,
) -> Fast {
    let size = swapped(datatype, [origin, compare, result])?;
    let win = near(win)?;
    let rank = open(win, rank)?;
    win.window.swap_now(origin, compare, result, rank, displacement, size).then_some(Ok(()))
}

/// [`compare_and_swap`] where the target is not mapped.
pub fn compare_and_swap_later(
    origin: *mut u8, compare: *mut u8, result: *mut u8, datatype: usize, rank: i32, displacement: i64, win: usize,
) -> Fast {
    let size = swapped(datatype, [origin, compare, result])?;
    by_owner(win, rank, displacement, size, |window, target| {
        window.swap_at_owner(origin, compare, result, target, size)
    })
}

// ---- synchronisation that finds nothing to wait for

#[inline(always)]
fn flush(rank: i32, local: bool, win: usize) -> Fast {
    let win = near(win)?;
    let calls = win.calls_until_look()?;
    let passive = win.epochs.is_passive(rank) || is_passive(win, rank);
    if !passive || !win.window.flush_now(Some(rank as u32), local) {
        return None;
    }
    win.calls.set(calls);
    Some(Ok(()))
}

#[cold]
fn is_passive(win: &Win, rank: i32) -> bool {
    exists(win, rank).is_some_and(|rank| win.epochs.passive(rank).is_ok())
}

#[inline(always)]
fn flush_all(local: bool, win: usize) -> Fast {
    let win = near(win)?;
    let calls = win.calls_until_look()?;
    win.epochs.passive_all().ok()?;
    if !win.window.flush_now(None, local) {
        return None;
    }
    win.calls.set(calls);
    Some(Ok(()))
}

#[inline(always)]
pub fn win_flush(rank: i32, win: usize) -> Fast {
    flush(rank, false, win)
}

#[inline(always)]
pub fn win_flush_local(rank: i32, win: usize) -> Fast {
    flush(rank, true, win)
}

#[inline(always)]
pub fn win_flush_all(win: usize) -> Fast {
    flush_all(false, win)
}

#[inline(always)]
pub fn win_flush_local_all(win: usize) -> Fast {
    flush_all(true, win)
}

/// Assertions that the calls of passive synchronisation take.
const ASSERTIONS: i32 = MPI_MODE_NOCHECK;

#[inline(always)]
pub fn win_lock(lock_type: i32, rank: i32, assert: i32, win: usize) -> Fast {
    let win = near(win)?;
    let ordinary = matches!(lock_type, MPI_LOCK_EXCLUSIVE | MPI_LOCK_SHARED) && assert & !ASSERTIONS == 0;
    let rank = exists(win, rank)?;
    if !ordinary || win.no_locks.get() {
        return None;
    }
    win.epochs.locks(rank).ok()?;
    if assert == MPI_MODE_NOCHECK {
        win.window.assume_lock();
    } else if !win.window.lock_now(rank, lock_type == MPI_LOCK_EXCLUSIVE) {
        return None;
    }
    win.epochs.locked(rank);
    Some(Ok(()))
}

#[inline(always)]
pub fn win_unlock(rank: i32, win: usize) -> Fast {
    let win = near(win)?;
    let calls = win.calls_until_look()?;
    let rank = exists(win, rank)?;
    if !win.window.flush_now(Some(rank), true) {
        return None;
    }
    win.epochs.unlock(rank).ok()?;
    win.calls.set(calls);
    win.window.give_up(rank);
    Some(Ok(()))
}

#[inline(always)]
pub fn win_lock_all(assert: i32, win: usize) -> Fast {
    let win = near(win)?;
    if assert & !ASSERTIONS != 0 || win.no_locks.get() {
        return None;
    }
    win.epochs.may_lock_all().ok()?;
    if assert == MPI_MODE_NOCHECK {
        win.window.assume_lock();
    } else if !win.window.lock_all_now() {
        return None;
    }
    win.epochs.lock_all().ok().map(Ok)
}

#[inline(always)]
pub fn win_unlock_all(win: usize) -> Fast {
    let win = near(win)?;
    let calls = win.calls_until_look()?;
    if !win.window.flush_now(None, true) {
        return None;
    }
    win.epochs.unlock_all().ok()?;
    win.calls.set(calls);
    win.window.give_all_up();
    Some(Ok(()))
}
