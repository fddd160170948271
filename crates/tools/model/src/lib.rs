//! Large nodes that are made up: what accesses to shared cache lines would cost there, in virtual time.
//!
//! - [`machine`] reads a machine's shape and costs from a file, in which each number has its source.
//! - [`lines`] is the state of shared lines: who holds one, and when it can serve the next reader.
//! - [`replay`] lets members repeat what Tern's code did with its lines, each with a clock of its own.
//!
//! - [`job`] starts an MPI job, and [`server`] runs its processes in virtual time: the library that they load has been built with `--cfg tern_model`.
//!
//! What is replayed comes from a run of Tern's code in threads, by `tern_device::seen`. Times are the model's, and no clock is read.

pub mod job;
pub mod lines;
pub mod machine;
pub mod replay;
pub mod server;
