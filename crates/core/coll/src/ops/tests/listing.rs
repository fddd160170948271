use crate::ops::{Op, allowed, kernel, kernel3};
use tern_layout::Basic::{self, *};

/// The types of each operation, written out as in MPI 5.0, sections 6.9.2 and 6.9.4, and those that programs use beside them.
fn listing(op: Op) -> Vec<Basic> {
    let c_integer = [Char, Int8, Int16, Int32, Int64, Long, Uint8, Uint16, Uint32, Uint64, Ulong];
    let fortran_integer = [Integer1, Integer2, Integer4, Integer8, Integer16];
    let floating = [Float16, Float32, Float64, Float128, LongDouble];
    let logical = [Bool, Logical1, Logical2, Logical4, Logical8, Logical16];
    let complex = [ComplexHalf, ComplexFloat, ComplexDouble, ComplexQuad, ComplexLongDouble];
    let multi_language = [Aint, Offset, Count];
    let pairs = [FloatInt, DoubleInt, LongInt, TwoInt, ShortInt, LongDoubleInt, TwoInteger8, TwoReal4, TwoReal8];
    match op {
        Op::Max | Op::Min => [&c_integer[..], &fortran_integer, &floating, &multi_language].concat(),
        Op::Sum | Op::Prod => [&c_integer[..], &fortran_integer, &floating, &complex, &multi_language].concat(),
        Op::Land | Op::Lor | Op::Lxor => [&c_integer[..], &logical, &multi_language].concat(),
        Op::Band | Op::Bor | Op::Bxor => [&c_integer[..], &fortran_integer, &[Byte], &multi_language].concat(),
        Op::MinLoc | Op::MaxLoc => pairs.to_vec(),
        Op::Replace | Op::NoOp => Basic::ALL.to_vec(),
    }
}

#[test]
fn the_table_is_the_one_of_the_standard() {
    for &op in Op::ALL {
        let listed = listing(op);
        for &basic in Basic::ALL {
            assert_eq!(allowed(op, basic), listed.contains(&basic), "{op:?} on {basic:?}");
        }
    }
}

#[test]
fn wide_characters_and_packed_data_take_no_reduction() {
    for &op in Op::ALL {
        for basic in [WChar, Packed] {
            assert_eq!(allowed(op, basic), matches!(op, Op::Replace | Op::NoOp));
        }
    }
}

#[test]
fn what_is_allowed_has_kernels_but_for_arithmetic_on_binary128_of_x86() {
    for &op in Op::ALL {
        let copies = matches!(op, Op::Replace | Op::NoOp);
        for &basic in Basic::ALL {
            let missing = match basic {
                Float128 | ComplexQuad => !copies && cfg!(target_arch = "x86_64"),
                _ => false,
            };
            let expected = allowed(op, basic) && !missing;
            assert_eq!(kernel(op, basic).is_some(), expected, "{op:?} on {basic:?}");
            assert_eq!(kernel3(op, basic).is_some(), expected, "{op:?} on {basic:?}");
        }
    }
}

#[test]
fn only_the_operations_of_one_sided_communication_do_not_commute() {
    for &op in Op::ALL {
        assert_eq!(op.is_commutative(), !matches!(op, Op::Replace | Op::NoOp), "{op:?}");
    }
}
