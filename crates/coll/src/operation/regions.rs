//! Steps of a schedule by which a member copies from, or to, the memory of another one.
//!
//! The owner tells where its memory lies, in a message of a few bytes. The peer copies, and answers whether it could. Where it could
//! not, or there is no region, the data goes as a message behind the answer. All of this has the tag of the collective's other messages,
//! so that a member that has refused the call need not know of it. The two sides of each pair take the steps in one order: what is
//! told, the answers, the data.

use super::{Operation, Pending, Step};
use crate::memory::Temp;
use crate::schedule::{Action, Peer};
use crate::transport::{TOLD, Told, Transport};
use tern_adi::{Data, Pattern, Tuple};
use tern_mcm::Direction;

/// Answers.
const DONE: u8 = 1;
const MESSAGE: u8 = 2;

impl<R: Copy> Operation<R> {
    /// Tells the peer of an action where the data lies, and waits for the answer.
    pub(super) fn declare<T: Transport<Request = R>>(
        &self, transport: &T, action: usize, peer: Peer, data: &Data, direction: Direction,
    ) {
        let told = transport.declare(self.address(peer).0, data, direction);
        self.send_bytes(transport, peer, &told);
        self.receive_bytes(transport, peer, 1, |answer| Step::Answer(action, told, answer));
    }

    /// Waits to be told where the data of an action lies.
    pub(super) fn await_region<T: Transport<Request = R>>(&self, transport: &T, action: usize, peer: Peer) {
        self.receive_bytes(transport, peer, TOLD, |told| Step::Told(action, told));
    }

    /// Whether a complete transfer has to wait: an answer is looked at when this process has given its own to that peer, so that what
    /// follows comes in one order.
    pub(super) fn waits_for_other(&self, pending: &[Pending<R>], complete: &Pending<R>) -> bool {
        let told_by = |other: &Pending<R>| matches!(other.step, Step::Told(..)) && other.peer == complete.peer;
        matches!(complete.step, Step::Answer(..)) && pending.iter().any(told_by)
    }

    /// Goes on after a transfer of that step; `whole`: what was to come has come.
    pub(super) fn go_on<T: Transport<Request = R>>(&self, transport: &T, peer: Peer, step: Step, whole: bool) {
        if matches!(step, Step::Data | Step::Sent(_)) {
            return;
        }
        self.steps.set(self.steps.get().wrapping_add(1));
        match step {
            Step::Data | Step::Sent(_) => {}
            Step::Told(action, told) if whole => self.copy_told(transport, action, peer, &told),
            Step::Told(..) => {}
            Step::Answer(action, told, answer) => {
                let Action::Declare { data, direction, .. } = &self.schedule.actions[action] else { return };
                transport.end_region(&told, data, *direction);
                // SAFETY: a byte, which has come.
                if whole && unsafe { *answer.start() } == MESSAGE {
                    self.move_message(transport, peer, data, *direction == Direction::Get);
                }
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
            (false, _) => self.recv(transport, peer, data),
            (true, None) => self.send(transport, peer, data),
            (true, Some(failure)) => self.send_missing(transport, peer, failure),
        }
    }

    fn send_bytes<T: Transport<Request = R>>(&self, transport: &T, peer: Peer, bytes: &[u8]) {
        let (to, tag) = self.address(peer);
        let tuple = Tuple { context: self.peers.context, source: self.peers.rank as i32, tag };
        let kept = Temp::new(bytes.len());
        // SAFETY: as long, and apart.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), kept.start(), bytes.len()) };
        if let Some(request) = transport.isend(to, tuple, Data::Bytes(kept.start(), bytes.len())) {
            self.pending.borrow_mut().push(Pending { request, peer, step: Step::Sent(kept) });
        }
    }

    fn receive_bytes<T: Transport<Request = R>>(
        &self, transport: &T, peer: Peer, len: usize, step: impl FnOnce(Temp) -> Step,
    ) {
        let (from, tag) = self.address(peer);
        let pattern = Pattern { context: self.peers.context, source: peer.rank as i32, tag };
        let kept = Temp::new(len);
        let request = transport.irecv(from, pattern, Data::Bytes(kept.start(), len));
        self.pending.borrow_mut().push(Pending { request, peer, step: step(kept) });
    }
}
