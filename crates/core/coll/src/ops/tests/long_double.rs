//! Numbers of `long double` that the model of whole numbers cannot express.

use super::model::{LONG, PRECISION, long_double, of_whole};
use crate::ops::{Op, kernel};
use tern_layout::Basic;

/// Sign and exponent, and mantissa with its leading 1, in a slot.
fn number(head: u16, mantissa: u128) -> [u8; 16] {
    let mut bytes = [0xee; 16];
    bytes[..LONG].copy_from_slice(&long_double(head, mantissa));
    bytes
}

const ONE: u16 = 0x3fff;
const TOP: u128 = 1 << (PRECISION - 1);

fn nan() -> [u8; 16] {
    number(0x7fff, 3 << (PRECISION - 2))
}

fn apply(op: Op, a: [u8; 16], b: [u8; 16]) -> [u8; LONG] {
    let mut inout = b;
    let f = kernel(op, Basic::LongDouble).unwrap();
    // SAFETY: both are one element.
    unsafe { f(a.as_ptr(), inout.as_mut_ptr(), 1) };
    assert_eq!(inout[LONG..], b[LONG..], "the padding was written");
    inout[..LONG].try_into().unwrap()
}

#[test]
fn sums_keep_all_bits() {
    let tiny = number(ONE + 1 - PRECISION as u16, TOP);
    assert_eq!(apply(Op::Sum, number(ONE, TOP), tiny), number(ONE, TOP | 1)[..LONG]);
    // Half of the last place: to even.
    let half = number(ONE - PRECISION as u16, TOP);
    assert_eq!(apply(Op::Sum, number(ONE, TOP), half), number(ONE, TOP)[..LONG]);
    assert_eq!(apply(Op::Sum, number(ONE, TOP | 1), half), number(ONE, TOP | 2)[..LONG]);
}

#[test]
fn products_have_15_bits_of_exponent() {
    let huge = number(ONE + 8000, TOP);
    assert_eq!(apply(Op::Prod, huge, huge), number(ONE + 16000, TOP)[..LONG]);
    let infinity = number(0x7fff, TOP);
    assert_eq!(apply(Op::Prod, number(ONE + 16000, TOP), huge), infinity[..LONG]);
}

#[test]
fn a_nan_is_never_larger_or_smaller() {
    let one = number(ONE, TOP);
    for op in [Op::Max, Op::Min] {
        assert_eq!(apply(op, nan(), one), one[..LONG], "{op:?}");
        assert_eq!(apply(op, one, nan()), nan()[..LONG], "{op:?}");
    }
    let zero = number(0, 0);
    let minus_zero = number(0x8000, 0);
    for op in [Op::Max, Op::Min] {
        assert_eq!(apply(op, zero, minus_zero), minus_zero[..LONG], "{op:?}");
        assert_eq!(apply(op, minus_zero, zero), zero[..LONG], "{op:?}");
    }
}

#[test]
fn a_nan_gives_no_location() {
    let pair = |value: [u8; 16], index: i32| {
        let mut bytes = [0x77; 32];
        bytes[..LONG].copy_from_slice(&value[..LONG]);
        bytes[16..20].copy_from_slice(&index.to_le_bytes());
        bytes
    };
    let mut five = [0; 16];
    five[..LONG].copy_from_slice(&of_whole(5));
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
    assert_eq!(result[..LONG], number(0x7fff, TOP)[..LONG]);
    let head = u16::from_le_bytes(result[14 + LONG..16 + LONG].try_into().unwrap());
    assert_eq!(head & 0x7fff, 0x7fff);
    assert!(result[16..14 + LONG] != number(0x7fff, TOP)[..LONG - 2], "it is infinity");
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
        assert!(inout.chunks(16).all(|x| x[..LONG] == expected[..LONG]), "{op:?}");
    }
}
