//! Which members of a communicator have failed, and which of these the program has acknowledged.

use crate::args::Out;
use crate::constants::*;
use crate::error::Result;
use crate::group::hand_out;
use crate::objects::Comm;
use crate::runtime::adi;
use std::rc::Rc;
use tern_adi::Proc;

/// All members: of an intercommunicator those of both groups, in an order that all of them agree on.
pub fn members(comm: &Comm) -> Rc<[Proc]> {
    match comm.sides() {
        (first, None) => first.procs.clone(),
        (first, Some(second)) => first.procs.iter().chain(second.procs.iter()).copied().collect(),
    }
}

/// The members that have failed, in the order in which this process has learned of them.
fn failed(comm: &Comm) -> Vec<Proc> {
    adi().lost().into_iter().filter(|proc| has(comm, *proc)).collect()
}

fn has(comm: &Comm, proc: Proc) -> bool {
    let is_in = |group: &crate::objects::Group| group.procs.contains(&proc);
    is_in(&comm.local) || comm.remote.as_deref().is_some_and(is_in)
}

/// MPI_Comm_get_failed: the group's first processes stay the first as others fail.
pub fn comm_get_failed(comm: Rc<Comm>, failedgrp: Out<usize>) -> Result<()> {
    super::look_closely();
    failedgrp.set(hand_out(comm.local.derive(failed(&comm))));
    Ok(())
}

/// MPI_Comm_ack_failed: the first `num_to_ack` processes of what MPI_Comm_get_failed gives are acknowledged; `num_acked` gets how many
/// are by now. Receives with a wildcard go on, and agreements succeed, in spite of these.
///
/// Errors: MPI_ERR_ARG for a negative number.
pub fn comm_ack_failed(comm: Rc<Comm>, num_to_ack: i32, num_acked: Out<i32>) -> Result<()> {
    if num_to_ack < 0 {
        return err!(MPI_ERR_ARG, "num_to_ack {num_to_ack} is negative");
    }
    super::look_closely();
    acknowledge(&comm, num_to_ack as usize);
    num_acked.set(comm.fault.acknowledged.borrow().len() as i32);
    Ok(())
}

/// MPIX_Comm_failure_ack: all failures that this process knows of are acknowledged.
pub fn comm_failure_ack(comm: Rc<Comm>) -> Result<()> {
    super::look_closely();
    acknowledge(&comm, usize::MAX);
    Ok(())
}

/// MPIX_Comm_failure_get_acked: the members whose failure is acknowledged.
pub fn comm_failure_get_acked(comm: Rc<Comm>, failedgrp: Out<usize>) -> Result<()> {
    let acknowledged = comm.fault.acknowledged.borrow().clone();
    failedgrp.set(hand_out(comm.local.derive(acknowledged)));
    Ok(())
}

/// Those that are acknowledged are the first ones of the failed, so more of them are only added.
fn acknowledge(comm: &Comm, number: usize) {
    let failed = failed(comm);
    let mut acknowledged = comm.fault.acknowledged.borrow_mut();
    let more = failed.iter().take(number).skip(acknowledged.len());
    let more: Vec<Proc> = more.copied().collect();
    acknowledged.extend(more);
}
