//! Revoked communicators: nothing is sent or received there any more, at no member.
//!
//! Whoever learns of it tells the living members at distances 1, 2, 4, ... behind it in the circle of all, and tells another one for each of these
//! that is lost. So the news reaches all that live, however many die meanwhile, with a logarithmic number of notices for each.
//!
//! Receives that no message has matched end. Messages that have come, or come still from members that do not know, are taken and thrown away, by
//! which their sends end.

use super::failed::members;
use super::notice::{Name, Notice};
use crate::args::Out;
use crate::error::Result;
use crate::guarded::Guarded;
use crate::mode;
use crate::objects::{Comm, objects};
use crate::runtime::{adi, runtime};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;
use tern_adi::{ANY_SOURCE, ANY_TAG, Background, Data, Pattern, Proc};
use tern_node::clock;

/// How long after the last event messages of revoked communicators are looked for at each progress, in nanoseconds. One that comes later than
/// that waits for the next event.
const LINGERS: u64 = 60_000_000_000;

/// A communicator that is revoked.
struct Revoked {
    name: Name,
    members: Rc<[Proc]>,
    told: RefCell<HashSet<Proc>>,
}

struct State {
    all: RefCell<Vec<Revoked>>,
    /// Revoked by others before this process has made them.
    early: RefCell<BTreeSet<Name>>,
    /// When something has last happened.
    since: Cell<u64>,
}

static STATE: Guarded<State> =
    Guarded::new(State { all: RefCell::new(Vec::new()), early: RefCell::new(BTreeSet::new()), since: Cell::new(0) });

/// MPI_Comm_revoke: all members learn that `comm` carries no more messages. Not collective; returns without waiting for anybody.
pub fn comm_revoke(comm: Rc<Comm>) -> Result<()> {
    revoke(&comm);
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
    match named(name) {
        Some(comm) => revoke(&comm),
        None => _ = STATE.get().early.borrow_mut().insert(name),
    }
}

/// A communicator has got its handle, and may be revoked already.
pub fn made(comm: &Rc<Comm>) {
    if STATE.get().early.borrow_mut().remove(&super::name(comm)) {
        revoke(comm);
    }
}

fn named(name: Name) -> Option<Rc<Comm>> {
    let objects = objects();
    let (world, own, comms) = (objects.world.borrow(), objects.own.borrow(), objects.comms.borrow());
    let mut all = world.iter().chain(own.iter()).chain(comms.iter());
    all.find(|comm| super::name(comm) == name).cloned()
}

fn revoke(comm: &Rc<Comm>) {
    if comm.fault.revoked.replace(true) {
        return;
    }
    comm.quick.set(false);
    comm.id.keep();
    mode::take_the_long_way();
    let told = RefCell::new(HashSet::from([runtime().me]));
    STATE.get().all.borrow_mut().push(Revoked { name: super::name(comm), members: members(comm), told });
    [comm.context, comm.peers.context].into_iter().for_each(|context| adi().end_receives(context));
    spread();
    stir();
}

/// Something has happened after which messages of revoked communicators may come.
pub fn stir() {
    STATE.get().since.set(clock::nanoseconds());
    adi().wake_hooks();
}

/// Tells those of each revoked communicator that this process has to tell, and has not.
pub fn spread() {
    let lost: HashSet<Proc> = adi().lost().into_iter().collect();
    for revoked in STATE.get().all.borrow().iter() {
        let notice = Notice::Revoked(revoked.name);
        for proc in behind(&revoked.members, runtime().me, &lost) {
            if revoked.told.borrow_mut().insert(proc) {
                adi().send_notice(proc, notice.encode());
            }
        }
    }
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

/// Throws away the messages of revoked communicators that have come.
pub fn drain() -> Background {
    let state = STATE.get();
    let all = state.all.borrow();
    if all.is_empty() {
        return Background::Idle;
    }
    let mut moved = false;
    for context in all.iter().flat_map(|revoked| [2 * revoked.name.id, 2 * revoked.name.id + 1]) {
        let any = Pattern { context, source: ANY_SOURCE, tag: ANY_TAG };
        while let Some(message) = adi().matched_probe(any) {
            let request = adi().imrecv(message, Data::none());
            adi().release(request);
            moved = true;
        }
    }
    let now = clock::nanoseconds();
    if moved {
        state.since.set(now);
        return Background::Moved;
    }
    if now.saturating_sub(state.since.get()) < LINGERS { Background::Waiting } else { Background::Idle }
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
