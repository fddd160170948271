//! What the MPI standard defines: communicators, groups, datatypes, requests, operations.

pub mod api;
pub mod args;
pub mod buffered;
pub mod constants;
pub mod error;
pub mod guarded;
pub mod handle;
pub mod objects;
pub mod request;
pub mod topology;
