//! The blocks in which long payloads travel between two processes, in both directions.
//!
//! A block belongs to one of the two at any time. It goes to the receiver with the payload; the
//! receiver keeps it for what it sends next, and gives another one back, the one that it has not
//! used for longest. So each always has as many blocks as at the beginning, and in traffic to and
//! fro a process writes to lines that it has just read. That is what makes it fast: on Zen 4, to
//! write to a line that one has written before and the other has read since takes 8 ns a line
//! however many are under way, 8 GB/s; to one that the other has written and oneself has read,
//! a quarter of that. With cores further apart the difference is larger (2.3 and 12 GB/s; example
//! `copy-speed` of tern-copy).
//!
//! Where all traffic goes one way, blocks go round, all of them: lines have left both cores' own
//! caches, if there are enough, before they are written again.

use super::area::UNIT;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// Payloads from here on travel in blocks.
pub const LONG: usize = if cfg!(loom) { 3 * UNIT } else { 1 << 10 };
/// Unused bytes behind a block: its reader makes the processor fetch what follows, too, and a line
/// that the receiver holds is slow to write.
const GAP: usize = if cfg!(loom) { 0 } else { 512 };
/// The largest payload of a block.
const LARGEST: usize = 8 << 10;

/// How a ring's data area is divided: short payloads, then blocks.
#[derive(Clone, Copy, Debug)]
pub struct Division {
    /// Bytes for short payloads.
    pub short: usize,
    /// The largest payload of a block.
    pub block: usize,
    /// From block to block. A payload may begin anywhere in the first unit of its block.
    stride: usize,
    /// How many blocks.
    blocks: u32,
}

impl Division {
    /// For `len` bytes.
    pub fn new(len: usize) -> Division {
        let short = (len / 4).min(64 << 10) / UNIT * UNIT;
        let block = (len / 16 / UNIT * UNIT).clamp(LONG, LARGEST);
        let stride = block + UNIT + GAP;
        Division { short, block, stride, blocks: ((len - short) / stride) as u32 }
    }

    /// Payload bytes that the blocks of one ring hold.
    pub fn room(&self) -> usize {
        self.blocks as usize * self.block
    }
}

/// The blocks of a pair of processes, as one of them knows them.
pub struct Blocks {
    division: Division,
    /// Where the blocks begin: those that the process with the lower number had first, then the
    /// other's.
    parts: [*mut u8; 2],
    /// Ours, the one to write next in front.
    free: RefCell<VecDeque<u32>>,
    /// Payloads that were sent since a packet came back.
    ahead: Cell<u32>,
}

/// So many payloads may be sent for one packet that comes back: more are a stream.
const ANSWERED: u32 = 3;

impl Blocks {
    /// `parts` are the data areas of the two rings between this process and another: the ring
    /// that the process with the lower number sends through is the first. `lower`: that is us.
    ///
    /// # Safety
    /// Both areas are mapped while this lives, and divided in this way by both.
    pub unsafe fn new(division: Division, parts: [*mut u8; 2], lower: bool) -> Blocks {
        let first = if lower { 0 } else { division.blocks };
        let parts = parts.map(|part| part.wrapping_add(division.short));
        let free = RefCell::new((first..first + division.blocks).collect());
        Blocks { division, parts, free, ahead: Cell::new(0) }
    }

    /// The largest payload of a block.
    pub fn size(&self) -> usize {
        self.division.block
    }

    /// Where a block begins, which lies in the area whatever the number is.
    pub fn place(&self, block: u32) -> *mut u8 {
        let Division { blocks, stride, .. } = self.division;
        assert!(block < 2 * blocks, "no block {block}");
        let part = self.parts[(block / blocks) as usize];
        part.wrapping_add((block % blocks) as usize * stride)
    }

    /// Counts a payload that is sent; true while packets come back as well.
    pub fn is_answered(&self) -> bool {
        let ahead = self.ahead.get().saturating_add(1);
        self.ahead.set(ahead);
        ahead <= ANSWERED
    }

