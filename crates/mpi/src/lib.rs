//! What the MPI standard defines: communicators, groups, datatypes, requests, operations.

// The functions of `api` take the addresses that a C program gave, which MPI trusts as C does;
// marking each of them unsafe would tell the one caller, the generated entry points, nothing.
#![allow(clippy::not_unsafe_ptr_arg_deref)]

#[macro_use]
pub mod error;

pub mod abi_info;
pub mod abort;
pub mod api;
pub mod args;
pub mod attribute;
pub mod bridge;
pub mod buffer;
pub mod buffered;
pub mod check;
pub mod collective;
mod collective_args;
mod collective_fast;
pub mod collective_nb;
pub mod collective_persistent;
mod collective_plan;
mod collective_request;
pub mod comm;
pub mod comm_create;
pub mod completion;
pub mod constants;
pub mod context;
pub mod datatype;
pub mod dims;
pub mod enter;
pub mod environment;
pub mod errhandler;
pub mod errorcode;
pub mod exchange;
pub mod fast;
pub mod file;
mod finished;
pub mod generalized;
pub mod group;
pub mod guarded;
pub mod handle;
pub mod identity;
pub mod info;
pub mod init;
pub mod intercomm;
pub mod introduce;
pub mod line;
mod lost;
pub mod neighbor;
mod neighbor_plan;
pub mod objects;
pub mod observe;
pub mod op;
pub mod p2p;
pub mod pack;
pub mod parent;
pub mod partitioned;
pub mod pass_on;
pub mod persistent;
pub mod port;
pub mod predefined;
pub mod probe;
pub mod reorder;
pub mod request;
pub mod runtime;
pub mod session;
pub mod spawn;
mod spawn_hints;
pub mod stall;
pub mod status;
pub mod status_count;
pub mod stats;
pub mod task;
pub mod tool;
pub mod topology;
pub mod topology_create;
pub mod type_create;
pub mod type_fortran;
pub mod type_query;
pub mod win;

pub use enter::{enter, enter_any_time};
