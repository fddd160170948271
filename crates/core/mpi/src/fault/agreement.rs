//! Agreements of the members of a communicator, of which some may die, or it may be revoked: [`super::consensus`] over notices of the engine.
//!
//! What the members of a communicator agree on is numbered in the order of their calls, and takes one round or several. A process contributes
//! to a round when it has the decision of the one before, and to a call when that before is over. Whoever gets a decision knows that nobody
//! living needs an earlier one. Nobody needs the last one either when all have [taken leave](super::farewell) of the communicator.

use super::consensus::{Agreement, Decision, Join, Message, Ranks};
use super::failed::members;
use super::farewell;
use super::notice::{Key, Name, Notice};
use crate::error::Result;
use crate::guarded::Guarded;
use crate::objects::Comm;
use crate::runtime::{adi, runtime};
use crate::task::{stepped, until};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tern_adi::{Damaged, Proc};
use tern_mcm::PeerState;

/// One that this process takes part in, or has.
struct Part {
    machine: Agreement,
    members: Rc<[Proc]>,
}

struct State {
    parts: RefCell<BTreeMap<Key, Part>>,
    /// What has come for agreements that this process has not come to.
    early: RefCell<Vec<(Proc, Key, Message)>>,
    /// The last decision of each communicator: what is before it is not needed any more.
    last: RefCell<BTreeMap<Name, Key>>,
    looked: Cell<Option<Instant>>,
    /// Those that the last look has found at their end, and how many looks in a row have.
    ended: RefCell<BTreeMap<Proc, u32>>,
}

static STATE: Guarded<State> = Guarded::new(State {
    parts: RefCell::new(BTreeMap::new()),
    early: RefCell::new(Vec::new()),
    last: RefCell::new(BTreeMap::new()),
    looked: Cell::new(None),
    ended: RefCell::new(BTreeMap::new()),
});

/// The number of the agreement by which members take leave of a communicator.
const LEAVE: u64 = u64::MAX;

/// A call that agrees on something.
pub struct Call {
    comm: Rc<Comm>,
    number: u64,
    round: u32,
}

impl Call {
    /// The call that begins now on `comm`. All members begin the same ones in the same order.
    pub fn new(comm: &Rc<Comm>) -> Call {
        let calls = &comm.fault.calls;
        calls.set(calls.get() + 1);
        Call { comm: comm.clone(), number: calls.get(), round: 0 }
    }

    /// The next round: all living members bring a value, and get the same decision. Values are joined in any order and as often as they come.
    pub async fn agree(&mut self, value: Vec<u8>, join: Join) -> Decision {
        let comm = &self.comm;
        let key = Key { comm: super::name(comm), number: self.number, round: self.round };
        self.round += 1;
        until(|| (comm.fault.over.get() + 1 == self.number).then_some(())).await;
        begin(key, members(comm), &comm.fault.acknowledged.borrow(), value, join);
        let decision = until(|| decision(key)).await;
        take_note(comm, key, &decision);
        decision
    }
}

impl Drop for Call {
    /// The call is over, and the next one may begin.
    fn drop(&mut self) {
        self.comm.fault.over.set(self.number);
        stepped();
    }
}

/// Is over when all living members of `comm` have begun it.
pub fn meet(comm: &Rc<Comm>) -> impl Future<Output = Result<()>> + use<> {
    let mut call = Call::new(comm);
    async move {
        call.agree(Vec::new(), Join::Nothing).await;
        Ok(())
    }
}

