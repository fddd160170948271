//! C's `long double`, which Rust has no type for: each number has a slot of 16 bytes.
//!
//! What a number is depends on the architecture, and so do the few steps that are not the same for all: the 80-bit numbers of the x87 unit on
//! x86-64 ([`number`] is `x87`), IEEE binary128 on arm64 and RISC-V (`binary128`).

#[cfg_attr(target_arch = "x86_64", path = "x87.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "binary128.rs")]
mod number;

use super::Op;
use super::loops::{Each, Kernels, Step, plain};
use super::pair::{MaxLoc, MinLoc, Pick};
use super::scalar::{Max, Min, Prod, Sum};
use number::{add, compare, copy, multiply, negate};
use std::marker::PhantomData;
use tern_layout::Basic;

/// Bytes from one number to the next.
const SLOT: usize = 16;
/// A number's bytes, for intermediate results.
type Slot = [u8; SLOT];

/// `long double` is IEEE binary128, as Fortran's numbers of 16 bytes are.
const IS_BINARY128: bool = cfg!(not(target_arch = "x86_64"));

/// True for `long double`, what is made of it, and what is the same here.
pub(super) fn computes(basic: Basic) -> bool {
    match basic {
        Basic::LongDouble | Basic::ComplexLongDouble | Basic::LongDoubleInt => true,
        Basic::Float128 | Basic::ComplexQuad => IS_BINARY128,
        _ => false,
    }
}

/// The kernels of `op` on a type that [`computes`] is true for.
pub(super) fn kernels(op: Op, basic: Basic) -> Option<Kernels> {
    Some(match (op, basic) {
        (Op::Max, Basic::LongDouble | Basic::Float128) => plain::<Each<Extended<Max>>>(),
        (Op::Min, Basic::LongDouble | Basic::Float128) => plain::<Each<Extended<Min>>>(),
        (Op::Sum, Basic::LongDouble | Basic::Float128) => plain::<Each<Extended<Sum>>>(),
        (Op::Prod, Basic::LongDouble | Basic::Float128) => plain::<Each<Extended<Prod>>>(),
        (Op::Sum, Basic::ComplexLongDouble | Basic::ComplexQuad) => plain::<Each<Extended<Sum>, 2>>(),
        (Op::Prod, Basic::ComplexLongDouble | Basic::ComplexQuad) => plain::<Each<ComplexProd>>(),
        (Op::MinLoc, Basic::LongDoubleInt) => plain::<Each<Locate<MinLoc>>>(),
        (Op::MaxLoc, Basic::LongDoubleInt) => plain::<Each<Locate<MaxLoc>>>(),
        _ => return None,
    })
}

/// `*out = *a * *b - *c * *d` with `SUBTRACT`, else their sum. Each product is rounded.
///
/// # Safety
/// As for `add`. `out` may be none of the operands of a later call.
#[inline(always)]
unsafe fn two_products<const SUBTRACT: bool>(
    (a, b): (*const u8, *const u8), (c, d): (*const u8, *const u8), out: *mut u8,
) {
    let (mut left, mut right): (Slot, Slot) = ([0; SLOT], [0; SLOT]);
    // SAFETY: the caller vouches for the operands and `out`; the slots are local.
    unsafe {
        multiply(a, b, left.as_mut_ptr());
        multiply(c, d, right.as_mut_ptr());
        if SUBTRACT {
            negate(right.as_mut_ptr());
        }
        add(left.as_ptr(), right.as_ptr(), out);
    }
}

/// The step of operation `F` on `long double`.
struct Extended<F>(PhantomData<F>);

impl Step for Extended<Sum> {
    const STRIDE: usize = SLOT;
    #[inline(always)]
    unsafe fn step(a: *const u8, b: *const u8, out: *mut u8) {
        // SAFETY: the caller vouches for a slot at each address.
        unsafe { add(a, b, out) }
    }
}

impl Step for Extended<Prod> {
    const STRIDE: usize = SLOT;
    #[inline(always)]
    unsafe fn step(a: *const u8, b: *const u8, out: *mut u8) {
        // SAFETY: the caller vouches for a slot at each address.
        unsafe { multiply(a, b, out) }
    }
}

impl Step for Extended<Max> {
    const STRIDE: usize = SLOT;
    #[inline(always)]
    unsafe fn step(a: *const u8, b: *const u8, out: *mut u8) {
        // SAFETY: the caller vouches for a slot at each address.
        unsafe { copy(if compare(a, b).0 { a } else { b }, out) }
    }
}

impl Step for Extended<Min> {
    const STRIDE: usize = SLOT;
    #[inline(always)]
    unsafe fn step(a: *const u8, b: *const u8, out: *mut u8) {
        // SAFETY: the caller vouches for a slot at each address.
        unsafe { copy(if compare(b, a).0 { a } else { b }, out) }
    }
}

/// The step of MPI_PROD on a complex number of two slots.
struct ComplexProd;

impl Step for ComplexProd {
    const STRIDE: usize = 2 * SLOT;
    #[inline(always)]
    unsafe fn step(a: *const u8, b: *const u8, out: *mut u8) {
        let mut re: Slot = [0; SLOT];
        // SAFETY: the caller vouches for two slots at each address. Both parts of the result
        // are known before `out`, which may be an operand, is written.
        unsafe {
            let (a_im, b_im) = (a.add(SLOT), b.add(SLOT));
            let mut im: Slot = [0; SLOT];
            two_products::<true>((a, b), (a_im, b_im), re.as_mut_ptr());
            two_products::<false>((a, b_im), (a_im, b), im.as_mut_ptr());
            copy(re.as_ptr(), out);
            copy(im.as_ptr(), out.add(SLOT));
        }
    }
}

/// The step of MPI_MINLOC or MPI_MAXLOC on MPI_LONG_DOUBLE_INT: a slot, an int, padding.
struct Locate<P>(PhantomData<P>);

impl<P: Pick> Step for Locate<P> {
    const STRIDE: usize = 2 * SLOT;
    #[inline(always)]
    unsafe fn step(a: *const u8, b: *const u8, out: *mut u8) {
        // SAFETY: the caller vouches for a pair at each address.
        unsafe {
            let ia = a.add(SLOT).cast::<i32>().read_unaligned();
            let ib = b.add(SLOT).cast::<i32>().read_unaligned();
            let (wins, equal) = if P::LARGER { compare(a, b) } else { compare(b, a) };
            let take_a = wins || (equal && ia < ib);
            copy(if take_a { a } else { b }, out);
            out.add(SLOT).cast::<i32>().write_unaligned(if take_a { ia } else { ib });
        }
    }
}
