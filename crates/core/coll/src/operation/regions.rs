//! Steps of a schedule by which a member copies from, or to, the memory of another one.
//!
//! The owner tells where its memory lies, in a message of a few bytes. The peer copies, and answers whether it could. Where it could
//! not, or there is no region, the data goes as a message behind the answer. All of this has the tag of the collective's other messages,
//! so that a member that has refused the call need not know of it. The two sides of each pair take the steps in one order: what is
//! told, the answers, the data. A member that is to put its data says so first, since the owner may wait for a message.
//!
//! The two sides may disagree about the length, so that one counts on a message and the other one on a region. A message never has
//! [`TOLD`] bytes, and what is told always has. So who receives knows which of the two has come. It asks for a message then, or ends
//! with an error, and nobody waits for what does not come. A side that expects nothing at all takes no part.

use super::{Failure, Operation, Pending, Step};
use crate::memory::Temp;
use crate::schedule::{Action, Peer};
use crate::transport::{TOLD, Told, Transport};
use tern_adi::{Data, Pattern, Status, Tuple};
use tern_mcm::Direction;

/// Answers.
const DONE: u8 = 1;
const MESSAGE: u8 = 2;
/// There is no region.
const NONE: Told = [0; TOLD];

/// Bytes of a message of which that is known.
fn sent(status: &Status) -> Option<u64> {
    match status.is_whole() {
        true => Some(status.bytes),
        false => status.truncated(),
    }
}

impl<R: Copy> Operation<R> {
    /// Tells the peer of an action where the data lies, and waits for the answer.
    pub(super) fn declare<T: Transport<Request = R>>(
        &self, transport: &T, action: usize, peer: Peer, data: &Data, direction: Direction,
    ) {
        let told = transport.declare(self.address(peer).0, data, direction);
        self.send_bytes(transport, peer, &told);
        match direction {
            Direction::Get => self.await_answer(transport, action, peer, told),
            Direction::Put => self.receive_bytes(transport, peer, TOLD, |kept| Step::Announced(action, told, kept)),
        }
    }

    /// The same where this process has failed.
    pub(super) fn declare_missing<T: Transport<Request = R>>(
        &self, transport: &T, peer: Peer, direction: Direction, failure: Failure,
    ) {
        self.send_missing(transport, peer, failure);
        if direction == Direction::Put {
            self.receive_bytes(transport, peer, TOLD, Step::Kept);
        }
    }

    fn await_answer<T: Transport<Request = R>>(&self, transport: &T, action: usize, peer: Peer, told: Told) {
        self.receive_bytes(transport, peer, 1, |answer| Step::Answer(action, told, answer));
    }

    /// Waits to be told where the data of an action lies.
    pub(super) fn await_region<T: Transport<Request = R>>(
        &self, transport: &T, action: usize, peer: Peer, direction: Direction,
    ) {
        if direction == Direction::Put {
            self.send_bytes(transport, peer, &NONE);
        }
        self.receive_bytes(transport, peer, TOLD, |told| Step::Told(action, told));
    }

    /// Whether a complete transfer has to wait: an answer is looked at when this process has given its own to that peer, so that what
    /// follows comes in one order.
    pub(super) fn waits_for_other(&self, pending: &[Pending<R>], complete: &Pending<R>) -> bool {
        let told_by =
            |other: &Pending<R>| matches!(other.step, Step::Told(..) | Step::Short(_)) && other.peer == complete.peer;
        matches!(complete.step, Step::Answer(..)) && pending.iter().any(told_by)
    }

    /// Where a receive shows that the two sides do not agree about the length: the bytes that this side expects, and those that
    /// the peer has sent.
    pub(super) fn disagreement(&self, step: &Step, status: &Status) -> Option<(u64, u64)> {
        match *step {
            Step::Data => status.truncated().map(|sent| (status.bytes, sent)),
            // A region is told, and what it holds comes as a message.
            Step::Short(_) => status.truncated().filter(|&sent| sent != TOLD as u64).map(|sent| (status.bytes, sent)),
            Step::Told(action, _) | Step::Announced(action, ..) => {
                let (Action::Copied { data, .. } | Action::Declare { data, .. }) = &self.schedule.actions[action]
                else {
                    return None;
                };
                sent(status).filter(|&sent| sent != TOLD as u64).map(|sent| (data.len() as u64, sent))
            }
            Step::Answer(..) => status.truncated().map(|sent| (1, sent)),
            Step::Sent | Step::Kept(_) | Step::Rest => None,
        }
    }

