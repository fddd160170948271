//! One message as RDMA writes, or as reads: each goes to one run of the peer's memory, from as many runs of own memory as a
//! gather list takes, or the other way. So a layout meets a layout without packing. What is said of writes here is
//! true of reads from the peer's memory, with own memory as `source`.

use std::ops::Range;
use tern_device::runs::LONGEST;
use tern_device::{Memory, Run};
use tern_hca::Segment;

/// Calls `write` with the address at the receiver and the segments of the sender, until the bytes from `done` to `len`
/// are covered or it says false; true when all went. `key` is the sender's local key; the lists have at most `gather`
/// entries.
pub fn each_write(
    source: &Memory, target: &Memory, done: u64, len: u64, key: u32, gather: usize,
    write: impl FnMut(u64, &[Segment], bool) -> bool,
) -> bool {
    each_piece(source, target, done..len, LONGEST, key, gather, write)
}

/// The same for a range of the bytes; no write is of more than `longest` bytes.
pub fn each_piece(
    source: &Memory, target: &Memory, bytes: Range<u64>, longest: u64, key: u32, gather: usize,
    mut write: impl FnMut(u64, &[Segment], bool) -> bool,
) -> bool {
    let Range { start: mut done, end: len } = bytes;
    const MOST: usize = 32;
    let gather = gather.min(MOST);
    let mut list = [Segment { address: 0, len: 0, key }; MOST];
    while done < len {
        let Run { address: to, len: room } = target.run_at(done);
        let end = len.min(done + room.min(longest));
        let mut used = 0;
        while done < end && used < gather {
            let Run { address, len: there } = source.run_at(done);
            let bytes = there.min(end - done);
            list[used] = Segment { address, len: bytes as u32, key };
            (used, done) = (used + 1, done + bytes);
        }
        if !write(to, &list[..used], done == len) {
            return false;
        }
    }
    true
}

/// How many writes that makes; more than `most` are not counted.
pub fn writes(source: &Memory, target: &Memory, len: u64, gather: usize, most: usize) -> usize {
    let mut count = 0;
    each_write(source, target, 0, len, 0, gather, |_, _, _| {
        count += 1;
        count <= most
    });
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Memory of `len` bytes in blocks, in a buffer that begins at 1000.
    fn memory(len: u64, block: u64, gap: u64) -> Memory {
        let block = block.min(len);
        Memory { address: 1000, len, block, stride: (block + gap) as i64, ..Memory::default() }
    }

    fn address_of(memory: &Memory, byte: u64) -> u64 {
        memory.run_at(byte).address
    }

    proptest! {
        /// Every byte goes from where it lies to where it belongs, once.
        #[test]
        fn every_byte_once(
            len in 1..300u64, blocks in (1..80u64, 1..80u64), gaps in (0..9u64, 0..9u64), gather in 1..5usize, less in 0..50u64,
            skipped in 0..50u64, longest in 1..400u64,
        ) {
            let (source, target) = (memory(len, blocks.0, gaps.0), memory(len, blocks.1, gaps.1));
            let part = len.saturating_sub(less).max(1);
            let from = skipped.min(part - 1);
            let (mut moved, mut count, mut last) = (Vec::new(), 0, false);
            let all = each_piece(&source, &target, from..part, longest, 7, gather, |mut to, segments, end| {
                assert!(segments.iter().map(|segment| u64::from(segment.len)).sum::<u64>() <= longest);
                assert!(!last && !segments.is_empty() && segments.len() <= gather);
                (count, last) = (count + 1, end);
                for segment in segments {
                    assert_eq!(segment.key, 7);
                    moved.extend((0..segment.len as u64).map(|byte| (segment.address + byte, to + byte)));
                    to += segment.len as u64;
                }
                true
            });
            prop_assert!(all);
            let expected: Vec<_> = (from..part).map(|byte| (address_of(&source, byte), address_of(&target, byte))).collect();
            prop_assert_eq!(moved, expected);
            prop_assert!(last);
            prop_assert!(from > 0 || longest < part || writes(&source, &target, part, gather, usize::MAX) == count);
        }
    }

    #[test]
    fn dense_memory_is_one_write_and_long_memory_several() {
        let dense = |len| Memory::dense(std::ptr::null::<u8>().wrapping_add(64), len);
        assert_eq!(writes(&dense(100_000), &dense(100_000), 100_000, 4, 9), 1);
        assert_eq!(writes(&dense(5 << 30), &dense(5 << 30), 5 << 30, 4, 9), 5);
        assert_eq!(writes(&memory(900, 1, 1), &memory(900, 1, 1), 900, 4, 9), 10, "more than that is not counted");
    }
}
