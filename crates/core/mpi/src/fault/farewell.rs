//! Communicators that are freed: what failures may need of them is kept until all their members have freed them.
//!
//! In a job that goes on, a member keeps its part in the agreements of a communicator, since others may need the decision, and passes on that it
//! is revoked. When the communicator is gone here, the member takes leave: one more agreement, in the background, is decided when all living
//! members have come to it. Then nothing of the communicator is needed any more. This last agreement is forgotten as well: whoever has no such
//! communicator any more answers that all have left it.

use super::failed::members;
use super::notice::Name;
use super::{agreement, has_left, name, revoke};
use crate::bridge::{self, Bridge};
use crate::context;
use crate::guarded::Guarded;
use crate::lost::is_survived;
use crate::objects::{Comm, objects};
use crate::runtime::installed;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use tern_adi::Proc;

/// A communicator that has had a handle.
struct Known {
    comm: Weak<Comm>,
    members: Rc<[Proc]>,
    /// What its processes of other jobs are reached over.
    #[allow(dead_code, reason = "held, not read")]
    bridges: Vec<Rc<Bridge>>,
    /// All members have come to its end together.
    met: Cell<bool>,
}

struct State {
    /// Those that are not gone.
    known: RefCell<BTreeMap<Name, Known>>,
    /// Those that are gone since the last look: with what is needed to take leave, where that is to be done.
    gone: RefCell<Vec<(Name, Option<Known>)>>,
    /// Those that this process has taken leave of, while others have not.
    left: RefCell<BTreeMap<Name, Known>>,
}

static STATE: Guarded<State> = Guarded::new(State {
    known: RefCell::new(BTreeMap::new()),
    gone: RefCell::new(Vec::new()),
    left: RefCell::new(BTreeMap::new()),
});

/// A communicator has got its handle.
pub fn made(comm: &Rc<Comm>) {
    let members = members(comm);
    let known = Known { comm: Rc::downgrade(comm), bridges: bridge::under(&members), members, met: Cell::new(false) };
    STATE.get().known.borrow_mut().insert(name(comm), known);
}

/// The communicator of that name, which may be freed while something is under way on it.
pub fn find(wanted: Name) -> Option<Rc<Comm>> {
    let known = STATE.get().known.borrow();
    if let Some(known) = known.get(&wanted) {
        return known.comm.upgrade();
    }
    let objects = objects();
    let (world, own) = (objects.world.borrow(), objects.own.borrow());
    world.iter().chain(own.iter()).find(|comm| name(comm) == wanted).cloned()
}

/// The members of a communicator that is gone here and not everywhere, as far as is known.
pub fn members_left(name: Name) -> Option<Rc<[Proc]>> {
    let (gone, left) = (STATE.get().gone.borrow(), STATE.get().left.borrow());
    let fresh = gone.iter().find(|(other, _)| *other == name).and_then(|(_, known)| known.as_ref());
    fresh.or_else(|| left.get(&name)).map(|known| known.members.clone())
}

/// Whether a communicator is gone, and nothing of it is needed any more.
pub fn is_over(name: Name) -> bool {
    context::is_gone(name.id, name.epoch) && members_left(name).is_none()
}

/// All members of `comm` have met to disconnect: nobody needs to take leave.
pub fn met(comm: &Comm) {
    STATE.get().known.borrow().get(&name(comm)).inspect(|known| known.met.set(true));
}

/// A communicator is gone. It may be the engine that gives up the last of it.
pub fn gone(id: u32, epoch: u32) {
    let (state, name) = (STATE.get(), Name { id, epoch });
    let known = state.known.borrow_mut().remove(&name).or_else(|| {
        let members = agreement::members_of(name)?;
        Some(Known { comm: Weak::new(), bridges: bridge::under(&members), members, met: Cell::new(false) })
    });
    let is_missed = |known: &Known| is_survived() && known.members.len() > 1 && !known.met.get() && !has_left();
    let known = known.filter(is_missed);
    if known.is_some() || agreement::members_of(name).is_some() || revoke::has(name) {
        state.gone.borrow_mut().push((name, known));
        installed().inspect(|runtime| runtime.adi.wake_hooks());
    }
}

/// Takes leave of the communicators that are gone since the last time. False when there are none.
pub fn attend() -> bool {
    let state = STATE.get();
    let gone = state.gone.take();
    for (name, known) in &gone {
        revoke::left(*name);
        if known.is_none() {
            forget(*name);
        }
    }
    let is_any = !gone.is_empty();
    for (name, known) in gone {
        if let Some(known) = known {
            let members = known.members.clone();
            state.left.borrow_mut().insert(name, known);
            agreement::take_leave(name, members);
        }
    }
    is_any
}

/// Nobody living has the communicator any more, or nobody needs to be told.
pub fn forget(name: Name) {
    agreement::forget(name);
    revoke::forget(name);
    let left = STATE.get().left.borrow_mut().remove(&name);
    drop(left);
    bridge::sweep();
}

/// MPI comes to its end, to which all living have come.
pub fn clear() {
    let state = STATE.get();
    drop((state.gone.take(), state.left.take()));
}
