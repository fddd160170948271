//! The innermost part of a walk: a grid of blocks with a position in it.

use crate::program::Grid;

/// A part of a leaf with a regular shape: `rows` rows of `count` blocks of `block` bytes.
/// Offsets are from the base address of the transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub at: i64,
    pub block: u64,
    pub count: u64,
    pub stride: i64,
    pub rows: u64,
    pub row_stride: i64,
}

impl Grid {
    /// All of it.
    pub fn piece(&self) -> Piece {
        let Grid { at, block, count, stride, rows, row_stride } = *self;
        Piece { at, block, count, stride, rows, row_stride }
    }
}

impl Piece {
    pub fn size(&self) -> u64 {
        self.block * self.count * self.rows
    }
}

/// What is left of a grid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaf {
    /// Offset of the first block of the current row.
    row_at: i64,
    /// Blocks of the current row that are done.
    col: u64,
    /// Bytes of the current block that are done.
    within: u64,
    /// Rows that are not finished, with the current one.
    rows: u64,
    shape: Grid,
}

impl Leaf {
    pub const EMPTY: Leaf = Leaf {
        row_at: 0,
        col: 0,
        within: 0,
        rows: 0,
        shape: Grid { at: 0, block: 0, count: 1, stride: 0, rows: 1, row_stride: 0 },
    };

    /// All of `grid`, `base` bytes on, without its first `skip` bytes (fewer than it has).
    pub fn new(grid: &Grid, base: i64, skip: u64) -> Leaf {
        let mut leaf = Leaf { row_at: base.wrapping_add(grid.at), col: 0, within: 0, rows: grid.rows, shape: *grid };
        if skip > 0 {
            leaf.skip(skip);
        }
        leaf
    }

    fn skip(&mut self, bytes: u64) {
        let blocks = bytes / self.shape.block;
        self.within = bytes % self.shape.block;
        let rows = blocks / self.shape.count;
        self.col = blocks % self.shape.count;
        self.rows -= rows;
        self.row_at = self.row_at.wrapping_add((rows as i64).wrapping_mul(self.shape.row_stride));
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    #[inline]
    fn block_at(&self) -> i64 {
        self.row_at.wrapping_add((self.col as i64).wrapping_mul(self.shape.stride))
    }

    #[inline]
    fn dense(&self, at: i64, block: u64) -> Piece {
        Piece { at, block, count: 1, stride: 0, rows: 1, row_stride: 0 }
    }

    /// The largest regular part of at most `limit` bytes at the position, without moving.
    /// Not to be called when empty; `limit` is above 0.
    #[inline]
    pub fn peek(&self, limit: u64) -> Piece {
        let shape = &self.shape;
        let at = self.block_at();
        if self.within > 0 || limit < shape.block {
            let len = (shape.block - self.within).min(limit);
            return self.dense(at.wrapping_add_unsigned(self.within), len);
        }
        let row = shape.block * shape.count;
        if self.col == 0 && self.rows > 1 && limit >= row {
            let rows = if limit >= row * self.rows { self.rows } else { limit / row };
            let Grid { block, count, stride, row_stride, .. } = *shape;
            return Piece { at, block, count, stride, rows, row_stride };
        }
        let left = shape.count - self.col;
        let count = if limit >= shape.block * left { left } else { limit / shape.block };
        Piece { at, block: shape.block, count, stride: shape.stride, rows: 1, row_stride: 0 }
    }

    /// Moves past a piece that `peek` gave.
    #[inline]
    pub fn advance(&mut self, piece: &Piece) {
        if piece.rows > 1 {
            self.rows -= piece.rows;
            self.row_at = self.row_at.wrapping_add((piece.rows as i64).wrapping_mul(self.shape.row_stride));
        } else if self.within > 0 || piece.block < self.shape.block {
            self.advance_bytes(piece.block);
        } else {
            self.advance_blocks(piece.count);
        }
    }

    /// Moves on by at most what is left of the current block.
    #[inline]
    pub fn advance_bytes(&mut self, bytes: u64) {
        self.within += bytes;
        if self.within == self.shape.block {
            self.within = 0;
            self.advance_blocks(1);
        }
    }

    /// Moves on by whole blocks, at most those of the current row, from the start of a block.
    #[inline]
    pub fn advance_blocks(&mut self, blocks: u64) {
        self.col += blocks;
        if self.col == self.shape.count {
            self.col = 0;
            self.rows -= 1;
            self.row_at = self.row_at.wrapping_add(self.shape.row_stride);
        }
    }

    /// What lies at the position: its offset, the bytes left in its block, and the whole
    /// blocks left in its row (0 within a block).
    #[inline]
    pub fn front(&self) -> (i64, u64, u64) {
        let at = self.block_at().wrapping_add_unsigned(self.within);
        let blocks = if self.within == 0 { self.shape.count - self.col } else { 0 };
        (at, self.shape.block - self.within, blocks)
    }

    /// Distance between the blocks of a row.
    #[inline]
    pub fn stride(&self) -> i64 {
        self.shape.stride
    }
}