fn begin(key: Key, members: Rc<[Proc]>, acknowledged: &[Proc], value: Vec<u8>, join: Join) {
    let rank_of = |proc: Proc| members.iter().position(|other| *other == proc);
    let me = rank_of(runtime().me).expect("this process is a member");
    let acknowledged: Ranks = acknowledged.iter().filter_map(|&proc| rank_of(proc)).collect();
    let mut machine = Agreement::new(me, members.len(), join);
    for rank in adi().lost().into_iter().filter_map(rank_of) {
        machine.died(rank);
    }
    let out = machine.call(value, acknowledged);
    send(key, &members, out);
    let state = STATE.get();
    state.parts.borrow_mut().insert(key, Part { machine, members });
    let (mine, mut others): (Vec<_>, Vec<_>) = state.early.take().into_iter().partition(|(_, other, _)| *other == key);
    // A communicator that this process has failed to make is never asked for.
    others.retain(|(_, other, _)| !farewell::is_over(other.comm));
    state.early.replace(others);
    mine.into_iter().for_each(|(from, key, message)| hear(from, key, message));
}

/// This process has freed a communicator, or ends MPI with it. What it has of it is forgotten once all that live have left and it is freed here.
pub fn take_leave(comm: Name, members: Rc<[Proc]>) {
    let key = leave_of(comm);
    if !STATE.get().parts.borrow().contains_key(&key) {
        begin(key, members, &[], Vec::new(), Join::Nothing);
    }
}

fn leave_of(comm: Name) -> Key {
    Key { comm, number: LEAVE, round: 0 }
}

/// Whether the members of a communicator have agreed on something here, which others may still need.
pub fn has_agreed(comm: Name) -> bool {
    STATE.get().parts.borrow().keys().any(|key| key.comm == comm && key.number != LEAVE)
}

/// Whether this process has taken leave of a communicator, and some that live have not.
pub fn is_leaving(comm: Name) -> bool {
    STATE.get().parts.borrow().get(&leave_of(comm)).is_some_and(|part| part.machine.decision().is_none())
}

/// The communicators, freed by this process, of which all that live have taken leave. The caller forgets them.
pub fn all_have_left() -> Vec<Name> {
    let parts = STATE.get().parts.borrow();
    let is_over = |key: &Key, part: &Part| {
        key.number == LEAVE && part.machine.decision().is_some() && farewell::members_left(key.comm).is_some()
    };
    parts.iter().filter(|(key, part)| is_over(key, part)).map(|(key, _)| key.comm).collect()
}

/// Nobody needs anything of the communicator any more.
pub fn forget(comm: Name) {
    let state = STATE.get();
    state.parts.borrow_mut().retain(|key, _| key.comm != comm);
    state.early.borrow_mut().retain(|(_, key, _)| key.comm != comm);
    state.last.borrow_mut().remove(&comm);
}

/// The members of a communicator that have agreed on something.
pub fn members_of(comm: Name) -> Option<Rc<[Proc]>> {
    let parts = STATE.get().parts.borrow();
    parts.iter().find(|(key, _)| key.comm == comm).map(|(_, part)| part.members.clone())
}

fn send(key: Key, members: &[Proc], out: Vec<(usize, Message)>) {
    for (rank, message) in out {
        adi().send_notice(members[rank], Notice::Agree(key, message).encode());
    }
    stepped();
}

fn decision(key: Key) -> Option<Decision> {
    STATE.get().parts.borrow().get(&key)?.machine.decision().cloned()
}

/// Whether `key` is of an agreement that nobody needs any more.
fn is_past(key: Key) -> bool {
    STATE.get().last.borrow().get(&key.comm).is_some_and(|last| key < *last)
}

/// What follows from a decision: whom others have lost this process has lost too, and earlier agreements are not needed any more.
fn take_note(comm: &Comm, key: Key, decision: &Decision) {
    let members = members(comm);
    for rank in &decision.failed {
        let proc = members[*rank];
        if proc == runtime().me {
            let text =
                "the other processes take this one for lost and go on without it: it was cut off from one of them";
            crate::forked::end(1, text);
        }
        adi().declare_lost(proc, "another process has lost it");
    }
    let state = STATE.get();
    state.last.borrow_mut().insert(key.comm, key);
    state.parts.borrow_mut().retain(|other, _| other.comm != key.comm || *other >= key);
    state.early.borrow_mut().retain(|(_, other, _)| !is_past(*other));
}

