//! Applying an operation to vectors in memory.

use crate::buffers::{Buffer, Operator};
use crate::ops::{Op, kernel};
use crate::schedule::Reduction;
use std::rc::Rc;
use tern_layout::Type;

/// `inout = input op inout` on `count` elements.
///
/// # Safety
/// Both vectors must hold `count` elements of the reduction's type, and not overlap.
pub(crate) unsafe fn apply(r: &Reduction, input: *const u8, inout: *mut u8, count: i64) {
    // SAFETY: the caller's promise.
    unsafe { apply_op(&r.op, &r.ty, input, inout, count) }
}

unsafe fn apply_op(op: &Operator, ty: &Rc<Type>, input: *const u8, inout: *mut u8, count: i64) {
    match op {
        Operator::User { function, .. } => function(input, inout, count, ty),
        // SAFETY: the caller's promise.
        Operator::Predefined(op) => unsafe { predefined(*op, ty, input, inout, count) },
    }
}

/// Operations that do not fit the type are refused before a collective starts, so there is
/// nothing to do for them here.
unsafe fn predefined(op: Op, ty: &Type, input: *const u8, inout: *mut u8, count: i64) {
    let Some(basic) = ty.uniform_basic() else { return };
    let Some(kernel) = kernel(op, basic) else { return };
    if ty.is_contiguous() || ty.named().is_some() {
        let elements = count as u64 * (ty.size() / basic.size()) as u64;
        // SAFETY: so many basic elements follow each other in both vectors.
        return unsafe { kernel(input, inout, elements as usize) };
    }
    let bytes = count as u64 * ty.size() as u64;
    for (at, len) in ty.segments(0, count, 0, bytes) {
        let (input, inout) = (input.wrapping_offset(at as isize), inout.wrapping_offset(at as isize));
        // SAFETY: the run lies in both vectors.
        unsafe { kernel(input, inout, len as usize / basic.size() as usize) };
    }
}

/// MPI_Reduce_local: `inout = input op inout` (MPI 5.0, section 6.9.7).
///
/// # Safety
/// Both buffers must be valid and hold `count` elements of the same type.
pub unsafe fn reduce_local(input: *const u8, inout: &Buffer, op: &Operator) {
    if inout.count > 0 {
        // SAFETY: the caller's promise.
        unsafe { apply_op(op, &inout.ty, input, inout.base, inout.count) }
    }
}
