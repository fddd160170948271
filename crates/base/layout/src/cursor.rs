//! The walk over the data of a number of elements, in the order of the type map.

use std::rc::Rc;
use std::slice;

use crate::leaf::{Leaf, Piece};
use crate::program::{Grid, Item, Node, Program, Run};
use crate::{Count, Type};

/// A position in the packed stream of `count` elements of a type. It keeps what it needs of
/// the type alive, so it may be stored beside a request and moved.
///
/// A cursor that goes on where it stopped costs nothing to resume; `seek` costs a division or
/// a binary search for each level of nesting.
pub struct Cursor {
    /// Owns every program that the frames point to.
    root: Rc<Program>,
    count: u64,
    extent: i64,
    /// Bytes of the whole stream.
    total: u64,
    /// Bytes from the position to the end of the stream.
    left: u64,
    frames: Vec<Frame>,
    leaf: Leaf,
}

/// A loop that the walk is in.
struct Frame {
    step: Step,
    /// The next iteration.
    index: u64,
    count: u64,
    base: i64,
}

#[derive(Clone, Copy)]
enum Step {
    Loop { child: *const Program, stride: i64 },
    Items(*const Item),
    Runs(*const Run),
    Gather { at: *const i64, block: u64 },
}

/// A part of the stream that one inner loop moves. It refers to programs that the cursor's
/// root owns, so it must not outlive the cursor.
pub(crate) enum Chunk<'a> {
    Piece(Piece),
    /// Blocks of one length at these offsets.
    Gather {
        base: i64,
        at: &'a [i64],
        block: u64,
    },
    /// Runs of different lengths.
    Runs {
        base: i64,
        runs: &'a [Run],
    },
    /// The whole child so many times.
    Repeat {
        base: i64,
        times: u64,
        stride: i64,
        child: &'a Program,
    },
}

impl Chunk<'_> {
    pub fn size(&self) -> u64 {
        match self {
            Chunk::Piece(piece) => piece.size(),
            Chunk::Gather { at, block, .. } => at.len() as u64 * block,
            Chunk::Runs { runs, .. } => match (runs.first(), runs.last()) {
                (Some(first), Some(last)) => last.start + last.len - first.start,
                _ => 0,
            },
            Chunk::Repeat { times, child, .. } => times * child.size,
        }
    }
}

impl Cursor {
    /// A cursor at the start of `count` elements of `ty`; a negative count is none.
    pub fn new(ty: &Type, count: Count) -> Cursor {
        Cursor::at(ty, count, 0)
    }

    /// A cursor at byte `from` of the packed stream of `count` elements of `ty`.
    pub fn at(ty: &Type, count: Count, from: u64) -> Cursor {
        let root = ty.program().clone();
        let count = u64::try_from(count).unwrap_or(0);
        let total = root.size.saturating_mul(count);
        let frames = Vec::new();
        let mut cursor = Cursor { root, count, extent: ty.extent(), total, left: 0, frames, leaf: Leaf::EMPTY };
        cursor.seek(from);
        cursor
    }

    /// Bytes before the position in the packed stream.
    pub fn position(&self) -> u64 {
        self.total - self.left
    }

    /// Bytes from the position to the end of the packed stream.
    pub fn remaining(&self) -> u64 {
        self.left
    }

    /// Moves to byte `from` of the packed stream, at most to its end.
    pub fn seek(&mut self, from: u64) {
        self.frames.clear();
        self.leaf = Leaf::EMPTY;
        self.left = self.total.saturating_sub(from);
        if self.left == 0 {
            return;
        }
        if let Node::Grid(grid) = &self.root.node
            && let Some(grid) = Grid::repeated(*grid, self.count, self.extent)
        {
            self.leaf = Leaf::new(&grid, 0, from);
            return;
        }
        let root: *const Program = &*self.root;
        self.frames.reserve(self.root.depth as usize + 1);
        if self.count == 1 {
            return self.enter(root, 0, from);
        }
        let (index, rest) = (from / self.root.size, from % self.root.size);
        let step = Step::Loop { child: root, stride: self.extent };
        let next = index + u64::from(rest > 0);
        self.frames.push(Frame { step, index: next, count: self.count, base: 0 });
        if rest > 0 {
            self.enter(root, (index as i64).wrapping_mul(self.extent), rest);
        }
    }

