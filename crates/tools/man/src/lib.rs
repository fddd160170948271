//! Manual pages: of MPI's functions from the tables and from what `texts` says of them, of programs from their help. Completion for bash, from
//! the same help.

pub mod completion;
pub mod conversions;
pub mod functions;
pub mod page;
pub mod program;
pub mod roff;
pub mod texts;
