//! Composer: messages that bypass the stream, the protocol around the tuple queues ([`crate::tuple`]).

use super::State;
use super::facts::{Planned, Receiving, key};
use crate::matching::{EntryId, Hindrance};
use crate::parts::stream::Bulk;
use crate::transfer::{Published, Side};
use crate::{Data, Pattern, Proc, REVOKED, Sent, Status, Tuple};
use tern_counters as counters;
use tern_counters::events;
use tern_mcm::{Delivery, Direct, Memory, News, Outgoing, Recall, RecallReason};
use tern_policy::transfer::Deliver;
use tern_policy::{self as policy, RecvPlan, Unpublished, Way};

/// Counts a message of `len` bytes that has looked for a published receive.
fn count(delivery: &Delivery, len: usize) {
    let (messages, bytes) = match delivery {
        Delivery::Pending | Delivery::Done => (&counters::SENT_DIRECT, &counters::SENT_DIRECT_BYTES),
        Delivery::Packets { .. } => (&counters::SENT_PACKETS, &counters::SENT_PACKETS_BYTES),
        Delivery::Stream => return,
    };
    messages.add(1);
    bytes.add(len as u64);
}

impl State {
    #[inline]
    pub(super) fn direct(&self) -> &dyn Direct {
        self.mcm.direct().expect("what is published was published by it")
    }

    // ---- sending

    /// Delivers a message, which lies where the plan tells, in that way into the receive that a look has found. `None`: the receive is there no more.
    #[cold]
    pub(super) fn send_direct(
        &mut self, to: Proc, tuple: &Tuple, data: &Data, (way, planned): (Deliver, &Planned),
    ) -> Option<Sent> {
        let Planned { decision, memory, found, .. } = planned;
        let found = found.expect("a look has found what the plan delivers into");
        let request = self.requests.start_send(to, *tuple, data.clone());
        self.rendezvous.keep_located(request, memory);
        let message = Outgoing { source: memory, sender: request, way };
        // What is published matches, so that standard and synchronous sends are alike.
        let delivery = self.direct().deliver(to, &found, &message);
        count(&delivery, data.len());
        self.note_delivery(to, data.len(), decision, &delivery);
        match delivery {
            Delivery::Pending => {
                self.mcm.await_news(to, News::Left);
                return Some(Sent::Pending(crate::Request(request)));
            }
            Delivery::Packets { receiver, room } => {
                if let (true, Some(turn)) = (way != Deliver::Packets, &planned.turn) {
                    self.learned.give_back(turn);
                }
                let end = data.len().min(room as usize);
                self.stream.queue_bulk(to, Bulk { request, receiver, sent: 0, end });
                self.flush(to);
                if !self.requests.get(request).done {
                    return Some(Sent::Pending(crate::Request(request)));
                }
            }
            Delivery::Done => {
                self.moved = true;
                self.unlocate(request);
            }
            Delivery::Stream => {
                // What it has located stays so.
                self.rendezvous.take_located(request);
                self.requests.remove(request);
                return None;
            }
        }
        self.requests.remove(request);
        Some(Sent::Done)
    }

    /// Gives the key of memory back that was located, and that nobody will reach for.
    pub(super) fn release_unused(&self, memory: &Memory) {
        if memory.key != 0 {
            self.direct().release(memory);
        }
    }

    // ---- receiving

