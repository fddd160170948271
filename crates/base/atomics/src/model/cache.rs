//! What a process knows of the lines that it holds, so that it need not ask for each access.

use crate::wire::{LINE, Range};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A line of a file.
pub type Line = (u64, u64);

/// Mixes the words of a line; no enemy chooses them.
#[derive(Default)]
pub struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 29
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// Lines that this process holds, and whether alone.
#[derive(Default)]
pub struct Held(HashMap<Line, bool, BuildHasherDefault<Mix>>);

/// The lines of a range.
pub fn lines(range: Range) -> impl Iterator<Item = Line> {
    let last = (range.offset + range.bytes.max(1) - 1) / LINE;
    (range.offset / LINE..=last).map(move |line| (range.file, line))
}

impl Held {
    /// Whether it holds all lines of the range, and alone if it is to write.
    pub fn has(&self, range: Range, alone: bool) -> bool {
        lines(range).all(|line| self.0.get(&line).is_some_and(|&is_alone| is_alone || !alone))
    }

    /// It holds them now.
    pub fn add(&mut self, range: Range, alone: bool) {
        lines(range).for_each(|line| *self.0.entry(line).or_default() |= alone);
    }

    /// Nothing is known any more.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
