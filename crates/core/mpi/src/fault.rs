//! Failures survived: what a program does about processes that it has lost ("User Level Failure Mitigation").
//!
//! The text that was built is slice 1 as voted for the version after MPI 5.0 (MPI Forum issue 581: MPI_Comm_revoke,
//! MPI_Comm_get_failed, MPI_Comm_ack_failed), and for the rest the proposal as Open MPI 5 ships it (MPIX_Comm_agree, MPIX_Comm_shrink and
//! their kind). docs/fault-tolerance.md has it for users.

use crate::args::Out;
use crate::constants::*;
use crate::error::Result;
use crate::objects::Comm;
use std::rc::Rc;

/// Whether the job goes on when a process is lost.
pub fn is_on() -> bool {
    tern_settings::FT.get()
}

/// The error class of a call that needs a process that is lost.
pub fn class_of_loss() -> i32 {
    if is_on() { MPI_ERR_PROC_FAILED } else { MPI_ERR_PROC_ABORTED }
}

/// MPI_Comm_revoke: all members learn that `comm` carries no more messages. Not collective; returns without waiting for anybody.
pub fn comm_revoke(comm: Rc<Comm>) -> Result<()> {
    _ = comm;
    err!(MPI_ERR_UNSUPPORTED_OPERATION, "not yet")
}

/// MPIX_Comm_is_revoked: `flag` gets 1 when this process knows that `comm` is revoked.
pub fn comm_is_revoked(comm: Rc<Comm>, flag: Out<i32>) -> Result<()> {
    _ = comm;
    flag.set(0);
    Ok(())
}

/// MPI_Comm_get_failed: the members (of an intercommunicator: of both groups) that this process knows to have failed.
pub fn comm_get_failed(comm: Rc<Comm>, failedgrp: Out<usize>) -> Result<()> {
    _ = (comm, failedgrp);
    err!(MPI_ERR_UNSUPPORTED_OPERATION, "not yet")
}

/// MPI_Comm_ack_failed: the first `num_to_ack` members of what MPI_Comm_get_failed gives are acknowledged; `num_acked` gets how many
/// are by now.
pub fn comm_ack_failed(comm: Rc<Comm>, num_to_ack: i32, num_acked: Out<i32>) -> Result<()> {
    _ = (comm, num_to_ack, num_acked);
    err!(MPI_ERR_UNSUPPORTED_OPERATION, "not yet")
}

/// MPIX_Comm_failure_ack: all failures that this process knows of are acknowledged.
pub fn comm_failure_ack(comm: Rc<Comm>) -> Result<()> {
    _ = comm;
    err!(MPI_ERR_UNSUPPORTED_OPERATION, "not yet")
}

/// MPIX_Comm_failure_get_acked: the members whose failure is acknowledged.
pub fn comm_failure_get_acked(comm: Rc<Comm>, failedgrp: Out<usize>) -> Result<()> {
    _ = (comm, failedgrp);
    err!(MPI_ERR_UNSUPPORTED_OPERATION, "not yet")
}

/// MPIX_Comm_agree: `flag` becomes the bitwise AND over all living members, even where `comm` is revoked.
pub fn comm_agree(comm: Rc<Comm>, flag: Out<i32>) -> Result<()> {
    _ = (comm, flag);
    err!(MPI_ERR_UNSUPPORTED_OPERATION, "not yet")
}

/// MPIX_Comm_iagree
pub fn comm_iagree(comm: Rc<Comm>, flag: Out<i32>, request: Out<usize>) -> Result<()> {
    _ = (comm, flag, request);
    err!(MPI_ERR_UNSUPPORTED_OPERATION, "not yet")
}

/// MPIX_Comm_shrink: a communicator of the living members.
pub fn comm_shrink(comm: Rc<Comm>, newcomm: Out<usize>) -> Result<()> {
    _ = (comm, newcomm);
    err!(MPI_ERR_UNSUPPORTED_OPERATION, "not yet")
}

/// MPIX_Comm_ishrink
pub fn comm_ishrink(comm: Rc<Comm>, newcomm: Out<usize>, request: Out<usize>) -> Result<()> {
    _ = (comm, newcomm, request);
    err!(MPI_ERR_UNSUPPORTED_OPERATION, "not yet")
}
