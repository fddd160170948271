//! Types with bounds, sizes and streams worked out by hand.

use std::rc::Rc;
use tern_layout::*;

fn int() -> Rc<Type> {
    Type::basic(Basic::Int32)
}

/// lb, extent, true lb, true ub, size.
fn shape(ty: &Type) -> (i64, i64, i64, i64, i64) {
    (ty.lb(), ty.extent(), ty.true_lb(), ty.true_ub(), ty.size())
}

/// The packed stream of elements in a buffer of bytes 0, 1, 2, …; `origin` is the buffer
/// address within it.
fn packed(ty: &Type, count: i64, origin: usize, room: usize) -> Vec<u8> {
    let buffer: Vec<u8> = (0..room).map(|i| i as u8).collect();
    let mut out = vec![0; ty.pack_size(count).unwrap() as usize];
    // SAFETY: the tests give room for the data.
    let n = unsafe { ty.pack(buffer[origin..].as_ptr(), count, 0, &mut out) };
    assert_eq!(n, out.len());
    out
}

#[test]
fn vector_of_ints() {
    let ty = Type::vector(3, 2, 4, &int()).unwrap();
    assert_eq!(shape(&ty), (0, 40, 0, 40, 24));
    assert!(!ty.is_contiguous());
    assert_eq!(ty.basic_elements(), 6);
    let runs: Vec<_> = ty.segments(100, 2, 0, u64::MAX).collect();
    // The last block of one element and the first of the next are neighbours.
    assert_eq!(runs, [(100, 8), (116, 8), (132, 16), (156, 8), (172, 8)]);
    let bytes = packed(&ty, 1, 0, 40);
    assert_eq!(bytes[..16], [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]);
}

#[test]
fn negative_stride_starts_at_the_end() {
    let ty = Type::vector(3, 1, -2, &int()).unwrap();
    assert_eq!(shape(&ty), (-16, 20, -16, 4, 12));
    assert_eq!(packed(&ty, 1, 16, 20), [16, 17, 18, 19, 8, 9, 10, 11, 0, 1, 2, 3]);
}

#[test]
fn struct_is_padded_as_in_c() {
    let parts = [Type::basic(Basic::Float64), Type::basic(Basic::Char)];
    let ty = Type::structure(&[1, 1], &[0, 8], &parts).unwrap();
    assert_eq!(shape(&ty), (0, 16, 0, 9, 9));
    let two = Type::contiguous(2, &ty).unwrap();
    assert_eq!(shape(&two), (0, 32, 0, 25, 18));
    // The example of the standard: alignment rounds the extent, not the bounds of the data.
    let parts = [Type::basic(Basic::Char), Type::basic(Basic::Float64)];
    let ty = Type::structure(&[1, 1], &[0, 8], &parts).unwrap();
    assert_eq!(shape(&ty), (0, 16, 0, 16, 9));
    assert_eq!(ty.uniform_basic(), None);
}

#[test]
fn markers_win_over_data() {
    let wide = Type::resized(-4, 20, &int()).unwrap();
    assert_eq!(shape(&wide), (-4, 20, 0, 4, 4));
    let mixed = Type::structure(&[1, 1], &[0, 100], &[wide.clone(), int()]).unwrap();
    assert_eq!(shape(&mixed), (-4, 20, 0, 104, 8));
    let row = Type::contiguous(3, &wide).unwrap();
    assert_eq!(shape(&row), (-4, 60, 0, 44, 12));
    let again = Type::resized(0, 4, &wide).unwrap();
    assert!(again.is_contiguous());
    let marked = Type::resized(0, 64, &Type::contiguous(0, &int()).unwrap()).unwrap();
    assert_eq!(shape(&marked), (0, 64, 0, 0, 0));
}

#[test]
fn empty_types() {
    for ty in [
        Type::contiguous(0, &int()).unwrap(),
        Type::vector(0, 3, 4, &int()).unwrap(),
        Type::indexed(&[0, 0], &[7, 9], &int()).unwrap(),
        Type::structure(&[], &[], &[]).unwrap(),
    ] {
        assert_eq!(shape(&ty), (0, 0, 0, 0, 0));
        assert_eq!(ty.dense_run(5), Some((0, 0)));
        assert_eq!(ty.segments(0, 5, 0, u64::MAX).next(), None);
        assert_eq!((ty.count(0), ty.count(1)), (Some(0), None));
        assert_eq!((ty.elements(0), ty.elements(1)), (Some(0), None));
    }
}

