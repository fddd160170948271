//! Topologies of communicators (MPI 5.0 chapter 8).

/// The topology that a communicator carries.
#[derive(Debug)]
pub enum Topology {
    Cartesian { dims: Vec<i32>, periods: Vec<bool> },
    Graph { index: Vec<i32>, edges: Vec<i32> },
    Distributed { sources: Vec<i32>, source_weights: Option<Vec<i32>>, destinations: Vec<i32>, destination_weights: Option<Vec<i32>> },
}
