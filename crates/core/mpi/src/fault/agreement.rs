//! Agreements of the members of a communicator, of which some may die, or it may be revoked: [`super::consensus`] over notices of the engine.
//!
//! What the members of a communicator agree on is numbered in the order of their calls, and takes one round or several. A process contributes
//! to a round when it has the decision of the one before, and to a call when that before is over. Whoever gets a decision knows that nobody
//! living needs an earlier one. Nobody needs the last one either when all have [taken leave](super::farewell) of the communicator.

use super::consensus::{Agreement, Decision, Join, Message};
use super::failed::members;
use super::notice::{Key, Name, Notice};
use super::ranks::Ranks;
use super::tree::{Place, Tree};
use super::{farewell, tell};
use crate::awaits::awaited;
use crate::error::Result;
use crate::guarded::Guarded;
use crate::objects::Comm;
use crate::runtime::{adi, runtime};
use crate::task::{stepped, steps, until};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tern_adi::{Damaged, Proc};
use tern_coll::agreement_width;
use tern_mcm::PeerState;

/// Which one of a communicator's agreements: the number of the call, and its round.
type Turn = (u64, u32);

/// A communicator whose members agree on something.
struct Known {
    members: Rc<[Proc]>,
    /// This process's place among them as long as all live.
    place: Rc<Place>,
    /// The last decision: what is before it is not needed any more.
    last: Option<Turn>,
    /// Those that this process takes part in, or has. Most often that is one.
    parts: Vec<(Turn, Agreement)>,
}

impl Known {
    fn new(members: Rc<[Proc]>) -> Known {
        let me = rank_of(&members, runtime().me).expect("this process is a member");
        let tree = Tree { size: members.len(), width: agreement_width(adi().mcm().crowds(&members)) };
        Known { place: Rc::new(tree.place(me, &Ranks::new())), members, last: None, parts: Vec::new() }
    }

    fn part(&mut self, turn: Turn) -> Option<&mut Agreement> {
        self.parts.iter_mut().find(|(other, _)| *other == turn).map(|(_, machine)| machine)
    }

    /// Those that wait for their decision.
    fn waiting(&self) -> impl Iterator<Item = &Agreement> {
        self.parts.iter().map(|(_, machine)| machine).filter(|machine| machine.decision().is_none())
    }

    /// Has the parts in this communicator's agreements `told` that a member answers no more, and tells the others what follows.
    fn go_on_without(&mut self, comm: Name, proc: Proc, told: impl Fn(&mut Agreement, usize) -> Vec<(usize, Message)>) {
        let Some(rank) = rank_of(&self.members, proc) else { return };
        for (turn, machine) in &mut self.parts {
            let mut out = told(machine, rank);
            if *turn == LEAVE {
                out.extend(machine.ask());
            }
            send(Key { comm, number: turn.0, round: turn.1 }, &self.members, out);
        }
    }
}

impl Key {
    fn turn(&self) -> Turn {
        (self.number, self.round)
    }
}

struct State {
    known: RefCell<BTreeMap<Name, Known>>,
    /// What has come for agreements that this process has not come to.
    early: RefCell<Vec<(Proc, Key, Message)>>,
    looked: Cell<Option<Instant>>,
    /// Those that the last look has found at their end, and how many looks in a row have.
    ended: RefCell<BTreeMap<Proc, u32>>,
}

static STATE: Guarded<State> = Guarded::new(State {
    known: RefCell::new(BTreeMap::new()),
    early: RefCell::new(Vec::new()),
    looked: Cell::new(None),
    ended: RefCell::new(BTreeMap::new()),
});

/// The agreement by which members take leave of a communicator.
const LEAVE: Turn = (u64::MAX, 0);

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
    pub async fn agree(&mut self, value: Vec<u8>, join: Join) -> Rc<Decision> {
        let key = self.next();
        until(|| self.is_due().then_some(())).await;
        self.begin(key, value, join);
        let decision = until(|| decision(key)).await;
        take_note(&self.comm, key, &decision);
        decision
    }

    /// The same for a call that waits. It is no task, which each look would ask whether it gets on: nothing is looked at but what comes.
    pub fn agree_now(&mut self, value: Vec<u8>, join: Join) -> Rc<Decision> {
        let key = self.next();
        if !self.is_due() {
            adi().wait_until_telling(&mut || self.is_due(), &awaited);
        }
        self.begin(key, value, join);
        let mut found = decision(key);
        if found.is_none() {
            let mut seen = steps();
            let is_there = &mut || {
                if std::mem::replace(&mut seen, steps()) != seen {
                    found = decision(key);
                }
                found.is_some()
            };
            adi().wait_until_telling(is_there, &awaited);
        }
        let decision = found.expect("it has been waited for");
        take_note(&self.comm, key, &decision);
        decision
    }

    fn next(&mut self) -> Key {
        let round = self.round;
        self.round += 1;
        Key { comm: super::name(&self.comm), number: self.number, round }
    }

    /// The calls before this one are over.
    fn is_due(&self) -> bool {
        self.comm.fault.over.get() + 1 == self.number
    }

    fn begin(&self, key: Key, value: Vec<u8>, join: Join) {
        begin(key, members(&self.comm), &self.comm.fault.acknowledged.borrow(), value, join);
    }
}