#[test]
fn contiguous_is_seen_through_constructors() {
    let row = Type::vector(4, 3, 3, &int()).unwrap();
    let all = Type::subarray(&[5, 6], &[5, 6], &[0, 0], Order::C, &int()).unwrap();
    let one = Type::structure(&[2], &[0], std::slice::from_ref(&row)).unwrap();
    for ty in [row, all, one] {
        assert!(ty.is_contiguous());
        assert_eq!(ty.dense_run(3), Some((0, 3 * ty.size() as u64)));
    }
    let off = Type::hindexed(&[4], &[1000], &int()).unwrap();
    assert!(!off.is_contiguous());
    assert_eq!(off.dense_run(2), Some((1000, 32)));
    let far = Type::resized(0, 64, &int()).unwrap();
    assert_eq!((far.dense_run(1), far.dense_run(2)), (Some((0, 4)), None));
}

#[test]
fn subarray_in_both_orders() {
    let ty = Type::subarray(&[4, 5], &[2, 3], &[1, 1], Order::C, &int()).unwrap();
    assert_eq!(shape(&ty), (0, 80, 24, 56, 24));
    let runs: Vec<_> = ty.segments(0, 1, 0, u64::MAX).collect();
    assert_eq!(runs, [(24, 12), (44, 12)]);
    let ty = Type::subarray(&[5, 4], &[3, 2], &[1, 1], Order::Fortran, &int()).unwrap();
    assert_eq!(shape(&ty), (0, 80, 24, 56, 24));
    let runs: Vec<_> = ty.segments(0, 1, 0, u64::MAX).collect();
    assert_eq!(runs, [(24, 12), (44, 12)]);
}

#[test]
fn darray_blocks_and_cycles() {
    let byte = Type::basic(Basic::Byte);
    let part = |rank, distribs: &[Distribution], dargs: &[DistArg], gsizes: &[i64], psizes: &[i64]| {
        let size = psizes.iter().product::<i64>() as i32;
        Type::darray(size, rank, gsizes, distribs, dargs, psizes, Order::C, &byte).unwrap()
    };
    let indices = |ty: &Type| packed(ty, 1, 0, ty.extent() as usize);
    use DistArg::{Default, Size};
    use Distribution::{Block, Cyclic, None};

    let ty = part(2, &[Block], &[Default], &[10], &[4]);
    assert_eq!((indices(&ty), ty.extent(), ty.lb()), (vec![6, 7, 8], 10, 0));
    assert_eq!(indices(&part(3, &[Block], &[Default], &[10], &[4])), [9]);
    assert_eq!(part(3, &[Block], &[Size(4)], &[10], &[4]).size(), 0);
    assert_eq!(indices(&part(1, &[Cyclic], &[Default], &[10], &[3])), [1, 4, 7]);
    assert_eq!(indices(&part(0, &[Cyclic], &[Size(2)], &[11], &[2])), [0, 1, 4, 5, 8, 9]);
    assert_eq!(indices(&part(1, &[Cyclic], &[Size(2)], &[11], &[2])), [2, 3, 6, 7, 10]);
    // Rank 3 of a 2 by 2 grid: second half of the rows, odd columns.
    let ty = part(3, &[Block, Cyclic], &[Default, Default], &[4, 5], &[2, 2]);
    assert_eq!(indices(&ty), [11, 13, 16, 18]);
    let ty = part(1, &[None, Block], &[Default, Default], &[2, 6], &[1, 3]);
    assert_eq!(indices(&ty), [2, 3, 8, 9]);
}

#[test]
fn wrong_arguments_are_named() {
    let wrong = |argument, index| Some(Error::Invalid { argument, index });
    assert_eq!(Type::contiguous(-1, &int()).err(), wrong(Argument::Count, 0));
    assert_eq!(Type::vector(1, -1, 1, &int()).err(), wrong(Argument::Blocklength, 0));
    assert_eq!(Type::indexed(&[1, -2], &[0, 0], &int()).err(), wrong(Argument::Blocklength, 1));
    assert_eq!(Type::indexed(&[1], &[0, 0], &int()).err(), Some(Error::Lengths));
    let sub = |sizes: &[i64], subsizes: &[i64], starts: &[i64]| {
        Type::subarray(sizes, subsizes, starts, Order::C, &int()).err()
    };
    assert_eq!(sub(&[], &[], &[]), wrong(Argument::Ndims, 0));
    assert_eq!(sub(&[4, 0], &[1, 1], &[0, 0]), wrong(Argument::Sizes, 1));
    assert_eq!(sub(&[4, 4], &[5, 1], &[0, 0]), wrong(Argument::Subsizes, 0));
    assert_eq!(sub(&[4, 4], &[1, 2], &[0, 3]), wrong(Argument::Starts, 1));
    let array = |size, rank, distribution, darg, psize| {
        Type::darray(size, rank, &[8], &[distribution], &[darg], &[psize], Order::C, &int()).err()
    };
    assert_eq!(array(2, 2, Distribution::Block, DistArg::Default, 2), wrong(Argument::Rank, 0));
    assert_eq!(array(2, 0, Distribution::Block, DistArg::Size(3), 2), wrong(Argument::Dargs, 0));
    assert_eq!(array(2, 0, Distribution::None, DistArg::Default, 2), wrong(Argument::Psizes, 0));
    assert_eq!(array(3, 0, Distribution::Block, DistArg::Default, 2), wrong(Argument::Psizes, 0));
    assert_eq!(Type::contiguous(i64::MAX, &int()).err(), Some(Error::TooLarge));
    assert_eq!(Type::hindexed(&[1], &[i64::MAX], &int()).err(), Some(Error::TooLarge));
    assert_eq!(Type::f90_real(Some(40), None).err(), wrong(Argument::Precision, 0));
}

