//! Inner loops: move blocks between scattered and dense memory, or from one grid to another.
//!
//! All loops are written once, over a [`Block`] that copies one block; `with_block!` chooses
//! the block before the loop, so that common lengths become a few plain loads and stores.

mod ends;
#[cfg(target_arch = "x86_64")]
mod registers;

use std::ptr;

use crate::cursor::Chunk;
use crate::leaf::Piece;
use crate::program::{Node, Program, Run};

/// Copies one block of a length that it knows.
trait Block: Copy {
    /// # Safety
    /// `from` is readable and `to` writable for one block; they do not overlap.
    unsafe fn copy(self, to: *mut u8, from: *const u8);
}

/// N bytes.
#[derive(Clone, Copy)]
struct Fixed<const N: usize>;

/// H to 2 H bytes, as two overlapping halves.
#[derive(Clone, Copy)]
struct Ends<const H: usize>(usize);

/// Any number of bytes.
#[derive(Clone, Copy)]
struct Any(usize);

impl<const N: usize> Block for Fixed<N> {
    #[inline(always)]
    unsafe fn copy(self, to: *mut u8, from: *const u8) {
        // SAFETY: one block; an array of bytes has no alignment to keep.
        unsafe { to.cast::<[u8; N]>().write(from.cast::<[u8; N]>().read()) };
    }
}

impl<const H: usize> Block for Ends<H> {
    #[inline(always)]
    unsafe fn copy(self, to: *mut u8, from: *const u8) {
        let last = self.0 - H;
        // SAFETY: both halves lie within one block, since H is at most its length.
        unsafe {
            let head = from.cast::<[u8; H]>().read();
            let tail = from.add(last).cast::<[u8; H]>().read();
            to.cast::<[u8; H]>().write(head);
            to.add(last).cast::<[u8; H]>().write(tail);
        }
    }
}

impl Block for Any {
    #[inline(always)]
    unsafe fn copy(self, to: *mut u8, from: *const u8) {
        // SAFETY: one block, vouched for by the caller.
        unsafe { ptr::copy_nonoverlapping(from, to, self.0) };
    }
}

/// Evaluates the expression with the name bound to the copier of blocks of this length.
macro_rules! with_block {
    ($length:expr, $block:ident => $body:expr) => {
        match $length as usize {
            1 => with_block!(@ Fixed::<1>, $block => $body),
            2 => with_block!(@ Fixed::<2>, $block => $body),
            4 => with_block!(@ Fixed::<4>, $block => $body),
            8 => with_block!(@ Fixed::<8>, $block => $body),
            16 => with_block!(@ Fixed::<16>, $block => $body),
            32 => with_block!(@ Fixed::<32>, $block => $body),
            64 => with_block!(@ Fixed::<64>, $block => $body),
            length @ 3 => with_block!(@ Ends::<2>(length), $block => $body),
            length @ 5..8 => with_block!(@ Ends::<4>(length), $block => $body),
            length @ 9..16 => with_block!(@ Ends::<8>(length), $block => $body),
            length @ 17..32 => with_block!(@ Ends::<16>(length), $block => $body),
            length @ 33..64 => with_block!(@ Ends::<32>(length), $block => $body),
            length @ 65..=128 => with_block!(@ Ends::<64>(length), $block => $body),
            length => with_block!(@ Any(length), $block => $body),
        }
    };
    (@ $copier:expr, $block:ident => $body:expr) => {{
        let $block = $copier;
        $body
    }};
}

/// The steps of a grid on one side of a copy.
#[derive(Clone, Copy)]
pub(crate) struct Steps {
    /// From block to block.
    pub stride: isize,
    /// From row to row.
    pub row: isize,
}

impl Steps {
    /// The steps of one row.
    pub fn of(stride: i64) -> Steps {
        Steps { stride: stride as isize, row: 0 }
    }

    /// From the first block to the last.
    fn to_last(self, shape: Shape) -> isize {
        let steps = |step: isize, count: u64| step.wrapping_mul(count as isize - 1);
        steps(self.stride, shape.count).wrapping_add(steps(self.row, shape.rows))
    }

    /// Those from the last block to the first.
    fn backwards(self) -> Steps {
        Steps { stride: self.stride.wrapping_neg(), row: self.row.wrapping_neg() }
    }
}

