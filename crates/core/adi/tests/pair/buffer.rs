//! User memory that tells when a byte was written that should not have been.

use std::rc::Rc;
use tern_adi::Data;
use tern_layout::{Basic, Type};

/// What memory holds that nothing has been received into.
const UNTOUCHED: u8 = 0xee;
/// Bytes of data of an element of the layout with gaps.
const BLOCK: usize = 3;

/// Bytes from the start of one element to the next, of data of that length: side by side in a cache line, or each in one of its own, which goes
/// in other packets.
fn stride(len: usize) -> usize {
    [5, 67][len / BLOCK % 2]
}

/// Data with gaps from this length on lies in long blocks, which are irregular.
pub const LONG: usize = 64 << 10;
/// Bytes of each of these but the last.
const LONG_BLOCK: usize = 3000;

/// Where such a block begins.
fn long_block(number: usize) -> usize {
    number * (LONG_BLOCK + 8) + number % 3 * 2
}

/// Memory for `len` bytes of data, dense or with gaps between them.
pub struct Buffer {
    memory: Box<[u8]>,
    len: usize,
    gaps: bool,
}

fn layout_with_gaps(stride: usize) -> Rc<Type> {
    let block = Type::contiguous(BLOCK as i64, &Type::basic(Basic::Byte)).unwrap();
    Type::resized(0, stride as i64, &block).unwrap()
}

fn layout_of_long_blocks(len: usize) -> Rc<Type> {
    let blocks = 0..len.div_ceil(LONG_BLOCK);
    let lengths: Vec<i64> = blocks.clone().map(|at| LONG_BLOCK.min(len - at * LONG_BLOCK) as i64).collect();
    let displacements: Vec<i64> = blocks.map(|at| long_block(at) as i64).collect();
    Type::hindexed(&lengths, &displacements, &Type::basic(Basic::Byte)).unwrap()
}

/// A length as [`Buffer`] rounds it.
pub fn whole(len: usize, gaps: bool) -> usize {
    if gaps { len.next_multiple_of(BLOCK) } else { len }
}

impl Buffer {
    /// Data with gaps has a multiple of three bytes: `len` is rounded up.
    pub fn new(len: usize, gaps: bool) -> Buffer {
        let len = whole(len, gaps);
        let size = match gaps {
            true if len >= LONG => long_block(len.div_ceil(LONG_BLOCK)),
            true => len / BLOCK * stride(len),
            false => len,
        };
        Buffer { memory: vec![UNTOUCHED; size].into(), len, gaps }
    }

    pub fn holding(bytes: &[u8], gaps: bool) -> Buffer {
        let mut buffer = Buffer::new(bytes.len(), gaps);
        for (at, byte) in bytes.iter().enumerate() {
            let place = buffer.place(at);
            buffer.memory[place] = *byte;
        }
        buffer
    }

    fn place(&self, at: usize) -> usize {
        match self.gaps {
            true if self.len >= LONG => long_block(at / LONG_BLOCK) + at % LONG_BLOCK,
            true => at / BLOCK * stride(self.len) + at % BLOCK,
            false => at,
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn data(&mut self) -> Data {
        let base = self.memory.as_mut_ptr();
        if self.gaps && self.len >= LONG {
            Data::new(base, 1, &layout_of_long_blocks(self.len))
        } else if self.gaps {
            Data::new(base, (self.len / BLOCK) as i64, &layout_with_gaps(stride(self.len)))
        } else {
            Data::Bytes(base, self.len)
        }
    }

    /// Where dense data lies.
    pub fn data_at(&self) -> *const u8 {
        self.memory.as_ptr()
    }

    /// The first byte that is another one than if `bytes` had been received, and nothing else written; and what it should be.
    fn differs(&self, bytes: &[u8]) -> Option<(usize, u8)> {
        let mut expected = Buffer::new(self.len, self.gaps);
        for (at, byte) in bytes.iter().enumerate() {
            let place = expected.place(at);
            expected.memory[place] = *byte;
        }
        let at = (0..self.memory.len()).find(|&at| self.memory[at] != expected.memory[at])?;
        Some((at, expected.memory[at]))
    }

    /// True when the data begins with `bytes`, and nothing else was written.
    pub fn holds(&self, bytes: &[u8]) -> bool {
        self.differs(bytes).is_none()
    }

    /// Panics unless the data begins with `bytes`, and nothing else was written.
    pub fn check(&self, bytes: &[u8]) {
        if let Some((at, expected)) = self.differs(bytes) {
            panic!(
                "byte {at} of {} is {:#x}, expected {expected:#x}; {} bytes should have been received",
                self.memory.len(),
                self.memory[at],
                bytes.len()
            );
        }
    }
}
