//! Files in other representations than memory's.

mod common;

use std::rc::Rc;

use common::Name;
use tern_io::{Class, Conversion, Hints, Memory, Representation, View, read, write};
use tern_layout::{Basic, Type};

fn view(etype: &Rc<Type>, filetype: &Rc<Type>, representation: &Representation) -> View {
    View::new(0, etype, filetype, representation.clone(), true).unwrap()
}

fn memory<'a, T>(values: &mut [T], count: i64, ty: &'a Rc<Type>) -> Memory<'a> {
    Memory { base: values.as_mut_ptr().cast(), count, ty }
}

#[test]
fn external32_is_big_endian() {
    let int = Type::basic(Basic::Int32);
    // Every second int of the file.
    let second = Type::resized(0, 8, &int).unwrap();
    let view = view(&int, &second, &Representation::External32);
    let name = Name::new();
    let mut values = [0x0102_0304, 0x0506_0708];
    // SAFETY: the memory is ours.
    unsafe {
        assert_eq!(write(&name.open(), &view, 4, &memory(&mut values, 2, &int), &Hints::default()), Ok(8));
        assert_eq!(name.bytes(), [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 7, 8]);
        let mut back = [9; 4];
        assert_eq!(read(&name.open(), &view, 0, &memory(&mut back, 4, &int), &Hints::default()), Ok(12));
        assert_eq!(back, [0, 0x0102_0304, 0x0506_0708, 9]);
    }
}

/// MPI_LONG has 8 bytes in memory and 4 in external32: filetypes shrink with it.
#[test]
fn file_types_have_file_sizes() {
    let long = Type::basic(Basic::Long);
    let external = Representation::External32;
    let vector = Type::vector(3, 2, 4, &long).unwrap();
    let in_file = external.file_type(&vector).unwrap();
    assert_eq!((in_file.size(), in_file.extent()), (24, (2 * 4 + 2) * 4));
    assert_eq!(external.file_bytes(&vector, 5), Ok(120));
    let view = view(&long, &Type::resized(0, 16, &Type::contiguous(2, &long).unwrap()).unwrap(), &external);
    assert_eq!(view.etype_size(), 4);
    let name = Name::new();
    // More than one chunk of conversion, and memory with holes.
    let ty = Type::vector(1, 1, 1, &Type::resized(0, 24, &long).unwrap()).unwrap();
    let count = 300_000;
    let mut values: Vec<i64> = (0..3 * count).map(|at| at - 1000).collect();
    let mut back = vec![0i64; values.len()];
    // SAFETY: the memory is ours.
    unsafe {
        let hints = Hints::default();
        assert_eq!(write(&name.open(), &view, 8, &memory(&mut values, count, &ty), &hints), Ok(8 * count as u64));
        assert_eq!(read(&name.open(), &view, 8, &memory(&mut back, count, &ty), &hints), Ok(8 * count as u64));
    }
    let same = |(at, (was, is)): (usize, (&i64, &i64))| if at % 3 == 0 { was == is } else { *is == 0 };
    assert!(values.iter().zip(&back).enumerate().all(same));
    assert_eq!(name.bytes().len(), count as usize * 8 - 8 + 16);
}

#[test]
fn every_constructor_has_a_file_form() {
    let pair = Type::basic(Basic::DoubleInt);
    let long = Type::basic(Basic::Long);
    let external = Representation::External32;
    let check = |ty: &Rc<Type>, size: i64, extent: i64| {
        let in_file = external.file_type(ty).unwrap();
        assert_eq!((in_file.size(), in_file.extent()), (size, extent), "{:?}", ty.kind());
    };
    check(&pair, 12, 12);
    check(&Type::dup(&long), 4, 4);
    check(&Type::indexed(&[1, 2], &[0, 3], &long).unwrap(), 12, 20);
    check(&Type::hindexed(&[1, 2], &[0, 24], &long).unwrap(), 12, 32);
    check(&Type::indexed_block(2, &[0, 3], &long).unwrap(), 16, 20);
    check(&Type::hindexed_block(2, &[0, 24], &long).unwrap(), 16, 32);
    check(&Type::structure(&[1, 1], &[0, 16], &[pair.clone(), long.clone()]).unwrap(), 16, 20);
    check(&Type::structure(&[], &[], &[]).unwrap(), 0, 0);
    let subarray = Type::subarray(&[4, 4], &[2, 2], &[1, 1], tern_layout::Order::C, &long).unwrap();
    check(&subarray, 16, 64);
    check(&Type::f90_real(Some(10), None).unwrap(), 8, 8);
    let mut deep = long;
    for _ in 0..5000 {
        deep = Type::dup(&deep);
    }
    assert_eq!(external.file_type(&deep).unwrap_err().class, Class::Type);
}

