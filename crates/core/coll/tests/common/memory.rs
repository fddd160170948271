//! Buffers of every shape whose gaps are watched: the whole memory is compared in the end.

use super::Random;
use std::rc::Rc;
use tern_coll::{Buffer, BufferV, BufferW};
use tern_layout::{Basic, Type};

/// All layouts describe pairs of 4-byte integers: one unit is 8 bytes of data.
pub const UNIT: usize = 8;

/// A layout and how many of its elements make one unit.
#[derive(Clone, Debug)]
pub struct Shape {
    pub ty: Rc<Type>,
    pub per_unit: i64,
}

pub fn shapes() -> Vec<Shape> {
    let int = Type::basic(Basic::Int32);
    let pair = Type::contiguous(2, &int).unwrap();
    let one = |ty| Shape { ty, per_unit: 1 };
    vec![
        one(pair.clone()),
        Shape { ty: int.clone(), per_unit: 2 },
        one(Type::vector(2, 1, 3, &int).unwrap()),
        // Lower bound below, extent above the data.
        one(Type::resized(-8, 24, &pair).unwrap()),
        // Data before the buffer's address, in descending order.
        one(Type::hindexed(&[1, 1], &[8, -4], &int).unwrap()),
        // Elements go backwards.
        one(Type::resized(0, -16, &pair).unwrap()),
        // Dense data that starts at an offset.
        one(Type::hindexed(&[2], &[4], &int).unwrap()),
        // Absolute addresses, as programs use them with MPI_BOTTOM.
        one(Type::hindexed(&[2], &[1 << 36], &int).unwrap()),
        // An element that lies within the next one's gap.
        one(Type::resized(0, 4, &Type::hvector(2, 1, 16 << 10, &int).unwrap()).unwrap()),
    ]
}

#[derive(Clone, Debug)]
pub struct Block {
    pub ty: Rc<Type>,
    pub count: i64,
    /// Byte offset from the base.
    pub at: i64,
}

/// Memory with blocks in it.
#[derive(Clone)]
pub struct Memory {
    bytes: Vec<u128>,
    len: usize,
    /// Where the base lies in `bytes`.
    origin: i64,
    pub blocks: Vec<Block>,
}

impl Memory {
    pub fn new(random: &mut Random, blocks: Vec<Block>) -> Memory {
        let (mut low, mut high) = (i64::MAX, i64::MIN);
        for block in blocks.iter().filter(|b| b.count > 0) {
            let reach = (block.count - 1) * block.ty.extent();
            low = low.min(block.at + block.ty.true_lb() + reach.min(0));
            high = high.max(block.at + block.ty.true_ub() + reach.max(0));
        }
        if low > high {
            (low, high) = (0, 0);
        }
        let origin = 16 - low.div_euclid(16) * 16;
        let len = (origin + high) as usize + 16;
        let bytes = (0..len.div_ceil(16)).map(|_| random.next() as u128 * 0x1_0001_0203).collect();
        Memory { bytes, len, origin, blocks }
    }

    pub fn base(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr().cast::<u8>().wrapping_offset(self.origin as isize)
    }

    fn image(&self) -> &[u8] {
        // SAFETY: `bytes` has at least `len` bytes.
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr().cast(), self.len) }
    }

    /// The data of block `i`, packed.
    pub fn read(&self, i: usize) -> Vec<u8> {
        let Block { ty, count, at } = &self.blocks[i];
        let base = self.bytes.as_ptr().cast::<u8>().wrapping_offset((self.origin + at) as isize);
        let mut out = vec![0; (count * ty.size()) as usize];
        // SAFETY: the memory covers all blocks.
        unsafe { ty.pack(base, *count, 0, &mut out) };
        out
    }

    pub fn write(&mut self, i: usize, data: &[u8]) {
        let Block { ty, count, at } = self.blocks[i].clone();
        assert_eq!(data.len() as i64, count * ty.size());
        let base = self.base().wrapping_offset(at as isize);
        // SAFETY: the memory covers all blocks.
        unsafe { ty.unpack(base, count, 0, data) };
    }

    /// All blocks, packed one after another.
    pub fn read_all(&self) -> Vec<u8> {
        (0..self.blocks.len()).flat_map(|i| self.read(i)).collect()
    }

    /// Compares data and gaps.
    pub fn assert_same(&self, expected: &Memory, what: &str) {
        let (have, want) = (self.image(), expected.image());
        if have == want {
            return;
        }
        let at = have.iter().zip(want).position(|(a, b)| a != b).unwrap() as i64;
        let data = (0..self.blocks.len()).find(|&i| self.read(i) != expected.read(i));
        panic!("{what}: memory differs at byte {}, block with wrong data: {data:?}", at - self.origin);
    }
}

