//! Operations on integers, floating-point and complex numbers that Rust has types for.

use super::loops::Step;
use std::marker::PhantomData;

/// One operation on values of type `T`.
pub(super) trait Combine<T> {
    fn combine(a: T, b: T) -> T;
}

/// The step of operation `F` on the elements of type `T`.
pub(super) struct Scalar<F, T>(PhantomData<(F, T)>);

impl<T: Copy, F: Combine<T>> Step for Scalar<F, T> {
    const STRIDE: usize = size_of::<T>();

    #[inline(always)]
    unsafe fn step(a: *const u8, b: *const u8, out: *mut u8) {
        // SAFETY: the caller vouches for `STRIDE` bytes at each address, aligned or not, and
        // every bit pattern is a value of the number types that `Combine` exists for.
        unsafe {
            let r = F::combine(a.cast::<T>().read_unaligned(), b.cast::<T>().read_unaligned());
            out.cast::<T>().write_unaligned(r);
        }
    }
}

/// `a > b ? a : b`: where one of them is a NaN, or both are zeros, the result is b.
pub(super) struct Max;
/// `a < b ? a : b`: where one of them is a NaN, or both are zeros, the result is b.
pub(super) struct Min;
/// Integers wrap around.
pub(super) struct Sum;
/// Integers wrap around. Complex numbers: the plain formula, no rescue of infinities.
pub(super) struct Prod;
/// Not zero is true. The result is 0 or 1.
pub(super) struct Land;
pub(super) struct Lor;
pub(super) struct Lxor;
pub(super) struct Band;
pub(super) struct Bor;
pub(super) struct Bxor;
/// MPI_REPLACE: the first operand.
pub(super) struct First;
/// MPI_NO_OP: the second operand.
pub(super) struct Second;

impl<T: PartialOrd> Combine<T> for Max {
    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        if a > b { a } else { b }
    }
}

impl<T: PartialOrd> Combine<T> for Min {
    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        if a < b { a } else { b }
    }
}

impl<T> Combine<T> for First {
    #[inline(always)]
    fn combine(a: T, _: T) -> T {
        a
    }
}

impl<T> Combine<T> for Second {
    #[inline(always)]
    fn combine(_: T, b: T) -> T {
        b
    }
}

/// Numbers that add and multiply as MPI asks.
pub(super) trait Number: Copy {
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

macro_rules! number {
    ($plus:ident, $times:ident: $($t:ty),*) => {
        $(impl Number for $t {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.$plus(other)
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.$times(other)
            }
        })*
    };
}

use std::ops::{Add, Mul, Sub};
// Signed integers use the unsigned kernels: the bits are the same.
number!(wrapping_add, wrapping_mul: u8, u16, u32, u64, u128);
number!(add, mul: f32, f64);

/// A complex number as C and Fortran lay it out.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Complex<T> {
    pub re: T,
    pub im: T,
}

impl<T: Copy + Add<Output = T> + Sub<Output = T> + Mul<Output = T>> Number for Complex<T> {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Complex { re: self.re + other.re, im: self.im + other.im }
    }
    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Complex { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}

impl<T: Number> Combine<T> for Sum {
    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        a.plus(b)
    }
}

impl<T: Number> Combine<T> for Prod {
    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        a.times(b)
    }
}

macro_rules! bits {
    ($($t:ty),*) => {
        $(
            impl Combine<$t> for Land {
                #[inline(always)]
                fn combine(a: $t, b: $t) -> $t {
                    ((a != 0) & (b != 0)) as $t
                }
            }
            impl Combine<$t> for Lor {
                #[inline(always)]
                fn combine(a: $t, b: $t) -> $t {
                    ((a | b) != 0) as $t
                }
            }
            impl Combine<$t> for Lxor {
                #[inline(always)]
                fn combine(a: $t, b: $t) -> $t {
                    ((a != 0) ^ (b != 0)) as $t
                }
            }
            impl Combine<$t> for Band {
                #[inline(always)]
                fn combine(a: $t, b: $t) -> $t {
                    a & b
                }
            }
            impl Combine<$t> for Bor {
                #[inline(always)]
                fn combine(a: $t, b: $t) -> $t {
                    a | b
                }
            }
            impl Combine<$t> for Bxor {
                #[inline(always)]
                fn combine(a: $t, b: $t) -> $t {
                    a ^ b
                }
            }
        )*
    };
}

bits!(u8, u16, u32, u64, u128);
