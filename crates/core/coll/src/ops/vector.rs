//! Vectors that are reduced without a schedule.

use super::{Kernel3, Op, kernel3};

/// A vector to reduce, by a predefined operation on a basic type.
pub struct Vector {
    pub kernel: Kernel3,
    pub elements: usize,
    pub bytes: usize,
    /// The bytes of the vector that this is a part of.
    pub whole: usize,
    /// What its label says in a part, behind which there are more; else 0.
    pub more: u64,
}

impl Vector {
    /// Combines `elements` elements at `one` and at `other` into `to`, which may be one of them.
    ///
    /// # Safety
    /// All hold that many elements.
    #[inline(always)]
    pub unsafe fn combine(&self, one: *const u8, other: *const u8, to: *mut u8, elements: usize) {
        let len = elements * (self.bytes / self.elements.max(1));
        // A short one lies in lines of which whoever publishes or reads a turn has told.
        if len >= tern_copy::SHORT {
            tern_atomics::read(one, len);
            tern_atomics::copied(to, other, len);
        }
        // SAFETY: passed on to the caller.
        unsafe { (self.kernel)(one, other, to, elements) };
    }

    /// `count` elements of a layout that is one dense run of a basic type.
    pub fn new(op: Op, ty: &tern_layout::Type, count: i64) -> Option<Vector> {
        if !ty.is_contiguous() {
            return None;
        }
        let basic = ty.uniform_basic()?;
        let bytes = count as usize * ty.size() as usize;
        Some(Vector {
            kernel: kernel3(op, basic)?,
            elements: bytes / basic.size() as usize,
            bytes,
            whole: bytes,
            more: 0,
        })
    }
}
