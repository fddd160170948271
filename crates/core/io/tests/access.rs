//! Reading and writing, by every way, against a file that is a list of bytes.

mod common;
#[allow(dead_code)]
#[path = "../../../base/layout/tests/model/mod.rs"]
mod model;

use std::rc::Rc;

use common::{Name, dense, noise};
use model::{Model, Spec, specs};
use proptest::prelude::*;
use tern_io::plan::Request;
use tern_io::{Choice, Hints, Memory, Representation, View, read, write};
use tern_layout::{Basic, Type};

/// A filetype that begins at or after 0, and the offsets of its bytes; only those that can be written.
fn filetypes() -> impl Strategy<Value = (Rc<Type>, Model)> {
    (specs(), 0..20i64, 0..20i64).prop_filter_map("overlaps", |(spec, before, after)| {
        let (_, model) = spec.build()?;
        let shifted = Spec::Struct(vec![(1, before - model.true_lb(), spec)]);
        let span = model.true_ub() - model.true_lb();
        let (ty, model) = Spec::Resized(0, before + span + after, Box::new(shifted)).build()?;
        let bytes = model.bytes();
        let good = !bytes.is_empty() && bytes.len() < 2000 && span < 1 << 16;
        (good && bytes.windows(2).all(|pair| pair[0] < pair[1])).then_some((ty, model))
    })
}

/// Elements in memory: type, model, count; without overlaps, so that they can be read into.
fn memories() -> impl Strategy<Value = (Rc<Type>, Model, i64)> {
    (specs(), 1..4i64).prop_filter_map("overlaps", |(spec, count)| {
        let (ty, model) = spec.build()?;
        let all = model.times(count);
        let good = all.size() < 3000 && all.true_ub() - all.true_lb() < 1 << 16 && !all.overlaps();
        good.then_some((ty, all, count))
    })
}

/// Sieving or not, with windows that cut runs, or hold everything; atomic mode or not.
fn ways() -> impl Strategy<Value = Hints> {
    let choices = || prop::sample::select(vec![Choice::Auto, Choice::Always, Choice::Never]);
    let buffers = || prop::sample::select(vec![1, 7, 64, 1000, 1 << 16]);
    (choices(), choices(), buffers(), buffers(), any::<bool>(), any::<bool>()).prop_map(
        |(read_sieving, write_sieving, read_buffer, write_buffer, guarded, atomic)| Hints {
            read_sieving,
            write_sieving,
            read_buffer,
            write_buffer,
            guarded,
            atomic,
        },
    )
}

/// Memory for elements of `model`, and where the buffer address is in it.
fn room(model: &Model, seed: u64) -> (Vec<u8>, usize) {
    let (low, high) = (model.true_lb().min(0), model.true_ub().max(0));
    (noise(seed, (high - low) as usize), -low as usize)
}

/// The offsets in the file of bytes `from` to `from + len` of the stream.
fn offsets(model: &Model, displacement: i64, from: usize, len: usize) -> Vec<usize> {
    let (tile, extent) = (model.bytes(), model.extent());
    (from..from + len)
        .map(|at| (displacement + (at / tile.len()) as i64 * extent + tile[at % tile.len()]) as usize)
        .collect()
}

fn byte_view(displacement: i64, filetype: &Rc<Type>) -> View {
    View::new(displacement, &Type::basic(Basic::Byte), filetype, Representation::Native, true).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, max_global_rejects: 100_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn writes_what_the_definition_says(
        (filetype, tiles) in filetypes(),
        (ty, model, count) in memories(),
        hints in ways(),
        (displacement, from, before) in (0..100i64, 0..500usize, 0..5000usize),
    ) {
        let old = noise(1, before);
        let name = Name::with(&old);
        let (mut bytes, origin) = room(&model, 2);
        let base = bytes.as_mut_ptr().wrapping_add(origin);
        let memory = Memory { base, count, ty: &ty };
        // SAFETY: `room` has made room for the elements.
        let moved = unsafe { write(&name.open(), &byte_view(displacement, &filetype), from as u64, &memory, &hints) };
        prop_assert_eq!(moved.unwrap(), model.size() as u64);
        let mut want = old;
        for (place, at) in offsets(&tiles, displacement, from, model.size() as usize).iter().zip(model.bytes()) {
            if want.len() <= *place {
                want.resize(place + 1, 0);
            }
            want[*place] = bytes[(at + origin as i64) as usize];
        }
        prop_assert!(name.bytes() == want, "the file differs");
    }

    #[test]
    fn reads_what_the_definition_says(
        (filetype, tiles) in filetypes(),
        (ty, model, count) in memories(),
        hints in ways(),
        (displacement, from, size) in (0..100i64, 0..500usize, 0..9000usize),
    ) {
        let file = noise(3, size);
        let name = Name::with(&file);
        let (mut bytes, origin) = room(&model, 4);
        let mut want = bytes.clone();
        let places = offsets(&tiles, displacement, from, model.size() as usize);
        let there = places.iter().take_while(|&&place| place < size).count();
        for (place, at) in places[..there].iter().zip(model.bytes()) {
            want[(at + origin as i64) as usize] = file[*place];
        }
        let base = bytes.as_mut_ptr().wrapping_add(origin);
        let memory = Memory { base, count, ty: &ty };
        // SAFETY: `room` has made room for the elements.
        let moved = unsafe { read(&name.open(), &byte_view(displacement, &filetype), from as u64, &memory, &hints) };
        prop_assert_eq!(moved.unwrap(), there as u64);
        prop_assert!(bytes == want, "memory differs");
    }
}