impl Drop for Call {
    /// The call is over, and the next one may begin.
    fn drop(&mut self) {
        self.comm.fault.over.set(self.number);
        stepped();
    }
}

/// Is over when all living members of `comm` have begun it. Whether all members live and it `holds` at each of them: the same at all.
pub fn holds_at_all(comm: &Rc<Comm>, holds: bool) -> impl Future<Output = Result<bool>> + use<> {
    let mut call = Call::new(comm);
    async move {
        let decision = call.agree(vec![u8::from(holds)], Join::And).await;
        Ok(decision.failed.is_empty() && decision.value == [1])
    }
}

/// The rank of a process among the members. In a communicator of all it is most often its number.
fn rank_of(members: &[Proc], proc: Proc) -> Option<usize> {
    match members.get(proc as usize) == Some(&proc) {
        true => Some(proc as usize),
        false => members.iter().position(|other| *other == proc),
    }
}

fn begin(key: Key, members: Rc<[Proc]>, acknowledged: &[Proc], value: Vec<u8>, join: Join) {
    let mut all = STATE.get().known.borrow_mut();
    let known = all.entry(key.comm).or_insert_with(|| Known::new(members));
    let rank_of = |proc: Proc| rank_of(&known.members, proc);
    let acknowledged: Ranks = acknowledged.iter().filter_map(|&proc| rank_of(proc)).collect();
    let mut machine = Agreement::new(known.place.clone(), join);
    for rank in adi().lost().into_iter().filter_map(rank_of) {
        machine.died(rank);
    }
    let out = machine.call(value, acknowledged);
    send(key, &known.members, out);
    known.parts.push((key.turn(), machine));
    drop(all);
    take_early(key);
}

/// Hears what has come for an agreement before it has begun here.
fn take_early(key: Key) {
    let mut early = STATE.get().early.borrow_mut();
    if early.is_empty() {
        return;
    }
    let (mine, mut others): (Vec<_>, Vec<_>) =
        std::mem::take(&mut *early).into_iter().partition(|(_, other, _)| *other == key);
    // A communicator that this process has failed to make is never asked for.
    others.retain(|(_, other, _)| !farewell::is_over(other.comm));
    *early = others;
    drop(early);
    mine.into_iter().for_each(|(from, key, message)| hear(from, key, message));
}

/// This process has freed a communicator, or ends MPI with it. What it has of it is forgotten once all that live have left and it is freed here.
pub fn take_leave(comm: Name, members: Rc<[Proc]>) {
    if !has(comm, |turn, _| turn == LEAVE) {
        begin(leave_of(comm), members, &[], Vec::new(), Join::Nothing);
    }
}

fn leave_of(comm: Name) -> Key {
    Key { comm, number: LEAVE.0, round: LEAVE.1 }
}

/// Whether this process has such a part in an agreement of the communicator.
fn has(comm: Name, is_such: impl Fn(Turn, &Agreement) -> bool) -> bool {
    let all = STATE.get().known.borrow();
    all.get(&comm).is_some_and(|known| known.parts.iter().any(|(turn, machine)| is_such(*turn, machine)))
}

/// Whether the members of a communicator have agreed on something here, which others may still need.
pub fn has_agreed(comm: Name) -> bool {
    has(comm, |turn, _| turn != LEAVE)
}

/// Whether this process has taken leave of a communicator, and some that live have not.
pub fn is_leaving(comm: Name) -> bool {
    has(comm, |turn, machine| turn == LEAVE && machine.decision().is_none())
}

/// The communicators, freed by this process, of which all that live have taken leave. The caller forgets them.
pub fn all_have_left() -> Vec<Name> {
    if !farewell::is_any_left() {
        return Vec::new();
    }
    let names: Vec<Name> = STATE.get().known.borrow().keys().copied().collect();
    let have_left = |turn, machine: &Agreement| turn == LEAVE && machine.decision().is_some();
    names.into_iter().filter(|&comm| has(comm, have_left) && farewell::members_left(comm).is_some()).collect()
}

