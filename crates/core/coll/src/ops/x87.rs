//! The 80-bit extended numbers that x86-64 has for `long double`: 10 bytes in a slot of 16.
//!
//! Rust has no such type, so each step is a few instructions of the x87 unit, which rounds to
//! 64 bits of precision unless the program changes its control word. The 6 bytes behind a
//! number are neither read nor written.

use std::arch::asm;

/// Runs one instruction that replaces st(1), st(0) by their result, as `*out = *a op *b`.
macro_rules! arithmetic {
    ($name:ident, $instruction:literal) => {
        /// # Safety
        /// `a` and `b` are readable and `out` is writable for 10 bytes. They may be equal.
        #[inline(always)]
        pub unsafe fn $name(a: *const u8, b: *const u8, out: *mut u8) {
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

/// Whether `*a > *b`, and whether they are equal. Both are false of a NaN.
///
/// # Safety
/// `a` and `b` are readable for 10 bytes.
#[inline(always)]
pub unsafe fn compare(a: *const u8, b: *const u8) -> (bool, bool) {
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
pub unsafe fn copy(from: *const u8, to: *mut u8) {
    // SAFETY: the caller vouches for 10 bytes at both; all are read before any is written.
    unsafe {
        let low = from.cast::<u64>().read_unaligned();
        let high = from.add(8).cast::<u16>().read_unaligned();
        to.cast::<u64>().write_unaligned(low);
        to.add(8).cast::<u16>().write_unaligned(high);
    }
}

/// Turns the sign of a number.
///
/// # Safety
/// `at` is readable and writable for 10 bytes.
#[inline(always)]
pub unsafe fn negate(at: *mut u8) {
    // SAFETY: the caller vouches for it. The sign is the top bit of the tenth byte.
    unsafe { *at.add(9) ^= 0x80 }
}
