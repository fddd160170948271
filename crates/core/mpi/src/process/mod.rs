//! Processes that join later, and how groups that were started apart find each other (MPI 5.0 chapter 11).

pub(crate) mod hints;
pub mod parent;
pub mod port;
pub mod spawn;
