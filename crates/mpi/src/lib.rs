//! What the MPI standard defines.
