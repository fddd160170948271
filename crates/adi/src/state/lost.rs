//! A process that cannot be reached any more: whatever waits for it ends, and says so.

use super::arrive::{Arrival, Incoming};
use super::direct::Published;
use super::{Body, Side, State};
use crate::packet::Packet;
use crate::{Proc, Status, Tuple, UNKNOWN};

impl State {
    /// Ends all transfers with `peer`, and gives up what waits to be sent to it.
    #[cold]
    pub(super) fn lose(&mut self, peer: Proc, why: &str) {
        if self.lost.insert(peer, why.to_string()).is_some() {
            return;
        }
        self.moved = true;
        self.kept.forget(peer);
        self.full.remove(&peer);
        self.close_shortest();
        let outbox = &mut self.outboxes[peer as usize];
        outbox.queue.clear();
        outbox.bulk.clear();
        self.fetches.retain(|fetch| fetch.from != peer);
        self.fins.retain(|_, fin| fin.to != peer);
        self.forget_words(peer);
        self.incoming[peer as usize] = Incoming::Nowhere;
        self.drop_messages(peer);
        let waits: Vec<u32> = self.transfers.numbered().map(|(request, _)| request).collect();
        for request in waits {
            if self.needs(request, peer) {
                self.withdraw(request);
                self.fail(request, peer);
            }
        }
    }

    /// Why that process cannot be reached any more; `None` when it can.
    pub fn why_lost(&self, peer: Proc) -> Option<&str> {
        self.lost.get(&peer).map(String::as_str)
    }

    /// The lost process without which a receive in `context` may never get a message: `from`, or for a wildcard any
    /// that takes part.
    pub fn lost_for(&self, from: Proc, context: u32) -> Option<Proc> {
        if from != UNKNOWN {
            return self.lost.contains_key(&from).then_some(from);
        }
        let member = |peer: &&Proc| self.members.as_ref().is_none_or(|members| members(context, **peer));
        self.lost.keys().find(member).copied()
    }

    /// True when the rest of a message from `from` will never come.
    pub(super) fn is_cut_off(&self, from: Proc, size: u64, body: &Body) -> bool {
        let whole = match body {
            Body::Bytes { bytes, .. } => bytes.len() as u64 == size,
            Body::Waiting { .. } => false,
            Body::Short(_) | Body::Own { .. } | Body::Missing(_) => true,
        };
        !whole && self.lost.contains_key(&from)
    }

    /// The transfer ends because `peer` is lost.
    pub(super) fn fail(&mut self, request: u32, peer: Proc) {
        let transfer = self.transfers.get_mut(request);
        let Status { source, tag, .. } = transfer.status;
        transfer.status = Status::without(peer, source, tag);
        self.complete(request);
    }

    /// Says `word` to `to` in place of a message.
    pub fn send_missing(&mut self, to: Proc, tuple: Tuple, word: u32) {
        if to == self.mcm.me() {
            return self.missing(to, tuple, word);
        }
        self.streams[to as usize].put(&tuple);
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
        let transfer = self.transfers.get_mut(request);
        transfer.status = Status::instead(word, tuple.source, tuple.tag);
        if let Side::Receive { place, published, .. } = &mut transfer.side {
            (*place, *published) = (None, Published::NOT);
        }
        self.complete(request);
    }

    /// True when the transfer is under way and needs `peer` to go on.
    fn needs(&self, request: u32, peer: Proc) -> bool {
        let transfer = self.transfers.get(request);
        if transfer.done {
            return false;
        }
        match transfer.side {
            Side::Send { to, .. } => to == peer,
            Side::Receive { from: UNKNOWN, place: Some(place), .. } => {
                self.lost_for(UNKNOWN, self.matching.posted_pattern(place).context).is_some()
            }
            // The one that its call only waits for.
            Side::Receive { from: UNKNOWN, place: None, .. } => {
                self.matching.expected_context().is_some_and(|context| self.lost_for(UNKNOWN, context).is_some())
            }
            Side::Receive { from, .. } => from == peer,
        }
    }

    /// Takes a receive out of matching.
    fn withdraw(&mut self, request: u32) {
        let Side::Receive { place, published, .. } = self.transfers.get(request).side else { return };
        if published.is_published() {
            self.end_publication(request);
        } else if published.is_watched() {
            self.left(request);
        }
        match place {
            Some(place) => _ = self.matching.withdraw(place),
            None if request == super::EXPECTED => _ = self.matching.unexpect(),
            None => {}
        }
        if let Side::Receive { place, published, .. } = &mut self.transfers.get_mut(request).side {
            (*place, *published) = (None, Published::NOT);
        }
    }

    /// Drops the messages of `peer` of which not all has come. Those that a probe has taken out of matching fail when
    /// they are received.
    fn drop_messages(&mut self, peer: Proc) {
        let cut_off: Vec<(u32, Tuple)> = self
            .arrivals
            .numbered()
            .filter(|(_, arrival)| arrival.from == peer && self.is_cut_off(peer, arrival.size, &arrival.body))
            .map(|(number, arrival)| (number, arrival.tuple))
            .collect();
        for (number, tuple) in cut_off {
            if let Some(place) = self.matching.find_message(&tuple, |other| other == number) {
                self.matching.take_unexpected(place);
                self.drop_arrival(number);
            }
        }
    }
}
