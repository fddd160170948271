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
pub mod buffer;
pub mod check;
pub mod collective;
pub mod comm;
pub mod constants;
pub mod datatype;
pub mod enter;
pub mod environment;
pub mod errhandler;
pub mod errorcode;
pub mod fast;
pub mod file;
pub mod group;
pub mod guarded;
pub mod handle;
pub mod info;
pub mod init;
mod lost;
pub mod memory_kinds;
pub mod objects;
pub mod observe;
pub mod op;
pub mod p2p;
pub mod process;
pub mod request;
pub mod runtime;
pub mod session;
pub mod stall;
pub mod stated;
pub mod stats;
pub mod task;
pub mod tool;
pub mod topology;
pub mod win;

pub use enter::{enter, enter_any_time};
