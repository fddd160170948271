//! Regions of segments between two processes: by a view, by the kernel, or not at all.

use proptest::prelude::*;
use rustix::fd::AsFd;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect};
use tern_device::{AfterFork, Exposure, Memory, PairFacts, Pull, PullTo, Purpose, Run, SharedMemory, SingleCopy, Use};
use tern_shm::Shm;

const LEN: usize = 64 << 10;

/// Two processes.
fn pair() -> [Shm; 2] {
    let memory = rustix::fs::memfd_create("tern-test", rustix::fs::MemfdFlags::CLOEXEC).expect("a memfd");
    [0, 1].map(|me| Shm::new(memory.as_fd(), me, 2, 2, None).expect("shared memory"))
}

/// Whether the kernel copies between processes; says so if not.
fn is_copied(device: &Shm) -> bool {
    let copies = device.pair(1).kernel;
    if !copies {
        eprintln!("skipped: memory of other processes cannot be copied here");
    }
    copies
}

/// Pages of a process, shared ones if `device` is to give them; they stay.
fn pages(device: Option<&Shm>) -> *mut u8 {
    if let Some(device) = device {
        return device.allocate(LEN, AfterFork::Shared).expect("memory");
    }
    // SAFETY: a new mapping, which stays.
    unsafe { mmap_anonymous(std::ptr::null_mut(), LEN, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE) }
        .expect("memory")
        .cast()
}

/// Parts of these pages.
fn runs(at: *mut u8, parts: &[(usize, usize)]) -> Vec<Run> {
    parts.iter().map(|&(from, len)| Run { address: at as u64 + from as u64, len: len as u64 }).collect()
}

fn sum(runs: &[Run]) -> u64 {
    runs.iter().map(|run| run.len).sum()
}

/// The bytes of a list, one after the other.
fn bytes(runs: &[Run]) -> Vec<u8> {
    // SAFETY: all lists are of pages that stay.
    let of = |run: &Run| unsafe { std::slice::from_raw_parts(run.address as *const u8, run.len as usize) };
    runs.iter().flat_map(of).copied().collect()
}

/// Opens a region within these pages; `None`: the peer cannot copy out of it, or there are too many.
fn open(device: &Shm, at: *mut u8, segments: &[Run]) -> Option<Memory> {
    let used = Use { purpose: Purpose::Message, bytes: sum(segments), quiet: true };
    let span = device.locate(1, Memory::dense(at, LEN), used);
    device.pair(1).in_segments(span.place != 0)?;
    device.expose(&span, Exposure::Segments(1, segments))
}

/// Where memory of so many bytes lies, for the peer.
fn locate(device: &Shm, memory: Memory) -> Memory {
    device.locate(1, memory, Use { purpose: Purpose::Message, bytes: memory.len, quiet: true })
}

/// Whether the peer of the process that has opened a region could copy out of it.
fn copies(reader: &Shm, region: &Memory, target: &[Run]) -> bool {
    reader.pull(0, region, PullTo::Runs(target)) == Pull::Done
}

fn fill(at: *mut u8, by: impl Fn(usize) -> u8) {
    // SAFETY: pages of this test.
    (0..LEN).for_each(|byte| unsafe { *at.add(byte) = by(byte) });
}

/// The first `len` bytes of these runs, or all of them: a message may be shorter than its receive.
fn first(mut runs: Vec<Run>, mut len: u64) -> Vec<Run> {
    for run in &mut runs {
        run.len = run.len.min(len);
        len -= run.len;
    }
    runs.retain(|run| run.len > 0);
    runs
}

/// The wanted runs of these pages hold the first bytes of the segments, and no other byte has changed.
fn moved(segments: &[Run], target: *mut u8, wanted: &[Run]) -> Result<(), TestCaseError> {
    let (expected, found) = (bytes(segments), bytes(wanted));
    prop_assert!(found == expected[..found.len()]);
    let changed = bytes(&runs(target, &[(0, LEN)])).iter().filter(|&&byte| byte != 0xee).count();
    prop_assert_eq!(changed, found.len());
    Ok(())
}

