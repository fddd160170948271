//! Memory as schedules see it: blocks of the user's buffers, temporaries, copies.

use crate::buffers::{Buffer, BufferV, BufferW};
use std::alloc::{GlobalAlloc, Layout, System, alloc, handle_alloc_error};
use tern_adi::Data;
use tern_layout::Type;
use tern_memory::Lack;

/// Temporaries start on a cache line.
pub(crate) const ALIGN: usize = 64;

/// The address `count` elements of `ty` behind `base`. Wraps, since MPI_BOTTOM is 0 and
/// extents may be negative.
pub(crate) fn at(base: *mut u8, count: i64, ty: &Type) -> *mut u8 {
    base.wrapping_offset((count * ty.extent()) as isize)
}

/// One side of a collective with a block for each rank.
#[derive(Clone, Copy)]
pub(crate) enum Blocks<'a> {
    Even(&'a Buffer),
    V(&'a BufferV),
    W(&'a BufferW),
}

impl Blocks<'_> {
    /// The block of `rank`.
    pub fn data(&self, rank: usize) -> Data {
        match self {
            Blocks::Even(b) => Data::new(at(b.base, rank as i64 * b.count, &b.ty), b.count, &b.ty),
            Blocks::V(b) => Data::new(at(b.base, b.displs[rank], &b.ty), b.counts[rank], &b.ty),
            Blocks::W(b) => {
                let base = b.base.wrapping_offset(b.displs[rank] as isize);
                Data::new(base, b.counts[rank], &b.types[rank])
            }
        }
    }

    /// How many bytes travel to or from `rank`.
    pub fn bytes(&self, rank: usize) -> usize {
        match self {
            Blocks::Even(b) => b.bytes(),
            Blocks::V(b) => b.counts[rank] as usize * b.ty.size() as usize,
            Blocks::W(b) => b.counts[rank] as usize * b.types[rank].size() as usize,
        }
    }

    /// The blocks of the ranks below `size`, if they lie one after another without gaps.
    pub fn dense(&self, size: usize) -> Option<*mut u8> {
        match self {
            Blocks::Even(b) => b.ty.is_contiguous().then_some(b.base),
            Blocks::V(b) => {
                let mut next = 0;
                let packed = b.ty.is_contiguous()
                    && (0..size).all(|r| {
                        let here = b.counts[r] == 0 || b.displs[r] == next;
                        next += b.counts[r];
                        here
                    });
                packed.then_some(b.base)
            }
            Blocks::W(_) => None,
        }
    }
}

/// Memory that a schedule owns. Its contents are undefined until a schedule writes them.
#[derive(Debug)]
pub(crate) struct Temp {
    start: *mut u8,
    layout: Layout,
}

impl Temp {
    /// Room for `bytes` bytes, aligned to a cache line.
    pub fn new(bytes: usize) -> Result<Temp, Lack> {
        let layout = Layout::from_size_align(bytes.max(1), ALIGN).map_err(|_| Lack { bytes })?;
        tern_memory::raw(layout, false).map(|start| Temp { start, layout })
    }

    /// Room for a few bytes, which the library needs in the middle of a collective.
    pub fn short(bytes: usize) -> Temp {
        let layout = Layout::from_size_align(bytes.max(1), ALIGN).expect("a few bytes");
        // SAFETY: the size is at least 1. Freed by the system's allocator, to which the library's hands all on.
        let start = unsafe { alloc(layout) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        Temp { start, layout }
    }

    /// Room for `count` elements of `ty`. The second value is the address to use as their base,
    /// aligned to a cache line; it lies outside the allocation when bounds are odd.
    pub fn elements(count: i64, ty: &Type) -> Result<(Temp, *mut u8), Lack> {
        if count == 0 || ty.size() == 0 {
            let temp = Temp::new(1)?;
            let base = temp.start;
            return Ok((temp, base));
        }
        let reach = (count - 1) * ty.extent();
        let low = ty.true_lb() + reach.min(0);
        let high = ty.true_ub() + reach.max(0);
        // Types may hold absolute addresses (with MPI_BOTTOM), so that `low` may be anything.
        let from = low.div_euclid(ALIGN as i64) * ALIGN as i64;
        let temp = Temp::new((high - from) as usize)?;
        let base = temp.start.wrapping_offset(-from as isize);
        Ok((temp, base))
    }

    pub fn start(&self) -> *mut u8 {
        self.start
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { System.dealloc(self.start, self.layout) }
    }
}

/// Moves what `from` holds to `to`: as a message between the two would. Both hold the same
/// number of bytes and do not overlap (MPI 5.0, section 6.1: buffers are not aliased).
///
/// # Safety
/// Both must describe memory that is valid for the transfer.
pub(crate) unsafe fn copy(from: &Data, to: &Data) {
    debug_assert_eq!(from.len(), to.len());
    if from.is_empty() {
        return;
    }
    // SAFETY: the caller's promise.
    unsafe {
        match (from, to) {
            (Data::Bytes(f, n), Data::Bytes(t, m)) => std::ptr::copy(*f, *t, *n.min(m)),
            (Data::Typed { base, count, ty }, Data::Bytes(t, m)) => pack(*base, *count, ty, *t, *m),
            (Data::Bytes(f, n), Data::Typed { base, count, ty }) => unpack(*f, *n, *base, *count, ty),
            (Data::Typed { base: fb, count: fc, ty: ft }, Data::Typed { base: tb, count: tc, ty: tt }) => {
                Type::copy(ft, *fb, *fc, tt, *tb, *tc);
            }
        }
    }
}

/// Copies `count` elements at `from` to `to`, in memory that lies apart.
unsafe fn pack(from: *const u8, count: i64, ty: &Type, to: *mut u8, len: usize) {
    // SAFETY: the caller promises `len` writable bytes; no reader sees them before.
    unsafe { ty.pack(from, count, 0, std::slice::from_raw_parts_mut(to, len)) };
}

unsafe fn unpack(from: *const u8, len: usize, to: *mut u8, count: i64, ty: &Type) {
    // SAFETY: the caller promises `len` readable bytes.
    unsafe { ty.unpack(to, count, 0, std::slice::from_raw_parts(from, len)) };
}
