//! What comes back for requests of this side.

use super::super::clock::now;
use super::super::wire::{Frame, Refusal};
use super::*;
use window::Request;

/// As often as need be.
const FOR_EVER: u8 = 7;

impl Pair {
    /// Each frame says how far the peer has come.
    pub fn peer_has_executed(&self, inner: &mut Inner, number: u64) {
        if number > inner.executed {
            inner.executed = number;
            inner.not_ready = 0;
            inner.window.executed(number);
            self.complete_done(inner);
        }
    }

    fn complete_done(&self, inner: &mut Inner) {
        while let Some(work) = inner.window.pop() {
            self.complete(inner, work, Status::Success);
        }
    }

    /// The peer had no receive.
    pub fn not_ready(&self, inner: &mut Inner, frame: &Frame) {
        let allowed = inner.connection.receiver_not_ready_retries;
        if !inner.window.rewind(frame.sequence) {
            return self.lose(inner, "the peer is not ready for a request that it was not sent");
        }
        inner.outgoing.rewind();
        if allowed < FOR_EVER && inner.not_ready >= allowed {
            let why = format!("the peer had no receive, {} times", inner.not_ready + 1);
            return self.fail(inner, Some(frame.sequence), Status::ReceiverNotReady, &why, false);
        }
        self.hca.counts.not_ready.fetch_add(1, Ordering::Relaxed);
        inner.not_ready = inner.not_ready.saturating_add(1);
        inner.not_ready_until = now() + frame.address;
        self.hca.engine().visit_at(inner.not_ready_until, self.number);
    }

    /// The peer refused a request, and is in error.
    pub fn refused(&self, inner: &mut Inner, frame: &Frame) {
        let (status, why) = match Refusal::from_code(frame.code) {
            Refusal::InvalidRequest => (Status::RemoteInvalidRequest, "the peer took a request for invalid"),
            Refusal::Access => (Status::RemoteAccess, "the peer does not allow the access"),
            Refusal::Operation => (Status::RemoteOperation, "the peer failed in a request"),
        };
        self.fail(inner, Some(frame.sequence), status, why, false);
    }

    /// Data of a read or an atomic begins. False when nobody has asked for it.
    pub fn answer_begins(&self, inner: &Inner, frame: &Frame) -> bool {
        inner
            .window
            .request(frame.sequence)
            .is_some_and(|work| work.answers() && work.total == frame.total && work.answered == frame.offset)
    }

    /// That part of it is in memory.
    pub fn answer_ends(&self, inner: &mut Inner, frame: &Frame) {
        let whole = frame.offset + frame.len == frame.total;
        if let Some(work) = inner.window.request_mut(frame.sequence) {
            work.answered += frame.len;
        }
        if whole {
            inner.window.answered(frame.sequence);
            self.complete_done(inner);
        }
    }
}
