//! Collective operations: algorithms as schedules of messages, and shorter ways inside a node.
//!
//! This crate knows a list of processes and a context ([`Peers`]), not a communicator. It serves the collectives of MPI 5.0 chapter 6,
//! and those of section 8.6.
//!
//! # The ways
//!
//! ```text
//!  blocking call ──► fast, dense ─┬─► lines           short data, one node: all publish, all read
//!                        │        ├─► lines::tree     the same along a tree, for members of a large node
//!                        │        ├─► lines::region   the root declares its memory, the others copy
//!                        │ None   ├─► lines::shared   all read from all, where the data lies
//!                        ▼        └─► hierarchical    several nodes: lines inside, messages among leaders
//!                    Schedule ──► run
//!  nonblocking call ─► Schedule ──► Collectives::start
//!  persistent call ──► lines of its own, or Schedule
//! ```
//!
//! - A [`Schedule`] says what this process sends, receives, copies and reduces, in rounds. One function for each algorithm writes it
//!   (`alg`). [`run`] runs it to its end. [`Collectives::start`] lets it advance with any progress.
//! - The crate `tern_policy` chooses: its function `collective` gives the way of each call, and the algorithm of its messages. TERN_COLL forces
//!   others ([`Selection`]).
//! - [`fast`] follows such a plan; where that ends with messages, the schedules do it. [`dense`] has what is so short that it needs no plan.
//! - [`lines`] are control lines in shared memory. A *turn* is one publication of each member.
//!
//! # Rules
//!
//! - **All members decide alike.** A choice looks only at what all of them know: processes, lengths where the standard makes them equal,
//!   operation, settings. What one member alone knows, it tells the others first.
//! - **Buffers** are the program's memory. They must be valid until the collective is complete. MPI_IN_PLACE is `None` for the side
//!   that is in place.
//! - **Arguments** are taken as checked: ranks in range, counts not negative, lists as long as the group, operations that fit their type.
//! - **Errors.** A member whose arguments are refused tells the others ([`Absent`], [`lines::refusal`]). A lost process fails the
//!   operation at all members that need it ([`Failure`]), and none waits for it.
//! - **Adding an algorithm**: a function in `alg`, a name in [`Algorithm`], a line in `tern_policy::collective::fits`. Tests run every algorithm at every number
//!   of processes on a simulated network.
//!
//! docs/parts/collectives.md has the lengths and the reasons.

mod absent;
mod active;
mod agreement;
mod alg;
mod asked;
mod blocks;
mod buffers;
mod calls;
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
pub use group::{Group, Member};
pub use lines::Farewell;
pub use lines::bound::tell as tell_bound;
pub use operation::{Failure, Operation, Truncated, run, run_beside};
pub use peers::Peers;
pub use persistent::{Repeated, What, Wrong};
pub use reduction::reduce_local;
pub use round::Round;
pub use schedule::Schedule;
pub use tags::CallKind;
pub use tern_policy::collective::{
    Algorithm, CollReason, CollStep, CollWay, Collective, Forced, Selection, Without, able, agreement_width,
};
pub use transport::{TOLD, Told, Transport};
