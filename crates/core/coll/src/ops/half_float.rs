//! 2-byte floating-point numbers and complex numbers of two of them.
//!
//! Blocks are widened to `f32`, combined and rounded back. `f32` has more than twice the
//! precision, so a sum or product comes out correctly rounded; a complex product is rounded
//! once at its end.

#[cfg(target_arch = "x86_64")]
use super::loops::vectorised;
use super::loops::{Kernels, Level, Run, plain};
use super::scalar::{Combine, Complex};
use half::f16;
use std::marker::PhantomData;

/// Numbers that are converted at once.
const BLOCK: usize = 8;

/// The kernels of `F` on elements of `T`, which is `f32` or a complex number of it.
pub(super) fn kernels<F: Combine<T>, T: Wide>(level: Level) -> Kernels {
    match level {
        Level::Base => plain::<Half<Portable, F, T>>(),
        #[cfg(target_arch = "x86_64")]
        _ => vectorised::<Half<x86::Instructions, F, T>>(level),
    }
}

/// A way to convert numbers.
trait Convert {
    /// # Safety
    /// The processor has the instructions that the way needs.
    unsafe fn widen(narrow: [u16; BLOCK]) -> [f32; BLOCK];
    /// Rounds to nearest, ties to even.
    ///
    /// # Safety
    /// As for `widen`.
    unsafe fn narrow(wide: [f32; BLOCK]) -> [u16; BLOCK];
}

struct Portable;

impl Convert for Portable {
    unsafe fn widen(narrow: [u16; BLOCK]) -> [f32; BLOCK] {
        narrow.map(|bits| f16::from_bits(bits).to_f32())
    }
    unsafe fn narrow(wide: [f32; BLOCK]) -> [u16; BLOCK] {
        wide.map(|x| f16::from_f32(x).to_bits())
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{BLOCK, Convert};
    use std::arch::x86_64::{__m128i, __m256, _MM_FROUND_TO_NEAREST_INT, _mm256_cvtph_ps, _mm256_cvtps_ph};
    use std::mem::transmute;

    /// The conversions of F16C, which each level above the base has.
    pub struct Instructions;

    impl Convert for Instructions {
        #[inline(always)]
        unsafe fn widen(narrow: [u16; BLOCK]) -> [f32; BLOCK] {
            // SAFETY: the caller vouches for F16C; a vector is the array of its lanes.
            unsafe { transmute::<__m256, [f32; BLOCK]>(_mm256_cvtph_ps(transmute::<[u16; BLOCK], __m128i>(narrow))) }
        }
        #[inline(always)]
        unsafe fn narrow(wide: [f32; BLOCK]) -> [u16; BLOCK] {
            // SAFETY: as for `widen`.
            unsafe {
                let wide = transmute::<[f32; BLOCK], __m256>(wide);
                transmute::<__m128i, [u16; BLOCK]>(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(wide))
            }
        }
    }
}

/// Operation `F` on elements of `T`, converted the way `C`.
struct Half<C, F, T>(PhantomData<(C, F, T)>);

/// What `f16` numbers are widened to: one or two `f32`.
pub(super) trait Wide: Copy {
    /// Numbers in an element. Divides `BLOCK`.
    const PARTS: usize;
    fn load(from: &[f32]) -> Self;
    fn store(self, to: &mut [f32]);
}

impl Wide for f32 {
    const PARTS: usize = 1;
    #[inline(always)]
    fn load(from: &[f32]) -> f32 {
        from[0]
    }
    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        to[0] = self;
    }
}

impl Wide for Complex<f32> {
    const PARTS: usize = 2;
    #[inline(always)]
    fn load(from: &[f32]) -> Self {
        Complex { re: from[0], im: from[1] }
    }
    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        (to[0], to[1]) = (self.re, self.im);
    }
}

impl<C: Convert, F: Combine<T>, T: Wide> Half<C, F, T> {
    /// Combines a block.
    ///
    /// # Safety
    /// The processor has what `C` needs.
    #[inline(always)]
    unsafe fn block(a: [u16; BLOCK], b: [u16; BLOCK]) -> [u16; BLOCK] {
        // SAFETY: the caller vouches for it.
        let (a, b) = unsafe { (C::widen(a), C::widen(b)) };
        let mut r = [0.0; BLOCK];
        for i in (0..BLOCK).step_by(T::PARTS) {
            F::combine(T::load(&a[i..]), T::load(&b[i..])).store(&mut r[i..]);
        }
        // SAFETY: as above.
        unsafe { C::narrow(r) }
    }
}

impl<C: Convert, F: Combine<T>, T: Wide> Run for Half<C, F, T> {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, out: *mut u8, elements: usize) {
        type Block = [u16; BLOCK];
        let numbers = elements * T::PARTS;
        let whole = numbers / BLOCK * BLOCK;
        for at in (0..whole).step_by(BLOCK).map(|i| i * 2) {
            // SAFETY: the block lies within the elements that the caller vouches for, and
            // kernels with `C` are only given out where the processor has it.
            unsafe {
                let x = a.add(at).cast::<Block>().read_unaligned();
                let y = b.add(at).cast::<Block>().read_unaligned();
                out.add(at).cast::<Block>().write_unaligned(Self::block(x, y));
            }
        }
        if whole == numbers {
            return;
        }
        let (mut x, mut y): (Block, Block) = ([0; BLOCK], [0; BLOCK]);
        let (at, rest) = (whole * 2, (numbers - whole) * 2);
        // SAFETY: as above; the rest is less than a block, and the blocks are local.
        unsafe {
            a.add(at).copy_to_nonoverlapping(x.as_mut_ptr().cast(), rest);
            b.add(at).copy_to_nonoverlapping(y.as_mut_ptr().cast(), rest);
            let r = Self::block(x, y);
            r.as_ptr().cast::<u8>().copy_to_nonoverlapping(out.add(at), rest);
        }
    }
}