/// Nobody needs anything of the communicator any more.
pub fn forget(comm: Name) {
    let state = STATE.get();
    state.known.borrow_mut().remove(&comm);
    state.early.borrow_mut().retain(|(_, key, _)| key.comm != comm);
}

/// The members of a communicator that have agreed on something.
pub fn members_of(comm: Name) -> Option<Rc<[Proc]>> {
    STATE.get().known.borrow().get(&comm).map(|known| known.members.clone())
}

fn send(key: Key, members: &[Proc], out: Vec<(usize, Message)>) {
    for (rank, message) in out {
        tell(members[rank], &Notice::Agree(key, message));
    }
    stepped();
}

fn decision(key: Key) -> Option<Rc<Decision>> {
    STATE.get().known.borrow_mut().get_mut(&key.comm)?.part(key.turn())?.decision().cloned()
}

/// Whether `key` is of an agreement that nobody needs any more.
fn is_past(key: Key) -> bool {
    STATE.get().known.borrow().get(&key.comm).is_some_and(|known| Some(key.turn()) < known.last)
}

/// What follows from a decision: whom others have lost this process has lost too, and earlier agreements are not needed any more.
fn take_note(comm: &Comm, key: Key, decision: &Decision) {
    if !decision.failed.is_empty() {
        let members = members(comm);
        decision.failed.iter().for_each(|rank| lose(members[rank]));
    }
    let state = STATE.get();
    if let Some(known) = state.known.borrow_mut().get_mut(&key.comm) {
        known.last = Some(key.turn());
        known.parts.retain(|(turn, _)| *turn >= key.turn());
    }
    state.early.borrow_mut().retain(|(_, other, _)| !is_past(*other));
}

/// Others have lost a process, which this one loses, too.
fn lose(proc: Proc) {
    if proc == runtime().me {
        let text = "the other processes take this one for lost and go on without it: it was cut off from one of them";
        crate::forked::end(1, text);
    }
    adi().declare_lost(proc, "another process has lost it");
}

/// A message of an agreement has come.
pub fn hear(from: Proc, key: Key, message: Message) {
    let mut all = STATE.get().known.borrow_mut();
    let Some(known) = all.get_mut(&key.comm) else {
        drop(all);
        return hear_early(from, key, message);
    };
    let (rank, size) = (rank_of(&known.members, from), known.members.len());
    let Some(part) = known.part(key.turn()) else {
        drop(all);
        return hear_early(from, key, message);
    };
    let Some(rank) = rank.filter(|_| message.largest() < size) else {
        drop(all);
        return damaged(from, "it names a process that is no member");
    };
    let out = part.receive(rank, message);
    send(key, &known.members, out);
}

/// The same where this process has no part in the agreement: it has not come to it, or nobody needs it any more.
fn hear_early(from: Proc, key: Key, message: Message) {
    if farewell::is_over(key.comm) {
        // That is so since all have taken leave.
        if let (LEAVE, Message::Up(ballot, _)) = (key.turn(), message) {
            tell(from, &Notice::Agree(key, Message::Down(ballot, Rc::default())));
        }
    } else if !is_past(key) {
        STATE.get().early.borrow_mut().push((from, key, message));
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
    let mut all = state.known.borrow_mut();
    let waiting = all.values().filter(|known| known.waiting().next().is_some());
    let others: BTreeSet<Proc> = waiting.flat_map(|known| known.members.iter().copied()).filter(is_other).collect();
    let before = state.ended.take();
    let count = |proc: Proc| (proc, before.get(&proc).map_or(1, |looks| LOOKS.min(looks + 1)));
    let ended: BTreeMap<Proc, u32> =
        others.into_iter().filter(|&proc| !direct.peer_is(proc, PeerState::Alive)).map(count).collect();
    for (&proc, _) in ended.iter().filter(|(_, looks)| **looks == LOOKS) {
        for (comm, known) in all.iter_mut() {
            known.go_on_without(*comm, proc, |machine, rank| match machine.decision() {
                None => machine.left(rank),
                Some(_) => Vec::new(),
            });
        }
    }
    drop(all);
    state.ended.replace(ended);
}

/// Another process of this world.
fn is_other(proc: &Proc) -> bool {
    *proc != runtime().me && *proc < runtime().world_size
}

/// A process is lost.
pub fn died(proc: Proc) {
    for (comm, known) in STATE.get().known.borrow_mut().iter_mut() {
        known.go_on_without(*comm, proc, Agreement::died);
    }
}

/// A notice cannot be right.
pub fn damaged(from: Proc, why: &'static str) {
    adi().report_damaged(&Damaged { from, what: Some("notice of a failure"), kind: 0, len: 0, why });
}
