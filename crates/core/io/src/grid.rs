//! Runs of a file that follow a pattern.

use std::ops::Range;

/// `count` runs of the file of `len` bytes, the first at `offset`, each `stride` bytes after the one before, in the
/// order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    pub offset: u64,
    pub len: u64,
    pub stride: u64,
    pub count: u64,
}

impl Grid {
    /// Run number `index`.
    pub(crate) fn run(&self, index: u64) -> Range<u64> {
        let start = self.offset + index * self.stride;
        start..start + self.len
    }

    /// Offset after the last byte.
    pub fn end(&self) -> u64 {
        self.run(self.count - 1).end
    }

    /// Each run.
    pub fn runs(&self) -> impl Iterator<Item = Range<u64>> {
        (0..self.count).map(|index| self.run(index))
    }
}
