//! Views against the bytes that their definition names.

mod common;
#[allow(dead_code)]
#[path = "../../../base/layout/tests/model/mod.rs"]
mod model;

use std::rc::Rc;

use model::{Model, Spec, specs};
use proptest::prelude::*;
use tern_io::{Class, Representation, View};
use tern_layout::{Basic, Type};

/// The offsets of the bytes of a tile, and the extent; None for types that no view can have, or that
/// are too large to compare.
fn tile(model: &Model) -> Option<(Vec<i64>, i64)> {
    let (bytes, extent) = (model.bytes(), model.extent());
    let rising = bytes.windows(2).all(|pair| pair[0] < pair[1]);
    let good = rising && !bytes.is_empty() && bytes[0] >= 0 && extent > 0;
    (good && bytes[bytes.len() - 1] < 1 << 20).then_some((bytes, extent))
}

/// Types that begin at or after 0, with a gap before and after.
fn filetypes() -> impl Strategy<Value = (Rc<Type>, Model)> {
    (specs(), 0..20i64, 0..20i64).prop_filter_map("no model", |(spec, before, after)| {
        let (_, model) = spec.build()?;
        let shifted = Spec::Struct(vec![(1, before - model.true_lb(), spec)]);
        let span = model.true_ub() - model.true_lb();
        Spec::Resized(0, before + span + after, Box::new(shifted)).build()
    })
}

fn byte_view(displacement: i64, filetype: &Rc<Type>, written: bool) -> Result<View, tern_io::Error> {
    View::new(displacement, &Type::basic(Basic::Byte), filetype, Representation::Native, written)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, max_global_rejects: 100_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn types_with_increasing_bytes_are_views(spec in specs()) {
        let built = spec.build();
        prop_assume!(built.is_some());
        let (ty, model) = built.unwrap();
        let bytes = model.bytes();
        let rising = bytes.windows(2).all(|pair| pair[0] < pair[1]) && bytes.iter().all(|&at| at >= 0);
        let view = byte_view(0, &ty, true);
        match view {
            Ok(view) => {
                prop_assert!(rising);
                prop_assert_eq!(view.is_empty(), bytes.is_empty());
            }
            Err(error) => {
                prop_assert!(!rising || model.extent() <= 0 || model.extent() < bytes.len() as i64, "{}", error);
                prop_assert_eq!(error.class, Class::Type);
            }
        }
    }

    #[test]
    fn segments_name_the_bytes((ty, model) in filetypes(), displacement in 0..50i64, from in 0..3000u64, len in 0..2000u64) {
        let view = byte_view(displacement, &ty, true);
        prop_assume!(view.is_ok());
        let view = view.unwrap();
        let Some((tile, extent)) = tile(&model) else { return Ok(()) };
        let byte = |position: u64| {
            let (whole, rest) = (position as usize / tile.len(), position as usize % tile.len());
            (displacement + whole as i64 * extent + tile[rest]) as u64
        };
        let runs: Vec<(u64, u64)> = view.segments(from, len).collect();
        let named: Vec<u64> = runs.iter().flat_map(|&(at, len)| at..at + len).collect();
        prop_assert_eq!(&named, &(from..from + len).map(byte).collect::<Vec<_>>());
        prop_assert!(runs.windows(2).all(|pair| pair[0].0 + pair[0].1 != pair[1].0), "not merged");
        if let Some(grids) = view.regular(from, len) {
            let regular: Vec<u64> = grids.flat_map(|grid| grid.runs().flatten().collect::<Vec<_>>()).collect();
            prop_assert_eq!(&regular, &named);
        }
        prop_assert_eq!(view.offset(from), Some(byte(from)));
        prop_assert!(!view.is_contiguous() || runs.len() < 2);
        if view.is_ordered(from, len) && len > 0 {
            prop_assert_eq!(view.range(from, len), Some(byte(from)..byte(from + len - 1) + 1));
        }
        if view.is_ordered(0, u64::MAX) && len > 0 {
            for offset in [0, byte(from), byte(from) + 1, byte(from + len - 1), byte(from + len) + 3] {
                let before = (0..).take_while(|&position| byte(position) < offset).count();
                prop_assert_eq!(view.bytes_before(offset), before as u64, "offset {}", offset);
            }
        }
    }
}