/// A buffer with one block of `units` for each of `blocks` ranks.
pub struct Even {
    pub memory: Memory,
    pub buffer: Buffer,
}

pub fn even(random: &mut Random, shape: &Shape, units: usize, blocks: usize) -> Even {
    let count = units as i64 * shape.per_unit;
    let list =
        (0..blocks as i64).map(|i| Block { ty: shape.ty.clone(), count, at: i * count * shape.ty.extent() }).collect();
    let mut memory = Memory::new(random, list);
    let buffer = Buffer { base: memory.base(), count, ty: shape.ty.clone() };
    Even { memory, buffer }
}

/// The layouts whose blocks do not interleave, so that they can be placed anywhere.
fn placeable(random: &mut Random) -> Shape {
    let all = shapes();
    all[random.below(all.len() - 1)].clone()
}

pub fn any_shape(random: &mut Random) -> Shape {
    let all = shapes();
    all[random.below(all.len())].clone()
}

pub struct Uneven {
    pub memory: Memory,
    pub buffer: BufferV,
}

/// A buffer with `units[r]` for each rank r, blocks in random order with gaps between.
pub fn uneven(random: &mut Random, units: &[usize]) -> Uneven {
    let shape = placeable(random);
    let n = units.len();
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, random.below(i + 1));
    }
    let in_order = random.one_in(3);
    if in_order {
        order.sort();
    }
    let mut displs = vec![0i64; n];
    let mut next = 0;
    for r in order {
        displs[r] = next;
        let gap = if in_order { 0 } else { random.below(3) as i64 };
        next += units[r] as i64 * shape.per_unit + gap;
    }
    let counts: Vec<i64> = units.iter().map(|u| *u as i64 * shape.per_unit).collect();
    let blocks =
        (0..n).map(|r| Block { ty: shape.ty.clone(), count: counts[r], at: displs[r] * shape.ty.extent() }).collect();
    let mut memory = Memory::new(random, blocks);
    let base = memory.base();
    let buffer = BufferV { base, counts: counts.into(), displs: displs.into(), ty: shape.ty };
    Uneven { memory, buffer }
}

pub struct Mixed {
    pub memory: Memory,
    pub buffer: BufferW,
}

/// A buffer with `units[r]` for each rank r, each block with a layout of its own.
pub fn mixed(random: &mut Random, units: &[usize]) -> Mixed {
    let mut blocks = Vec::new();
    let mut next = 0;
    for &n in units {
        let shape = any_shape(random);
        let count = n as i64 * shape.per_unit;
        let reach = (count - 1).max(0) * shape.ty.extent();
        let low = shape.ty.true_lb() + reach.min(0);
        let high = shape.ty.true_ub() + reach.max(0);
        let at = next - low + 4 * random.below(3) as i64;
        next = at + high;
        blocks.push(Block { ty: shape.ty, count, at });
    }
    let counts: Vec<i64> = blocks.iter().map(|b| b.count).collect();
    let displs: Vec<i64> = blocks.iter().map(|b| b.at).collect();
    let types: Vec<Rc<Type>> = blocks.iter().map(|b| b.ty.clone()).collect();
    let mut memory = Memory::new(random, blocks);
    let base = memory.base();
    let buffer = BufferW { base, counts: counts.into(), displs: displs.into(), types: types.into() };
    Mixed { memory, buffer }
}
