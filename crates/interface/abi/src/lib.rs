//! The C functions of the MPI 5.0 standard ABI: `libmpi_abi.so.1`.
//!
//! They come from tables. `crates/interface/table/tables/*.txt` lists every function of the standard with its parameters
//! and their kinds; `kinds.txt` says how a parameter of each kind is declared in C, checked,
//! and converted; `constants.txt` has the constants. From these, `generator/` makes
//!
//! - the entry points `MPI_X` and `PMPI_X` below (by build.rs; `entries.rs` in cargo's output),
//! - `include/mpi.h` and `crates/core/mpi/src/constants.rs` (checked in; after a change of a table run
//!   `UPDATE=1 cargo test -p tern-abi --test generated`).
//!
//! An entry point checks that MPI is up, takes the library's lock, converts its arguments
//! ([`convert`], over [`face`]), calls the function of the same name in `tern_mpi::api`, and takes
//! an error to the error handler of the communicator (or window, file, session, request) that the
//! call is about.
//!
//! # To add a function
//!
//! 1. Write it in `crates/core/mpi`, named as in C, in lower case, without `MPI_`:
//!    `pub fn send(buf: *const u8, count: i64, datatype: Rc<Datatype>, dest: i32, tag: i32,
//!    comm: Rc<Comm>) -> Result<()>`. Arguments come in the standard's order, converted and checked
//!    as their kinds say; the comment of each kind in `kinds.txt` gives the Rust type. One function
//!    serves the large-count form too (counts are `i64`), unless the table says `large-apart`, which
//!    asks for a second one, `name_c`.
//! 2. `pub use` it in `crates/core/mpi/src/api.rs`.
//! 3. Give it a line in `crates/interface/table/tables/`, with the kind of each parameter.

mod convert;
mod custom;
mod face;
mod fortran;
mod graphics;
mod scope;
mod stated;

/// The entry points. Only these are exported.
#[allow(
    unused,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    reason = "generated code: the safety of all of it is what MPI asks of its callers"
)]
mod entries {
    use crate::face::{Handle, Ptr};
    use crate::stated::At;
    use crate::{convert, custom, face, scope, stated};
    use std::ffi::{c_char, c_int};
    use tern_mpi::constants::MPI_SUCCESS;
    use tern_mpi::error::Result;
    use tern_mpi::scope::Scope;
    use tern_mpi::{api, enter, enter_any_time, fast};

    include!(concat!(env!("OUT_DIR"), "/entries.rs"));
    include!("removed.rs");
}
