//! A slow and plain model of every operation on one element, in bytes.
//!
//! Integers are computed as `i128` and floating-point numbers as `f64`, then rounded: a sum or
//! product of two `f16` or `f32` is the same when it is computed in `f64` first. Extended
//! numbers are modelled by whole numbers that fit their 64 bits of precision.

use crate::ops::Op;
use half::f16;
use tern_layout::{Basic, Class};

/// A number as the model sees it.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub enum Number {
    Whole(i128),
    Real(f64),
}
use Number::{Real, Whole};

/// The type of the parts of a complex number.
fn part(basic: Basic) -> Option<Basic> {
    Some(match basic {
        Basic::ComplexHalf => Basic::Float16,
        Basic::ComplexFloat => Basic::Float32,
        Basic::ComplexDouble => Basic::Float64,
        Basic::ComplexLongDouble => Basic::LongDouble,
        _ => return None,
    })
}

/// Bytes that an arithmetic operation writes for a number of this type.
fn width(basic: Basic) -> usize {
    if basic == Basic::LongDouble { 10 } else { basic.size() as usize }
}

pub fn is_signed(basic: Basic) -> bool {
    match basic {
        Basic::Char => std::ffi::c_char::MIN != 0,
        _ => !matches!(basic, Basic::Uint8 | Basic::Uint16 | Basic::Uint32 | Basic::Uint64 | Basic::Ulong),
    }
}

/// The extended number of a whole number, of at most 64 bits.
pub fn extended(value: i128) -> [u8; 10] {
    let mut bytes = [0; 10];
    if value != 0 {
        let magnitude = value.unsigned_abs() as u64;
        let shift = magnitude.leading_zeros();
        bytes[..8].copy_from_slice(&(magnitude << shift).to_le_bytes());
        let exponent = 16383 + 63 - shift as u16;
        bytes[8..].copy_from_slice(&(exponent | (((value < 0) as u16) << 15)).to_le_bytes());
    }
    bytes
}

/// The whole number of an extended number.
fn whole(bytes: &[u8]) -> i128 {
    let mantissa = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    let head = u16::from_le_bytes(bytes[8..10].try_into().unwrap());
    if mantissa == 0 {
        return 0;
    }
    let shift = 16383 + 63 - i32::from(head & 0x7fff);
    assert!((0..64).contains(&shift), "not a whole number of 64 bits");
    let magnitude = i128::from(mantissa >> shift);
    assert_eq!(magnitude << shift, i128::from(mantissa), "not a whole number");
    if head >> 15 == 1 { -magnitude } else { magnitude }
}

pub fn decode(basic: Basic, bytes: &[u8]) -> Number {
    match basic {
        Basic::Float16 => Real(f16::from_le_bytes(bytes[..2].try_into().unwrap()).to_f64()),
        Basic::Float32 => Real(f32::from_le_bytes(bytes[..4].try_into().unwrap()).into()),
        Basic::Float64 => Real(f64::from_le_bytes(bytes[..8].try_into().unwrap())),
        Basic::LongDouble => Whole(whole(bytes)),
        _ => {
            let size = basic.size() as usize;
            let fill = if is_signed(basic) && bytes[size - 1] >= 0x80 { 0xff } else { 0 };
            let mut wide = [fill; 16];
            wide[..size].copy_from_slice(&bytes[..size]);
            Whole(i128::from_le_bytes(wide))
        }
    }
}

/// The bytes of a number, as many as [`width`] says.
pub fn encode(basic: Basic, number: Number) -> Vec<u8> {
    match (basic, number) {
        (Basic::Float16, Real(x)) => f16::from_f64(x).to_le_bytes().to_vec(),
        (Basic::Float32, Real(x)) => (x as f32).to_le_bytes().to_vec(),
        (Basic::Float64, Real(x)) => x.to_le_bytes().to_vec(),
        (Basic::LongDouble, Whole(x)) => extended(x).to_vec(),
        (_, Whole(x)) => x.to_le_bytes()[..basic.size() as usize].to_vec(),
        (_, Real(_)) => unreachable!("{basic:?} is not a floating-point type"),
    }
}

