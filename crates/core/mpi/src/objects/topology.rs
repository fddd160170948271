//! The virtual topology of a communicator (MPI 5.0 chapter 8). What is asked of one is in [`crate::topology`].

/// The topology that a communicator carries.
#[derive(Debug, PartialEq)]
pub enum Topology {
    /// Ranks in row-major order.
    Cartesian { dims: Vec<i32>, periods: Vec<bool> },
    /// `index[r]` edges end at ranks up to `r`; `edges` are their targets.
    Graph { index: Vec<i32>, edges: Vec<i32> },
    /// The neighbours of this process; weights are `None` for MPI_UNWEIGHTED.
    Distributed {
        sources: Vec<i32>,
        source_weights: Option<Vec<i32>>,
        destinations: Vec<i32>,
        destination_weights: Option<Vec<i32>>,
    },
}
