//! The C functions of the MPI 5.0 standard ABI.
