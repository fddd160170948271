//! How groups of processes that were started apart come to know each other (MPI 5.0 sections 11.8 and 11.9). What programs call for that
//! is in [`crate::process`].
//!
//! | file | what |
//! |---|---|
//! | `gate` | where a process waits for a call from another job, and the call |
//! | `line` | the socket between two processes, the roots of their groups |
//! | `pass_on` | what a root has heard goes on to its group |
//! | `introduce` | two groups with a line between them get an intercommunicator |

pub mod gate;
pub mod introduce;
pub mod line;
pub mod pass_on;
