//! The blocks in which payloads travel that a cell has no room for, between two processes in both directions. They are of three
//! kinds: for short payloads, for long ones, and for parts of the longest messages.
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

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::RangeInclusive;

/// A cache line.
pub const UNIT: usize = 64;

/// The largest payload of a block for short ones, where there is room for so many.
const LARGEST_SHORT: usize = if cfg!(loom) { 2 * UNIT } else { 1 << 10 };
/// At least so many.
const SHORT_BLOCKS: usize = 32;
/// Unused bytes behind a block of another kind: its reader makes the processor fetch what follows, too, and a line
/// that the receiver holds is slow to write.
const GAP: usize = if cfg!(loom) { 0 } else { 512 };
/// The smallest and the largest payload that a block for long ones has room for.
const LEAST: usize = if cfg!(loom) { 3 * UNIT } else { 1 << 10 };
const LARGEST: usize = 8 << 10;
/// What a block for parts of the longest messages has room for: a 32nd of the area, within these bounds. The processor fetches ahead within a page,
/// and packets end less often: by 32 KiB, off cache, such messages take a tenth to a fifth less, and exchanges by 64 KiB a twentieth (an Intel Xeon).
pub const PART: RangeInclusive<usize> = 32 << 10..=64 << 10;
/// So many of those in half of the area, if it has room for the fewest: the more there are, the further a writer goes on while its reader is late.
const PARTS: RangeInclusive<usize> = 8..=16;

/// Blocks of one kind in a ring's data area.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// Where they begin.
    start: usize,
    /// The largest payload.
    size: usize,
    /// From block to block.
    stride: usize,
    /// How many.
    blocks: u32,
}

impl Kind {
    /// As many as there is room for from `start` to `end`, for payloads that may begin anywhere in the first unit.
    fn between(start: usize, end: usize, size: usize) -> Kind {
        let stride = size + UNIT + GAP;
        Kind { start, size, stride, blocks: ((end - start) / stride) as u32 }
    }
}

/// How a ring's data area is divided: blocks for short payloads, for long ones, and for parts of the longest messages, of which there may be none.
#[derive(Clone, Copy, Debug)]
pub struct Division([Kind; 3]);

impl Division {
    /// For `len` bytes.
    pub fn new(len: usize) -> Division {
        let room = (len / 4).min(64 << 10) / UNIT * UNIT;
        let size = (room / SHORT_BLOCKS / UNIT * UNIT).clamp(2 * UNIT, LARGEST_SHORT);
        let short = Kind { start: 0, size, stride: size, blocks: (room / size) as u32 };
        let part = (len / 32).clamp(*PART.start(), *PART.end());
        let parts =
            Some(len / 2 / part).filter(|parts| parts >= PARTS.start()).map_or(0, |parts| parts.min(*PARTS.end()));
        let end = len - parts * (part + UNIT + GAP);
        let size = (len / 16 / UNIT * UNIT).clamp(LEAST, LARGEST);
        Division([short, Kind::between(room, end, size), Kind::between(end, len, part)])
    }

    /// The largest payload of a packet.
    pub fn packet(&self) -> usize {
        let [_, long, part] = self.0;
        if part.blocks > 0 { part.size } else { long.size }
    }

    /// The same of one that is no part of a longest message.
    pub fn long(&self) -> usize {
        self.0[1].size
    }

    /// Payload bytes that the blocks of one ring for long ones hold.
    pub fn room(&self) -> usize {
        self.0[1].blocks as usize * self.long()
    }
}

/// The blocks of a pair of processes, as one of them knows them. They have numbers: by kind, first those of the process with
/// the lower number and then those of the other one.
pub struct Blocks {
    division: Division,
    /// The data areas: that of the process with the lower number, then the other's.
    areas: [*mut u8; 2],
    /// Ours, by kind, the one to write next in front.
    free: [RefCell<VecDeque<u32>>; 3],
    /// Packets that were sent since one came back.
    ahead: Cell<u32>,
    /// All that were sent, and received: the positions of the next cells.
    sent: Cell<u32>,
    received: Cell<u32>,
    /// See [`Blocks::alternates`].
    alternates: Cell<bool>,
}

impl Blocks {
    /// `areas` are the data areas of the two rings between this process and another: the ring
    /// that the process with the lower number sends through is the first. `lower`: that is us.
    ///
    /// # Safety
    /// Both areas are mapped while this lives, and divided in this way by both.
    pub unsafe fn new(division: Division, areas: [*mut u8; 2], lower: bool) -> Blocks {
        let mut first = 0;
        let free = division.0.map(|Kind { blocks, .. }| {
            let ours = first + if lower { 0 } else { blocks };
            first += 2 * blocks;
            RefCell::new((ours..ours + blocks).collect())
        });
        Blocks {
            division,
            areas,
            free,
            ahead: Cell::new(0),
            sent: Cell::new(0),
            received: Cell::new(0),
            alternates: Cell::new(false),
        }
    }