#[test]
fn huge_sparse_types_cost_nothing() {
    let column = Type::vector(1 << 33, 1, 1 << 20, &Type::basic(Basic::Float64)).unwrap();
    assert_eq!(column.size(), 8 << 33);
    assert_eq!(column.extent(), ((1 << 33) - 1) * (8 << 20) + 8);
    let far = column.segments(0, 1, (8 << 32) + 4, 12).collect::<Vec<_>>();
    assert_eq!(far, [((8 << 20 << 32) + 4, 4), ((8 << 20 << 32) + (8 << 20), 8)]);
    assert_eq!(column.elements(8 * 1000), Some(1000));
    assert_eq!(column.signature(1).collect::<Vec<_>>(), [(Basic::Float64, 1 << 33)]);
}

#[test]
fn elements_of_partial_data() {
    let parts = [int(), Type::basic(Basic::Float64), Type::basic(Basic::ShortInt)];
    let ty = Type::structure(&[2, 1, 2], &[0, 8, 16], &parts).unwrap();
    assert_eq!((ty.size(), ty.basic_elements()), (28, 7));
    let at = [(0, 0), (4, 1), (8, 2), (16, 3), (18, 4), (22, 5), (24, 6), (28, 7), (32, 8), (56, 14)];
    for (bytes, elements) in at {
        assert_eq!(ty.elements(bytes), Some(elements), "{bytes}");
        assert_eq!(ty.bytes_of_elements(elements), Some(bytes), "{elements}");
    }
    for bytes in [1, 6, 12, 17, 20, 29] {
        assert_eq!(ty.elements(bytes), None, "{bytes}");
    }
    assert_eq!((ty.count(56), ty.count(30)), (Some(2), None));
    let runs = ty.signature(1).collect::<Vec<_>>();
    let short = [(Basic::Int16, 1), (Basic::Int32, 1)];
    assert_eq!(runs, [&[(Basic::Int32, 2), (Basic::Float64, 1)][..], &short, &short].concat());
}

#[test]
fn signatures_compare_across_constructors() {
    let six = Type::contiguous(6, &int()).unwrap();
    let grid = Type::vector(3, 2, 5, &int()).unwrap();
    assert!(six.same_signature(1, &grid, 1));
    assert!(int().same_signature(12, &grid, 2));
    assert!(!int().same_signature(11, &grid, 2));
    assert!(!Type::basic(Basic::Float32).same_signature(6, &grid, 1));
    assert!(Type::basic(Basic::Packed).same_signature(24, &grid, 1));
    let mixed = |first, second| {
        let parts = [Type::basic(first), Type::basic(second)];
        Type::structure(&[1, 1], &[0, 4], &parts).unwrap()
    };
    let (ab, ba) = (mixed(Basic::Int32, Basic::Float32), mixed(Basic::Float32, Basic::Int32));
    assert!(!ab.same_signature(1, &ba, 1));
    assert!(ba.same_signature(3, &Type::basic(Basic::FloatInt), 3));
}

