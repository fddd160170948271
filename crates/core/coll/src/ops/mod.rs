//! The predefined reduction operations (MPI 5.0, sections 6.9.2, 6.9.4 and 12.3.4).
//!
//! A kernel combines runs of elements of one basic type. Kernels come in two forms: the one of
//! MPI's reduction functions, `inout = input op inout`, and one with three addresses, which
//! saves a copy where the result belongs elsewhere. Addresses may be unaligned. Elements are
//! one extent of the basic type apart; padding in pairs is left as it is.
//!
//! `scalar`, `pair`, `half_float` and `long_double` say how one element is combined, `loops` turns that
//! into kernels for each instruction set, and `table` says which operation takes which type.

mod half_float;
mod long_double;
mod loops;
mod pair;
mod scalar;
mod select;
mod table;
mod vector;

pub use vector::Vector;

#[cfg(test)]
mod tests;

pub use loops::{Kernel, Kernel3};
pub use table::allowed;

use loops::Level;
use tern_layout::Basic;

/// A predefined operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    Max,
    Min,
    Sum,
    Prod,
    Land,
    Band,
    Lor,
    Bor,
    Lxor,
    Bxor,
    MinLoc,
    MaxLoc,
    /// The result is the first operand. For one-sided communication only.
    Replace,
    /// The result is the second operand. For one-sided communication only.
    NoOp,
}

impl Op {
    /// Every operation, in the order of declaration.
    pub const ALL: &'static [Op] = &[
        Op::Max,
        Op::Min,
        Op::Sum,
        Op::Prod,
        Op::Land,
        Op::Band,
        Op::Lor,
        Op::Bor,
        Op::Lxor,
        Op::Bxor,
        Op::MinLoc,
        Op::MaxLoc,
        Op::Replace,
        Op::NoOp,
    ];

    /// Whether operands may change places. All operations of section 6.9.2 are commutative.
    pub const fn is_commutative(self) -> bool {
        !matches!(self, Op::Replace | Op::NoOp)
    }
}

/// The kernel for `inout = input op inout`.
///
/// None when MPI does not allow `op` on `basic`, or when this machine has no arithmetic for
/// `basic`: binary128 (MPI_REAL16, MPI_COMPLEX32) on x86-64, where MPI_LONG_DOUBLE is
/// something else. MPI_REPLACE and MPI_NO_OP have kernels for every type.
pub fn kernel(op: Op, basic: Basic) -> Option<Kernel> {
    select::kernels(op, basic, Level::best()).map(|k| k.two)
}

/// The kernel for `out = a op b`. None when [`kernel`] gives none.
pub fn kernel3(op: Op, basic: Basic) -> Option<Kernel3> {
    select::kernels(op, basic, Level::best()).map(|k| k.three)
}