    /// The division of either area.
    pub fn division(&self) -> &Division {
        &self.division
    }

    /// The kind of a block, and its number among those of that kind.
    fn kind(&self, block: u32) -> (usize, u32) {
        let mut number = block;
        for (kind, Kind { blocks, .. }) in self.division.0[..2].iter().enumerate() {
            match number.checked_sub(2 * blocks) {
                None => return (kind, number),
                Some(rest) => number = rest,
            }
        }
        (2, number)
    }

    /// True for a block in whose first unit a payload may begin anywhere.
    #[inline]
    pub fn is_long(&self, block: u32) -> bool {
        block >= 2 * self.division.0[0].blocks
    }

    /// Where a payload of `len` bytes lies in a block, `skew` bytes from its beginning: in the area, whatever the numbers are.
    // A function of its own, like `swap`: payloads in cells need no registers for it.
    #[inline(never)]
    pub fn place(&self, block: u32, skew: usize, len: usize) -> *mut u8 {
        let (kind, number) = self.kind(block);
        let Kind { start, size, stride, blocks } = self.division.0[kind];
        let room = size + if kind > 0 { UNIT } else { 0 };
        assert!(number < 2 * blocks && skew + len <= room, "{len} bytes at {skew} of block {block}");
        let area = self.areas[(number / blocks) as usize];
        area.wrapping_add(start + (number % blocks) as usize * stride + skew)
    }

    /// Counts a packet that is sent; true for the first since one has come back.
    #[inline]
    pub fn count_sent(&self) -> bool {
        let ahead = self.ahead.get();
        self.ahead.set(ahead.saturating_add(1));
        self.sent.set(self.sent.get().wrapping_add(1));
        ahead == 0
    }

    /// A packet has come back, whose sender had received so many, modulo 256.
    #[inline]
    pub fn answer(&self, received: u8) {
        self.received.set(self.received.get().wrapping_add(1));
        let ahead = self.ahead.replace(0);
        if ahead > 0 {
            self.alternates.set(ahead == 1 && received == self.sent.get() as u8);
        }
    }

    /// Packets that were sent since the beginning; wraps.
    #[inline]
    pub fn sent(&self) -> u32 {
        self.sent.get()
    }

    /// The same of those that were received.
    #[inline]
    pub fn received(&self) -> u32 {
        self.received.get()
    }

    /// True while packets go to and fro one by one, each sent when the one before had come.
    pub fn alternates(&self) -> bool {
        self.alternates.get()
    }

    /// A block to write `len` bytes to; `None`: all that would do are with the peer.
    #[inline]
    pub fn take(&self, len: usize) -> Option<u32> {
        let [mut short, mut long, mut parts] = self.free.each_ref().map(RefCell::borrow_mut);
        let size = self.division.0[0].size;
        match len {
            len if len <= size => short.pop_front().or_else(|| long.pop_front()),
            len if len <= self.division.long() => long.pop_front(),
            _ => parts.pop_front(),
        }
    }

    fn free(&self, block: u32) -> &RefCell<VecDeque<u32>> {
        &self.free[self.kind(block).0]
    }

    /// Keeps the block that a payload came in; returns the one to give back for it.
    #[inline(never)]
    pub fn swap(&self, block: u32) -> u32 {
        let mut free = self.free(block).borrow_mut();
        free.push_front(block);
        free.pop_back().expect("the one that was just put there")
    }