    /// Publishes the receive that is about to be posted, if that pays and the rules allow it. `located`: its memory, if it was
    /// located just now.
    #[cold]
    pub(super) fn publish(
        &mut self, request: u32, from: Proc, pattern: &Pattern, located: Option<Memory>,
    ) -> Published {
        self.starts(false);
        if from == self.mcm.me() {
            return Published::NOT;
        }
        let mut receiving = Receiving::posted(self, request, from, pattern, located);
        let plan = receiving.plan(policy::receive);
        let (located, (facts, known)) = (receiving.located, receiving.known());
        if plan != RecvPlan::Publish {
            self.note_receive(from, &facts, plan);
        }
        match plan {
            RecvPlan::Publish => {}
            RecvPlan::Await | RecvPlan::Fetch => return Published::left(from),
            RecvPlan::Packets => return Published::NOT,
        }
        let hindrance = self.matching.hindrance(pattern, None);
        match self.unless_promised(pattern, None, hindrance) {
            None => {}
            Some(Hindrance::Wild) => {
                self.note_unpublished(from, facts.size, Unpublished::Wild, Published::NOT);
                return Published::NOT;
            }
            Some(hindrance) => {
                let published = self.publish_later(request, from, pattern, Some(hindrance));
                self.note_unpublished(from, facts.size, Unpublished::Behind, published);
                return published;
            }
        }
        let memory = match located {
            // Its caller, if that waits, has found it to be no memory that is better filled in packets.
            Some(memory) => memory,
            None => {
                let mut receiving = Receiving::resumed(self, request, from, (facts, known));
                let plan = receiving.plan(policy::receive_located);
                let located = receiving.located;
                if plan == RecvPlan::Packets {
                    self.note_receive(from, &facts, plan);
                    return Published::NOT;
                }
                located.expect("it was located")
            }
        };
        let published = self.announce(request, from, pattern, &memory);
        if published.is_published() {
            self.note_promised(hindrance);
            self.note_receive(from, &facts, plan);
            return published;
        }
        counters::PUBLISHED_REFUSED.add(1);
        let published = self.publish_later(request, from, pattern, None);
        self.note_unpublished(from, facts.size, Unpublished::Full, published);
        published
    }

    pub(super) fn locate_receive(&mut self, request: u32, from: Proc) -> Memory {
        // The receive itself is there already.
        let quiet = self.requests.is_quiet(1);
        self.locate(request, from, quiet)
    }

    /// Publishes a receive into `memory` that nothing hinders, if there is room.
    pub(super) fn announce(&mut self, request: u32, from: Proc, pattern: &Pattern, memory: &Memory) -> Published {
        let key = key(pattern.context, pattern.source, pattern.tag);
        let seen = self.queues.taken(from);
        let Some(slot) = self.direct().publish(from, &key, memory, request, seen) else { return Published::NOT };
        self.mcm.await_news(from, News::Published(slot));
        counters::PUBLISHED.add(1);
        counters::PUBLISHED_NOW.raise(1);
        let tuple = Tuple { context: pattern.context, source: pattern.source, tag: pattern.tag };
        let entry = self.queues.publish(from, &tuple);
        let status = &mut self.requests.get_mut(request).status;
        (status.source, status.tag) = (pattern.source, pattern.tag);
        Published::new(from, slot, entry, memory.place == 0)
    }

    /// The receive `request` is about to be given a message of the stream. False when its sender has claimed
    /// it: then it is another message's.
    #[inline]
    pub(super) fn win_back(&mut self, request: u32) -> bool {
        match self.requests.get(request).side {
            Side::Receive { published, .. } if !published.is_nothing() => self.win_back_published(request, published),
            _ => true,
        }
    }

    #[cold]
    fn win_back_published(&mut self, request: u32, published: Published) -> bool {
        if published.is_watched() {
            self.left(request);
            return true;
        }
        let won = self.direct().recall(published.peer, published.slot(), RecallReason::Stream) == Recall::Won;
        if won {
            self.end_publication(request);
        }
        won
    }

    /// Takes a receive of `len` bytes back that is published, but for which packets are better now that its owner waits; true as well
    /// if it was left unpublished for that reason or is too short.
    pub(super) fn withdraw_for_packets(&mut self, request: u32, published: Published, len: usize) -> bool {
        let peer = published.peer;
        if !published.is_published() {
            return len < self.direct_from || published.is_left();
        }
        let between = || (self.direct().pair(peer), self.waiting_limit(peer));
        let better = tern_policy::is_better_taken_back(len, published.is_private(), between);
        let won = better && self.direct().recall(peer, published.slot(), RecallReason::Stream) == Recall::Won;
        if won {
            self.end_publication(request);
        }
        won
    }

