//! Operations on units (pairs of 4-byte integers), for any layout.

use super::memory::UNIT;
use std::rc::Rc;
use tern_coll::Operator;
use tern_layout::Type;

pub type Unit = [u32; 2];
pub type Combine = fn(Unit, Unit) -> Unit;

/// The map x -> a x + b, first this one's, then the other's: associative, and the order shows.
pub fn compose(left: Unit, right: Unit) -> Unit {
    let ([a, b], [c, d]) = (left, right);
    let (a, c) = (a | 1, c | 1);
    [a.wrapping_mul(c), b.wrapping_mul(c).wrapping_add(d)]
}

pub fn add(left: Unit, right: Unit) -> Unit {
    [left[0].wrapping_add(right[0]), left[1].wrapping_add(right[1])]
}

/// Neither associative nor commutative: shows every difference in order.
pub fn jumble(left: Unit, right: Unit) -> Unit {
    let [a, b] = left;
    [a.wrapping_mul(31).wrapping_add(right[0] ^ b), b.rotate_left(3).wrapping_sub(right[1])]
}

fn get(bytes: &[u8]) -> Unit {
    let word = |i: usize| u32::from_ne_bytes(bytes[i..i + 4].try_into().unwrap());
    [word(0), word(4)]
}

fn put(unit: Unit) -> [u8; UNIT] {
    let mut out = [0; UNIT];
    out[..4].copy_from_slice(&unit[0].to_ne_bytes());
    out[4..].copy_from_slice(&unit[1].to_ne_bytes());
    out
}

/// `left op right` on packed data.
pub fn combine(f: Combine, left: &[u8], right: &[u8]) -> Vec<u8> {
    assert_eq!(left.len(), right.len());
    let units = left.chunks_exact(UNIT).zip(right.chunks_exact(UNIT));
    units.flat_map(|(l, r)| put(f(get(l), get(r)))).collect()
}

/// The reduction of packed vectors in their order.
pub fn fold(f: Combine, vectors: &[Vec<u8>]) -> Vec<u8> {
    let (first, rest) = vectors.split_first().unwrap();
    rest.iter().fold(first.clone(), |sum, v| combine(f, &sum, v))
}

/// `f` as a user's function, for layouts of which one element is one unit.
pub fn operator(f: Combine, commutative: bool) -> Operator {
    let function = move |input: *const u8, inout: *mut u8, count: i64, ty: &Rc<Type>| {
        let mut left = vec![0; (count * ty.size()) as usize];
        let mut right = left.clone();
        // SAFETY: the caller gives vectors of `count` elements.
        unsafe {
            ty.pack(input, count, 0, &mut left);
            ty.pack(inout, count, 0, &mut right);
            ty.unpack(inout, count, 0, &combine(f, &left, &right));
        }
    };
    Operator::User { function: Rc::new(function), commutative }
}