#[test]
fn the_end_is_the_first_etype_at_or_after_it() {
    let int = Type::basic(Basic::Int32);
    // Two ints, a hole of two.
    let ty = Type::resized(0, 16, &Type::contiguous(2, &int).unwrap()).unwrap();
    let view = View::new(8, &int, &ty, Representation::Native, true).unwrap();
    let ends = [(0, 0), (8, 0), (9, 1), (12, 1), (13, 2), (16, 2), (24, 2), (25, 3), (8 + 160, 20)];
    for (size, etypes) in ends {
        assert_eq!(view.position_of_end(size), etypes, "size {size}");
    }
    assert_eq!(view.offset(view.position(3).unwrap()), Some(28));
    assert_eq!(view.position(-1).unwrap_err().class, Class::Argument);
}

#[test]
fn far_away_is_as_near() {
    // One byte in 2^20, far beyond 2^33, found without a walk.
    let byte = Type::basic(Basic::Byte);
    let ty = Type::resized(0, 1 << 20, &byte).unwrap();
    let view = byte_view(1 << 40, &ty, true).unwrap();
    let position = 1 << 41;
    assert_eq!(view.offset(position), Some((1 << 40) + (1 << 61)));
    assert_eq!(view.bytes_before((1 << 40) + (1 << 61)), position);
    assert_eq!(
        view.segments(position, 2).collect::<Vec<_>>(),
        [((1 << 40) + (1 << 61), 1), ((1 << 40) + (1 << 61) + (1 << 20), 1)]
    );
    assert_eq!(view.offset(1 << 43), None);
}

/// Blocks at a stride are told in a few words, whether tiles or one tile have them.
#[test]
fn patterns_are_seen() {
    let byte = Type::basic(Basic::Byte);
    let block = Type::resized(0, 40, &Type::contiguous(10, &byte).unwrap()).unwrap();
    let rows = Type::hvector(100, 10, 40, &byte).unwrap();
    for ty in [block, rows] {
        let view = byte_view(7, &ty, true).unwrap();
        let told = view.regular(15, 100).unwrap().map(|grid| (grid.offset, grid.len, grid.count)).collect::<Vec<_>>();
        assert_eq!(told, [(7 + 40 + 5, 5, 1), (7 + 80, 10, 9), (7 + 440, 5, 1)]);
        assert_eq!(view.regular(15, 0).unwrap().count(), 0);
    }
    assert!(View::bytes().regular(0, 100).is_none());
}

#[test]
fn etypes_divide_filetypes() {
    let (int, double) = (Type::basic(Basic::Int32), Type::basic(Basic::Float64));
    let three = Type::contiguous(3, &int).unwrap();
    let refused = View::new(0, &double, &three, Representation::Native, false).unwrap_err();
    assert_eq!(refused.class, Class::Type);
    assert_eq!(View::new(-1, &int, &three, Representation::Native, false).unwrap_err().class, Class::Argument);
    let nothing = Type::contiguous(0, &int).unwrap();
    assert!(View::new(0, &int, &nothing, Representation::Native, true).unwrap().is_empty());
    assert_eq!(View::new(0, &nothing, &int, Representation::Native, true).unwrap_err().class, Class::Type);
}

#[test]
fn what_is_written_must_not_overlap() {
    let int = Type::basic(Basic::Int32);
    let twice = Type::hindexed_block(1, &[0, 2], &int).unwrap();
    assert!(View::new(0, &Type::basic(Basic::Byte), &twice, Representation::Native, false).is_ok());
    assert_eq!(byte_view(0, &twice, true).unwrap_err().class, Class::Type);
    let back = Type::hindexed_block(1, &[8, 0], &int).unwrap();
    assert_eq!(byte_view(0, &back, false).unwrap_err().class, Class::Type);
    // Tiles may: a program that accesses one alone does not care for the extent.
    let short = Type::resized(0, 2, &int).unwrap();
    let view = byte_view(0, &short, true).unwrap();
    assert!(view.is_ordered(1, 3) && !view.is_ordered(2, 4));
}