/// The size of a grid.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// Bytes of a block.
    pub block: u64,
    /// Blocks of a row.
    pub count: u64,
    pub rows: u64,
}

/// # Safety
/// Every block of the grids can be copied.
#[inline(always)]
unsafe fn grid_loop(
    block: impl Block, shape: Shape, mut to: *mut u8, to_steps: Steps, mut from: *const u8, from_steps: Steps,
) {
    for _ in 0..shape.rows {
        let (mut target, mut source) = (to, from);
        for _ in 0..shape.count {
            // SAFETY: one block of the grids.
            unsafe { block.copy(target, source) };
            target = target.wrapping_offset(to_steps.stride);
            source = source.wrapping_offset(from_steps.stride);
        }
        to = to.wrapping_offset(to_steps.row);
        from = from.wrapping_offset(from_steps.row);
    }
}

/// Copies the blocks of one grid to those of another of the same shape.
///
/// # Safety
/// Every source block is readable, every target block writable, and no target overlaps a
/// source.
#[inline]
pub(crate) unsafe fn copy_grid(shape: Shape, to: *mut u8, to_steps: Steps, from: *const u8, from_steps: Steps) {
    if shape.count == 1 && shape.rows == 1 {
        // SAFETY: one block, vouched for by the caller.
        unsafe { ptr::copy_nonoverlapping(from, to, shape.block as usize) };
        return;
    }
    let (mut to, mut to_steps, mut from, mut from_steps) = (to, to_steps, from, from_steps);
    if ends::begins_at_the_end(shape, [(from, from_steps), (to, to_steps)]) {
        to = to.wrapping_offset(to_steps.to_last(shape));
        from = from.wrapping_offset(from_steps.to_last(shape));
        (to_steps, from_steps) = (to_steps.backwards(), from_steps.backwards());
    }
    #[cfg(target_arch = "x86_64")]
    if registers::go_by_halves(shape.block) {
        // SAFETY: the same contract, for blocks and a processor that suit it.
        return unsafe { registers::by_halves(shape, to, to_steps, from, from_steps) };
    }
    with_block!(shape.block, block => {
        // SAFETY: the same contract.
        unsafe { grid_loop(block, shape, to, to_steps, from, from_steps) }
    })
}

/// Copies between `far` and `near`: to `near` when packing, else to `far`.
///
/// # Safety
/// One block can be copied this way.
#[inline(always)]
unsafe fn one<const PACK: bool>(block: impl Block, far: *mut u8, near: *mut u8) {
    // SAFETY: the same contract.
    unsafe { if PACK { block.copy(near, far) } else { block.copy(far, near) } }
}

/// # Safety
/// As `copy_grid`, for the way of PACK.
unsafe fn grid<const PACK: bool>(shape: Shape, far: *mut u8, steps: Steps, near: *mut u8, near_steps: Steps) {
    // SAFETY: the same contract.
    unsafe {
        if PACK {
            copy_grid(shape, near, near_steps, far, steps);
        } else {
            copy_grid(shape, far, steps, near, near_steps);
        }
    }
}

/// Moves a chunk between its places, from `base`, and dense memory at `near`.
///
/// # Safety
/// With PACK every byte of the chunk is readable and `near` takes `chunk.size()` bytes; else
/// every byte is writable and `near` has as many. The two do not overlap.
#[inline]
pub(crate) unsafe fn transfer<const PACK: bool>(chunk: &Chunk<'_>, base: *mut u8, near: *mut u8) {
    let place = |at: i64| base.wrapping_offset(at as isize);
    // SAFETY: the same contract, for the parts of the chunk.
    unsafe {
        match chunk {
            Chunk::Piece(p) => piece::<PACK>(p, base, near),
            Chunk::Gather { base, at, block } => gather::<PACK>(at, *block, place(*base), near),
            Chunk::Runs { base, runs } => each_run::<PACK>(runs, place(*base), near),
            Chunk::Repeat { base, times, stride, child } => {
                repeat::<PACK>(child, *times, *stride as isize, place(*base), near);
            }
        }
    }
}

