//! The walk over the data of a number of elements, in the order of the type map.

use std::rc::Rc;

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
    /// The iteration that is under way.
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
        let mut cursor = Cursor {
            root,
            count,
            extent: ty.extent(),
            total,
            left: 0,
            frames,
            leaf: Leaf::EMPTY,
        };
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
        let index = from / self.root.size;
        let rest = from % self.root.size;
        if self.count > 1 {
            self.frames.reserve(self.root.depth as usize + 1);
            let step = Step::Loop {
                child: root,
                stride: self.extent,
            };
            self.frames.push(Frame {
                step,
                index,
                count: self.count,
                base: 0,
            });
        }
        self.descend(root, (index as i64).wrapping_mul(self.extent), rest);
    }

    /// Enters `program` at `base` and goes down to the leaf that holds its byte `skip`.
    fn descend(&mut self, program: *const Program, mut base: i64, mut skip: u64) {
        // SAFETY: root owns this program and all under it, and programs never change.
        let mut program: &Program = unsafe { &*program };
        loop {
            match &program.node {
                // Only programs with data are entered.
                Node::Empty => return,
                Node::Grid(grid) => {
                    self.leaf = Leaf::new(grid, base, skip);
                    return;
                }
                Node::Gather { at, block } => {
                    let index = skip / block;
                    let step = Step::Gather {
                        at: at.as_ptr(),
                        block: *block,
                    };
                    self.frames.push(Frame {
                        step,
                        index,
                        count: at.len() as u64,
                        base,
                    });
                    let run = Grid::dense(at[index as usize], *block);
                    self.leaf = Leaf::new(&run, base, skip % block);
                    return;
                }
                Node::Runs(runs) => {
                    let index = runs.partition_point(|run| run.start <= skip) - 1;
                    let step = Step::Runs(runs.as_ptr());
                    self.frames.push(Frame {
                        step,
                        index: index as u64,
                        count: runs.len() as u64,
                        base,
                    });
                    let run = &runs[index];
                    self.leaf = Leaf::new(&Grid::dense(run.at, run.len), base, skip - run.start);
                    return;
                }
                Node::Repeat {
                    at,
                    count,
                    stride,
                    child,
                } => {
                    let index = skip / child.size;
                    base = base.wrapping_add(*at);
                    let step = Step::Loop {
                        child: &**child,
                        stride: *stride,
                    };
                    self.frames.push(Frame {
                        step,
                        index,
                        count: *count,
                        base,
                    });
                    base = base.wrapping_add((index as i64).wrapping_mul(*stride));
                    skip -= index * child.size;
                    program = child;
                }
                Node::List(items) => {
                    let index = items.partition_point(|item| item.start <= skip) - 1;
                    let step = Step::Items(items.as_ptr());
                    self.frames.push(Frame {
                        step,
                        index: index as u64,
                        count: items.len() as u64,
                        base,
                    });
                    let item = &items[index];
                    base = base.wrapping_add(item.at);
                    skip -= item.start;
                    program = &item.child;
                }
            }
        }
    }

    /// Goes to the next leaf; the current one is used up. False at the end.
    fn next_leaf(&mut self) -> bool {
        while let Some(frame) = self.frames.last_mut() {
            frame.index += 1;
            if frame.index == frame.count {
                self.frames.pop();
                continue;
            }
            let index = frame.index;
            let base = frame.base;
            match frame.step {
                Step::Loop { child, stride } => {
                    self.descend(
                        child,
                        base.wrapping_add((index as i64).wrapping_mul(stride)),
                        0,
                    );
                }
                Step::Items(items) => {
                    // SAFETY: index is below the number of items, and root owns them.
                    let item = unsafe { &*items.add(index as usize) };
                    self.descend(&*item.child, base.wrapping_add(item.at), 0);
                }
                Step::Runs(runs) => {
                    // SAFETY: index is below the number of runs, and root owns them.
                    let run = unsafe { &*runs.add(index as usize) };
                    self.leaf = Leaf::new(&Grid::dense(run.at, run.len), base, 0);
                }
                Step::Gather { at, block } => {
                    // SAFETY: index is below the number of offsets, and root owns them.
                    let at = unsafe { *at.add(index as usize) };
                    self.leaf = Leaf::new(&Grid::dense(at, block), base, 0);
                }
            }
            return true;
        }
        false
    }

    /// The leaf at the position. None at the end of the stream.
    #[inline]
    pub(crate) fn leaf(&mut self) -> Option<&mut Leaf> {
        if self.left == 0 || (self.leaf.is_empty() && !self.next_leaf()) {
            return None;
        }
        Some(&mut self.leaf)
    }

    /// Takes the next regular piece of at most `limit` bytes. None at the end of the stream
    /// or if `limit` is 0.
    #[inline]
    pub(crate) fn take(&mut self, limit: u64) -> Option<Piece> {
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
        Segments {
            cursor: Cursor::at(ty, count, from),
            base,
            limit: len,
            ahead: None,
        }
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
