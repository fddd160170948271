//! Receives and probes whose sender may be lost (MPI 5.0 section 9.4).

use super::origin;
use crate::error::Result;
use crate::lost::error;
use crate::objects::{Comm, objects};
use crate::runtime::adi;
use std::rc::Rc;
use tern_adi::{Adi, Proc};

/// From now on receives with a wildcard fail when a process that could send to them is lost.
pub fn watch(adi: &Adi) {
    adi.know_members(Rc::new(takes_part));
}

/// Whether the program's own messages travel in that context, not those of collectives.
pub fn is_programs(context: u32) -> bool {
    context.is_multiple_of(2)
}

/// Whether `proc` is one of those that may send in `context`, and whose failure the program has not acknowledged there. Where that is not known, it may be.
pub fn takes_part(context: u32, proc: Proc) -> bool {
    let objects = objects();
    let tables = (objects.world.try_borrow(), objects.own.try_borrow(), objects.comms.try_borrow());
    let (Ok(world), Ok(own), Ok(comms)) = tables else { return true };
    let is = |comm: &&Rc<Comm>| comm.context == context || comm.peers.context == context;
    let found = world.iter().chain(own.iter()).chain(comms.iter()).find(is);
    found.is_none_or(|comm| has(comm, proc) && !comm.fault.acknowledged.borrow().contains(&proc))
}

fn has(comm: &Comm, proc: Proc) -> bool {
    comm.target().procs.contains(&proc) || comm.local.procs.contains(&proc)
}

/// The communicators in which `proc`, of another job, takes part. `None`: they are being changed.
pub fn comms_with(proc: Proc) -> Option<Vec<Rc<Comm>>> {
    let comms = objects().comms.try_borrow().ok()?;
    Some(comms.iter().filter(|comm| has(comm, proc)).cloned().collect())
}

/// The error of a receive or probe from `source` that nobody may ever answer.
pub fn check(comm: &Comm, source: i32) -> Result<()> {
    comm.check_revoked()?;
    adi().lost_for(origin(comm, source), comm.context).map_or(Ok(()), |peer| Err(error(peer)))
}