/// # Safety
/// As `transfer`.
#[inline]
unsafe fn piece<const PACK: bool>(piece: &Piece, base: *mut u8, near: *mut u8) {
    let Piece { at, block, count, stride, rows, row_stride } = *piece;
    let shape = Shape { block, count, rows };
    let steps = Steps { stride: stride as isize, row: row_stride as isize };
    let near_steps = Steps { stride: block as isize, row: (block * count) as isize };
    // SAFETY: the same contract.
    unsafe { grid::<PACK>(shape, base.wrapping_offset(at as isize), steps, near, near_steps) };
}

/// # Safety
/// As `transfer`, for blocks at these offsets from `far`.
unsafe fn gather<const PACK: bool>(at: &[i64], block: u64, far: *mut u8, near: *mut u8) {
    with_block!(block, one_block => {
        let mut near = near;
        for &offset in at {
            // SAFETY: one block of the list.
            unsafe { one::<PACK>(one_block, far.wrapping_offset(offset as isize), near) };
            near = near.wrapping_add(block as usize);
        }
    })
}

/// # Safety
/// As `transfer`, for these runs from `far`.
unsafe fn each_run<const PACK: bool>(runs: &[Run], far: *mut u8, mut near: *mut u8) {
    for run in runs {
        let place = far.wrapping_offset(run.at as isize);
        let length = run.len as usize;
        // SAFETY: one run of the list.
        unsafe {
            match length {
                8 => one::<PACK>(Fixed::<8>, place, near),
                9..=16 => one::<PACK>(Ends::<8>(length), place, near),
                17..=32 => one::<PACK>(Ends::<16>(length), place, near),
                4..8 => one::<PACK>(Ends::<4>(length), place, near),
                2..4 => one::<PACK>(Ends::<2>(length), place, near),
                1 => one::<PACK>(Fixed::<1>, place, near),
                _ => one::<PACK>(Any(length), place, near),
            }
        }
        near = near.wrapping_add(length);
    }
}

/// At most so many runs in a child are moved run by run, each as a grid over many repetitions.
const FEW: usize = 16;
/// Bytes of scattered memory that such a set of repetitions spans: it should stay in the
/// first-level cache for the next run.
const TILE: u64 = 16 << 10;

/// # Safety
/// As `transfer`, for the child so many times, `stride` apart from `far` on.
unsafe fn repeat<const PACK: bool>(child: &Program, times: u64, stride: isize, far: *mut u8, near: *mut u8) {
    let size = child.size as usize;
    let tile = (TILE / stride.unsigned_abs().max(1) as u64).clamp(8, 1024);
    let step = match &child.node {
        Node::Runs(runs) if runs.len() <= FEW => tile,
        Node::Gather { at, .. } if at.len() <= FEW => tile,
        _ => 1,
    };
    let mut done = 0;
    while done < times {
        let rows = step.min(times - done);
        let far = far.wrapping_offset(stride.wrapping_mul(done as isize));
        let near = near.wrapping_add(size * done as usize);
        // One block of each repetition, in a column.
        let column = |at: i64, start: u64, block: u64| {
            let steps = Steps { stride, row: 0 };
            let near_steps = Steps { stride: size as isize, row: 0 };
            let far = far.wrapping_offset(at as isize);
            let near = near.wrapping_add(start as usize);
            // SAFETY: these blocks are within the repetitions.
            unsafe { grid::<PACK>(Shape { block, count: rows, rows: 1 }, far, steps, near, near_steps) };
        };
        match &child.node {
            Node::Runs(runs) if rows > 1 => runs.iter().for_each(|run| column(run.at, run.start, run.len)),
            Node::Gather { at, block } if rows > 1 => {
                at.iter().zip(0..).for_each(|(&at, i)| column(at, i * block, *block));
            }
            // SAFETY: one repetition.
            Node::Runs(runs) => unsafe { each_run::<PACK>(runs, far, near) },
            // SAFETY: one repetition.
            Node::Gather { at, block } => unsafe { gather::<PACK>(at, *block, far, near) },
            // SAFETY: one repetition.
            Node::Grid(grid) => unsafe { piece::<PACK>(&grid.piece(), far, near) },
            // Cursors make repetitions of flat children only.
            Node::Empty | Node::Repeat { .. } | Node::List(_) => {}
        }
        done += rows;
    }
}
