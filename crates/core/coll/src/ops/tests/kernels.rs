use super::model::{self, LONG, is_long_double, of_whole, reals};
use crate::ops::Op;
use crate::ops::loops::{Kernels, Level};
use crate::ops::select::kernels;
use half::f16;
use proptest::collection::vec;
use proptest::prelude::*;
use tern_layout::Basic;

/// What an element is made from.
type Seed = [u8; 33];

/// Values that deserve a test of their own, for each floating-point type.
const SPECIAL: [f64; 8] = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-310];

/// Overwrites the number of type `basic` at the start of `bytes` where the seed says so.
fn shape_real(basic: Basic, bytes: &mut [u8], choice: u8) {
    let special = SPECIAL[usize::from(choice >> 4) % SPECIAL.len()];
    let small = f64::from(choice) / 4.0 - 20.0;
    let value = match choice % 4 {
        0 => special,
        1 => small,
        _ => return,
    };
    match basic {
        Basic::Float16 => bytes[..2].copy_from_slice(&f16::from_f64(value).to_le_bytes()),
        Basic::Float32 => bytes[..4].copy_from_slice(&(value as f32).to_le_bytes()),
        Basic::Float64 => bytes[..8].copy_from_slice(&value.to_le_bytes()),
        _ => {}
    }
}

/// One element, in an extent of bytes: random bits, or a value that tells more.
fn element(basic: Basic, seed: &Seed) -> Vec<u8> {
    let mut bytes = seed[..basic.extent() as usize].to_vec();
    let choice = seed[32];
    for (part, at) in reals(basic) {
        if is_long_double(part) {
            let random = i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            // Not zero: the model does not know the sign of zero.
            let value = if choice.is_multiple_of(2) { i32::from(choice % 8) - 9 } else { (random / 2) | 1 };
            bytes[at..at + LONG].copy_from_slice(&of_whole(value.into()));
        } else {
            shape_real(part, &mut bytes[at..], choice);
        }
    }
    // Zeros are what logical operations turn on, small values what makes pairs tie.
    if reals(basic).is_empty() && choice.is_multiple_of(4) {
        bytes.fill(0);
        bytes[0] = choice / 4 % 3;
    }
    if let Some((_, at, _)) = basic.pair().filter(|_| choice.is_multiple_of(8) && reals(basic).is_empty()) {
        bytes[at as usize] = seed[31];
    }
    bytes
}

/// Memory of `elements` at an offset, with a margin on both sides.
struct Memory {
    bytes: Vec<u8>,
    offset: usize,
}

const MARGIN: usize = 64;

impl Memory {
    fn new(elements: &[Vec<u8>], offset: usize) -> Memory {
        let mut bytes = vec![0xa5; MARGIN + offset];
        bytes.extend(elements.concat());
        bytes.extend([0x5a; MARGIN]);
        Memory { bytes, offset: MARGIN + offset }
    }

    fn address(&mut self) -> *mut u8 {
        self.bytes[self.offset..].as_mut_ptr()
    }

    /// What must be here after `a op b` was written over the elements that are here.
    fn expect(&self, op: Op, basic: Basic, a: &[Vec<u8>], b: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let extent = basic.extent() as usize;
        for (i, (a, b)) in a.iter().zip(b).enumerate() {
            for (at, piece) in model::element(op, basic, a, b) {
                let at = self.offset + i * extent + at;
                bytes[at..at + piece.len()].copy_from_slice(&piece);
            }
        }
        bytes
    }

    /// Makes all NaNs the same: which one an operation returns is the processor's choice.
    fn settle(&self, basic: Basic, mut bytes: Vec<u8>, elements: usize) -> Vec<u8> {
        for i in 0..elements {
            for (part, at) in reals(basic).into_iter().filter(|(b, _)| !is_long_double(*b)) {
                let at = self.offset + i * basic.extent() as usize + at;
                if let model::Number::Real(x) = model::decode(part, &bytes[at..])
                    && x.is_nan()
                {
                    let nan = model::encode(part, model::Number::Real(f64::NAN));
                    bytes[at..at + nan.len()].copy_from_slice(&nan);
                }
            }
        }
        bytes
    }

