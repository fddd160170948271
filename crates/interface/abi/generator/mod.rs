//! What is written from the tables (`tern-table`): the C entry points (for build.rs) and
//! `include/mpi.h` (for the tests, which keep it up to date).

#![allow(dead_code, reason = "build.rs and each test use a part")]

pub mod entries;
pub mod header;