/// Elements of 3000 bytes at every 4000, enough of them for several lists of segments.
#[test]
fn long_runs_go_by_lists_of_segments() {
    let byte = Type::basic(Basic::Byte);
    let ty = Type::hvector(2500, 3000, 4000, &byte).unwrap();
    let mut bytes = noise(5, 2500 * 4000);
    let want: Vec<u8> = bytes.chunks(4000).flat_map(|chunk| &chunk[..3000]).copied().collect();
    let name = Name::new();
    let file = name.open();
    let memory = Memory { base: bytes.as_mut_ptr(), count: 1, ty: &ty };
    let (view, hints) = (View::bytes(), Hints::default());
    // SAFETY: the elements lie in `bytes`.
    assert_eq!(unsafe { write(&file, &view, 77, &memory, &hints) }, Ok(7_500_000));
    assert!(name.bytes()[77..] == want);
    let mut back = vec![0; 2500 * 4000];
    let memory = Memory { base: back.as_mut_ptr(), count: 1, ty: &ty };
    // SAFETY: likewise. The file ends 100 bytes before the data.
    assert_eq!(unsafe { read(&file, &view, 177, &memory, &hints) }, Ok(7_499_900));
    let got: Vec<u8> = back.chunks(4000).flat_map(|chunk| &chunk[..3000]).copied().collect();
    assert!(got[..7_499_900] == want[100..] && got[7_499_900..].iter().all(|&byte| byte == 0));
    assert!(back.chunks(4000).all(|chunk| chunk[3000..].iter().all(|&byte| byte == 0)));
}

/// In sparse files, near 2^31, 2^33 and 2^40.
#[test]
fn large_offsets() {
    let byte = Type::basic(Basic::Byte);
    let ty = Type::resized(0, (1 << 33) + 5, &Type::contiguous(3, &byte).unwrap()).unwrap();
    for displacement in [(1 << 31) - 2, (1 << 33) - 1, 1 << 40] {
        let name = Name::new();
        let file = name.open();
        let mut bytes = noise(6, 12);
        let (view, hints) = (byte_view(displacement, &ty), Hints::default());
        // SAFETY: all of `bytes` and `back` is theirs.
        unsafe {
            assert_eq!(write(&file, &view, 1, &dense(&mut bytes, &byte), &hints), Ok(12));
            assert_eq!(file.size().unwrap(), displacement as u64 + 4 * ((1 << 33) + 5) + 1);
            let mut back = vec![0; 20];
            assert_eq!(read(&file, &view, 0, &dense(&mut back, &byte), &hints), Ok(13));
            assert_eq!(back[1..13], bytes);
        }
    }
    // Beyond what a file can have.
    let name = Name::new();
    let mut bytes = [1, 2, 3, 4];
    let view = byte_view(i64::MAX - 2, &byte);
    // SAFETY: as above.
    let refused = unsafe { write(&name.open(), &view, 0, &dense(&mut bytes, &byte), &Hints::default()) };
    assert_eq!(refused.unwrap_err().class, tern_io::Class::Argument);
}

