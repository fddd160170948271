//! 2-byte floating-point numbers and complex numbers of two of them.
//!
//! Blocks are widened to `f32`, combined and rounded back. `f32` has more than twice the
//! precision, so a sum or product comes out correctly rounded; a complex product is rounded
//! once at its end.

use super::loops::Run;
use super::scalar::{Combine, Complex};
use half::f16;
use half::slice::HalfFloatSliceExt;
use std::marker::PhantomData;

/// Numbers that are converted at once.
const BLOCK: usize = 64;

/// Operation `F` on elements of `T`, which is `f32` or a complex number of it.
pub(super) struct Half<F, T>(PhantomData<(F, T)>);

/// What `f16` numbers are widened to: one or two `f32`.
pub(super) trait Wide: Copy {
    /// Numbers in an element.
    const PARTS: usize;
    fn load(from: &[f32]) -> Self;
    fn store(self, to: &mut [f32]);
}

impl Wide for f32 {
    const PARTS: usize = 1;
    fn load(from: &[f32]) -> f32 {
        from[0]
    }
    fn store(self, to: &mut [f32]) {
        to[0] = self;
    }
}

impl Wide for Complex<f32> {
    const PARTS: usize = 2;
    fn load(from: &[f32]) -> Self {
        Complex { re: from[0], im: from[1] }
    }
    fn store(self, to: &mut [f32]) {
        (to[0], to[1]) = (self.re, self.im);
    }
}

/// Reads and widens `numbers` numbers.
///
/// # Safety
/// `from` is readable for `numbers` numbers of 2 bytes, at most `BLOCK`.
unsafe fn widen(from: *const u8, numbers: usize) -> [f32; BLOCK] {
    let mut narrow = [f16::ZERO; BLOCK];
    let mut wide = [0f32; BLOCK];
    // SAFETY: the caller vouches for the source; the block is large enough and local.
    unsafe { from.copy_to_nonoverlapping(narrow.as_mut_ptr().cast(), numbers * 2) };
    narrow[..numbers].convert_to_f32_slice(&mut wide[..numbers]);
    wide
}

impl<T: Wide, F: Combine<T>> Run for Half<F, T> {
    unsafe fn run(a: *const u8, b: *const u8, out: *mut u8, elements: usize) {
        let numbers = elements * T::PARTS;
        for start in (0..numbers).step_by(BLOCK) {
            let n = BLOCK.min(numbers - start);
            // SAFETY: the block lies within the elements that the caller vouches for.
            let (x, mut y) = unsafe { (widen(a.add(start * 2), n), widen(b.add(start * 2), n)) };
            for (x, y) in x[..n].chunks_exact(T::PARTS).zip(y[..n].chunks_exact_mut(T::PARTS)) {
                F::combine(T::load(x), T::load(y)).store(y);
            }
            let mut narrow = [f16::ZERO; BLOCK];
            narrow[..n].convert_from_f32_slice(&y[..n]);
            // SAFETY: as above; the source is local.
            unsafe {
                narrow.as_ptr().cast::<u8>().copy_to_nonoverlapping(out.add(start * 2), n * 2)
            };
        }
    }
}