    /// Notes that the peer has given a block back.
    pub fn regain(&self, block: u32) {
        self.free(block).borrow_mut().push_back(block);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pair(len: usize) -> [Blocks; 2] {
        let areas = [std::ptr::without_provenance_mut(1 << 22), std::ptr::without_provenance_mut(2 << 22)];
        // SAFETY: nothing is read or written through them here.
        [true, false].map(|lower| unsafe { Blocks::new(Division::new(len), areas, lower) })
    }

    /// A payload that fits no block for short ones.
    const LONG: usize = LARGEST_SHORT + 1;

    #[test]
    fn blocks_lie_in_their_areas_and_apart() {
        for len in [8 << 10, 16 << 10, 64 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 3 << 20] {
            let sides = pair(len);
            let mut places: Vec<(usize, usize)> = Vec::new();
            for side in &sides {
                let parts = std::iter::from_fn(|| side.take(*PART.start()));
                for block in std::iter::from_fn(|| side.take(1)).chain(parts) {
                    let skew = if side.is_long(block) { UNIT } else { 0 };
                    let size = side.division.0[side.kind(block).0].size;
                    places.push((side.place(block, 0, 1) as usize, skew + size));
                }
            }
            let [short, long, parts] = sides[0].division.0;
            assert!(short.blocks >= 16 && long.blocks >= 3, "{len}: {short:?} {long:?}");
            assert_eq!(parts.blocks > 0, len >= 512 << 10);
            assert!(
                parts.blocks == 0 || PARTS.contains(&(parts.blocks as usize)) && PART.contains(&parts.size),
                "{len}: {parts:?}"
            );
            assert_eq!(places.len() as u32, 2 * (short.blocks + long.blocks + parts.blocks));
            assert!(short.size > super::super::INLINE && long.size >= LEAST);
            places.sort_unstable();
            for (place, room) in &places {
                assert!(place + room <= (place >> 22 << 22) + len);
            }
            assert!(places.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
        }
    }

    #[test]
    #[should_panic(expected = "bytes at")]
    fn a_payload_does_not_leave_its_block() {
        let [one, _] = pair(256 << 10);
        one.place(0, 1, one.division.0[0].size);
    }

    #[test]
    fn an_answer_goes_in_the_block_that_came() {
        let [one, two] = pair(512 << 10);
        for len in [100, LONG, *PART.start()].repeat(100) {
            let block = one.take(len).expect("a block");
            one.regain(two.swap(block));
            assert_eq!(two.take(len), Some(block));
            two.regain(one.swap(block));
        }
    }

    #[test]
    fn short_payloads_go_in_whichever_blocks_there_are() {
        let [one, two] = pair(256 << 10);
        let [Kind { blocks: short, size, .. }, Kind { blocks: long, .. }, _] = one.division.0;
        let taken: Vec<u32> = std::iter::from_fn(|| one.take(size)).collect();
        assert!(!one.is_long(taken[0]));
        assert_eq!(taken.iter().filter(|&&block| one.is_long(block)).count() as u32, long);
        assert_eq!(taken.len() as u32, short + long);
        taken.into_iter().for_each(|block| one.regain(two.swap(block)));
        assert!(one.take(LONG).is_some_and(|block| one.is_long(block)));
    }

    #[test]
    fn one_way_traffic_goes_round_all_blocks() {
        let [one, two] = pair(512 << 10);
        for (len, Kind { blocks, .. }) in [100, LONG, *PART.start()].into_iter().zip(one.division.0) {
            let all = 2 * blocks as usize;
            let mut used: Vec<u32> = Vec::new();
            for _ in 0..2 * all {
                let block = one.take(len).expect("a block");
                one.regain(two.swap(block));
                used.push(block);
            }
            assert_eq!(used[..all], used[all..]);
            used.truncate(all);
            used.sort_unstable();
            assert!(used.windows(2).all(|pair| pair[0] + 1 == pair[1]), "each once");
        }
    }

    #[test]
    fn packets_alternate_while_one_goes_for_each_that_comes() {
        let [one, _] = pair(256 << 10);
        assert!(!one.alternates(), "nothing is known");
        for sent in 1..=3 {
            assert!(one.count_sent());
            one.answer(sent);
            assert!(one.alternates());
        }
        one.answer(3);
        assert!(one.alternates(), "what comes unasked says nothing");
        assert!(one.count_sent() && !one.count_sent());
        assert!(one.alternates(), "as the last time");
        one.answer(5);
        assert!(!one.alternates(), "two went at once");
    }

    #[test]
    fn packets_that_cross_do_not_alternate() {
        let [one, two] = pair(256 << 10);
        for round in 0..600 {
            for side in [&one, &two] {
                side.count_sent();
            }
            // The first is received before the other one has gone, in half of the rounds.
            let crossed = round % 2 == 0;
            let told = two.received();
            two.answer(one.received() as u8);
            one.answer(if crossed { told } else { two.received() } as u8);
            assert_eq!(one.alternates(), !crossed);
            assert!(round > 0 || !two.alternates());
        }
    }

    proptest! {
        /// However payloads go to and fro, a block has one owner, and nobody runs out for good.
        #[test]
        fn every_block_has_one_owner(steps in prop::collection::vec((0..2usize, 0..5usize), 1..400), len in prop::sample::select(vec![16 << 10, 512 << 10])) {
            let sides = pair(len);
            let all = 2 * sides[0].division.0.iter().map(|kind| kind.blocks).sum::<u32>();
            // By sender: blocks with payloads, and blocks given back.
            let mut under_way: [VecDeque<u32>; 2] = Default::default();
            let mut given_back: [VecDeque<u32>; 2] = Default::default();
            for (side, step) in steps {
                let sent = under_way[side].len() + given_back[side].len();
                match step {
                    0..3 => match sides[side].take([100, LONG, *PART.start()][step].min(sides[side].division.packet())) {
                        Some(block) => under_way[side].push_back(block),
                        None => prop_assert!(sent > 0, "no block, though none is away"),
                    },
                    3 => if let Some(block) = under_way[1 - side].pop_front() {
                        given_back[1 - side].push_back(sides[side].swap(block));
                    },
                    _ => if let Some(block) = given_back[side].pop_front() {
                        sides[side].regain(block);
                    },
                }
                let mut owned: Vec<u32> = under_way.iter().chain(&given_back).flatten().copied().collect();
                sides.iter().flat_map(|side| &side.free).for_each(|free| owned.extend(free.borrow().iter()));
                owned.sort_unstable();
                prop_assert!(owned.into_iter().eq(0..all));
            }
        }
    }
}
