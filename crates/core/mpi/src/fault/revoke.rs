//! Revoked communicators: nothing is sent or received there any more, at no member.
//!
//! Whoever learns of it tells the living members at distances 1, 2, 4, ... behind it in the circle of all, and tells another one for each of these
//! that is lost. So the news reaches all that live, however many die meanwhile, with a logarithmic number of notices for each. A member that has
//! freed the communicator passes the news on as well, until all have freed it. In a job that ends with its first loss the one who revokes tells all.
//!
//! Receives that no message has matched end, and the engine throws away the messages that have come, or come still from members that do not know.

use super::failed::members;
use super::farewell;
use super::notice::{Name, Notice};
use crate::args::Out;
use crate::context;
use crate::error::Result;
use crate::guarded::Guarded;
use crate::lost::is_survived;
use crate::mode;
use crate::objects::Comm;
use crate::runtime::{adi, runtime};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;
use tern_adi::Proc;

/// A communicator that is revoked, and that a member may still have.
struct Revoked {
    name: Name,
    members: Rc<[Proc]>,
    told: RefCell<HashSet<Proc>>,
    /// This process has it still.
    open: Cell<bool>,
}

struct State {
    all: RefCell<Vec<Revoked>>,
    /// Revoked by others before this process has made them.
    early: RefCell<BTreeSet<Name>>,
}

static STATE: Guarded<State> =
    Guarded::new(State { all: RefCell::new(Vec::new()), early: RefCell::new(BTreeSet::new()) });

/// MPI_Comm_revoke: all members learn that `comm` carries no more messages. Not collective; returns without waiting for anybody.
pub fn comm_revoke(comm: Rc<Comm>) -> Result<()> {
    if comm.is_stand_in() {
        // It stands for one that is being made, and is revoked when that is there.
        comm.fault.revoked.set(true);
        return Ok(());
    }
    if revoke(&comm) && !is_survived() {
        let others = members(&comm).iter().copied().filter(|proc| *proc != runtime().me).collect::<Vec<_>>();
        tell(super::name(&comm), others);
    }
    Ok(())
}

/// MPIX_Comm_is_revoked: `flag` gets 1 when this process knows that `comm` is revoked.
pub fn comm_is_revoked(comm: Rc<Comm>, flag: Out<i32>) -> Result<()> {
    super::look();
    flag.set(comm.fault.revoked.get() as i32);
    Ok(())
}

/// A notice says that a communicator is revoked.
pub fn hear(name: Name) {
    if let Some(comm) = farewell::find(name) {
        revoke(&comm);
    } else if let Some(members) = farewell::members_left(name) {
        pass_on(name, members);
    } else if !farewell::is_over(name) {
        STATE.get().early.borrow_mut().insert(name);
    }
}

/// A communicator has got its handle, and may be revoked already.
pub fn made(comm: &Rc<Comm>) {
    let is_revoked = STATE.get().early.borrow_mut().remove(&super::name(comm));
    if comm.fault.revoked.take() {
        // The program has revoked what stood for it.
        _ = comm_revoke(comm.clone());
    } else if is_revoked {
        revoke(comm);
    }
}

/// False when it is revoked already.
fn revoke(comm: &Rc<Comm>) -> bool {
    if comm.fault.revoked.replace(true) {
        return false;
    }
    comm.quick.set(false);
    comm.id.keep();
    note(super::name(comm), members(comm), true);
    [comm.context, comm.peers.context].into_iter().for_each(|context| adi().end_context(context));
    spread();
    true
}

fn note(name: Name, members: Rc<[Proc]>, open: bool) {
    let told = RefCell::new(HashSet::from([runtime().me]));
    STATE.get().all.borrow_mut().push(Revoked { name, members, told, open: Cell::new(open) });
    count();
}

/// A communicator is revoked that this process has freed.
fn pass_on(name: Name, members: Rc<[Proc]>) {
    if has(name) {
        return;
    }
    note(name, members, false);
    if context::retire(name.id) {
        // What members that do not know have sent here has no receive.
        [2 * name.id, 2 * name.id + 1].into_iter().for_each(|context| adi().end_context(context));
    }
    spread();
}

/// Whether something is kept of a communicator since it is revoked.
pub fn has(name: Name) -> bool {
    STATE.get().all.borrow().iter().any(|revoked| revoked.name == name)
}

/// Has calls take the longer way while this process has a revoked communicator.
fn count() {
    mode::set_revoked(STATE.get().all.borrow().iter().filter(|revoked| revoked.open.get()).count());
}

/// This process has freed the communicator.
pub fn left(name: Name) {
    let all = STATE.get().all.borrow();
    all.iter().filter(|revoked| revoked.name == name).for_each(|revoked| revoked.open.set(false));
    drop(all);
    count();
}

/// Nobody needs to be told any more.
pub fn forget(name: Name) {
    let state = STATE.get();
    state.all.borrow_mut().retain(|revoked| revoked.name != name);
    state.early.borrow_mut().retain(|other| !farewell::is_over(*other));
}

/// MPI comes to its end.
pub fn clear() {
    STATE.get().all.borrow_mut().clear();
    count();
}

/// Tells those of each revoked communicator that this process has to tell, and has not.
pub fn spread() {
    if !is_survived() {
        return;
    }
    let lost: HashSet<Proc> = adi().lost().into_iter().collect();
    for revoked in STATE.get().all.borrow().iter() {
        let mut to = behind(&revoked.members, runtime().me, &lost);
        to.retain(|proc| revoked.told.borrow_mut().insert(*proc));
        tell(revoked.name, to);
    }
}

fn tell(name: Name, procs: Vec<Proc>) {
    procs.into_iter().for_each(|proc| super::tell(proc, &Notice::Revoked(name)));
}

/// The living among `members` at distances 1, 2, 4, ... behind `me`, in a circle of the living.
fn behind(members: &[Proc], me: Proc, lost: &HashSet<Proc>) -> Vec<Proc> {
    let living: Vec<Proc> = members.iter().copied().filter(|proc| *proc == me || !lost.contains(proc)).collect();
    let Some(own) = living.iter().position(|proc| *proc == me) else { return Vec::new() };
    let distances = std::iter::successors(Some(1), |distance| Some(2 * distance));
    distances
        .take_while(|distance| *distance < living.len())
        .map(|distance| living[(own + distance) % living.len()])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_news_reaches_all_that_live_whoever_dies() {
        for size in [1u32, 2, 3, 7, 16, 33] {
            let members: Vec<Proc> = (0..size).collect();
            for seed in 0..50u32 {
                let dies = |proc: &&Proc| {
                    **proc != 0 && (**proc).wrapping_mul(2_654_435_761).wrapping_add(seed * 977).is_multiple_of(3)
                };
                let lost: HashSet<Proc> = members.iter().filter(dies).copied().collect();
                let (mut known, mut open) = (HashSet::from([0]), vec![0]);
                while let Some(me) = open.pop() {
                    let to = behind(&members, me, &lost);
                    assert!(to.len() <= size.ilog2() as usize + 1 && to.iter().all(|proc| !lost.contains(proc)));
                    open.extend(to.into_iter().filter(|proc| known.insert(*proc)));
                }
                assert_eq!(known.len() + lost.len(), size as usize);
            }
        }
    }
}