    /// The receive `request` is to be cancelled.
    pub(super) fn recall(&mut self, request: u32) -> Recall {
        match self.requests.get(request).side {
            Side::Receive { published, .. } if published.is_published() => {
                let recall = self.direct().recall(published.peer, published.slot(), RecallReason::Cancel);
                if recall == Recall::Won {
                    self.end_publication(request);
                }
                recall
            }
            Side::Receive { published, .. } if published.is_watched() => {
                self.left(request);
                Recall::Won
            }
            _ => Recall::Won,
        }
    }

    /// The receive `request`, which was to be cancelled, is its own again.
    pub(super) fn recalled(&mut self, request: u32) {
        let Side::Receive { place, .. } = self.requests.get(request).side else { unreachable!("a send was published") };
        let place = place.expect("what is published is posted");
        let ended = self.loss.has_ended(self.matching.posted_pattern(place).context);
        self.end_publication(request);
        self.matching.withdraw(place);
        match ended {
            true => self.fail(request, REVOKED),
            false => self.cancelled(request),
        }
    }

    /// The receive was withdrawn, and is no longer published.
    pub(super) fn end_publication(&mut self, request: u32) {
        counters::PUBLISHED_WITHDRAWN.add(1);
        if let Side::Receive { published, .. } = &mut self.requests.get_mut(request).side {
            let published = std::mem::replace(published, Published::NOT);
            self.unpublished(published);
        }
    }

    /// A receive is no longer published as this, withdrawn or filled.
    #[inline]
    fn unpublished(&mut self, published: Published) {
        counters::PUBLISHED_NOW.lower(1);
        self.queues.end(published.peer, published.entry());
        self.deferred.has_room(published.peer);
    }

    /// A message of the stream from `from` has been matched or kept: the peer may want to know.
    #[inline]
    pub fn count_taken(&mut self, from: Proc, tuple: &Tuple) {
        if let Some(number) = self.queues.take(from, tuple) {
            self.direct().raise(from, number);
        }
    }

    /// The receive `request`, which was published, has got a message of `size` bytes by another way
    /// than the stream: copied once, or in packets. Takes it out of matching and notes the size in its status.
    #[inline]
    pub(super) fn claimed(&mut self, request: u32, size: u64, once: bool) {
        let transfer = self.requests.get_mut(request);
        let Side::Receive { place, from, published, .. } = transfer.side else { unreachable!("a message for a send") };
        let Status { source, tag, .. } = transfer.status;
        transfer.begin(from, source, tag, size);
        let way = match (once, published.is_private()) {
            (true, _) => Way::Once,
            (false, true) => Way::Packets,
            // As a rule: its sender's memory may be private.
            (false, false) => Way::ChosenPackets,
        };
        self.leave_matching(from, place, published, size, way);
        events::raise(events::Kind::Filled, [source as u64, tag as u64, size]);
    }

    /// A published receive has got its message, of `size` bytes, by another way than the stream.
    #[inline]
    fn leave_matching(&mut self, from: Proc, place: Option<EntryId>, published: Published, size: u64, way: Way) {
        self.learned.note_way(from, size as usize, way);
        if let Some(place) = place {
            self.matching.withdraw(place);
        }
        self.unpublished(published);
    }

    /// A published receive holds its message of `size` bytes.
    pub(super) fn filled(&mut self, request: u32, size: u64) {
        counters::PUBLISHED_FILLED.add(1);
        self.claimed(request, size, true);
        self.complete(request);
    }

    /// [`State::filled`] of one that is freed at once: nobody sees its transfer any more, which stays as it was.
    #[inline]
    pub(super) fn filled_and_freed(
        &mut self, request: u32, from: Proc, place: Option<EntryId>, published: Published, status: &Status,
    ) {
        let Status { source, tag, bytes, .. } = *status;
        counters::PUBLISHED_FILLED.add(1);
        counters::received(bytes as usize);
        self.leave_matching(from, place, published, bytes, Way::Once);
        events::raise(events::Kind::Filled, [source as u64, tag as u64, bytes]);
        self.note_end(request);
        self.requests.complete_and_free(request);
    }
}
