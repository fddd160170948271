//! Extended numbers that the model of whole numbers cannot express.
#![cfg(target_arch = "x86_64")]

use super::model::extended;
use crate::ops::{Op, kernel};
use tern_layout::Basic;

/// Sign and exponent, and mantissa with its leading 1.
fn number(head: u16, mantissa: u64) -> [u8; 16] {
    let mut bytes = [0xee; 16];
    bytes[..8].copy_from_slice(&mantissa.to_le_bytes());
    bytes[8..10].copy_from_slice(&head.to_le_bytes());
    bytes
}

const ONE: u16 = 0x3fff;
const TOP: u64 = 1 << 63;

fn nan() -> [u8; 16] {
    number(0x7fff, 3 << 62)
}

fn apply(op: Op, a: [u8; 16], b: [u8; 16]) -> [u8; 10] {
    let mut inout = b;
    let f = kernel(op, Basic::LongDouble).unwrap();
    // SAFETY: both are one element.
    unsafe { f(a.as_ptr(), inout.as_mut_ptr(), 1) };
    assert_eq!(inout[10..], b[10..], "the padding was written");
    inout[..10].try_into().unwrap()
}

#[test]
fn sums_keep_64_bits() {
    let tiny = number(ONE - 63, TOP);
    assert_eq!(apply(Op::Sum, number(ONE, TOP), tiny), number(ONE, TOP | 1)[..10]);
    // Half of the last place: to even.
    let half = number(ONE - 64, TOP);
    assert_eq!(apply(Op::Sum, number(ONE, TOP), half), number(ONE, TOP)[..10]);
    assert_eq!(apply(Op::Sum, number(ONE, TOP | 1), half), number(ONE, TOP | 2)[..10]);
}

#[test]
fn products_have_15_bits_of_exponent() {
    let huge = number(ONE + 8000, TOP);
    assert_eq!(apply(Op::Prod, huge, huge), number(ONE + 16000, TOP)[..10]);
    let infinity = number(0x7fff, TOP);
    assert_eq!(apply(Op::Prod, number(ONE + 16000, TOP), huge), infinity[..10]);
}

#[test]
fn a_nan_is_never_larger_or_smaller() {
    let one = number(ONE, TOP);
    for op in [Op::Max, Op::Min] {
        assert_eq!(apply(op, nan(), one), one[..10], "{op:?}");
        assert_eq!(apply(op, one, nan()), nan()[..10], "{op:?}");
    }
    let zero = number(0, 0);
    let minus_zero = number(0x8000, 0);
    for op in [Op::Max, Op::Min] {
        assert_eq!(apply(op, zero, minus_zero), minus_zero[..10], "{op:?}");
        assert_eq!(apply(op, minus_zero, zero), zero[..10], "{op:?}");
    }
}

#[test]
fn a_nan_gives_no_location() {
    let pair = |value: [u8; 16], index: i32| {
        let mut bytes = [0x77; 32];
        bytes[..10].copy_from_slice(&value[..10]);
        bytes[16..20].copy_from_slice(&index.to_le_bytes());
        bytes
    };
    let mut five = [0; 16];
    five[..10].copy_from_slice(&extended(5));
    for op in [Op::MaxLoc, Op::MinLoc] {
        let f = kernel(op, Basic::LongDoubleInt).unwrap();
        for (a, b) in [(pair(nan(), 1), pair(five, 2)), (pair(five, 1), pair(nan(), 2))] {
            let mut inout = b;
            // SAFETY: both are one element.
            unsafe { f(a.as_ptr(), inout.as_mut_ptr(), 1) };
            assert_eq!(inout, b, "{op:?}");
        }
    }
}

#[test]
fn complex_products_know_infinity_and_the_sign_of_zero() {
    let complex = |re: [u8; 16], im: [u8; 16]| [re, im].concat();
    let (zero, minus_zero, one) = (number(0, 0), number(0x8000, 0), number(ONE, TOP));
    let f = kernel(Op::Prod, Basic::ComplexLongDouble).unwrap();
    let product = |a: &[u8], b: &[u8]| {
        let mut inout = b.to_vec();
        // SAFETY: both are one element.
        unsafe { f(a.as_ptr(), inout.as_mut_ptr(), 1) };
        inout
    };
    // (1 + 0i)(-0 + 0i): -0 - 0 is -0; 0 + -0 is 0.
    assert!(product(&complex(one, zero), &complex(minus_zero, zero)) == complex(minus_zero, zero));
    // (1 + 0i)(infinity + 0i): 0 times infinity is a NaN, and stays one.
    let result = product(&complex(one, zero), &complex(number(0x7fff, TOP), zero));
    assert_eq!(result[..10], number(0x7fff, TOP)[..10]);
    assert_eq!(result[24..26], [0xff, 0xff]);
}

#[test]
fn the_unit_is_left_empty() {
    // An unbalanced stack of eight registers would give NaNs from the ninth element on.
    let n = 100;
    let a: Vec<u8> = (0..n).flat_map(|_| number(ONE, TOP)).collect();
    for op in [Op::Sum, Op::Prod, Op::Max, Op::Min] {
        let mut inout = a.clone();
        let f = kernel(op, Basic::LongDouble).unwrap();
        // SAFETY: both are n elements.
        unsafe { f(a.as_ptr(), inout.as_mut_ptr(), n) };
        let expected = if op == Op::Sum { number(ONE + 1, TOP) } else { number(ONE, TOP) };
        assert!(inout.chunks(16).all(|x| x[..10] == expected[..10]), "{op:?}");
    }
}
