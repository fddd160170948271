//! Who takes part in a collective, and with which memory.

use std::cell::Cell;
use std::rc::Rc;
use tern_adi::Proc;
use tern_layout::Type;

/// The processes of one communicator as collectives see them. One per communicator.
#[derive(Debug)]
pub struct Peers {
    /// Context of collective messages: apart from the point-to-point one, so tags are free.
    pub context: u32,
    /// This process's rank in the local group.
    pub rank: u32,
    /// The local group: process of each rank.
    pub procs: Rc<[Proc]>,
    /// The remote group when this is an intercommunicator.
    pub remote: Option<Rc<[Proc]>>,
    /// Number of collectives started: gives each its tag. All members agree, since MPI asks
    /// that all call collectives in the same order.
    pub sequence: Cell<u32>,
}

impl Peers {
    pub fn size(&self) -> u32 {
        self.procs.len() as u32
    }
}

/// Memory of one side of a collective: `count` elements of `ty` at `base`.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub base: *mut u8,
    pub count: i64,
    pub ty: Rc<Type>,
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

/// Applies a reduction to `count` elements: `inout[i] = input[i] op inout[i]`.
pub type UserFunction = dyn Fn(*const u8, *mut u8, i64, &Rc<Type>);

/// A reduction operation.
#[derive(Clone)]
pub enum Operator {
    Predefined(crate::ops::Op),
    User { function: Rc<UserFunction>, commutative: bool },
}