/// Parts of the pages that lie in any order, and do not overlap.
fn parts() -> impl Strategy<Value = Vec<(usize, usize)>> {
    let cuts = prop::collection::btree_set(1..LEN, 2..24);
    (cuts, any::<bool>(), any::<prop::sample::Index>()).prop_map(|(cuts, back, turn)| {
        let cuts: Vec<usize> = cuts.into_iter().collect();
        let mut parts: Vec<(usize, usize)> = cuts.windows(2).step_by(2).map(|cut| (cut[0], cut[1] - cut[0])).collect();
        let turn = turn.index(parts.len());
        parts.rotate_left(turn);
        if back {
            parts.reverse();
        }
        parts
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Byte by byte, whatever both lists are, and no other byte.
    #[test]
    fn the_first_bytes_go_where_they_belong(from in parts(), to in parts(), shared in any::<bool>()) {
        let [owner, reader] = pair();
        if !shared && !is_copied(&owner) {
            return Ok(());
        }
        let (source, target) = (pages(shared.then_some(&owner)), pages(None));
        fill(source, |at| ((at * 7 + (at >> 8)) % 229) as u8);
        fill(target, |_| 0xee);
        let segments = runs(source, &from);
        let region = open(&owner, source, &segments).expect("room for a region");
        prop_assert_eq!((region.is_region(), region.place != 0, region.len), (true, shared, sum(&segments)));
        let wanted = first(runs(target, &to), region.len);
        prop_assert!(copies(&reader, &region, &wanted));
        moved(&segments, target, &wanted)?;
        owner.release(&region);
        prop_assert!(!copies(&reader, &region, &wanted), "it is closed");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The same out of shared memory that is no region, of which the words tell all.
    #[test]
    fn blocks_at_a_stride_go_where_they_belong(
        block in 1u64..3000, gap in 0u64..100, blocks in 1u64..20, cut in 0u64..3000, back in any::<bool>(), to in parts(),
    ) {
        let [owner, reader] = pair();
        let (source, target) = (pages(Some(&owner)), pages(None));
        fill(source, |at| ((at * 7 + (at >> 8)) % 229) as u8);
        fill(target, |_| 0xee);
        let len = block * blocks - cut % block;
        let step = (block + gap) as i64;
        let (address, stride) = if back { (source as u64 + (blocks - 1) * step as u64, -step) } else { (source as u64, step) };
        let words = Memory { address, len, block, stride, ..Memory::default() };
        let words = locate(&owner, words);
        prop_assert!(words.place != 0 && !words.is_region());
        let segment = |number: u64| Run {
            address: address.wrapping_add_signed(number as i64 * stride),
            len: block.min(len - number * block),
        };
        let segments: Vec<Run> = (0..blocks).map(segment).collect();
        let wanted = first(runs(target, &to), len);
        prop_assert!(copies(&reader, &words, &wanted));
        moved(&segments, target, &wanted)?;
    }
}

#[test]
fn memory_in_very_many_blocks_goes_otherwise() {
    let [owner, reader] = pair();
    let (source, target) = (pages(Some(&owner)), pages(None));
    let words = |blocks| Memory { address: source as u64, len: blocks, block: 1, stride: 2, ..Memory::default() };
    let copies_all = |blocks| copies(&reader, &locate(&owner, words(blocks)), &runs(target, &[(0, 100)]));
    assert!(copies_all(4096) && !copies_all(4097));
    assert!(!copies(&reader, &Memory::opaque(4000), &runs(target, &[(0, 100)])), "only its owner knows it");
}

#[test]
fn a_wrong_cookie_moves_nothing() {
    for shared in [true, false] {
        let [owner, reader] = pair();
        if !shared && !is_copied(&owner) {
            return;
        }
        let (source, target) = (pages(shared.then_some(&owner)), pages(None));
        fill(source, |_| 1);
        let into = runs(target, &[(100, 3000)]);
        let before = Memory { key: 24, place: u64::from(shared), ..Memory::opaque(3000) };
        assert!(!copies(&reader, &before, &into), "its owner has no region yet");
        let region = open(&owner, source, &runs(source, &[(0, 2000), (5000, 2000)])).expect("room for a region");
        for wrong in [
            Memory { key: region.key + 1, ..region },
            Memory { key: region.key + 24, ..region },
            Memory { key: u64::MAX, ..region },
            Memory { len: region.len - 1, ..region },
            Memory { len: region.len + 1, ..region },
            Memory { len: u64::MAX, ..region },
        ] {
            assert!(!copies(&reader, &wrong, &into), "{wrong:?}");
        }
        if shared {
            let above = Memory { address: region.address + 1, ..region };
            assert!(!copies(&reader, &above, &into), "a segment lies before the region");
        }
        assert!(!copies(&reader, &region, &runs(target, &[(0, 4001)])), "longer than the region");
        assert!(bytes(&runs(target, &[(0, LEN)])).iter().all(|&byte| byte == 0), "nothing has moved");
        assert!(copies(&reader, &region, &into));
        assert_eq!(bytes(&into), [1; 3000]);
    }
}

#[test]
fn a_region_that_is_closed_makes_room_for_another() {
    let [owner, reader] = pair();
    let (source, target) = (pages(Some(&owner)), pages(None));
    fill(source, |at| at as u8);
    let opened: Vec<Memory> =
        (0..).map_while(|at| open(&owner, source, &runs(source, &[(at, 1), (at + 9, 1)]))).collect();
    assert!((16..1000).contains(&opened.len()), "{}", opened.len());
    let into = runs(target, &[(0, 2)]);
    for (at, region) in opened.iter().enumerate() {
        owner.release(region);
        let another = open(&owner, source, &runs(source, &[(at + 100, 1), (at, 1)])).expect("there is room again");
        assert!(!copies(&reader, region, &into));
        assert!(copies(&reader, &another, &into));
        assert_eq!(bytes(&into), [at as u8 + 100, at as u8]);
    }
}

/// Some of the memory is gone: the message goes in packets, as all others from there.
#[test]
fn what_the_kernel_does_not_copy_is_no_region() {
    let [owner, reader] = pair();
    if !is_copied(&owner) {
        return;
    }
    let (source, target) = (pages(None), pages(None));
    let half = LEN / 2;
    // SAFETY: this test's own pages, which nobody refers to.
    unsafe { mprotect(source.add(half).cast(), half, MprotectFlags::empty()) }.expect("protection of own memory");
    let region = open(&owner, source, &runs(source, &[(0, 8192), (half, 8192)])).expect("room for a region");
    let into = runs(target, &[(0, 16384)]);
    assert!(!copies(&reader, &region, &into));
    owner.release(&region);
    // SAFETY: as above.
    unsafe { mprotect(source.add(half).cast(), half, MprotectFlags::READ | MprotectFlags::WRITE) }.expect("as above");
    let region = open(&owner, source, &runs(source, &[(0, 8192), (half, 8192)])).expect("room for a region");
    assert!(!copies(&reader, &region, &into), "the kernel is not asked again");
    assert_eq!(reader.pair(0).in_segments(false), None, "nor is anything offered");
}
