//! The datatype and what can be asked of it.

mod constructor;

use std::mem;
use std::rc::Rc;

use crate::bounds::Bounds;
use crate::program::Program;
use crate::signature::Signature;
use crate::spread::Spread;
use crate::{Basic, Count, Error};
pub use constructor::Constructor;

/// Levels of nesting that do not collapse: a walk keeps a frame for each.
const DEEPEST: u32 = 4096;

/// An MPI datatype. It never changes once built; share it as `Rc<Type>`.
#[derive(Debug)]
pub struct Type {
    contiguous: bool,
    size: i64,
    extent: i64,
    lb: i64,
    bounds: Bounds,
    /// Offset and length of one element, if it is one run.
    dense: Option<(i64, u64)>,
    program: Rc<Program>,
    signature: Rc<Signature>,
    uniform: Option<Basic>,
    kind: Constructor,
}

/// The parts that a constructor works out.
pub(crate) struct Draft {
    pub program: Rc<Program>,
    pub signature: Rc<Signature>,
    pub bounds: Bounds,
    pub uniform: Option<Basic>,
}

impl Draft {
    pub fn finish(self, kind: Constructor) -> Result<Rc<Type>, Error> {
        let Draft { program, signature, bounds, uniform } = self;
        if program.depth > DEEPEST {
            return Err(Error::TooDeep);
        }
        let (lb, extent) = bounds.lb_extent()?;
        let size = signature.bytes as i64;
        let dense = program.as_dense();
        let contiguous = lb == 0 && extent == size && dense == Some((0, size as u64));
        Ok(Rc::new(Type { contiguous, size, extent, lb, bounds, dense, program, signature, uniform, kind }))
    }
}

impl Type {
    /// Whether any number of elements is one run of bytes that starts at the buffer address.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.contiguous
    }

    /// Offset from the buffer address and length of the data of `count` elements, if that is
    /// one run. True for every count of a contiguous type, of one whose runs join but begin
    /// at an offset, and for a single element that is dense within a larger extent.
    #[inline]
    pub fn dense_run(&self, count: Count) -> Option<(i64, u64)> {
        if self.contiguous {
            return Some((0, (self.size as u64).saturating_mul(count.max(0) as u64)));
        }
        match self.dense {
            _ if count <= 0 => Some((0, 0)),
            Some((at, len)) if count == 1 => Some((at, len)),
            Some((at, len)) if len > 0 && self.extent == self.size => Some((at, len.saturating_mul(count as u64))),
            Some((_, 0)) => Some((0, 0)),
            _ => None,
        }
    }

    /// Bytes of data in one element.
    #[inline]
    pub fn size(&self) -> i64 {
        self.size
    }

    /// Distance from one element to the next.
    #[inline]
    pub fn extent(&self) -> i64 {
        self.extent
    }

    /// The lower bound, in bytes (MPI 5.0, section 5.1.6).
    pub fn lb(&self) -> i64 {
        self.lb
    }

    /// The upper bound, in bytes.
    pub fn ub(&self) -> i64 {
        self.lb + self.extent
    }

    /// Offset of the first byte of data; 0 without data.
    pub fn true_lb(&self) -> i64 {
        self.bounds.data.map_or(0, |(from, _)| from)
    }

    /// Offset of the byte after the last byte of data; 0 without data.
    pub fn true_ub(&self) -> i64 {
        self.bounds.data.map_or(0, |(_, to)| to)
    }

    /// Bytes from the first to the last of its data (MPI 5.0, section 5.1.8).
    pub fn true_extent(&self) -> i64 {
        self.true_ub().wrapping_sub(self.true_lb())
    }

    /// In which order its bytes lie, and in how many runs.
    pub fn spread(&self) -> Spread {
        self.program.spread
    }

    /// The strictest alignment of its basic types, in bytes.
    pub fn align(&self) -> i64 {
        self.bounds.align
    }

    /// Number of basic elements in one element; a pair counts as two (MPI_GET_ELEMENTS).
    pub fn basic_elements(&self) -> i64 {
        self.signature.elements as i64
    }

    /// The basic type that all elements have, if they have one. Pairs count as themselves
    /// here. None for a type without data.
    #[inline]
    pub fn uniform_basic(&self) -> Option<Basic> {
        self.uniform
    }

    /// The constructor call that made it.
    pub fn kind(&self) -> &Constructor {
        &self.kind
    }

    /// The basic type, if this is a predefined type.
    #[inline]
    pub fn named(&self) -> Option<Basic> {
        match self.kind {
            Constructor::Named(basic) => Some(basic),
            _ => None,
        }
    }

    /// Bytes of `count` elements in the packed stream; None if that does not fit 64 bits.
    pub fn pack_size(&self, count: Count) -> Option<i64> {
        self.size.checked_mul(count.max(0))
    }

    /// How many whole elements `bytes` received bytes are, for MPI_GET_COUNT. None (that is,
    /// MPI_UNDEFINED) if they are not a whole number of elements.
    pub fn count(&self, bytes: u64) -> Option<i64> {
        match self.size as u64 {
            0 => (bytes == 0).then_some(0),
            size if bytes.is_multiple_of(size) => i64::try_from(bytes / size).ok(),
            _ => None,
        }
    }

    /// How many basic elements `bytes` received bytes are, for MPI_GET_ELEMENTS. None if the
    /// last one is cut, or does not fit.
    pub fn elements(&self, bytes: u64) -> Option<i64> {
        if bytes == 0 {
            return Some(0);
        }
        let signature = &self.signature;
        let whole = bytes.checked_div(signature.bytes)?.checked_mul(signature.elements)?;
        let rest = signature.elements_in(bytes % signature.bytes)?;
        i64::try_from(whole.checked_add(rest)?).ok()
    }

    /// The bytes of the first `elements` basic elements, for MPI_STATUS_SET_ELEMENTS. None if
    /// there are none to count, or the number is negative or does not fit.
    pub fn bytes_of_elements(&self, elements: i64) -> Option<u64> {
        let elements = u64::try_from(elements).ok()?;
        if elements == 0 {
            return Some(0);
        }
        let signature = &self.signature;
        let whole = elements.checked_div(signature.elements)?.checked_mul(signature.bytes)?;
        whole.checked_add(signature.bytes_of(elements % signature.elements))
    }

    pub(crate) fn program(&self) -> &Rc<Program> {
        &self.program
    }

    pub(crate) fn sequence(&self) -> &Rc<Signature> {
        &self.signature
    }

    pub(crate) fn bounds(&self) -> Bounds {
        self.bounds
    }
}

impl Drop for Type {
    /// Frees a long chain of types in a loop: nested drops would use up the stack.
    fn drop(&mut self) {
        if self.kind.children().is_empty() {
            return;
        }
        // Before the children: each of them still holds its own part of these.
        self.program = Program::empty();
        self.signature = Signature::empty();
        let leaf = || Constructor::Named(Basic::Byte);
        let mut waiting = vec![mem::replace(&mut self.kind, leaf())];
        while let Some(kind) = waiting.pop() {
            for child in kind.into_children() {
                if let Some(mut child) = Rc::into_inner(child) {
                    waiting.push(mem::replace(&mut child.kind, leaf()));
                }
            }
        }
    }
}
