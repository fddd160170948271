//! Running schedules: one operation at a time, and all that are active beside the program.

mod regions;

use crate::calls::Call;
use crate::group::{Group, Member};
use crate::lines::Lines;
use crate::memory::{Temp, copy};
use crate::reduction::apply;
use crate::schedule::{Action, Peer, Schedule};
use crate::tags::{CallKind, NUMBERS, PERSISTENT, tag_among};
use crate::transport::{Told, Transport};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tern_adi::{Adi, Data, Exchanges, Pattern, Proc, REVOKED, Status, Tuple};
use tern_memory::Lack;

/// A message was longer than its receive: the members did not agree on the amount of data
/// (MPI_ERR_TRUNCATE).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncated {
    /// Rank of the sender, in the remote group for an intercommunicator.
    pub source: i32,
    /// Bytes that the receive had room for, and that were sent.
    pub room: u64,
    pub sent: u64,
}

/// Why a collective failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    Truncated(Truncated),
    /// This process cannot be reached any more (MPI_ERR_PROC_ABORTED).
    Lost(Proc),
    /// The member of this rank has refused the call, for its arguments there or for want of memory.
    Refused(u32),
    /// This process has no memory for its part (MPI_ERR_NO_MEM), and has sent nothing.
    Lack(Lack),
}

/// In what is sent in place of a message: the communicator is revoked, which is no rank that has refused the call.
const NO_MORE: u32 = u32::MAX;

/// In what is sent in place of a message: the rank has refused the call, it is not lost.
pub(crate) const REFUSED: u32 = 1 << 31;

/// A transfer under way.
struct Pending<R> {
    request: R,
    peer: Peer,
    step: Step,
}

