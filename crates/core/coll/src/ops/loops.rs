//! The loops that every kernel runs in, compiled once for each vector instruction set.

use std::marker::PhantomData;
use std::sync::LazyLock;

/// `inout[i] = input[i] op inout[i]` for `elements` elements.
///
/// # Safety
/// `input` is readable and `inout` readable and writable for `elements` elements. They may be
/// unaligned. They may be equal, but must not overlap otherwise.
pub type Kernel = unsafe fn(input: *const u8, inout: *mut u8, elements: usize);

/// `out[i] = a[i] op b[i]` for `elements` elements.
///
/// # Safety
/// `a` and `b` are readable and `out` is writable for `elements` elements. They may be
/// unaligned. Any of them may be equal, but they must not overlap otherwise.
pub type Kernel3 = unsafe fn(a: *const u8, b: *const u8, out: *mut u8, elements: usize);

/// Both forms of one operation on one type.
#[derive(Clone, Copy)]
pub(super) struct Kernels {
    pub two: Kernel,
    pub three: Kernel3,
}

/// An instruction set that the kernels exist for. Each level gives the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// What every processor of the architecture has.
    Base,
    /// AVX2 and F16C.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// The above and AVX-512 F, BW, DQ and VL.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// The best level of this processor.
    pub fn best() -> Level {
        static BEST: LazyLock<Level> = LazyLock::new(|| Level::here().last().copied().unwrap_or(Level::Base));
        *BEST
    }

    /// The levels that this processor has, the best one last.
    #[cfg(target_arch = "x86_64")]
    pub fn here() -> Vec<Level> {
        let mut levels = vec![Level::Base];
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c") {
            levels.push(Level::Avx2);
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
            {
                levels.push(Level::Avx512);
            }
        }
        levels
    }

    /// The levels that this processor has, the best one last.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn here() -> Vec<Level> {
        vec![Level::Base]
    }
}

/// How one element, or one part of an element, is combined.
pub(super) trait Step {
    /// Bytes from one step to the next.
    const STRIDE: usize;

    /// `*out = *a op *b`. All of `a` and `b` that matters is read before `out` is written.
    ///
    /// # Safety
    /// As for [`Kernel3`], for `STRIDE` bytes.
    unsafe fn step(a: *const u8, b: *const u8, out: *mut u8);
}

/// A whole run of elements: what a kernel does.
pub(super) trait Run {
    /// `out[i] = a[i] op b[i]`.
    ///
    /// # Safety
    /// As for [`Kernel3`].
    unsafe fn run(a: *const u8, b: *const u8, out: *mut u8, elements: usize);
}

/// Takes `PER` steps for each element: a complex sum, for one, is two real sums.
pub(super) struct Each<S, const PER: usize = 1>(PhantomData<S>);

impl<S: Step, const PER: usize> Run for Each<S, PER> {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, out: *mut u8, elements: usize) {
        for i in 0..elements * PER {
            let at = i * S::STRIDE;
            // SAFETY: step i lies within the `elements` elements that the caller vouches for.
            unsafe { S::step(a.add(at), b.add(at), out.add(at)) }
        }
    }
}

#[inline(always)]
unsafe fn two<R: Run>(input: *const u8, inout: *mut u8, elements: usize) {
    // SAFETY: the caller's promise for `Kernel` is the one for `Kernel3` with b = out.
    unsafe { R::run(input, inout, inout, elements) }
}

/// One loop for each way in which `out` may be an operand. The compiler guards a vector loop
/// against overlap at run time, and only sees that equal addresses are harmless where they are
/// the same variable.
#[inline(always)]
unsafe fn three<R: Run>(a: *const u8, b: *const u8, out: *mut u8, elements: usize) {
    // SAFETY: each branch passes the same addresses that the caller vouches for.
    unsafe {
        if std::ptr::eq(b, out) {
            R::run(a, out, out, elements)
        } else if std::ptr::eq(a, out) {
            R::run(out, b, out, elements)
        } else {
            R::run(a, b, out, elements)
        }
    }
}

/// Compiles `two` and `three` for one instruction set.
macro_rules! compile_for {
    ($name:ident $(, $feature:literal)?) => {
        mod $name {
            use super::Run;

            $(#[target_feature(enable = $feature)])?
            pub unsafe fn two<R: Run>(input: *const u8, inout: *mut u8, elements: usize) {
                // SAFETY: the caller keeps the promise of `Kernel`.
                unsafe { super::two::<R>(input, inout, elements) }
            }

            $(#[target_feature(enable = $feature)])?
            pub unsafe fn three<R: Run>(
                a: *const u8,
                b: *const u8,
                out: *mut u8,
                elements: usize,
            ) {
                // SAFETY: the caller keeps the promise of `Kernel3`.
                unsafe { super::three::<R>(a, b, out, elements) }
            }
        }
    };
}

compile_for!(base);
#[cfg(target_arch = "x86_64")]
compile_for!(avx2, "avx2,f16c");
#[cfg(target_arch = "x86_64")]
compile_for!(avx512, "avx512f,avx512bw,avx512dq,avx512vl,f16c");

/// The kernels of `R` that vector instructions make no faster.
pub(super) fn plain<R: Run>() -> Kernels {
    Kernels { two: base::two::<R>, three: base::three::<R> }
}

/// The kernels of `R` for `level`, which this processor must have.
pub(super) fn vectorised<R: Run>(level: Level) -> Kernels {
    match level {
        Level::Base => plain::<R>(),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => Kernels { two: avx2::two::<R>, three: avx2::three::<R> },
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => Kernels { two: avx512::two::<R>, three: avx512::three::<R> },
    }
}
