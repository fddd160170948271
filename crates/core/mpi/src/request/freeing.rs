//! Which requests MPI_Request_free takes while their operation is under way.
//!
//! The other processes of a collective or partitioned operation go on with what this one has begun. A program that gives up
//! the request cannot know when its memory is free again, so the standard forbids that (MPI 5.0 sections 4.2, 6.12 and 6.13).

use crate::constants::MPI_ERR_REQUEST;
use crate::error::Result;
use crate::observe;
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

/// MPI_ERR_REQUEST where MPI_Request_free may not take the request now, which `handle` names. Where the program is checked, a note tells of
/// messages whose end it cannot learn any more: that is no mistake by MPI 5.0 section 3.7.3, which advises against it.
pub fn check(request: &Request, handle: usize) -> Result<()> {
    let round = match request {
        Request::Persistent(persistent) => persistent.active.borrow().clone(),
        other => Some(other.clone()),
    };
    let Some(Request::Work(work)) = round else { return Ok(()) };
    let of = match observe::maker(handle) {
        "" => String::new(),
        maker => format!(" of {maker}"),
    };
    match work.about.freeing {
        Freeing::Never => {
            return err!(
                MPI_ERR_REQUEST,
                try "",
                "the request{of} is active: that of a collective must not be freed before it was waited for (MPI_Wait, MPI_Test)"
            );
        }
        Freeing::Complete if !work.is_done() => {
            return err!(
                MPI_ERR_REQUEST,
                try "",
                "the partitioned operation{of} is active: make all partitions ready and wait for it before its request is freed"
            );
        }
        _ => {}
    }
    if let Some(message) = work.about.message
        && !work.is_known()
        && !work.about.cancelled.get()
        && tern_settings::CHECK.get()
    {
        tern_settings::note!(
            "MPI_Request_free: the request{of} is of a {message} that is active, which is permitted, but strongly discouraged (section \
             3.7.3): the program cannot learn any more when it may use the buffer; wait for it in place of that"
        );
    }
    Ok(())
}