    fn check(&self, expected: Vec<u8>, basic: Basic, elements: usize, what: &str) {
        let actual = self.settle(basic, self.bytes.clone(), elements);
        let expected = self.settle(basic, expected, elements);
        if let Some(at) = (0..actual.len()).find(|&i| actual[i] != expected[i]) {
            let (extent, from) = (basic.extent() as usize, at.saturating_sub(self.offset));
            let start = self.offset + from / extent * extent;
            let (is, want) = (&actual[start..start + extent], &expected[start..start + extent]);
            panic!("{what}, byte {from}: element is {is:02x?}, not {want:02x?}");
        }
    }
}

/// Runs both kernels, in every way in which addresses may be equal, and checks all memory.
fn check(op: Op, basic: Basic, level: Level, k: Kernels, seeds: &[(Seed, Seed)], offsets: [usize; 3]) {
    let n = seeds.len();
    let a: Vec<_> = seeds.iter().map(|s| element(basic, &s.0)).collect();
    let b: Vec<_> = seeds.iter().map(|s| element(basic, &s.1)).collect();
    let name = |form| format!("{op:?} on {basic:?}, {level:?}, {form}, {n} elements");
    let (mut ma, mut mb) = (Memory::new(&a, offsets[0]), Memory::new(&b, offsets[1]));
    let (a0, b0) = (ma.bytes.clone(), mb.bytes.clone());
    let mut out = Memory::new(&vec![vec![0xc3; basic.extent() as usize]; n], offsets[2]);

    let expected = out.expect(op, basic, &a, &b);
    // SAFETY: each memory has n elements of `basic`; this holds for all calls below.
    unsafe { (k.three)(ma.address(), mb.address(), out.address(), n) };
    out.check(expected, basic, n, &name("out apart"));
    assert!(ma.bytes == a0 && mb.bytes == b0, "{}", name("operands changed"));

    let expected = mb.expect(op, basic, &a, &b);
    // SAFETY: as above.
    unsafe { (k.two)(ma.address(), mb.address(), n) };
    mb.check(expected.clone(), basic, n, &name("two addresses"));
    assert!(ma.bytes == a0, "{}", name("input changed"));

    mb.bytes.clone_from(&b0);
    // SAFETY: as above.
    unsafe { (k.three)(ma.address(), mb.address(), mb.address(), n) };
    mb.check(expected, basic, n, &name("out is b"));

    mb.bytes.clone_from(&b0);
    let expected = ma.expect(op, basic, &a, &b);
    // SAFETY: as above.
    unsafe { (k.three)(ma.address(), mb.address(), ma.address(), n) };
    ma.check(expected, basic, n, &name("out is a"));

    let expected = mb.expect(op, basic, &b, &b);
    // SAFETY: as above.
    unsafe { (k.three)(mb.address(), mb.address(), mb.address(), n) };
    mb.check(expected, basic, n, &name("all the same"));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_kernel_agrees_with_the_model(
        seeds in vec((any::<Seed>(), any::<Seed>()), 0..150),
        offsets in any::<[u8; 3]>().prop_map(|o| o.map(|o| usize::from(o % 32))),
    ) {
        for &op in Op::ALL {
            for &basic in Basic::ALL {
                for level in Level::here() {
                    if let Some(k) = kernels(op, basic, level) {
                        check(op, basic, level, k, &seeds, offsets);
                    }
                }
            }
        }
    }
}

#[test]
fn the_chosen_level_is_one_of_this_processor() {
    assert_eq!(Level::here().last(), Some(&Level::best()));
    assert_eq!(Level::here()[0], Level::Base);
}