/// One operation on two numbers, not rounded.
fn number(op: Op, a: Number, b: Number) -> Number {
    match (op, a, b) {
        (Op::Max, ..) => {
            if a > b {
                a
            } else {
                b
            }
        }
        (Op::Min, ..) => {
            if a < b {
                a
            } else {
                b
            }
        }
        (Op::Sum, Real(x), Real(y)) => Real(x + y),
        (Op::Prod, Real(x), Real(y)) => Real(x * y),
        (Op::Sum, Whole(x), Whole(y)) => Whole(x.wrapping_add(y)),
        (Op::Prod, Whole(x), Whole(y)) => Whole(x.wrapping_mul(y)),
        (Op::Land, Whole(x), Whole(y)) => Whole((x != 0 && y != 0).into()),
        (Op::Lor, Whole(x), Whole(y)) => Whole((x != 0 || y != 0).into()),
        (Op::Lxor, Whole(x), Whole(y)) => Whole(((x != 0) != (y != 0)).into()),
        (Op::Band, Whole(x), Whole(y)) => Whole(x & y),
        (Op::Bor, Whole(x), Whole(y)) => Whole(x | y),
        (Op::Bxor, Whole(x), Whole(y)) => Whole(x ^ y),
        _ => unreachable!("{op:?}"),
    }
}

/// The product of complex numbers. `f16` is computed in `f32` and rounded at the end.
fn complex_product(part: Basic, a: [Number; 2], b: [Number; 2]) -> [Number; 2] {
    let step = if part == Basic::Float16 { Basic::Float32 } else { part };
    let round = |x| if step == Basic::LongDouble { x } else { decode(step, &encode(step, x)) };
    let times = |x, y| round(number(Op::Prod, x, y));
    let minus = |x| match x {
        Whole(x) => Whole(-x),
        Real(x) => Real(-x),
    };
    let plus = |x, y| round(number(Op::Sum, x, y));
    [plus(times(a[0], b[0]), minus(times(a[1], b[1]))), plus(times(a[0], b[1]), times(a[1], b[0]))]
}

/// Where a result has data: its bytes and their offset in the element.
type Pieces = Vec<(usize, Vec<u8>)>;

fn pair(op: Op, basic: Basic, a: &[u8], b: &[u8]) -> Pieces {
    let (value, at, index) = basic.pair().unwrap();
    let at = at as usize;
    let (va, vb) = (decode(value, a), decode(value, b));
    let (ia, ib) = (decode(index, &a[at..]), decode(index, &b[at..]));
    let take_a = match op {
        Op::MaxLoc => va > vb || (va == vb && ia < ib),
        Op::MinLoc => va < vb || (va == vb && ia < ib),
        _ => unreachable!(),
    };
    let from = if take_a { a } else { b };
    vec![(0, from[..width(value)].to_vec()), (at, from[at..at + width(index)].to_vec())]
}

fn copied(basic: Basic, from: &[u8]) -> Pieces {
    match basic.pair() {
        Some((value, at, index)) => {
            let (at, end) = (at as usize, (at + index.size()) as usize);
            vec![(0, from[..value.size() as usize].to_vec()), (at, from[at..end].to_vec())]
        }
        None => vec![(0, from.to_vec())],
    }
}

/// `a op b`, each of them one element.
pub fn element(op: Op, basic: Basic, a: &[u8], b: &[u8]) -> Pieces {
    match op {
        Op::Replace => return copied(basic, a),
        Op::NoOp => return copied(basic, b),
        _ => {}
    }
    if basic.class() == Class::Pair {
        return pair(op, basic, a, b);
    }
    let Some(part) = part(basic) else {
        return vec![(0, encode(basic, number(op, decode(basic, a), decode(basic, b))))];
    };
    let half = part.size() as usize;
    let a = [decode(part, a), decode(part, &a[half..])];
    let b = [decode(part, b), decode(part, &b[half..])];
    let r = match op {
        Op::Sum => [number(op, a[0], b[0]), number(op, a[1], b[1])],
        _ => complex_product(part, a, b),
    };
    vec![(0, encode(part, r[0])), (half, encode(part, r[1]))]
}

/// The floating-point parts of an element: type and offset of each.
pub fn reals(basic: Basic) -> Vec<(Basic, usize)> {
    if let Some(part) = part(basic) {
        return vec![(part, 0), (part, part.size() as usize)];
    }
    if let Some((value, at, index)) = basic.pair() {
        return [(value, 0), (index, at as usize)]
            .into_iter()
            .filter(|(basic, _)| basic.class() == Class::FloatingPoint)
            .collect();
    }
    if basic.class() == Class::FloatingPoint { vec![(basic, 0)] } else { vec![] }
}