    /// A packet has come back.
    #[inline]
    pub fn answer(&self) {
        self.ahead.set(0);
    }

    /// A block to write to.
    pub fn take(&self) -> Option<u32> {
        self.free.borrow_mut().pop_front()
    }

    /// Keeps the block that a payload came in; returns the one to give back for it.
    pub fn swap(&self, block: u32) -> u32 {
        let mut free = self.free.borrow_mut();
        free.push_front(block);
        free.pop_back().expect("the one that was just put there")
    }

    /// Notes that the peer has given a block back.
    pub fn regain(&self, block: u32) {
        self.free.borrow_mut().push_back(block);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pair(len: usize) -> [Blocks; 2] {
        let parts = [std::ptr::without_provenance_mut(1 << 20), std::ptr::without_provenance_mut(2 << 20)];
        // SAFETY: nothing is read or written through them here.
        [true, false].map(|lower| unsafe { Blocks::new(Division::new(len), parts, lower) })
    }

    #[test]
    fn blocks_lie_in_their_areas_and_apart() {
        for len in [8 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20] {
            let [one, two] = pair(len);
            let mut places: Vec<usize> = Vec::new();
            for side in [&one, &two] {
                let own = std::iter::from_fn(|| side.take()).map(|block| side.place(block) as usize);
                places.extend(own);
            }
            assert!(places.len() >= 6, "{len}: {} blocks", places.len());
            assert!(one.size() >= LONG);
            places.sort_unstable();
            for place in &places {
                let area = place >> 20 << 20;
                assert!(place + one.size() + UNIT <= area + len && place - area >= Division::new(len).short);
            }
            assert!(places.windows(2).all(|pair| pair[0] + one.size() + UNIT <= pair[1]));
        }
    }

    #[test]
    fn an_answer_goes_in_the_block_that_came() {
        let [one, two] = pair(256 << 10);
        for _ in 0..100 {
            let block = one.take().expect("a block");
            one.regain(two.swap(block));
            assert_eq!(two.take(), Some(block));
            two.regain(one.swap(block));
        }
    }

    #[test]
    fn one_way_traffic_goes_round_all_blocks() {
        let [one, two] = pair(256 << 10);
        let all = 2 * Division::new(256 << 10).blocks as usize;
        let mut used: Vec<u32> = Vec::new();
        for _ in 0..2 * all {
            let block = one.take().expect("a block");
            one.regain(two.swap(block));
            used.push(block);
        }
        assert_eq!(used[..all], used[all..]);
        used.truncate(all);
        used.sort_unstable();
        assert!(used.into_iter().eq(0..all as u32));
    }

    proptest! {
        /// However payloads go to and fro, a block has one owner, and nobody runs out for good.
        #[test]
        fn every_block_has_one_owner(steps in prop::collection::vec((0..2usize, 0..3u8), 1..400)) {
            let sides = pair(16 << 10);
            let all = 2 * Division::new(16 << 10).blocks;
            // By sender: blocks with payloads, and blocks given back.
            let mut under_way: [VecDeque<u32>; 2] = Default::default();
            let mut given_back: [VecDeque<u32>; 2] = Default::default();
            for (side, step) in steps {
                let sent = under_way[side].len() + given_back[side].len();
                match step {
                    0 => match sides[side].take() {
                        Some(block) => under_way[side].push_back(block),
                        None => prop_assert!(sent > 0, "no block, though none is away"),
                    },
                    1 => if let Some(block) = under_way[1 - side].pop_front() {
                        given_back[1 - side].push_back(sides[side].swap(block));
                    },
                    _ => if let Some(block) = given_back[side].pop_front() {
                        sides[side].regain(block);
                    },
                }
                let mut owned: Vec<u32> = under_way.iter().chain(&given_back).flatten().copied().collect();
                sides.iter().for_each(|side| owned.extend(side.free.borrow().iter()));
                owned.sort_unstable();
                prop_assert!(owned.into_iter().eq(0..all));
            }
        }
    }
}
