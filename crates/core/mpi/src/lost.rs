//! Processes that cannot be reached any more, as programs see it: MPI_ERR_PROC_ABORTED (MPI 5.0 section 9.4), or MPI_ERR_PROC_FAILED where
//! the job goes on ([`crate::fault`]). And those that send what cannot be right: the job ends.

use crate::constants::{
    MPI_ERR_OTHER, MPI_ERR_PROC_ABORTED, MPI_ERR_PROC_FAILED, MPI_ERR_PROC_FAILED_PENDING, MPI_ERR_REVOKED,
};
use crate::error::Error;
use crate::identity::{self, Identity};
use crate::runtime::{adi, installed, runtime};
use tern_adi::{Damaged, Proc, REVOKED};

// By this code the launcher tells a consequence from its cause.
const _: () = assert!(MPI_ERR_PROC_ABORTED == tern_pmi::control::PROC_ABORTED);

/// Whether the job goes on when a process is lost.
#[inline]
pub fn is_survived() -> bool {
    tern_settings::FT.get()
}

/// The error class of a call that needs a process that is lost.
pub fn class() -> i32 {
    if is_survived() { MPI_ERR_PROC_FAILED } else { MPI_ERR_PROC_ABORTED }
}

/// The error of a call on a revoked communicator. No member is told of it as of a call that was refused: all learn that it is revoked.
#[cold]
fn revoked() -> Box<Error> {
    let text = "a member has revoked the communicator, which carries no more messages";
    let error = Error::new(MPI_ERR_REVOKED, text).advise("make another one by MPIX_Comm_shrink");
    Box::new(Error { begun: true, ..*error })
}

/// The error of a call that would wait for a receive which a lost process might have answered; the receive goes on.
#[cold]
pub fn pending() -> Box<Error> {
    let text = "a process that might have sent the message has failed; the receive waits for the others";
    Error::new(MPI_ERR_PROC_FAILED_PENDING, text)
        .advise("acknowledge the failure by MPI_Comm_ack_failed and wait again, or cancel the receive")
}

/// The error of a call that needs `peer`.
#[cold]
pub fn error(peer: Proc) -> Box<Error> {
    if peer == REVOKED {
        return revoked();
    }
    error_for(peer, "another process of the operation has lost it")
}

/// The same; `why` says how that was seen where no device has told of it.
#[cold]
pub fn error_for(peer: Proc, why: &str) -> Box<Error> {
    if is_survived() {
        // Whoever gets an error finds the process among those that have failed.
        adi().declare_lost(peer, why);
    }
    let why = adi().why_lost(peer).unwrap_or_else(|| why.into());
    Error::new(class(), sentence(peer, &why))
}

/// Ends the job: a packet has come that cannot be right. It comes while the engine is borrowed.
#[cold]
pub fn end_by_damage(damaged: &Damaged) {
    let remedy = "Its memory or the way from there is damaged, or its Tern is another version";
    crate::abort::abort_inside(MPI_ERR_OTHER, &format!("{} has sent {damaged}. {remedy}", who(damaged.from)));
}

/// A process, for messages.
pub(crate) fn who(peer: Proc) -> String {
    match installed().and_then(|runtime| runtime.nodes.get(peer as usize)) {
        Some(node) => format!("rank {peer} of MPI_COMM_WORLD, on node {node},"),
        None => {
            let Identity { job, rank } = identity::of(peer);
            format!("rank {rank} of another job ({job:x})")
        }
    }
}

fn sentence(peer: Proc, why: &str) -> String {
    let who = who(peer);
    format!("{who} cannot be reached any more: {why}. What it should have sent or received is lost")
}

/// Polls after which each device has looked for its peers: shared memory does so at every sixteenth that finds nothing.
const POLLS: u32 = 20;

/// Learns which processes the devices have lost by now.
pub fn look() {
    (0..POLLS).for_each(|_| adi().look());
}

/// The same for a caller that asks who is lost: a process of this node that has ended is found, however short a while ago that was.
pub fn look_closely() {
    adi().mcm().look_for_losses();
    look();
}

/// The processes of the world that this one has not lost, by rank, as the devices know by now.
pub fn living_of_world() -> Vec<Proc> {
    if is_survived() {
        look_closely();
    }
    let lost = adi().lost();
    (0..runtime().world_size).filter(|proc| !lost.contains(proc)).collect()
}
