//! Manual pages: of MPI's functions from the tables and from what `texts` says of them, of programs from their help.

pub mod functions;
pub mod program;
pub mod roff;
pub mod texts;
