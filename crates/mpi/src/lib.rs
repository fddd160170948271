//! What the MPI standard defines: communicators, groups, datatypes, requests, operations.

// The functions of `api` take the addresses that a C program gave, which MPI trusts as C does;
// marking each of them unsafe would tell the one caller, the generated entry points, nothing.
#![allow(clippy::not_unsafe_ptr_arg_deref)]

#[macro_use]
pub mod error;

pub mod api;
pub mod args;
pub mod buffer;
pub mod buffered;
pub mod completion;
pub mod constants;
pub mod datatype;
pub mod generalized;
pub mod guarded;
pub mod handle;
pub mod objects;
pub mod p2p;
pub mod pack;
pub mod predefined;
pub mod probe;
pub mod request;
pub mod runtime;
pub mod status_count;
pub mod topology;
pub mod type_create;
pub mod type_fortran;
pub mod type_query;
