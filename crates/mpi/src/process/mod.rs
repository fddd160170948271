//! Processes that join later, and how groups that were started apart find each other (MPI 5.0 chapter 11).

pub mod bridge;
pub mod gate;
pub(crate) mod hints;
pub mod introduce;
pub mod line;
pub mod parent;
pub mod pass_on;
pub mod port;
pub mod spawn;
