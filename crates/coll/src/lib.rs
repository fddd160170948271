//! Collective algorithms as schedules over adi.
//!
//! For each collective of MPI 5.0 chapter 6, and those of section 8.6, there is a function that
//! writes a [`Schedule`]: what this process has to send, receive, copy and reduce, in rounds.
//! [`run`] runs it to the end (blocking), [`Collectives::start`] lets it advance with any
//! progress (nonblocking), and a persistent one is started again and again.
//!
//! Buffers are the user's memory: they must be valid until the collective is complete.
//! MPI_IN_PLACE is `None` for the side that is in place. Arguments are taken as checked: ranks in
//! range, counts not negative, lists as long as the group, operations that fit their type.

mod absent;
mod active;
mod agreement;
mod alg;
mod blocks;
mod buffers;
mod calls;
mod choose;
mod copies;
pub mod dense;
pub mod fast;
mod group;
pub mod hierarchical;
pub mod lines;
mod memory;
mod operation;
pub mod ops;
mod peers;
mod persistent;
mod reach;
mod reduction;
mod round;
mod schedule;
mod tags;
mod transport;

pub use absent::Absent;
pub use active::Collectives;
pub use agreement::together;
pub use alg::allgather::{allgather, allgatherv};
pub use alg::allreduce::allreduce;
pub use alg::alltoall::{alltoall, alltoallv, alltoallw};
pub use alg::barrier::barrier;
pub use alg::bcast::bcast;
pub use alg::gather::{gather, gatherv};
pub use alg::neighbor::{
    neighbor_allgather, neighbor_allgatherv, neighbor_alltoall, neighbor_alltoallv, neighbor_alltoallw,
};
pub use alg::reduce::reduce;
pub use alg::reduce_scatter::{reduce_scatter, reduce_scatter_block};
pub use alg::scan::{exscan, scan};
pub use alg::scatter::{scatter, scatterv};
pub use buffers::*;
pub use choose::{Algorithm, Collective, Selection, SelectionError, Shape, able, choose, choose_with, explain, fits};
pub use group::{Group, Member};
pub use lines::Farewell;
pub use operation::{Failure, Operation, Truncated, run, run_beside};
pub use peers::Peers;
pub use persistent::{Repeated, What, Wrong};
pub use reduction::reduce_local;
pub use round::Round;
pub use schedule::Schedule;
pub use tags::Way;
pub use transport::{TOLD, Told, Transport};
