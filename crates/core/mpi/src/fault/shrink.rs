//! What the living members of a communicator do together: agree on a flag, and make a communicator of those that live.

use super::agreement::{self, Call};
use super::consensus::{Decision, Join};
use super::failed::members;
use super::ranks::Ranks;
use crate::args::Out;
use crate::comm::create::{Made, give, inherited};
use crate::constants::*;
use crate::context;
use crate::error::{Error, Result};
use crate::identity;
use crate::objects::comm::{stand_in, take_place};
use crate::objects::{Comm, Group};
use crate::request::Request;
use crate::runtime::adi;
use crate::scope::Scope;
use crate::task::{self, run};
use std::rc::Rc;
use tern_adi::Proc;

/// MPIX_Comm_agree: `flag` becomes the bitwise AND over all living members, even where `comm` is revoked; of an intercommunicator over those of
/// the remote group.
///
/// Errors: MPI_ERR_PROC_FAILED, at all members, where one has failed whose failure not all have acknowledged; `flag` is set all the same.
pub fn comm_agree(comm: Rc<Comm>, flag: Out<i32>) -> Result<()> {
    check_made(&comm)?;
    let value = value(&comm, flag.get());
    let decision = Call::new(&comm).agree_now(value, Join::And);
    take_flag(&comm, flag, &decision)
}

/// MPIX_Comm_iagree: as MPIX_Comm_agree, whose `flag` is set when the request is complete.
pub fn comm_iagree(comm: Rc<Comm>, flag: Out<i32>, request: Out<usize>) -> Result<()> {
    check_made(&comm)?;
    let task = task::start(agree_on(comm.clone(), flag));
    request.set(Request::of_task(Scope::of(comm), task).into_handle());
    Ok(())
}

/// Fails with MPI_ERR_COMM for what stands for a communicator that is being made in the background.
fn check_made(comm: &Comm) -> Result<()> {
    match comm.is_stand_in() {
        true => err!(MPI_ERR_COMM, "{} is not made yet: its request has to be complete first", comm.label()),
        false => Ok(()),
    }
}

/// Bytes of a flag.
const FLAG: usize = size_of::<i32>();

/// What a process brings to an agreement on flags: each side of an intercommunicator has a place for its own.
fn value(comm: &Comm, flag: i32) -> Vec<u8> {
    let places = if comm.is_inter() { 2 } else { 1 };
    let own = usize::from(comm.is_inter() && comm.own_offset() != 0);
    let mut value = vec![!0; places * FLAG];
    value[own * FLAG..][..FLAG].copy_from_slice(&flag.to_le_bytes());
    value
}

/// Takes the flag out of a decision: of an intercommunicator that of the other side.
fn take_flag(comm: &Comm, flag: Out<i32>, decision: &Decision) -> Result<()> {
    let wanted = usize::from(comm.is_inter() && comm.own_offset() == 0);
    let agreed = decision.value.get(wanted * FLAG..).and_then(<[u8]>::first_chunk);
    flag.set(agreed.map_or(0, |bytes| i32::from_le_bytes(*bytes)));
    match decision.unacknowledged {
        false => Ok(()),
        true => Err(Error::new(MPI_ERR_PROC_FAILED, "a member has failed, which not all have acknowledged")),
    }
}

fn agree_on(comm: Rc<Comm>, flag: Out<i32>) -> impl Future<Output = Result<()>> {
    let mut call = Call::new(&comm);
    async move {
        let decision = call.agree(value(&comm, flag.get()), Join::And).await;
        take_flag(&comm, flag, &decision)
    }
}

/// MPIX_Comm_shrink: a communicator of the living members, in their order.
pub fn comm_shrink(comm: Rc<Comm>, newcomm: Out<usize>) -> Result<()> {
    check_made(&comm)?;
    let early = context::offer_early().to_vec();
    give(newcomm, run(shrink(Call::new(&comm), comm, early)))
}

/// MPIX_Comm_ishrink: as MPIX_Comm_shrink. `newcomm` is set at once, and names a stand-in until the request is complete. If that
/// fails, `newcomm` names nothing.
///
/// Errors: MPI_ERR_PROC_FAILED, of the request, where all of the remote group have failed.
pub fn comm_ishrink(comm: Rc<Comm>, newcomm: Out<usize>, request: Out<usize>) -> Result<()> {
    check_made(&comm)?;
    let early = stand_in(&comm);
    newcomm.set(early.handle.get());
    let (call, parent) = (Call::new(&comm), comm.clone());
    let task = task::start(async move {
        let none = || Error::new(MPI_ERR_PROC_FAILED, "all of the remote group have failed");
        let made = shrink(call, parent, context::no_offer()).await;
        take_place(&early, made.and_then(|made| made.ok_or_else(none).map(Some)))
    });
    request.set(Request::of_task(Scope::of(comm), task).into_handle());
    Ok(())
}

/// The first round is about who has failed, and with it all have arrived. Most often it gives the context id, too. Whoever fails in further
/// rounds is left out as well.
async fn shrink(mut call: Call, comm: Rc<Comm>, early: Vec<u8>) -> Made {
    let mut last = call.agree(early, Join::Offers).await;
    let id = match context::agree_early(std::iter::once(&last.value[..])) {
        Some(id) => id,
        None => {
            let key = (comm.peers.context, i32::MIN, identity::of(members(&comm)[0]));
            let round = async |offer| {
                last = call.agree(offer, Join::Offers).await;
                Ok(last.value.clone())
            };
            context::allocate_by(key, false, round).await?
        }
    };
    let (local, remote) = living(&comm, &last.failed);
    if remote.as_ref().is_some_and(|remote| remote.procs.is_empty()) {
        return Ok(None);
    }
    Ok(Some(Comm::new(id, local, remote, inherited(&comm))))
}

/// Returns when all living members of `comm` have come, and whether all members live and it holds for each of them that it `wishes`: the same
/// at all. Nobody who comes has an agreement left that needs this process.
/// What this process has to send goes before, while nobody can have left. A member comes when it has received what it wants.
pub fn meet(comm: &Rc<Comm>, wishes: bool) -> bool {
    adi().wait_until(&mut || adi().is_flushed());
    let task = task::start(agreement::holds_at_all(comm, wishes));
    adi().wait_until(&mut || {
        agreement::look();
        task.is_done()
    });
    task.take().is_some_and(|all_wish| matches!(all_wish, Ok(true)))
}

/// The groups without those that have failed.
fn living(comm: &Comm, failed: &Ranks) -> (Rc<Group>, Option<Rc<Group>>) {
    let members = members(comm);
    let dead: Vec<Proc> = failed.iter().map(|rank| members[rank]).collect();
    let without =
        |group: &Rc<Group>| group.derive(group.procs.iter().copied().filter(|proc| !dead.contains(proc)).collect());
    (without(&comm.local), comm.remote.as_ref().map(without))
}
