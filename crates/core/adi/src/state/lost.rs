//! Composer: a process that cannot be reached any more. Whatever waits for it ends, and says so.

use super::State;
use crate::packet::Packet;
use crate::parts::unexpected::{Arrival, Body};
use crate::transfer::{EXPECTED, Published, Side};
use crate::{Proc, Status, Tuple, UNKNOWN};
use tern_mcm::Event;

impl State {
    /// Messages had left for `peer`, by calls that have succeeded, and will not arrive. It is lost, which is told next.
    #[cold]
    pub(super) fn note_undeliverable(&mut self, peer: Proc) {
        self.undeliverable = Some(peer);
    }

    /// Messages that had left for `peer` will not arrive. Ends the receives that nothing has come for, where the layer above says so:
    /// their messages may hang on those. Only receives that no sender sees end; others could be filled at any time.
    fn end_for_undeliverable(&mut self, peer: Proc, why: &str) {
        if self.loss.survives {
            return;
        }
        let concerned = (self.on_undeliverable)(peer, why);
        self.loss.owe(peer, concerned.clone());
        let requests: Vec<u32> = self.requests.numbered().map(|(request, _)| request).collect();
        for request in requests {
            let transfer = self.requests.get(request);
            let Side::Receive { place, published, .. } = transfer.side else { continue };
            if transfer.done || published.is_published() || published.is_watched() {
                continue;
            }
            let context = match place {
                Some(place) => Some(self.matching.posted_pattern(place).context),
                None if request == EXPECTED => self.matching.expected_context(),
                None => None,
            };
            if context.is_some_and(|context| concerned(context)) {
                self.withdraw(request);
                self.fail(request, peer);
            }
        }
    }

    /// Ends all transfers with `peer`, and gives up what waits to be sent to it.
    #[cold]
    pub fn lose(&mut self, peer: Proc, why: &str) {
        if !self.loss.note(peer, why) {
            return;
        }
        self.moved = true;
        self.mcm.forget(peer);
        if let Some(direct) = self.mcm.direct() {
            direct.hears_of(Event::Lost(peer));
        }
        self.unexpected.forget(peer);
        self.stream.clear(peer);
        self.close_shortest();
        self.rendezvous.forget(peer);
        let requests = &self.requests;
        let is_for = |request: u32| matches!(requests.get(request).side, Side::Send { to, .. } if to == peer);
        self.unconfirmed.forget_peer(peer, is_for);
        self.notices.forget(peer);
        self.drop_messages(peer);
        let waits: Vec<u32> = self.requests.numbered().map(|(request, _)| request).collect();
        for request in waits {
            if self.needs(request, peer) {
                let transfer = self.requests.get(request);
                if matches!(transfer.side, Side::Send { .. }) && (transfer.promised || transfer.released) {
                    self.undeliverable = Some(peer);
                }
                self.withdraw(request);
                self.fail(request, peer);
            }
        }
        if self.undeliverable.take_if(|undeliverable| *undeliverable == peer).is_some() {
            self.end_for_undeliverable(peer, why);
        }
        (self.on_notice)();
    }

    /// The transfer ends because `peer` is lost.
    pub(super) fn fail(&mut self, request: u32, peer: Proc) {
        self.loss.told(peer);
        let transfer = self.requests.get_mut(request);
        let Status { source, tag, .. } = transfer.status;
        transfer.status = Status::without(peer, source, tag);
        self.complete(request);
    }

    /// Says `word` to `to` in place of a message.
    pub fn send_missing(&mut self, to: Proc, tuple: Tuple, word: u32) {
        if to == self.mcm.me() {
            return self.missing(to, tuple, word);
        }
        self.queues.put(to, &tuple);
        self.control(to, Packet::Missing { tuple, word });
    }

    /// Something has come in place of a message.
    #[cold]
    pub(super) fn missing(&mut self, from: Proc, tuple: Tuple, word: u32) {
        match self.match_arrival(from, &tuple) {
            Some(request) => self.end_without(request, &tuple, word),
            None => _ = self.keep(Arrival { tuple, from, size: 0, body: Body::Missing(word) }),
        }
    }

    /// A receive has matched what came in place of its message.
    pub(super) fn end_without(&mut self, request: u32, tuple: &Tuple, word: u32) {
        let transfer = self.requests.get_mut(request);
        transfer.status = Status::instead(word, tuple.source, tuple.tag);
        if let Side::Receive { place, published, .. } = &mut transfer.side {
            (*place, *published) = (None, Published::NOT);
        }
        self.complete(request);
    }

    /// True when the transfer is under way and needs `peer` to go on.
    fn needs(&self, request: u32, peer: Proc) -> bool {
        let transfer = self.requests.get(request);
        if transfer.done {
            return false;
        }
        match transfer.side {
            Side::Send { to, .. } => to == peer,
            // The layer above asks for such a one whether it is [interrupted](State::is_interrupted).
            Side::Receive { from: UNKNOWN, place: Some(_), .. } if self.loss.survives => false,
            Side::Receive { from: UNKNOWN, place: Some(place), .. } => {
                self.loss.hits(UNKNOWN, self.matching.posted_pattern(place).context).is_some()
            }
            // The one that its call only waits for.
            Side::Receive { from: UNKNOWN, place: None, .. } => {
                self.matching.expected_context().is_some_and(|context| self.loss.hits(UNKNOWN, context).is_some())
            }
            Side::Receive { from, .. } => from == peer,
        }
    }

    /// Takes a receive out of matching.
    pub(super) fn withdraw(&mut self, request: u32) {
        let Side::Receive { place, published, .. } = self.requests.get(request).side else { return };
        if published.is_published() {
            self.end_publication(request);
        } else if published.is_watched() {
            self.left(request);
        }
        match place {
            Some(place) => _ = self.matching.withdraw(place),
            None if request == EXPECTED => _ = self.matching.unexpect(),
            None => {}
        }
        if let Side::Receive { place, published, .. } = &mut self.requests.get_mut(request).side {
            (*place, *published) = (None, Published::NOT);
        }
    }

    /// Drops the messages of `peer` of which not all has come, and what follows these. Those that a probe has taken out of matching fail
    /// when they are received.
    fn drop_messages(&mut self, peer: Proc) {
        for (place, number) in self.unexpected.cut_off(peer, self.matching.kept()) {
            self.matching.take_unexpected(place);
            self.drop_arrival(number);
        }
    }
}