#[test]
fn views_that_name_bytes_twice_can_be_read() {
    let int = Type::basic(Basic::Int32);
    let byte = Type::basic(Basic::Byte);
    let twice = Type::resized(0, 8, &Type::hindexed_block(1, &[0, 2], &int).unwrap()).unwrap();
    let view = View::new(1, &byte, &twice, Representation::Native, false).unwrap();
    let name = Name::with(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    let mut back = [0; 16];
    for sieving in [Choice::Always, Choice::Never] {
        let hints = Hints { read_sieving: sieving, ..Hints::default() };
        // SAFETY: all of `back` is ours.
        assert_eq!(unsafe { read(&name.open(), &view, 0, &dense(&mut back, &byte), &hints) }, Ok(11));
        assert_eq!(back[..11], [1, 2, 3, 4, 3, 4, 5, 6, 9, 10, 11]);
    }
}

#[test]
fn a_view_without_data_has_nothing() {
    let byte = Type::basic(Basic::Byte);
    let nothing = Type::contiguous(0, &byte).unwrap();
    let view = byte_view(0, &nothing);
    let name = Name::with(&[1, 2, 3]);
    let mut bytes = [0; 2];
    // SAFETY: all of `bytes` is ours.
    unsafe {
        assert_eq!(read(&name.open(), &view, 0, &dense(&mut bytes, &byte), &Hints::default()), Ok(0));
        assert!(write(&name.open(), &view, 0, &dense(&mut bytes, &byte), &Hints::default()).is_err());
        assert_eq!(write(&name.open(), &view, 0, &dense(&mut [], &byte), &Hints::default()), Ok(0));
    }
}

/// A filetype whose extent is less than its span: the tiles lie within each other. That is not
/// forbidden as long as no byte is named twice; the stream is then not in the order of the file.
#[test]
fn tiles_may_lie_within_each_other() {
    let byte = Type::basic(Basic::Byte);
    let pair = Type::hindexed_block(1, &[0, 10], &byte).unwrap();
    let view = byte_view(5, &Type::resized(0, 1, &pair).unwrap());
    assert!(!view.is_ordered(0, 20) && Request::of(&view, 0, 20, 1000).ordered == 0);
    let want: Vec<u8> = (0..10).map(|i| 2 * i).chain((0..10).map(|i| 2 * i + 1)).collect();
    for sieving in [Choice::Always, Choice::Never] {
        let hints = Hints { read_sieving: sieving, write_sieving: sieving, ..Hints::default() };
        let name = Name::new();
        let mut bytes: Vec<u8> = (0..20).collect();
        let mut back = [0; 20];
        // SAFETY: all of the bytes is ours.
        unsafe {
            assert_eq!(write(&name.open(), &view, 0, &dense(&mut bytes, &byte), &hints), Ok(20));
            assert_eq!(name.bytes()[5..], want);
            assert_eq!(read(&name.open(), &view, 0, &dense(&mut back, &byte), &hints), Ok(20));
        }
        assert_eq!(bytes, back);
    }
}

/// A head and a part behind it, with the extent of the part alone: what a structure of bytes and a subarray is, since
/// a subarray says its bounds itself. The first tile is as good as any; several overlap, and the last one wins.
#[test]
fn tiles_may_overlap() {
    let byte = Type::basic(Basic::Byte);
    for gap in [0, 3] {
        let head_and_part = Type::hindexed_block(4, &[0, 4 + gap], &byte).unwrap();
        let view = byte_view(5, &Type::resized(4 + gap, 4, &head_and_part).unwrap());
        assert!(view.is_ordered(0, 8) && Request::of(&view, 2, 6, 1000).ordered == 1, "gap {gap}");
        assert!(!view.is_ordered(0, 9) && !view.is_ordered(8, 8), "gap {gap}");
        let places: Vec<usize> = (5..9).chain(9 + gap as usize..13 + gap as usize).collect();
        for sieving in [Choice::Always, Choice::Never] {
            let hints = Hints { read_sieving: sieving, write_sieving: sieving, ..Hints::default() };
            let name = Name::with(&[9; 30]);
            let mut bytes: Vec<u8> = (20..28).collect();
            let mut back = [0; 8];
            // SAFETY: all of the bytes is ours.
            unsafe {
                assert_eq!(write(&name.open(), &view, 0, &dense(&mut bytes, &byte), &hints), Ok(8));
                assert_eq!(read(&name.open(), &view, 0, &dense(&mut back, &byte), &hints), Ok(8));
            }
            assert_eq!(bytes, back);
            let mut want = vec![9; 30];
            places.iter().zip(&bytes).for_each(|(&at, &byte)| want[at] = byte);
            assert_eq!(name.bytes(), want, "gap {gap}");
            let mut twice: Vec<u8> = (40..56).collect();
            // SAFETY: as above.
            unsafe { assert_eq!(write(&name.open(), &view, 0, &dense(&mut twice, &byte), &hints), Ok(16)) };
            places.iter().zip(&twice).for_each(|(&at, &byte)| want[at] = byte);
            places.iter().zip(&twice[8..]).for_each(|(&at, &byte)| want[at + 4] = byte);
            assert_eq!(name.bytes(), want, "gap {gap}");
        }
    }
}

/// The kernel takes at most 0x7ffff000 bytes at once. Nothing is stored here.
#[test]
fn a_system_call_takes_less_than_2_gib() {
    let byte = Type::basic(Basic::Byte);
    let mode = tern_io::Mode { write: true, ..Default::default() };
    let file = tern_io::File::open(std::path::Path::new("/dev/null"), mode).unwrap();
    let base = std::ptr::dangling_mut::<u8>();
    let count = (1i64 << 32) + 12345;
    let memory = Memory { base, count, ty: &byte };
    // SAFETY: this device takes bytes without looking at them.
    assert_eq!(unsafe { write(&file, &View::bytes(), 0, &memory, &Hints::default()) }, Ok(count as u64));
}