/// Integers as decimal digits, right-aligned in 12 bytes; only whole numbers of 4 bytes.
struct Decimal {
    /// An item that it does not take.
    refused: i32,
}

impl Decimal {
    /// Where item `at` of the tiled memory lies: all items here are ints.
    fn place(memory: &Memory<'_>, at: u64) -> *mut i32 {
        let each = memory.ty.basic_elements() as u64;
        let element = memory.base.wrapping_offset((at / each) as isize * memory.ty.extent() as isize);
        let (offset, _) = memory.ty.segments(0, 1, at % each * 4, 4).next().unwrap();
        element.wrapping_offset(offset as isize).cast()
    }
}

impl Conversion for Decimal {
    fn extent(&self, basic: Basic) -> Result<u64, String> {
        match basic {
            Basic::Int32 => Ok(12),
            other => Err(format!("no digits for {other:?}")),
        }
    }
    fn converts_reads(&self) -> bool {
        true
    }
    fn converts_writes(&self) -> bool {
        true
    }
    unsafe fn read(&self, memory: &Memory<'_>, items: u64, file: &[u8], position: u64) -> Result<(), String> {
        for item in 0..items {
            let digits = std::str::from_utf8(&file[item as usize * 12..][..12]).unwrap();
            // SAFETY: the caller's word.
            unsafe { *Decimal::place(memory, position + item) = digits.trim().parse().map_err(|_| digits.to_owned())? };
        }
        Ok(())
    }
    unsafe fn write(&self, memory: &Memory<'_>, items: u64, file: &mut [u8], position: u64) -> Result<(), String> {
        for item in 0..items {
            // SAFETY: the caller's word.
            let value = unsafe { *Decimal::place(memory, position + item) };
            if value == self.refused {
                return Err("refused".into());
            }
            file[item as usize * 12..][..12].copy_from_slice(format!("{value:12}").as_bytes());
        }
        Ok(())
    }
}

#[test]
fn a_users_representation() {
    let decimal = Representation::User("decimal".into(), Rc::new(Decimal { refused: 14 }));
    let int = Type::basic(Basic::Int32);
    let view = view(&int, &int, &decimal);
    assert_eq!(view.etype_size(), 12);
    let ty = Type::vector(2, 1, 2, &int).unwrap();
    let name = Name::new();
    let (file, hints) = (name.open(), Hints::default());
    let count = 100_000;
    let mut values: Vec<i32> = (0..3 * count).map(|at| 20 - at).collect();
    let mut back = vec![0; values.len()];
    let used = |at: i32| at % 3 != 1;
    // SAFETY: the memory is ours.
    unsafe {
        assert_eq!(
            write(&file, &view, 0, &memory(&mut values, count as i64, &ty), &hints).unwrap_err().class,
            Class::Conversion
        );
        values.iter_mut().for_each(|value| *value -= 10_000_000);
        assert_eq!(write(&file, &view, 0, &memory(&mut values, count as i64, &ty), &hints), Ok(8 * count as u64));
        // The file ends within the last number.
        file.set_size(24 * count as u64 - 1).unwrap();
        assert_eq!(read(&file, &view, 0, &memory(&mut back, count as i64, &ty), &hints), Ok(8 * count as u64 - 4));
        file.write_at(12, b"no number is").unwrap();
        let refused = read(&file, &view, 0, &memory(&mut back, 2, &int), &hints).unwrap_err();
        assert_eq!(refused.class, Class::Conversion);
        assert!(refused.text.contains("decimal") && refused.text.contains("no number"), "{refused}");
    }
    let last = 3 * count - 1;
    assert!((0..last).all(|at| back[at as usize] == if used(at) { values[at as usize] } else { 0 }));
    assert_eq!(back[last as usize], 0);
    let double = Type::basic(Basic::Float64);
    assert_eq!(View::new(0, &double, &double, decimal, false).unwrap_err().class, Class::Conversion);
}

#[test]
fn packing_whole_accesses() {
    let external = Representation::External32;
    let long = Type::basic(Basic::Long);
    let mut values = [1i64, -2, 3];
    let mut back = [0i64; 3];
    // SAFETY: the memory is ours.
    unsafe {
        let packed = external.pack(&memory(&mut values, 3, &long)).unwrap();
        assert_eq!(packed, [0, 0, 0, 1, 255, 255, 255, 254, 0, 0, 0, 3]);
        assert_eq!(external.unpack(&memory(&mut back, 3, &long), &packed[..11]), Ok(16));
        assert_eq!(back, [1, -2, 0]);
        let native = Representation::Native.pack(&memory(&mut values, 3, &long)).unwrap();
        assert_eq!(native.len(), 24);
        assert_eq!(Representation::Native.unpack(&memory(&mut back, 3, &long), &native), Ok(24));
        assert_eq!(back, values);
    }
}
