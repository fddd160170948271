//! Memory that takes part in a collective, and what is done to it.

use crate::ops::{Op, Vector};
use std::rc::Rc;
use tern_adi::Data;
use tern_layout::Type;

/// The root of a rooted collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// The process of this rank: in the local group of an intracommunicator, in the remote group
    /// of an intercommunicator.
    Rank(u32),
    /// This process is the root, the data is in the other group (MPI_ROOT).
    Root,
    /// The root is another process of this group (MPI_PROC_NULL).
    None,
}

/// Memory of one side of a collective: `count` elements of `ty` at `base`. Where a collective
/// has a block for each rank, `count` is that of one block, and blocks are one after another.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub base: *mut u8,
    pub count: i64,
    pub ty: Rc<Type>,
}

impl Buffer {
    /// How many bytes travel.
    pub fn bytes(&self) -> usize {
        self.count as usize * self.ty.size() as usize
    }

    /// Whether a reduction by `op` takes it as a vector of elements of a basic type.
    pub fn is_vector(&self, op: &Operator) -> bool {
        any_vector(op, &self.ty, self.count).is_some()
    }

    pub(crate) fn data(&self) -> Data {
        Data::new(self.base, self.count, &self.ty)
    }
}

/// Memory of a v-collective: rank r has `counts[r]` elements at `displs[r]` (in extents of `ty`).
#[derive(Clone, Debug)]
pub struct BufferV {
    pub base: *mut u8,
    pub counts: Rc<[i64]>,
    pub displs: Rc<[i64]>,
    pub ty: Rc<Type>,
}

/// Memory of alltoallw: rank r has `counts[r]` elements of `types[r]` at byte `displs[r]`.
#[derive(Clone, Debug)]
pub struct BufferW {
    pub base: *mut u8,
    pub counts: Rc<[i64]>,
    pub displs: Rc<[i64]>,
    pub types: Rc<[Rc<Type>]>,
}

/// The neighbours of this process in a topology (MPI 5.0, section 8.6), in the order of the
/// blocks. A negative rank is MPI_PROC_NULL; a rank may come more than once.
#[derive(Clone, Copy, Debug)]
pub struct Neighbours<'a> {
    pub sources: &'a [i32],
    pub destinations: &'a [i32],
    /// A Cartesian topology. Neighbours come in pairs, one for each direction of a dimension, and
    /// a block that goes one way arrives from the other one. So block s of the sender becomes block
    /// s^1 of the receiver, even where both neighbours are one process (example 8.10). In other
    /// topologies the k-th block for a process becomes its k-th block from there.
    pub cartesian: bool,
}

/// Applies a reduction to `count` elements: `inout[i] = input[i] op inout[i]`.
pub type UserFunction = dyn Fn(*const u8, *mut u8, i64, &Rc<Type>);

/// A reduction operation.
#[derive(Clone)]
pub enum Operator {
    Predefined(Op),
    User { function: Rc<UserFunction>, commutative: bool },
}

impl Operator {
    /// True when operands may change places.
    pub fn is_commutative(&self) -> bool {
        match self {
            Operator::Predefined(op) => op.is_commutative(),
            Operator::User { commutative, .. } => *commutative,
        }
    }
}

/// The vector of a reduction by a predefined operation.
pub(crate) fn any_vector(op: &Operator, ty: &Type, count: i64) -> Option<Vector> {
    let Operator::Predefined(op) = op else { return None };
    Vector::new(*op, ty, count)
}
