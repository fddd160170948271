//! IEEE binary128, which `long double` is on arm64 and RISC-V. No processor computes with it: the functions of the compiler's own library do
//! (libgcc, and Rust's `compiler_builtins`, which have the same names for it).

/// A number as it lies in memory.
type Bytes = [u8; 16];

/// The functions, by which calls they take.
#[cfg(target_arch = "aarch64")]
mod functions {
    use super::Bytes;
    use std::arch::aarch64::uint8x16_t;
    use std::arch::asm;
    use std::mem::transmute;

    unsafe extern "C" {
        fn __addtf3();
        fn __multf3();
        fn __gttf2();
        fn __eqtf2();
    }

    /// Arguments and results are in vector registers, as those of a type that Rust does not have.
    macro_rules! arithmetic {
        ($name:ident, $function:ident) => {
            #[inline]
            pub fn $name(a: Bytes, b: Bytes) -> Bytes {
                // SAFETY: these are types of 16 bytes of which all values are valid; the function keeps the rules of C's calls, and
                // has no other effect than its result.
                unsafe {
                    let (a, b) = (transmute::<Bytes, uint8x16_t>(a), transmute::<Bytes, uint8x16_t>(b));
                    let result: uint8x16_t;
                    asm!("bl {}", sym $function, inlateout("v0") a => result, in("v1") b, clobber_abi("C"));
                    transmute::<uint8x16_t, Bytes>(result)
                }
            }
        };
    }
    arithmetic!(add, __addtf3);
    arithmetic!(multiply, __multf3);

    macro_rules! comparison {
        ($name:ident, $function:ident) => {
            #[inline]
            pub fn $name(a: Bytes, b: Bytes) -> i32 {
                // SAFETY: as above.
                unsafe {
                    let (a, b) = (transmute::<Bytes, uint8x16_t>(a), transmute::<Bytes, uint8x16_t>(b));
                    let result: i32;
                    asm!("bl {}", sym $function, in("v0") a, in("v1") b, lateout("w0") result, clobber_abi("C"));
                    result
                }
            }
        };
    }
    comparison!(greater, __gttf2);
    comparison!(unequal, __eqtf2);
}

/// The same on RISC-V, where the numbers are in pairs of general registers, as whole numbers of this size are.
#[cfg(target_arch = "riscv64")]
mod functions {
    use super::Bytes;

    unsafe extern "C" {
        safe fn __addtf3(a: u128, b: u128) -> u128;
        safe fn __multf3(a: u128, b: u128) -> u128;
        safe fn __gttf2(a: u128, b: u128) -> i32;
        safe fn __eqtf2(a: u128, b: u128) -> i32;
    }

    pub fn add(a: Bytes, b: Bytes) -> Bytes {
        __addtf3(u128::from_ne_bytes(a), u128::from_ne_bytes(b)).to_ne_bytes()
    }
    pub fn multiply(a: Bytes, b: Bytes) -> Bytes {
        __multf3(u128::from_ne_bytes(a), u128::from_ne_bytes(b)).to_ne_bytes()
    }
    pub fn greater(a: Bytes, b: Bytes) -> i32 {
        __gttf2(u128::from_ne_bytes(a), u128::from_ne_bytes(b))
    }
    pub fn unequal(a: Bytes, b: Bytes) -> i32 {
        __eqtf2(u128::from_ne_bytes(a), u128::from_ne_bytes(b))
    }
}

/// `*out = *a + *b`.
///
/// # Safety
/// `a` and `b` are readable and `out` is writable for 16 bytes. They may be equal.
#[inline(always)]
pub unsafe fn add(a: *const u8, b: *const u8, out: *mut u8) {
    // SAFETY: the caller vouches for it; byte arrays need no alignment.
    unsafe { *out.cast::<Bytes>() = functions::add(*a.cast(), *b.cast()) }
}

/// `*out = *a * *b`.
///
/// # Safety
/// As for [`add`].
#[inline(always)]
pub unsafe fn multiply(a: *const u8, b: *const u8, out: *mut u8) {
    // SAFETY: as above.
    unsafe { *out.cast::<Bytes>() = functions::multiply(*a.cast(), *b.cast()) }
}

/// Whether `*a > *b`, and whether they are equal. Both are false of a NaN.
///
/// # Safety
/// `a` and `b` are readable for 16 bytes.
#[inline(always)]
pub unsafe fn compare(a: *const u8, b: *const u8) -> (bool, bool) {
    // SAFETY: the caller vouches for it.
    let (a, b): (Bytes, Bytes) = unsafe { (*a.cast(), *b.cast()) };
    (functions::greater(a, b) > 0, functions::unequal(a, b) == 0)
}

/// Copies a number.
///
/// # Safety
/// `from` is readable and `to` writable for 16 bytes. They may be equal.
#[inline(always)]
pub unsafe fn copy(from: *const u8, to: *mut u8) {
    // SAFETY: the caller vouches for it.
    unsafe { *to.cast::<Bytes>() = *from.cast() }
}

/// Turns the sign of a number.
///
/// # Safety
/// `at` is readable and writable for 16 bytes.
#[inline(always)]
pub unsafe fn negate(at: *mut u8) {
    // SAFETY: the caller vouches for it. The sign is the top bit of the last byte.
    unsafe { *at.add(15) ^= 0x80 }
}
