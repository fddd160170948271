//! Rings for eager packets: cells in the receiver's memory that the sender fills by RDMA write.
//!
//! The bookkeeping alone. A packet lies at the end of its cell, its prefix last, so that the receiver
//! looks at one place, and what it looks at is written last. What it has seen it may keep for a while before it
//! has taken it. The prefix says which time round the ring it
//! belongs to. Cells that the receiver has taken are told in the prefixes of what it sends; a full ring
//! delays nobody, since the shared receive queue takes what it does not.

/// Times round are told by 1, 2, 3, 1, …; memory that was never written says 0.
const LAPS: u64 = 3;

/// A cell to fill or to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    pub index: u32,
    pub lap: u8,
}

fn cell(position: u64, cells: u32) -> Cell {
    Cell { index: (position % cells as u64) as u32, lap: (position / cells as u64 % LAPS) as u8 + 1 }
}

/// The sender's view of a ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Writer {
    cells: u32,
    written: u64,
    /// Of these, the ones that the receiver has told to be free again.
    free: u64,
}

impl Writer {
    pub fn new(cells: u32) -> Writer {
        Writer { cells, written: 0, free: 0 }
    }

    /// The cell for the next packet, if there is one.
    #[inline]
    pub fn next(&self) -> Option<Cell> {
        (self.written - self.free < self.cells as u64).then(|| cell(self.written, self.cells))
    }

    /// The cell that [`Writer::next`] gave is being filled.
    #[inline]
    pub fn advance(&mut self) {
        self.written += 1;
    }

    /// The receiver has taken so many more.
    #[inline]
    pub fn returned(&mut self, cells: u8) {
        self.free += cells as u64;
        debug_assert!(self.free <= self.written);
    }
}

/// The receiver's view of a ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reader {
    cells: u32,
    seen: u64,
    /// Of these, the ones that were used.
    taken: u64,
    /// Of these, the ones that the sender has been told of.
    told: u64,
}

impl Reader {
    pub fn new(cells: u32) -> Reader {
        Reader { cells, seen: 0, taken: 0, told: 0 }
    }

    /// The cell that comes next; it is full when its lap says so.
    #[inline]
    pub fn next(&self) -> Cell {
        cell(self.seen, self.cells)
    }

    /// There is a packet in the cell that [`Reader::next`] gave.
    #[inline]
    pub fn see(&mut self) {
        self.seen += 1;
    }

    /// The oldest packet that was seen has been taken: its cell is free.
    #[inline]
    pub fn advance(&mut self) {
        self.taken += 1;
        debug_assert!(self.taken <= self.seen);
    }

    /// Cells to tell the sender of with a packet.
    #[inline]
    pub fn give_back(&mut self) -> u8 {
        let cells = (self.taken - self.told).min(u8::MAX as u64);
        self.told += cells;
        cells as u8
    }

    /// True when the sender should hear of free cells even without a packet to carry the word.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.taken - self.told > self.cells as u64 / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Whatever the order of writing, taking and telling: every packet is read once, in order, and no
        /// cell is written before it has been read.
        #[test]
        fn packets_come_once_and_in_order(cells in 1..6u32, steps in prop::collection::vec(0..5u8, 0..200)) {
            let (mut writer, mut reader) = (Writer::new(cells), Reader::new(cells));
            let mut memory = vec![(0u8, 0u32); cells as usize];
            let (mut written, mut read, mut taken, mut told) = (0, 0, 0, VecDeque::new());
            for step in steps {
                match step {
                    0 | 1 => if let Some(cell) = writer.next() {
                        memory[cell.index as usize] = (cell.lap, written);
                        writer.advance();
                        written += 1;
                    } else {
                        prop_assert!(written - taken <= cells && written >= cells);
                    },
                    2 => {
                        let cell = reader.next();
                        let (lap, number) = memory[cell.index as usize];
                        prop_assert_eq!(lap == cell.lap, read < written, "seen exactly when it is there");
                        if lap == cell.lap {
                            prop_assert_eq!(number, read);
                            reader.see();
                            read += 1;
                        }
                    }
                    3 => if taken < read {
                        prop_assert_eq!(memory[(taken % cells) as usize].1, taken, "kept until it is taken");
                        reader.advance();
                        taken += 1;
                    },
                    _ => {
                        told.push_back(reader.give_back());
                        if told.len() > 2 {
                            writer.returned(told.pop_front().expect("there are three"));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_ring_that_is_half_taken_is_told() {
        let (mut writer, mut reader) = (Writer::new(4), Reader::new(4));
        while writer.next().is_some() {
            writer.advance();
        }
        let due = [0; 3].map(|_| {
            reader.see();
            reader.advance();
            reader.is_due()
        });
        assert_eq!(due, [false, false, true]);
        writer.returned(reader.give_back());
        assert_eq!(writer.next(), Some(Cell { index: 0, lap: 2 }));
    }
}
