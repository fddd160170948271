//! `libmpifort_abi.so.1`: the Fortran procedures of MPI over the standard ABI (MPI 5.0 chapters 19 and 20).
//!
//! They call the C functions by name, `mpi_send_` MPI_Send and `pmpi_send_` PMPI_Send, so that a tool that wraps the
//! C functions sees a Fortran program's calls too, and one that wraps both languages sees none twice (section
//! 15.2). The generator is `crates/interface/fortran`; what this library adds is [`face`].

#![allow(non_snake_case)]

mod face;
#[path = "../../fortran/runtime/mod.rs"]
mod runtime;

/// The C functions, with the C parameters as they are.
#[allow(dead_code)]
mod c {
    use crate::face::{File, Handle};
    use crate::runtime::P as Ptr;
    use std::ffi::c_int;

    include!(concat!(env!("OUT_DIR"), "/c.rs"));
}

/// The table of Tern's own functions, which libraries of the standard ABI other than Tern's do not have.
#[allow(dead_code)]
mod core {
    use crate::face::Handle;
    use crate::runtime::P as Ptr;
    use std::ffi::c_int;

    include!(concat!(env!("OUT_DIR"), "/core.rs"));
}

#[allow(unused_variables, non_snake_case, clippy::all)]
mod entries {
    use crate::c;
    use crate::face::{self, sentinel};
    use crate::runtime::copied::Copied;
    use crate::runtime::error::{Scope, refuse};
    use crate::runtime::handles::Handles;
    use crate::runtime::section::{Section, section, whole};
    use crate::runtime::text::{Room, Text};
    use crate::runtime::*;
    use std::ffi::c_int;

    include!(concat!(env!("OUT_DIR"), "/entries.rs"));
}