/// A message of an agreement has come.
pub fn hear(from: Proc, key: Key, message: Message) {
    let state = STATE.get();
    let mut parts = state.parts.borrow_mut();
    let Some(part) = parts.get_mut(&key) else {
        if farewell::is_over(key.comm) {
            // That is so since all have taken leave.
            if let (LEAVE, Message::Up(ballot, _)) = (key.number, message) {
                let all_have = Message::Down(ballot, Decision::default());
                adi().send_notice(from, Notice::Agree(key, all_have).encode());
            }
        } else if !is_past(key) {
            state.early.borrow_mut().push((from, key, message));
        }
        return;
    };
    let notice = Notice::Agree(key, message);
    let place = part.members.iter().position(|proc| *proc == from);
    let (Some(rank), true) = (place, notice.largest() < part.members.len()) else {
        drop(parts);
        return damaged(from, "it names a process that is no member");
    };
    if let Notice::Agree(_, message) = notice {
        let out = part.machine.receive(rank, message);
        send(key, &part.members, out);
    }
}

/// How often processes that wait for a decision look which members have ended.
const LOOK: Duration = Duration::from_millis(50);

/// As many looks in a row find a process at its end before agreements go on without it. What it has said before has been taken by then. Between
/// two looks the devices look for losses: one that has died is known as lost, and only those that have left are still to be found here.
const LOOKS: u32 = 3;

/// Whoever has its decision may end MPI, and answers no more: an agreement that still needs an answer goes on as if it had died. It is not
/// lost, since it may come back with a session. Members of this world on this node are looked at here. Of others their connections tell when
/// something is sent to them, and those of other worlds wait for this process in MPI_Finalize. Comes while nothing moves.
pub fn look() {
    let (state, now) = (STATE.get(), Instant::now());
    if state.looked.get().is_some_and(|last| now - last < LOOK) {
        return;
    }
    state.looked.set(Some(now));
    let Some(direct) = adi().mcm().direct() else { return };
    let mut parts = state.parts.borrow_mut();
    let waiting = || parts.values().filter(|part| part.machine.decision().is_none());
    let others: BTreeSet<Proc> = waiting().flat_map(|part| part.members.iter().copied()).filter(is_other).collect();
    let before = state.ended.take();
    let count = |proc: Proc| (proc, before.get(&proc).map_or(1, |looks| LOOKS.min(looks + 1)));
    let ended: BTreeMap<Proc, u32> =
        others.into_iter().filter(|&proc| !direct.peer_is(proc, PeerState::Alive)).map(count).collect();
    for (key, part) in parts.iter_mut().filter(|(_, part)| part.machine.decision().is_none()) {
        for (rank, proc) in part.members.clone().iter().enumerate() {
            if ended.get(proc) == Some(&LOOKS) {
                go_on_without(*key, part, |machine| machine.left(rank));
            }
        }
    }
    state.ended.replace(ended);
}

/// Another process of this world.
fn is_other(proc: &Proc) -> bool {
    *proc != runtime().me && *proc < runtime().world_size
}

/// A process is lost.
pub fn died(proc: Proc) {
    for (key, part) in STATE.get().parts.borrow_mut().iter_mut() {
        if let Some(rank) = part.members.iter().position(|other| *other == proc) {
            go_on_without(*key, part, |machine| machine.died(rank));
        }
    }
}

/// Tells the others what follows from a member that answers no more.
fn go_on_without(key: Key, part: &mut Part, told: impl FnOnce(&mut Agreement) -> Vec<(usize, Message)>) {
    let mut out = told(&mut part.machine);
    if key.number == LEAVE {
        out.extend(part.machine.ask());
    }
    send(key, &part.members, out);
}

/// A notice cannot be right.
pub fn damaged(from: Proc, why: &'static str) {
    adi().report_damaged(&Damaged { from, what: Some("notice of a failure"), kind: 0, len: 0, why });
}
