//! Which requests MPI_Request_free takes while their operation is under way.
//!
//! The other processes of a collective or partitioned operation go on with what this one has begun. A program that gives up
//! the request cannot know when its memory is free again, so the standard forbids that (MPI 5.0 sections 4.2, 6.12 and 6.13).

use crate::constants::MPI_ERR_REQUEST;
use crate::error::Result;
use crate::request::Request;

/// When the request of an operation may be freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freeing {
    /// At any time: the operation goes on.
    #[default]
    Always,
    /// When the operation is complete.
    Complete,
    /// Never: only a completing call ends it.
    Never,
}

/// MPI_ERR_REQUEST where MPI_Request_free may not take the request now.
pub fn check(request: &Request) -> Result<()> {
    match request {
        Request::Work(work) if work.about.freeing == Freeing::Never => {
            err!(
                MPI_ERR_REQUEST,
                "the request of a nonblocking collective cannot be freed: complete it with MPI_Wait or MPI_Test"
            )
        }
        Request::Persistent(persistent) => match &*persistent.active.borrow() {
            Some(Request::Work(round)) if round.about.freeing == Freeing::Never => {
                err!(
                    MPI_ERR_REQUEST,
                    "the persistent collective is active and cannot be freed: complete it with MPI_Wait first"
                )
            }
            Some(Request::Work(round)) if round.about.freeing == Freeing::Complete && !round.is_done() => {
                err!(
                    MPI_ERR_REQUEST,
                    "the partitioned operation is active and cannot be freed: make all partitions ready, then complete it with MPI_Wait"
                )
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}
