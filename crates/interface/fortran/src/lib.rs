//! Fortran over the C functions of MPI (MPI 5.0 chapter 19), generated from the tables.
//!
//! [`routine`] makes a Fortran routine of a function of the tables: its arguments with their Fortran types, and how
//! each becomes an argument of the C function. From that, [`entries`] writes the external procedures in Rust, and
//! [`sources`] the Fortran sources: `mpif.h` and the modules `mpi` and `mpi_f08`.
//!
//! The folder `runtime` holds what the external procedures share: strings, sections of arrays, attributes, callbacks.
//! A library of Fortran procedures compiles it as a module of its own, beside a module `face` that tells what its C
//! functions take: handles, the addresses with a meaning, the values of LOGICAL.

pub mod constant_calls;
pub mod declare;
pub mod entries;
pub mod library;
pub mod modules;
pub mod mpif;
pub mod routine;
pub mod sources;

/// Fortran's names of a routine as compilers spell external procedures: `send`, `send_`, `send__`, `SEND`.
pub fn manglings(name: &str) -> [String; 4] {
    let lower = name.to_lowercase();
    [format!("{lower}_"), lower.clone(), format!("{lower}__"), name.to_uppercase()]
}