    /// Goes into `program` at `base`, to its byte `skip`, and down as long as that lies within
    /// a child: to a leaf, or to a loop that is between two iterations.
    fn enter(&mut self, program: *const Program, mut base: i64, mut skip: u64) {
        // SAFETY: root owns this program and all under it, and programs never change.
        let mut program: &Program = unsafe { &*program };
        loop {
            // The loop, the iteration that holds the byte, and the bytes before that one.
            let (step, count, index, start) = match &program.node {
                // Only programs with data are entered.
                Node::Empty => return,
                Node::Grid(grid) => {
                    self.leaf = Leaf::new(grid, base, skip);
                    return;
                }
                Node::Gather { at, block } => {
                    let index = skip / block;
                    let step = Step::Gather { at: at.as_ptr(), block: *block };
                    (step, at.len() as u64, index, index * block)
                }
                Node::Runs(runs) => {
                    let index = runs.partition_point(|run| run.start <= skip) - 1;
                    let step = Step::Runs(runs.as_ptr());
                    (step, runs.len() as u64, index as u64, runs[index].start)
                }
                Node::Repeat { at, count, stride, child } => {
                    base = base.wrapping_add(*at);
                    let index = skip / child.size;
                    let step = Step::Loop { child: &**child, stride: *stride };
                    (step, *count, index, index * child.size)
                }
                Node::List(items) => {
                    let index = items.partition_point(|item| item.start <= skip) - 1;
                    let step = Step::Items(items.as_ptr());
                    (step, items.len() as u64, index as u64, items[index].start)
                }
            };
            skip -= start;
            let next = index + u64::from(skip > 0);
            self.frames.push(Frame { step, index: next, count, base });
            if skip == 0 {
                return;
            }
            match &program.node {
                Node::Repeat { stride, child, .. } => {
                    base = base.wrapping_add((index as i64).wrapping_mul(*stride));
                    program = child;
                }
                Node::List(items) => {
                    let item = &items[index as usize];
                    base = base.wrapping_add(item.at);
                    program = &item.child;
                }
                Node::Gather { at, block } => {
                    self.leaf = Leaf::new(&Grid::dense(at[index as usize], *block), base, skip);
                    return;
                }
                Node::Runs(runs) => {
                    let run = &runs[index as usize];
                    self.leaf = Leaf::new(&Grid::dense(run.at, run.len), base, skip);
                    return;
                }
                Node::Empty | Node::Grid(_) => return,
            }
        }
    }

    /// Goes on when the leaf is used up and the stream is not: takes whole iterations of the
    /// innermost loop if at least one is within `limit` bytes, else sets the next leaf.
    fn refill<'a>(&mut self, limit: u64) -> Option<Chunk<'a>> {
        while let Some(frame) = self.frames.last_mut() {
            let (index, left) = (frame.index, frame.count - frame.index);
            if left == 0 {
                self.frames.pop();
                continue;
            }
            let base = frame.base;
            frame.index += 1;
            match frame.step {
                Step::Loop { child: pointer, stride } => {
                    let base = base.wrapping_add((index as i64).wrapping_mul(stride));
                    // SAFETY: root owns the child.
                    let child = unsafe { &*pointer };
                    let flat = matches!(child.node, Node::Grid(_) | Node::Gather { .. } | Node::Runs(_));
                    if flat && limit >= child.size {
                        let times = if limit / left >= child.size { left } else { limit / child.size };
                        frame.index = index + times;
                        return Some(Chunk::Repeat { base, times, stride, child });
                    }
                    self.enter(pointer, base, 0);
                }
                Step::Items(items) => {
                    // SAFETY: index is below the number of items, and root owns them.
                    let item = unsafe { &*items.add(index as usize) };
                    self.enter(&*item.child, base.wrapping_add(item.at), 0);
                }
                Step::Runs(runs) => {
                    // SAFETY: `left` runs are there from index on, and root owns them.
                    let runs = unsafe { slice::from_raw_parts(runs.add(index as usize), left as usize) };
                    let whole = runs.partition_point(|run| run.start + run.len - runs[0].start <= limit);
                    if whole > 0 {
                        frame.index = index + whole as u64;
                        return Some(Chunk::Runs { base, runs: &runs[..whole] });
                    }
                    self.leaf = Leaf::new(&Grid::dense(runs[0].at, runs[0].len), base, 0);
                }
                Step::Gather { at, block } => {
                    // SAFETY: `left` offsets are there from index on, and root owns them.
                    let at = unsafe { slice::from_raw_parts(at.add(index as usize), left as usize) };
                    if limit >= block {
                        let whole = (limit / block).min(left);
                        frame.index = index + whole;
                        return Some(Chunk::Gather { base, at: &at[..whole as usize], block });
                    }
                    self.leaf = Leaf::new(&Grid::dense(at[0], block), base, 0);
                }
            }
            if !self.leaf.is_empty() {
                return None;
            }
        }
        None
    }