#[test]
fn external32_bytes() {
    let put = |basic, native: &[u8]| {
        let ty = Type::basic(basic);
        let mut out = vec![0xaa; ty.external_size(1).unwrap() as usize];
        // SAFETY: `native` is one element.
        let written = unsafe { ty.pack_external(native.as_ptr(), 1, &mut out) };
        assert_eq!(written, out.len());
        let mut back = vec![0; native.len()];
        // SAFETY: `back` has room for one element.
        let read = unsafe { ty.unpack_external(back.as_mut_ptr(), 1, &out) };
        assert_eq!((read, &back[..]), (out.len(), native), "{basic:?}");
        out
    };
    assert_eq!(put(Basic::Int32, &0x01020304i32.to_ne_bytes()), [1, 2, 3, 4]);
    assert_eq!(put(Basic::Long, &(-2i64).to_ne_bytes()), [0xff, 0xff, 0xff, 0xfe]);
    assert_eq!(put(Basic::Ulong, &0xfffffffeu64.to_ne_bytes()), [0xff, 0xff, 0xff, 0xfe]);
    assert_eq!(put(Basic::Int64, &(-2i64).to_ne_bytes()), [255, 255, 255, 255, 255, 255, 255, 254]);
    assert_eq!(put(Basic::WChar, &0x20acu32.to_ne_bytes()), [0x20, 0xac]);
    assert_eq!(put(Basic::Float64, &1.5f64.to_ne_bytes()), [0x3f, 0xf8, 0, 0, 0, 0, 0, 0]);
    let complex = [1f32.to_ne_bytes(), 2f32.to_ne_bytes()].concat();
    assert_eq!(put(Basic::ComplexFloat, &complex), [0x3f, 0x80, 0, 0, 0x40, 0, 0, 0]);
    // -2.5 in x87: sign and exponent c000, mantissa 1010…; in binary128, which leaves the leading 1 out, 010….
    let long_double = match cfg!(target_arch = "x86_64") {
        true => [0, 0, 0, 0, 0, 0, 0, 0xa0, 0, 0xc0, 0, 0, 0, 0, 0, 0],
        false => [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0xc0],
    };
    assert_eq!(put(Basic::LongDouble, &long_double), [0xc0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let pair = [&7i16.to_ne_bytes()[..], &[0, 0], &9i32.to_ne_bytes()].concat();
    assert_eq!(put(Basic::ShortInt, &pair), [0, 7, 0, 0, 0, 9]);
}

#[test]
fn external32_stops_at_a_whole_element() {
    let values = [1i32, 2, 3].map(i32::to_ne_bytes).concat();
    let mut out = [0; 10];
    // SAFETY: three elements are there.
    let written = unsafe { int().pack_external(values.as_ptr(), 3, &mut out) };
    assert_eq!(written, 8);
    assert_eq!(out, [0, 0, 0, 1, 0, 0, 0, 2, 0, 0]);
}

#[test]
fn deep_chains_are_freed_without_deep_recursion() {
    let mut ty = int();
    for _ in 0..200_000 {
        ty = Type::dup(&ty);
    }
    assert!(ty.is_contiguous());
    drop(ty);
    let mut ty = int();
    let error = loop {
        match Type::vector(2, 1, 3, &Type::resized(0, 1, &ty).unwrap()) {
            Ok(next) if next.size() < 1 << 62 => ty = next,
            Ok(_) => break None,
            Err(error) => break Some(error),
        }
    };
    assert!(error.is_none() || error == Some(Error::TooLarge));
}

/// A record that holds the one before it, twice and out of line, so that nothing collapses.
fn wrapped(ty: &Rc<Type>, at: i64) -> Result<Rc<Type>, Error> {
    let parts = [ty.clone(), Type::vector(5, 1, 2, &int()).unwrap(), Type::basic(Basic::Char)];
    Type::structure(&[1, 1, 1], &[0, at, at + 100], &parts)
}

#[test]
fn deep_records_are_walked_or_refused() {
    let mut ty = wrapped(&int(), 64).unwrap();
    let mut levels = 1;
    let error = loop {
        match wrapped(&ty, 64 + 128 * levels) {
            Ok(next) => ty = next,
            Err(error) => break error,
        }
        levels += 1;
        assert!(levels < 10_000, "nothing refused");
    };
    assert_eq!(error, Error::TooDeep);
    assert_eq!(ty.size(), 4 + 21 * levels);
    // The cursor is the last owner of the program.
    let cursor = Cursor::new(&ty, 2);
    assert_eq!(ty.elements(2 * ty.size() as u64), Some(2 * (1 + 6 * levels)));
    let runs: i64 = ty.segments(0, 2, 0, u64::MAX).map(|(_, len)| len as i64).sum();
    assert_eq!(runs, 2 * ty.size());
    drop(ty);
    assert_eq!(cursor.remaining(), 2 * (4 + 21 * levels) as u64);
    drop(cursor);
}

#[test]
fn deep_dense_records_are_one_run() {
    let mut ty = Type::basic(Basic::Float32);
    for level in 0..100_000 {
        let basic = if level % 2 == 0 { Basic::Int32 } else { Basic::Float32 };
        let parts = [ty.clone(), Type::basic(basic)];
        ty = Type::structure(&[1, 1], &[0, 4 + 4 * level], &parts).unwrap();
    }
    assert!(ty.is_contiguous());
    assert_eq!(ty.elements(4 * 50_001), Some(50_001));
    assert_eq!(ty.signature(1).count(), 100_001);
}
