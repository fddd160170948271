//! Processes that cannot be reached any more, as programs see it: MPI_ERR_PROC_ABORTED (MPI 5.0 section 9.4).

use crate::constants::MPI_ERR_PROC_ABORTED;
use crate::error::Error;
use crate::runtime::{adi, installed};
use tern_adi::Proc;

/// The error of a call that needs `peer`.
#[cold]
pub fn error(peer: Proc) -> Box<Error> {
    let why = adi().why_lost(peer).unwrap_or_else(|| "another process of the operation has lost it".into());
    Error::new(MPI_ERR_PROC_ABORTED, sentence(peer, &why))
}

fn sentence(peer: Proc, why: &str) -> String {
    let who = match installed().and_then(|runtime| runtime.nodes.get(peer as usize)) {
        Some(node) => format!("rank {peer} of MPI_COMM_WORLD, on node {node},"),
        None => format!("process {peer}, of another job,"),
    };
    format!("{who} cannot be reached any more: {why}. What it should have sent or received is lost")
}