    /// The leaf at the position. None at the end of the stream.
    #[inline]
    pub(crate) fn leaf(&mut self) -> Option<&mut Leaf> {
        if self.left == 0 {
            return None;
        }
        if self.leaf.is_empty() {
            self.refill(0);
        }
        Some(&mut self.leaf)
    }

    /// Takes the next part of at most `limit` bytes that one inner loop moves. None at the
    /// end of the stream or if `limit` is 0.
    #[inline]
    pub(crate) fn take<'a>(&mut self, limit: u64) -> Option<Chunk<'a>> {
        if limit == 0 || self.left == 0 {
            return None;
        }
        if self.leaf.is_empty()
            && let Some(chunk) = self.refill(limit)
        {
            self.left -= chunk.size();
            return Some(chunk);
        }
        let piece = self.leaf.peek(limit);
        self.leaf.advance(&piece);
        self.left -= piece.size();
        Some(Chunk::Piece(piece))
    }

    /// Takes the next regular piece of at most `limit` bytes, likewise.
    pub(crate) fn take_piece(&mut self, limit: u64) -> Option<Piece> {
        if limit == 0 {
            return None;
        }
        let leaf = self.leaf()?;
        let piece = leaf.peek(limit);
        leaf.advance(&piece);
        self.left -= piece.size();
        Some(piece)
    }

    /// Counts bytes that were taken from the leaf directly.
    #[inline]
    pub(crate) fn used(&mut self, bytes: u64) {
        self.left -= bytes;
    }

    /// The next contiguous run of at most `limit` bytes: byte offset from the base address
    /// and length. Runs are not merged; see [`Segments`]. None at the end of the stream.
    pub fn next_run(&mut self, limit: u64) -> Option<(i64, u64)> {
        if limit == 0 {
            return None;
        }
        let leaf = self.leaf()?;
        let (at, len, _) = leaf.front();
        let len = len.min(limit);
        leaf.advance_bytes(len);
        self.left -= len;
        Some((at, len))
    }
}

/// Contiguous runs of a part of the data, as (byte offset, length); runs that follow each
/// other in memory are merged.
pub struct Segments {
    cursor: Cursor,
    base: i64,
    /// Bytes that may still be taken from the cursor.
    limit: u64,
    ahead: Option<(i64, u64)>,
}

impl Segments {
    /// The runs of the bytes `from` to `from + len` of the packed stream of `count` elements;
    /// `base` is added to every offset.
    pub fn new(ty: &Type, base: i64, count: Count, from: u64, len: u64) -> Segments {
        Segments { cursor: Cursor::at(ty, count, from), base, limit: len, ahead: None }
    }

    fn pull(&mut self) -> Option<(i64, u64)> {
        let run = self.cursor.next_run(self.limit)?;
        self.limit -= run.1;
        Some((run.0.wrapping_add(self.base), run.1))
    }
}

impl Iterator for Segments {
    type Item = (i64, u64);

    fn next(&mut self) -> Option<(i64, u64)> {
        let (at, mut len) = self.ahead.take().or_else(|| self.pull())?;
        while let Some(run) = self.pull() {
            if at.wrapping_add_unsigned(len) != run.0 {
                self.ahead = Some(run);
                break;
            }
            len += run.1;
        }
        Some((at, len))
    }
}