/// What a transfer is, and so what is done when it is complete.
enum Step {
    /// The data of an action, which comes.
    Data,
    /// The data of an action, which goes.
    Sent,
    /// The data of the action of this number, or a region in place of it.
    Short(usize),
    /// Bytes of no further use.
    Kept(#[allow(dead_code, reason = "kept until they have moved")] Temp),
    /// The peer is to say that it puts data to the region of the action of this number.
    Announced(usize, Told, #[allow(dead_code, reason = "kept until it has come")] Temp),
    /// The region of the action of this number is being told.
    Told(usize, Temp),
    /// The peer is to say that it has done with the region of the action of this number.
    Answer(usize, Told, Temp),
    /// What a lost peer has sent behind what did not come.
    Rest,
}

/// A collective on one process: a schedule and how far it has come. `R` is the transport's
/// request. Nonblocking ones are started once, persistent ones again and again.
pub struct Operation<R = tern_adi::Request> {
    peers: Rc<Group>,
    schedule: Schedule,
    /// The tag of every start, for persistent and blocking ones and those with a number taken before.
    fixed: Option<u32>,
    /// What is called.
    call: u8,
    tag: Cell<u32>,
    /// The next action.
    next: Cell<usize>,
    /// Steps of regions that were taken.
    steps: Cell<usize>,
    pending: RefCell<Vec<Pending<R>>>,
    /// Members that have refused the call.
    refused: RefCell<Vec<Peer>>,
    done: Cell<bool>,
    /// A user function that this operation called is running.
    busy: Cell<bool>,
    /// Why data is missing here, if that is so.
    failure: Cell<Option<Failure>>,
    /// A member that has not got what this one has sent, and is lost. What is here is right all the same.
    unsent: Cell<Option<Proc>>,
}

impl<R: Copy> Operation<R> {
    /// A collective to be started once. All members of the communicator must start their
    /// collectives in the same order (MPI 5.0, section 6.14).
    pub fn new(peers: &Rc<impl Member>, schedule: Schedule) -> Operation<R> {
        Operation {
            peers: peers.group().clone(),
            schedule,
            fixed: None,
            call: 0,
            tag: Cell::new(0),
            next: Cell::new(0),
            steps: Cell::new(0),
            pending: RefCell::new(Vec::new()),
            refused: RefCell::default(),
            done: Cell::new(true),
            busy: Cell::new(false),
            failure: Cell::new(None),
            unsent: Cell::new(None),
        }
    }

    /// The same, as that call: it has a place in the order of those.
    pub fn of(mut self, call: Call) -> Operation<R> {
        self.call = call as u8;
        self
    }

    /// A persistent collective (section 6.13). All members must make them in the same order;
    /// they may start them in any.
    pub fn persistent(peers: &Rc<impl Member>, schedule: Schedule) -> Operation<R> {
        let group = peers.group();
        let number = group.persistent.get();
        group.persistent.set(number.wrapping_add(1));
        let mut operation = Operation::new(peers, schedule);
        operation.fixed = Some(PERSISTENT | (number & NUMBERS));
        operation
    }

    /// Takes the number now that a start would take: the operation may then start after later ones, or before
    /// them, in an order of each member's own. All members reserve in the same order.
    pub fn reserve(&mut self) {
        self.fixed = Some(self.numbered());
    }

    fn numbered(&self) -> u32 {
        self.peers.next_tag(self.call, CallKind::Nonblocking)
    }

    /// Makes the operation active. It must not be active already. Nothing is sent before the
    /// first [`Operation::advance`].
    pub fn start(&self) {
        debug_assert!(self.done.get(), "started while active");
        self.tag.set(self.fixed.unwrap_or_else(|| self.numbered()));
        self.next.set(0);
        self.failure.set(None);
        self.unsent.set(None);
        self.done.set(false);
    }

    /// True when it is not active: complete, or never started.
    pub fn is_done(&self) -> bool {
        self.done.get()
    }

    /// Another number when it has got on.
    pub(crate) fn step(&self) -> usize {
        self.next.get().wrapping_add(self.steps.get())
    }

    /// What this process exchanges with others.
    pub(crate) fn exchanges(&self) -> Exchanges {
        self.schedule.exchanges
    }

    /// What went wrong in the last run, to be asked when it is done.
    pub fn failure(&self) -> Option<Failure> {
        self.failure.get().or_else(|| self.unsent.get().map(Failure::Lost))
    }

    /// Why data is missing here, if that is so: what others should have had from this process they have not, whatever is in its memory.
    pub(crate) fn lack(&self) -> Option<Failure> {
        self.failure.get()
    }

    /// Does what can be done now; true when the operation is complete. No borrow is held while
    /// a user's reduction function runs; a call from inside it does nothing.
    pub fn advance<T: Transport<Request = R>>(&self, transport: &T) -> bool {
        if self.done.get() {
            return true;
        }
        if self.busy.replace(true) {
            return false;
        }
        self.run(transport);
        self.busy.set(false);
        self.done.get()
    }

    fn run<T: Transport<Request = R>>(&self, transport: &T) {
        let actions = &self.schedule.actions;
        loop {
            let next = self.next.get();
            match actions.get(next) {
                None | Some(Action::Fence) => {
                    if !self.drain(transport) {
                        return;
                    }
                    if next >= actions.len() {
                        self.done.set(true);
                        return;
                    }
                }
                Some(
                    Action::Send { peer, .. }
                    | Action::Recv { peer, .. }
                    | Action::Short { peer, .. }
                    | Action::Declare { peer, .. }
                    | Action::Copied { peer, .. },
                ) if self.has_refused(*peer) => {}
                Some(Action::Send { peer, data }) => match self.missing() {
                    None => self.send(transport, *peer, data),
                    Some(failure) => self.send_missing(transport, *peer, failure),
                },
                Some(Action::Recv { peer, data }) => self.recv(transport, *peer, data, Step::Data),
                Some(Action::Short { peer, data, .. }) => self.recv(transport, *peer, data, Step::Short(next)),
                Some(Action::Declare { peer, data, direction }) => match self.missing() {
                    None => self.declare(transport, next, *peer, data, *direction),
                    Some(failure) => self.declare_missing(transport, *peer, *direction, failure),
                },
                Some(Action::Copied { peer, direction, .. }) => self.await_region(transport, next, *peer, *direction),
                // There is nothing to compute with.
                Some(Action::Reduce { .. } | Action::Copy { .. }) if self.missing().is_some() => {}
                Some(Action::Reduce { input, inout, count }) => {
                    if let Some(reduction) = &self.schedule.reduction {
                        // SAFETY: the schedule's vectors hold that many elements, and the
                        // transfers into and out of them are complete.
                        unsafe { apply(reduction, *input, *inout, *count) };
                    }
                }
                // SAFETY: the caller of the collective vouches for the user's buffers until it
                // is complete (MPI 5.0, section 6.14), the schedule owns the rest.
                Some(Action::Copy { from, to }) => unsafe { copy(from, to) },
            }
            self.next.set(next + 1);
        }
    }

    /// Takes completed transfers; true when none is left.
    fn drain<T: Transport<Request = R>>(&self, transport: &T) -> bool {
        while let Some(at) = self.completed(transport) {
            let Pending { request, peer, step } = self.pending.borrow_mut().swap_remove(at);
            let status = transport.take(request);
            if let Some((room, sent)) = self.disagreement(&step, &status) {
                self.failure.set(Some(Failure::Truncated(Truncated { source: status.source, room, sent })));
            }
            if let (Step::Sent, Some(lost)) = (&step, status.aborted().filter(|lost| *lost != REVOKED)) {
                self.unsent.set(Some(lost));
            } else if let Some(failure) = status.aborted().map(Failure::Lost).or_else(|| self.missed(&status)) {
                // The others still get messages, so that nobody waits, but empty ones that say so.
                self.failure.set(Some(failure));
                // Who has refused the call says so once.
                let pending = self.pending.borrow();
                let refused = pending.iter().filter(|other| self.has_refused(other.peer));
                refused.for_each(|other| transport.cancel(other.request));
            }
            self.go_on(transport, peer, step, &status);
        }
        self.pending.borrow().is_empty()
    }

    /// A transfer that is complete and can be gone on from.
    fn completed<T: Transport<Request = R>>(&self, transport: &T) -> Option<usize> {
        let pending = self.pending.borrow();
        let last = pending.len().checked_sub(1)?;
        if self.schedule.has_regions {
            let waits = |other: &Pending<R>| self.waits_for_other(&pending, other);
            return pending.iter().position(|other| transport.is_done(other.request) && !waits(other));
        }
        match transport.is_done(pending[last].request) {
            true => Some(last),
            // A process that is a neighbour twice and has refused the call says so to the first receive only.
            false if Call::is_among_neighbours(self.call) => {
                pending.iter().position(|other| transport.is_done(other.request))
            }
            false => None,
        }
    }

    /// The process of a peer and the tag of messages with it.
    fn address(&self, peer: Peer) -> (Proc, i32) {
        let tag = tag_among(&self.peers, self.tag.get(), peer.remote);
        match (&self.peers.remote, peer.remote) {
            (Some(remote), true) => (remote[peer.rank as usize], tag),
            _ => (self.peers.procs[peer.rank as usize], tag),
        }
    }

    fn send<T: Transport<Request = R>>(&self, transport: &T, peer: Peer, data: &Data) {
        let (to, tag) = self.address(peer);
        let tuple = Tuple { context: self.peers.context, source: self.peers.rank as i32, tag };
        if let Some(request) = transport.isend(to, tuple, data.clone()) {
            self.pending.borrow_mut().push(Pending { request, peer, step: Step::Sent });
        }
    }

    /// Whether this collective has failed here so that there is nothing to send on.
    fn missing(&self) -> Option<Failure> {
        self.failure.get().filter(|failure| matches!(failure, Failure::Lost(_) | Failure::Refused(_)))
    }

    /// Whether there is nothing to send to a member, or to have from it.
    fn has_refused(&self, peer: Peer) -> bool {
        self.refused.borrow().contains(&peer)
    }

    /// Tells a peer who is lost in place of what should go to it: what is here may be wrong. The number of a process means
    /// something here only, so what travels is its rank, and whether that is one in the receiver's remote group.
    fn send_missing<T: Transport<Request = R>>(&self, transport: &T, peer: Peer, failure: Failure) {
        let (to, tag) = self.address(peer);
        let tuple = Tuple { context: self.peers.context, source: self.peers.rank as i32, tag };
        let process = match (failure, self.refused.borrow().last()) {
            (Failure::Lost(REVOKED), _) => return transport.send_missing(to, tuple, NO_MORE),
            (Failure::Lost(process), _) => process,
            (Failure::Refused(_), Some(Peer { rank, remote })) => {
                return transport.send_missing(to, tuple, REFUSED | rank << 1 | u32::from(*remote != peer.remote));
            }
            _ => return,
        };
        let rank_in = |group: &[Proc]| group.iter().position(|other| *other == process);
        let here = rank_in(&self.peers.procs).map(|rank| (rank, false));
        let there = || self.peers.remote.as_deref().and_then(rank_in).map(|rank| (rank, true));
        // Only members are waited for, or named by members.
        let (rank, remote) = here.or_else(there).unwrap_or((self.peers.rank as usize, false));
        transport.send_missing(to, tuple, (rank as u32) << 1 | u32::from(remote != peer.remote));
    }

    /// What the sender of a message names in place of it.
    fn missed(&self, status: &Status) -> Option<Failure> {
        let word = status.missing()?;
        if word == NO_MORE {
            return Some(Failure::Lost(REVOKED));
        }
        if word & REFUSED != 0 {
            let (rank, remote) = ((word & !REFUSED) >> 1, word & 1 == 1);
            if !self.has_refused(Peer { rank, remote }) {
                self.refused.borrow_mut().push(Peer { rank, remote });
            }
            return Some(Failure::Refused(rank));
        }
        let group = if word & 1 == 1 { self.peers.remote.as_ref()? } else { &self.peers.procs };
        group.get(word as usize >> 1).copied().map(Failure::Lost)
    }

    fn recv<T: Transport<Request = R>>(&self, transport: &T, peer: Peer, data: &Data, step: Step) {
        let (from, tag) = self.address(peer);
        let pattern = Pattern { context: self.peers.context, source: peer.rank as i32, tag };
        let request = transport.irecv(from, pattern, data.clone());
        self.pending.borrow_mut().push(Pending { request, peer, step });
    }
}

impl Operation {
    /// The member of that rank has refused the call: what is under way with it is called off.
    #[cold]
    fn without(&self, adi: &Adi, rank: u32) {
        self.failure.set(Some(Failure::Refused(rank)));
        self.refused.borrow_mut().push(Peer { rank, remote: false });
        for other in self.pending.borrow().iter().filter(|other| other.peer.rank == rank) {
            adi.cancel(other.request);
        }
    }
}

/// Runs a blocking collective. Returns what went wrong.
pub fn run(adi: &Adi, peers: &Rc<impl Member>, schedule: Schedule) -> Result<(), Failure> {
    run_numbered(adi, peers, schedule, 0, None)?.failure().map_or(Ok(()), Err)
}

/// As [`run`], where nobody asks whether others have got what this process has sent.
pub(crate) fn run_for_data(adi: &Adi, peers: &Rc<impl Member>, schedule: Schedule) -> Result<(), Failure> {
    run_numbered(adi, peers, schedule, 0, None)?.lack().map_or(Ok(()), Err)
}

/// The same of a collective that all members have noted in that turn of these lines, where those that refuse it say so.
pub fn run_beside(
    adi: &Adi, peers: &Rc<impl Member>, schedule: Schedule, call: Call, noted: Option<(&Lines, u64)>,
) -> Result<(), Failure> {
    run_numbered(adi, peers, schedule, call as u8, noted)?.failure().map_or(Ok(()), Err)
}

fn run_numbered(
    adi: &Adi, peers: &Rc<impl Member>, schedule: Schedule, call: u8, noted: Option<(&Lines, u64)>,
) -> Result<Operation, Failure> {
    schedule.has_memory().map_err(Failure::Lack)?;
    let mut operation: Operation = Operation::new(peers, schedule);
    operation.call = call;
    let group = peers.group();
    operation.fixed = Some(group.next_tag(call, CallKind::Blocking));
    adi.will_wait_together(operation.schedule.exchanges, || operation.schedule.longest());
    operation.start();
    let mut rank = group.rank as usize;
    adi.wait_until(&mut || {
        if let Some((lines, turn)) = noted {
            // One member in each round, so that it costs no more among many.
            rank = (rank + 1) % lines.size();
            if lines.has_refused(rank, turn) && !operation.has_refused(Peer { rank: rank as u32, remote: false }) {
                operation.without(adi, rank as u32);
            }
        }
        operation.advance(adi)
    });
    Ok(operation)
}
