//! MPI_MINLOC and MPI_MAXLOC on value-index pairs (MPI 5.0, 6.9.4).
//!
//! The result has the smaller or larger value, and of two equal values the smaller index.
//! Where one of the values is a NaN, the result is b. Padding in and behind a pair is neither
//! read nor written.

use super::loops::Step;
use std::marker::PhantomData;

/// Which of two pairs an operation takes.
pub(super) trait Pick {
    /// True of MPI_MAXLOC, false of MPI_MINLOC.
    const LARGER: bool;
}

pub(super) struct MaxLoc;
pub(super) struct MinLoc;

impl Pick for MaxLoc {
    const LARGER: bool = true;
}

impl Pick for MinLoc {
    const LARGER: bool = false;
}

/// A pair in memory, as the C compiler lays it out.
#[repr(C)]
#[derive(Clone, Copy)]
struct Pair<V, I> {
    value: V,
    index: I,
}

/// The step of MPI_MINLOC or MPI_MAXLOC on `Pair<V, I>`.
pub(super) struct Locate<P, V, I>(PhantomData<(P, V, I)>);

impl<P: Pick, V: Copy + PartialOrd, I: Copy + PartialOrd> Step for Locate<P, V, I> {
    const STRIDE: usize = size_of::<Pair<V, I>>();

    #[inline(always)]
    unsafe fn step(a: *const u8, b: *const u8, out: *mut u8) {
        let (a, b) = (a.cast::<Pair<V, I>>(), b.cast::<Pair<V, I>>());
        let out = out.cast::<Pair<V, I>>();
        // SAFETY: the caller vouches for a pair at each address, aligned or not.
        unsafe {
            let (va, ia) = ((&raw const (*a).value).read_unaligned(), (&raw const (*a).index).read_unaligned());
            let (vb, ib) = ((&raw const (*b).value).read_unaligned(), (&raw const (*b).index).read_unaligned());
            let wins = if P::LARGER { va > vb } else { va < vb };
            let take_a = wins | ((va == vb) & (ia < ib));
            (&raw mut (*out).value).write_unaligned(if take_a { va } else { vb });
            (&raw mut (*out).index).write_unaligned(if take_a { ia } else { ib });
        }
    }
}

/// Copies operand a (MPI_REPLACE) or b (MPI_NO_OP) of a pair, without its padding.
pub(super) struct CopyPair<V, I, const FIRST: bool>(PhantomData<(V, I)>);

impl<V: Copy, I: Copy, const FIRST: bool> Step for CopyPair<V, I, FIRST> {
    const STRIDE: usize = size_of::<Pair<V, I>>();

    #[inline(always)]
    unsafe fn step(a: *const u8, b: *const u8, out: *mut u8) {
        let from = if FIRST { a } else { b }.cast::<Pair<V, I>>();
        let out = out.cast::<Pair<V, I>>();
        // SAFETY: the caller vouches for a pair at each address, aligned or not.
        unsafe {
            let v = (&raw const (*from).value).read_unaligned();
            let i = (&raw const (*from).index).read_unaligned();
            (&raw mut (*out).value).write_unaligned(v);
            (&raw mut (*out).index).write_unaligned(i);
        }
    }
}
