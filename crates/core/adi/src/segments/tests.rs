//! Segments beside what the packets of the same data hold.

use super::*;
use proptest::prelude::*;
use std::rc::Rc;
use tern_layout::{Basic, Type};

/// Where the data begins in memory of this many bytes.
const MIDDLE: usize = 6000;

/// Elements with blocks that lie anywhere, empty ones among them: count, and the type of one.
fn irregular() -> impl Strategy<Value = (i64, Rc<Type>)> {
    let blocks = prop::collection::vec((0..30i64, -300..300i64), 1..12);
    (1..4i64, blocks, -400..400i64).prop_map(|(count, blocks, extent)| {
        let (lengths, displacements): (Vec<i64>, Vec<i64>) = blocks.into_iter().unzip();
        let ty = Type::hindexed(&lengths, &displacements, &Type::basic(Basic::Byte)).expect("a type");
        (count, Type::resized(0, extent, &ty).expect("a type"))
    })
}

proptest! {
    #[test]
    fn segments_hold_the_bytes_of_packets((count, ty) in irregular(), part in 0..400u64) {
        let memory: Vec<u8> = (0..2 * MIDDLE).map(|at| (at * 7 + (at >> 8)) as u8).collect();
        // A pointer to the whole, since blocks lie below the base too.
        let data = Data::Typed { base: memory.as_ptr().wrapping_add(MIDDLE).cast_mut(), count, ty };
        let len = part.min(data.len() as u64);
        let mut packed = vec![0; len as usize];
        data.gather(0, &mut packed);
        let runs = data.runs(len);
        // SAFETY: all of it lies within `memory`.
        let bytes = |run: &Run| unsafe { std::slice::from_raw_parts(run.address as *const u8, run.len as usize) };
        let found: Vec<u8> = runs.iter().flat_map(bytes).copied().collect();
        prop_assert_eq!(found, packed);
        prop_assert!(runs.iter().all(|run| run.len > 0));
        prop_assert!(runs.len() as u64 <= data.block_count());
        let all = data.runs(u64::MAX);
        let (low, end) = (all.iter().map(|run| run.address).min(), all.iter().map(|run| run.address + run.len).max());
        if let (Some(low), Some(end)) = (low, end) {
            prop_assert_eq!(data.span(), Some(Memory::dense(low as *const u8, (end - low) as usize)));
        }
    }
}

#[test]
fn dense_and_regular_data_is_not_irregular() {
    let ty = Type::vector(4, 2, 3, &Type::basic(Basic::Byte)).expect("a type");
    let regular = Data::Typed { base: std::ptr::dangling_mut(), count: 1, ty };
    let dense = Data::Bytes(std::ptr::dangling_mut(), 9);
    assert_eq!((regular.irregular_blocks(), dense.irregular_blocks()), (None, None));
    assert_eq!((regular.block_count(), dense.block_count()), (4, 1));
    assert_eq!(dense.runs(5), [Run { address: 1, len: 5 }]);
    assert_eq!(dense.runs(0), []);
}

#[test]
fn no_memory_spans_more_than_there_is() {
    let ty = Type::hindexed(&[1, 1], &[0, i64::MAX / 2], &Type::basic(Basic::Byte)).expect("a type");
    let data = |count| Data::Typed { base: std::ptr::dangling_mut(), count, ty: ty.clone() };
    assert!(data(1).span().is_some());
    assert_eq!(data(i64::MAX / 4).span(), None);
}
