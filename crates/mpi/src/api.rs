//! The functions of MPI, one Rust function for each C function and its large-count form, named
//! in lower case without `MPI_`. The generated C entry points call them as `tern_mpi::api::name`.
