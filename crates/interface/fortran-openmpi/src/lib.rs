//! `libmpi_mpifh.so.40`: the Fortran procedures of Open MPI's ABI, over the C functions of that ABI, which
//! `crates/interface/openmpi` has. Under other names it is `libmpi_usempi_ignore_tkr.so.40` (the module `mpi`) and
//! `libmpi_usempif08.so.40` (`mpi_f08`). The generator is `crates/interface/fortran`.

#![allow(non_snake_case)]

mod f08;
mod face;
mod handles;
mod pool;
// What mpi_f08 alone uses is not called here.
#[allow(dead_code, unused_imports)]
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

#[allow(unused_variables, non_snake_case, clippy::all)]
mod entries {
    use crate::c;
    use crate::face::{self, sentinel};
    use crate::runtime::error::{Scope, refuse};
    use crate::runtime::handles::Handles;
    use crate::runtime::text::{Room, Text};
    use crate::runtime::*;
    use std::ffi::c_int;

    include!(concat!(env!("OUT_DIR"), "/entries.rs"));
}
