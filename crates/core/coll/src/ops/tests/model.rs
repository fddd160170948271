//! A slow and plain model of every operation on one element, in bytes.
//!
//! Integers are computed as `i128` and floating-point numbers as `f64`, then rounded: a sum or
//! product of two `f16` or `f32` is the same when it is computed in `f64` first. Numbers of
//! `long double` are modelled by whole numbers that fit their precision.

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
        Basic::ComplexQuad => Basic::Float128,
        _ => return None,
    })
}

/// Bits of precision of `long double`, and bytes of a number: x87's, or IEEE binary128.
pub const PRECISION: u32 = if cfg!(target_arch = "x86_64") { 64 } else { 113 };
pub const LONG: usize = if cfg!(target_arch = "x86_64") { 10 } else { 16 };
/// Of `long double`, and of what is the same.
pub fn is_long_double(basic: Basic) -> bool {
    basic == Basic::LongDouble || basic == Basic::Float128 && LONG == 16
}

/// Bytes that an arithmetic operation writes for a number of this type.
fn width(basic: Basic) -> usize {
    if basic == Basic::LongDouble { LONG } else { basic.size() as usize }
}

pub fn is_signed(basic: Basic) -> bool {
    match basic {
        Basic::Char => std::ffi::c_char::MIN != 0,
        _ => !matches!(basic, Basic::Uint8 | Basic::Uint16 | Basic::Uint32 | Basic::Uint64 | Basic::Ulong),
    }
}

/// The `long double` of sign and exponent, and a mantissa of [`PRECISION`] bits with its leading 1.
pub fn long_double(head: u16, mantissa: u128) -> [u8; LONG] {
    let mut bytes = [0; LONG];
    let at = LONG - 2;
    // Binary128 leaves the leading 1 out.
    let stored = if LONG == 16 { mantissa & ((1 << (PRECISION - 1)) - 1) } else { mantissa };
    bytes[..at].copy_from_slice(&stored.to_le_bytes()[..at]);
    bytes[at..].copy_from_slice(&head.to_le_bytes());
    bytes
}

/// The `long double` of a whole number, of at most 64 bits.
pub fn of_whole(value: i128) -> [u8; LONG] {
    if value == 0 {
        return [0; LONG];
    }
    let magnitude = u128::from(value.unsigned_abs() as u64);
    let bits = 128 - magnitude.leading_zeros();
    let exponent = 16383 + bits as u16 - 1;
    long_double(exponent | (((value < 0) as u16) << 15), magnitude << (PRECISION - bits))
}

/// The whole number of a `long double`.
fn whole(bytes: &[u8]) -> i128 {
    let at = LONG - 2;
    let mut wide = [0; 16];
    wide[..at].copy_from_slice(&bytes[..at]);
    let head = u16::from_le_bytes(bytes[at..LONG].try_into().unwrap());
    if head & 0x7fff == 0 {
        return 0;
    }
    let mantissa = u128::from_le_bytes(wide) | 1 << (PRECISION - 1);
    let shift = 16383 + PRECISION as i32 - 1 - i32::from(head & 0x7fff);
    assert!((0..PRECISION as i32).contains(&shift), "not a whole number of so many bits");
    let magnitude = (mantissa >> shift) as i128;
    assert_eq!(magnitude << shift, mantissa as i128, "not a whole number");
    if head >> 15 == 1 { -magnitude } else { magnitude }
}

pub fn decode(basic: Basic, bytes: &[u8]) -> Number {
    match basic {
        Basic::Float16 => Real(f16::from_le_bytes(bytes[..2].try_into().unwrap()).to_f64()),
        Basic::Float32 => Real(f32::from_le_bytes(bytes[..4].try_into().unwrap()).into()),
        Basic::Float64 => Real(f64::from_le_bytes(bytes[..8].try_into().unwrap())),
        _ if is_long_double(basic) => Whole(whole(bytes)),
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
        (_, Whole(x)) if is_long_double(basic) => of_whole(x).to_vec(),
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
    let round = |x| if is_long_double(step) { x } else { decode(step, &encode(step, x)) };
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
