//! Communicators that are freed: what failures may need of them is kept until all their members have freed them.
//!
//! In a job that goes on, a member keeps its part in the agreements of a communicator, since others may need the decision, and passes on that it
//! is revoked. When the communicator is gone here, the member takes leave: one more agreement, in the background, is decided when all living
//! members have come to it. Then nothing of the communicator is needed any more. This last agreement is forgotten as well: whoever has no such
//! communicator any more answers that all have left it.

use super::failed::members;
use super::notice::Name;
use super::{has_left, name};
use crate::bridge::{self, Bridge};
use crate::context;
use crate::guarded::Guarded;
use crate::lost::is_survived;
use crate::objects::{Comm, objects};
use crate::runtime::installed;
use std::cell::RefCell;
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
    let known = Known { comm: Rc::downgrade(comm), bridges: bridge::under(&members), members };
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

/// The communicators of sessions that are not gone, with their members: also those that are freed while something is under way on them.
pub fn of_sessions() -> Vec<(Name, Rc<[Proc]>)> {
    let known = STATE.get().known.borrow();
    let is_of_session = |known: &Known| known.comm.upgrade().is_some_and(|comm| comm.local.session.is_some());
    let found = known.iter().filter(|(_, known)| is_of_session(known));
    found.map(|(name, known)| (*name, known.members.clone())).collect()
}

/// The communicators that this process has taken leave of, while others have not.
pub fn all_left() -> Vec<Name> {
    STATE.get().left.borrow().keys().copied().collect()
}

/// The members of a communicator that is gone here and not everywhere, as far as is known.
pub fn members_left(name: Name) -> Option<Rc<[Proc]>> {
    let (gone, left) = (STATE.get().gone.borrow(), STATE.get().left.borrow());
    let fresh = gone.iter().find(|(other, _)| *other == name).and_then(|(_, known)| known.as_ref());
    fresh.or_else(|| left.get(&name)).map(|known| known.members.clone())
}

/// Whether this process has freed communicators that others may still have.
pub fn is_any_left() -> bool {
    !STATE.get().gone.borrow().is_empty() || !STATE.get().left.borrow().is_empty()
}

/// Whether a communicator is gone, and nothing of it is needed any more.
pub fn is_over(name: Name) -> bool {
    context::is_gone(name.id, name.epoch) && members_left(name).is_none()
}

/// A communicator is gone, to whose end its members have `met` or not. It may be the engine that gives up the last of it. `agreed`: its members, if
/// they have agreed on something; `is_kept`: something is kept of it that is to be forgotten.
pub fn gone(name: Name, met: bool, agreed: Option<Rc<[Proc]>>, is_kept: bool) {
    let state = STATE.get();
    let known = state.known.borrow_mut().remove(&name);
    let known = known.or_else(|| {
        let members = agreed?;
        Some(Known { comm: Weak::new(), bridges: bridge::under(&members), members })
    });
    let known = known.filter(|known| is_survived() && known.members.len() > 1 && !met && !has_left());
    if known.is_some() || is_kept {
        state.gone.borrow_mut().push((name, known));
        installed().inspect(|runtime| runtime.adi.wake_hooks());
    }
}

/// The communicators that are gone since the last time, with the members to take leave of where that is to be done: it is under way from now on.
pub fn take_gone() -> Vec<(Name, Option<Rc<[Proc]>>)> {
    let state = STATE.get();
    let gone = state.gone.take();
    if gone.is_empty() {
        return Vec::new();
    }
    let left = |(name, known): (Name, Option<Known>)| {
        let members = known.as_ref().map(|known| known.members.clone());
        known.map(|known| state.left.borrow_mut().insert(name, known));
        (name, members)
    };
    gone.into_iter().map(left).collect()
}

/// Nobody living has the communicator any more, or nobody needs to be told.
pub fn forget(name: Name) {
    let left = STATE.get().left.borrow_mut().remove(&name);
    drop(left);
    bridge::sweep();
}

/// MPI comes to its end, to which all living have come.
pub fn clear() {
    let state = STATE.get();
    drop((state.gone.take(), state.left.take()));
}
