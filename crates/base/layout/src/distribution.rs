//! How arrays are ordered and spread over processes (MPI 5.0, section 5.1.4).

use crate::Count;

/// MPI_ORDER_C or MPI_ORDER_FORTRAN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The last dimension is the fastest.
    C,
    /// The first dimension is the fastest.
    Fortran,
}

/// How a dimension is spread over processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// MPI_DISTRIBUTE_BLOCK
    Block,
    /// MPI_DISTRIBUTE_CYCLIC
    Cyclic,
    /// MPI_DISTRIBUTE_NONE
    None,
}

/// A distribution argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DistArg {
    /// MPI_DISTRIBUTE_DFLT_DARG.
    Default,
    /// Elements of a block.
    Size(Count),
}
