//! The short ways of one-sided communication; see [`crate::fast`], of which this is a part.

// The functions have the parameters of the standard.
#![allow(clippy::too_many_arguments)]

use super::accumulate::is_swapped;
use super::object::{Win, find, lookup};
use crate::constants::*;
use crate::datatype::predefined::{dense_basic, dense_size};
use crate::enter::is_single;
use crate::fast::{Fast, dense};
use crate::op;
use std::rc::Rc;
use tern_adi::Data;
use tern_coll::ops::Op;
use tern_layout::Basic;
use tern_rma::Target;

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
    let win = lookup(win).ok()?;
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

// ---- accumulates: dense elements of one predefined type, which instructions combine

/// The elements of an accumulate: the same number of one dense predefined type at all sides.
struct Elements {
    count: usize,
    basic: Basic,
}

impl Elements {
    #[inline(always)]
    fn of(count: i64, datatype: usize) -> Option<Elements> {
        // So that no number of bytes overflows.
        let few = (1..1 << 40).contains(&count);
        Some(Elements { count: count as usize, basic: dense_basic(datatype).filter(|_| few)? })
    }

    /// Combines them; `result` is null where nobody wants the old values.
    #[inline(always)]
    fn combine(&self, origin: *const u8, result: *mut u8, rank: i32, displacement: i64, op: Op, win: usize) -> Fast {
        let win = near(win)?;
        let rank = open(win, rank)?;
        let done = win.window.combine_now(origin, result, rank, displacement, self.count, (op, self.basic));
        done.then_some(Ok(()))
    }
}

#[inline(always)]
pub fn accumulate(
    origin: *mut u8, origin_count: i64, origin_type: usize, rank: i32, displacement: i64, count: i64, datatype: usize,
    op: usize, win: usize,
) -> Fast {
    let elements = Elements::of(count, datatype)?;
    let op = op::known(op).filter(|&op| op != Op::NoOp)?;
    if origin.is_null() || origin_count != count || origin_type != datatype {
        return None;
    }
    elements.combine(origin, std::ptr::null_mut(), rank, displacement, op, win)
}

#[inline(always)]
pub fn get_accumulate(
    origin: *mut u8, origin_count: i64, origin_type: usize, result: *mut u8, result_count: i64, result_type: usize,
    rank: i32, displacement: i64, count: i64, datatype: usize, op: usize, win: usize,
) -> Fast {
    let elements = Elements::of(count, datatype)?;
    let op = op::known(op)?;
    // The origin of MPI_NO_OP means nothing.
    let given = op == Op::NoOp || (!origin.is_null() && origin_count == count && origin_type == datatype);
    if !given || result.is_null() || result_count != count || result_type != datatype {
        return None;
    }
    elements.combine(origin, result, rank, displacement, op, win)
}

#[inline(always)]
pub fn fetch_and_op(
    origin: *mut u8, result: *mut u8, datatype: usize, rank: i32, displacement: i64, op: usize, win: usize,
) -> Fast {
    let elements = Elements::of(1, datatype)?;
    let op = op::known(op)?;
    if result.is_null() || (origin.is_null() && op != Op::NoOp) {
        return None;
    }
    elements.combine(origin, result, rank, displacement, op, win)
}

#[inline(always)]
pub fn compare_and_swap(
    origin: *mut u8, compare: *mut u8, result: *mut u8, datatype: usize, rank: i32, displacement: i64, win: usize,
) -> Fast {
    let size = dense_size(datatype)?;
    if !is_swapped(dense_basic(datatype)?) || origin.is_null() || compare.is_null() || result.is_null() {
        return None;
    }
    let win = near(win)?;
    let rank = open(win, rank)?;
    win.window.swap_now(origin, compare, result, rank, displacement, size).then_some(Ok(()))
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
    if !win.window.lock_now(rank, lock_type == MPI_LOCK_EXCLUSIVE) {
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
    if !win.window.lock_all_now() {
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
    win.window.unlock_all().ok().map(Ok)
}