    /// Goes on after a transfer of that step.
    pub(super) fn go_on<T: Transport<Request = R>>(&self, transport: &T, peer: Peer, step: Step, status: &Status) {
        let is_told = sent(status) == Some(TOLD as u64);
        if matches!(step, Step::Data | Step::Sent | Step::Kept(_)) || matches!(step, Step::Short(_)) && !is_told {
            return;
        }
        self.steps.set(self.steps.get().wrapping_add(1));
        let is_lost = status.aborted().is_some();
        match step {
            Step::Data | Step::Sent | Step::Kept(_) => {}
            Step::Rest if is_lost => {}
            Step::Rest => self.take_rest(transport, peer),
            Step::Short(action) => self.ask_for_message(transport, action, peer),
            Step::Told(action, told) if is_told => self.copy_told(transport, action, peer, &told),
            Step::Told(..) => {}
            Step::Announced(action, told, _) if is_told => self.await_answer(transport, action, peer, told),
            Step::Announced(action, told, _) => {
                self.end_region(transport, action, &told);
                // It gives a message, and does not look for what it was told.
                let pending = self.pending.borrow();
                let kept = pending.iter().filter(|other| other.peer == peer && matches!(other.step, Step::Kept(_)));
                kept.for_each(|other| transport.cancel(other.request));
                drop(pending);
                if is_lost {
                    self.take_rest(transport, peer);
                }
            }
            Step::Answer(action, told, answer) => {
                self.end_region(transport, action, &told);
                let actions = &self.schedule.actions;
                let (Action::Declare { data, direction, .. } | Action::Short { data, direction, .. }) =
                    &actions[action]
                else {
                    return;
                };
                // SAFETY: a byte, which has come.
                if status.is_whole() && unsafe { *answer.start() } == MESSAGE {
                    self.move_message(transport, peer, data, *direction == Direction::Get);
                } else if is_lost && *direction == Direction::Put {
                    self.take_rest(transport, peer);
                }
            }
        }
    }

    /// A peer that puts data sends its answer, and a message, without being asked. Once it is lost, these may be here although what goes
    /// before them has not come. They are taken to nowhere, one after the other: the next round of a persistent collective has the same
    /// tag, and would take them for its own. A receive from a lost peer ends at once when nothing is left.
    #[cold]
    fn take_rest<T: Transport<Request = R>>(&self, transport: &T, peer: Peer) {
        self.recv(transport, peer, &Data::none(), Step::Rest);
    }

    fn end_region<T: Transport<Request = R>>(&self, transport: &T, action: usize, told: &Told) {
        if let Action::Declare { data, direction, .. } = &self.schedule.actions[action] {
            transport.end_region(told, data, *direction);
        }
    }

    /// The peer has another length than this side, and so counts on a region.
    #[cold]
    fn ask_for_message<T: Transport<Request = R>>(&self, transport: &T, action: usize, peer: Peer) {
        let Action::Short { data, direction, .. } = &self.schedule.actions[action] else { return };
        match direction {
            Direction::Get => {
                self.send_bytes(transport, peer, &[MESSAGE]);
                self.move_message(transport, peer, data, false);
            }
            Direction::Put => {
                self.send_bytes(transport, peer, &NONE);
                self.await_answer(transport, action, peer, NONE);
            }
        }
    }

    /// Copies what `peer` has told, and answers.
    fn copy_told<T: Transport<Request = R>>(&self, transport: &T, action: usize, peer: Peer, told: &Temp) {
        let Action::Copied { data, direction, .. } = &self.schedule.actions[action] else { return };
        if let Some(failure) = self.missing() {
            // What is here may be wrong, and what comes is of no use.
            return match direction {
                Direction::Put => self.send_missing(transport, peer, failure),
                Direction::Get => self.send_bytes(transport, peer, &[DONE]),
            };
        }
        // SAFETY: as many bytes, which have come.
        let told: Told = unsafe { told.start().cast::<Told>().read_unaligned() };
        if transport.copy(self.address(peer).0, &told, data, *direction) {
            return self.send_bytes(transport, peer, &[DONE]);
        }
        self.send_bytes(transport, peer, &[MESSAGE]);
        self.move_message(transport, peer, data, *direction == Direction::Put);
    }

    /// The data goes, or comes, as a message.
    fn move_message<T: Transport<Request = R>>(&self, transport: &T, peer: Peer, data: &Data, goes: bool) {
        match (goes, self.missing()) {
            (false, _) => self.recv(transport, peer, data, Step::Data),
            (true, None) => self.send(transport, peer, data),
            (true, Some(failure)) => self.send_missing(transport, peer, failure),
        }
    }

    fn send_bytes<T: Transport<Request = R>>(&self, transport: &T, peer: Peer, bytes: &[u8]) {
        let (to, tag) = self.address(peer);
        let tuple = Tuple { context: self.peers.context, source: self.peers.rank as i32, tag };
        let kept = Temp::short(bytes.len());
        // SAFETY: as long, and apart.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), kept.start(), bytes.len()) };
        if let Some(request) = transport.isend(to, tuple, Data::Bytes(kept.start(), bytes.len())) {
            self.pending.borrow_mut().push(Pending { request, peer, step: Step::Kept(kept) });
        }
    }

    fn receive_bytes<T: Transport<Request = R>>(
        &self, transport: &T, peer: Peer, len: usize, step: impl FnOnce(Temp) -> Step,
    ) {
        let (from, tag) = self.address(peer);
        let pattern = Pattern { context: self.peers.context, source: peer.rank as i32, tag };
        let kept = Temp::short(len);
        let request = transport.irecv(from, pattern, Data::Bytes(kept.start(), len));
        self.pending.borrow_mut().push(Pending { request, peer, step: step(kept) });
    }
}
