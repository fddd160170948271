//! Composer: jobs that go on without processes that are lost (the proposal of "User Level Failure Mitigation"). Receives that may wait for the
//! lost and for others, contexts that end, and notices between the processes that live.

use super::State;
use crate::parts::stream::Outgoing;
use crate::transfer::{EXPECTED, Side, Stage, Transfer};
use crate::{Data, Proc, REVOKED, Status, UNKNOWN};
use tern_mcm::Recall;

impl State {
    /// Whether a receive with a wildcard is posted that one of the lost might have been meant to answer. It stays posted.
    #[cold]
    pub fn is_interrupted(&self, request: u32) -> bool {
        let Some(transfer) = self.requests.find(request).filter(|transfer| !transfer.done) else { return false };
        let Side::Receive { from: UNKNOWN, place: Some(place), .. } = transfer.side else { return false };
        self.loss.hits(UNKNOWN, self.matching.posted_pattern(place).context).is_some()
    }

    /// Ends such a receive without its message.
    #[cold]
    pub fn end_interrupted(&mut self, request: u32) {
        if !self.is_interrupted(request) {
            return;
        }
        let Side::Receive { place: Some(place), .. } = self.requests.get(request).side else { return };
        let context = self.matching.posted_pattern(place).context;
        if let Some(peer) = self.loss.hits(UNKNOWN, context) {
            self.withdraw(request);
            self.fail(request, peer);
        }
    }

    /// Ends `context`: receives that no message has matched end as if [`REVOKED`] were lost that should have sent, now and from now on, and
    /// messages without a receive are thrown away. Sends that are under way end so, too, when their bytes are not needed any more: what waits here
    /// for an answer is asked back by its sender.
    #[cold]
    pub fn end_context(&mut self, context: u32) {
        self.loss.end(context);
        self.end_sends(context);
        self.end_receives(context);
        let kept: Vec<_> = self.matching.kept().filter(|(_, _, tuple)| tuple.context == context).collect();
        for (place, arrival, _) in kept {
            if self.unexpected.get(arrival).body.answers().is_none() {
                let arrival = self.matching.take_unexpected(place);
                let nowhere = self.receive_nowhere();
                self.consume(arrival, nowhere);
            }
        }
    }

    /// Has the sends of `context` say at their end that it has come to its end. Those whose receivers may hold them unmatched are asked back: a
    /// receiver that has not heard of the end, or has no such context any more, answers as well.
    fn end_sends(&mut self, context: u32) {
        let is_open = |transfer: &Transfer| {
            !transfer.done && matches!(transfer.side, Side::Send { tuple, .. } if tuple.context == context)
        };
        let sends: Vec<u32> =
            self.requests.numbered().filter(|(_, transfer)| is_open(transfer)).map(|(request, _)| request).collect();
        for request in sends {
            let send = self.requests.get_mut(request);
            let Status { source, tag, .. } = send.status;
            send.status = Status::without(REVOKED, source, tag);
            if matches!(send.stage, Stage::Matching | Stage::Asked | Stage::AskedUnconfirmed) && !send.asked_back {
                self.cancel(request);
            }
        }
    }

    /// A receive without room that nobody waits for: what is given to it is thrown away.
    #[cold]
    pub(super) fn receive_nowhere(&mut self) -> u32 {
        let request = self.receive_matched(Data::none());
        self.requests.get_mut(request).released = true;
        request
    }

    fn end_receives(&mut self, context: u32) {
        let requests: Vec<u32> = self.requests.numbered().map(|(request, _)| request).collect();
        for request in requests {
            let transfer = self.requests.get(request);
            let Side::Receive { place, .. } = transfer.side else { continue };
            let own = match place {
                Some(place) => Some(self.matching.posted_pattern(place).context),
                None if request == EXPECTED => self.matching.expected_context(),
                None => None,
            };
            if transfer.done || own != Some(context) {
                continue;
            }
            // One that its sender has claimed completes with the message. Where that is not known yet, it ends once the device knows.
            if place.is_none() || self.recall(request) == Recall::Won {
                self.withdraw(request);
                self.fail(request, REVOKED);
            }
        }
    }

    /// Sends a notice, which is not empty, unless `to` is lost.
    pub fn send_notice(&mut self, to: Proc, bytes: &[u8]) {
        if self.loss.has(to) {
            return;
        }
        let is_open = self.stream.is_open(to);
        let sent = if is_open { self.push_notice(to, bytes, 0) } else { 0 };
        if sent < bytes.len() {
            self.stream.queue(to, Outgoing::Notice { bytes: bytes.into(), sent });
            if is_open {
                self.stream.found_full(to);
            }
        }
    }

    /// The next bytes of a notice of `from` have come.
    pub(super) fn notice(&mut self, from: Proc, size: u64, payload: &[u8]) {
        if self.notices.take_in(from, size, payload) {
            self.moved = true;
            (self.on_notice)();
        }
    }
}
