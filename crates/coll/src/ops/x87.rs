//! The 80-bit extended numbers that x86-64 has for `long double`: 10 bytes in a slot of 16.
//!
//! Rust has no such type, so each step is a few instructions of the x87 unit, which rounds to
//! 64 bits of precision unless the program changes its control word. The 6 bytes behind a
//! number are neither read nor written.

use super::loops::Step;
use super::pair::Pick;
use super::scalar::{Max, Min, Prod, Sum};
use std::arch::asm;
use std::marker::PhantomData;

/// Bytes from one number to the next.
const SLOT: usize = 16;
/// A number's bytes, for intermediate results.
type Slot = [u8; SLOT];

/// Runs one instruction that replaces st(1), st(0) by their result, as `*out = *a op *b`.
macro_rules! arithmetic {
    ($name:ident, $instruction:literal) => {
        /// # Safety
        /// `a` and `b` are readable and `out` is writable for 10 bytes. They may be equal.
        #[inline(always)]
        unsafe fn $name(a: *const u8, b: *const u8, out: *mut u8) {
            // SAFETY: reads and writes the 10 bytes that the caller vouches for; both numbers
            // that it pushes are popped again.
            unsafe {
                asm!(
                    "fld tbyte ptr [{a}]",
                    "fld tbyte ptr [{b}]",
                    $instruction,
                    "fstp tbyte ptr [{out}]",
                    a = in(reg) a,
                    b = in(reg) b,
                    out = in(reg) out,
                    out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                    out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                    options(nostack),
                );
            }
        }
    };
}

arithmetic!(add, "faddp st(1), st");
arithmetic!(multiply, "fmulp st(1), st");

/// `*out = *a * *b - *c * *d` with `SUBTRACT`, else their sum. Each product is rounded.
///
/// # Safety
/// As for `add`. `out` may be none of the operands of a later call.
#[inline(always)]
unsafe fn two_products<const SUBTRACT: bool>(
    (a, b): (*const u8, *const u8), (c, d): (*const u8, *const u8), out: *mut u8,
) {
    let (mut left, mut right): (Slot, Slot) = ([0; SLOT], [0; SLOT]);
    // SAFETY: the caller vouches for the operands and `out`; the slots are local. The sign of
    // an extended number is the top bit of its tenth byte.
    unsafe {
        multiply(a, b, left.as_mut_ptr());
        multiply(c, d, right.as_mut_ptr());
        if SUBTRACT {
            right[9] ^= 0x80;
        }
        add(left.as_ptr(), right.as_ptr(), out);
    }
}

/// Whether `*a > *b`, and whether they are equal. Both are false of a NaN.
///
/// # Safety
/// `a` and `b` are readable for 10 bytes.
#[inline(always)]
unsafe fn compare(a: *const u8, b: *const u8) -> (bool, bool) {
    let (above, equal, unordered): (u8, u8, u8);
    // SAFETY: reads the 10 bytes that the caller vouches for; both pushed numbers are popped.
    unsafe {
        asm!(
            "fld tbyte ptr [{b}]",
            "fld tbyte ptr [{a}]",
            "fcomip st, st(1)",
            "fstp st(0)",
            "seta {above}",
            "sete {equal}",
            "setp {unordered}",
            a = in(reg) a,
            b = in(reg) b,
            above = out(reg_byte) above,
            equal = out(reg_byte) equal,
            unordered = out(reg_byte) unordered,
            out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
            out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
            options(nostack, readonly),
        );
    }
    (above != 0, equal != 0 && unordered == 0)
}

/// Copies a number.
///
/// # Safety
/// `from` is readable and `to` writable for 10 bytes. They may be equal.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8) {
    // SAFETY: the caller vouches for 10 bytes at both; all are read before any is written.
    unsafe {
        let low = from.cast::<u64>().read_unaligned();
        let high = from.add(8).cast::<u16>().read_unaligned();
        to.cast::<u64>().write_unaligned(low);
        to.add(8).cast::<u16>().write_unaligned(high);
    }
}

/// The step of operation `F` on `long double`.
pub(super) struct Extended<F>(PhantomData<F>);

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
pub(super) struct ComplexProd;

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
pub(super) struct Locate<P>(PhantomData<P>);

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
