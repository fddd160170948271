//! Composer: starting a receive, and the receive that its call only waits for.

use super::State;
use super::facts::Receiving;
use crate::transfer::{EXPECTED, Published, Side, Transfer};
use crate::{Data, Pattern, Proc, REVOKED, Status, Tuple, UNKNOWN};
use tern_copy::Source;
use tern_policy::{self as policy, RecvPlan};

impl State {
    /// A receive that is not posted: a message is about to be given to it.
    pub fn receive_matched(&mut self, data: Data) -> u32 {
        self.requests.insert(Transfer::new(data, Side::receive(UNKNOWN)))
    }

    /// Starts a receive; `from` is the process that it names as the source, or [`UNKNOWN`].
    #[inline]
    pub fn receive(&mut self, from: Proc, pattern: Pattern, data: Data) -> u32 {
        if self.is_short(&data) && !self.matching.keeps_messages() && self.loss.spares(pattern.context) {
            self.call.located = None;
            return self.receive_fast(from, pattern, data);
        }
        self.receive_general(from, pattern, data)
    }

    /// The short path of [`State::receive`]: posts a receive that is not published, and that no message waits for.
    #[inline]
    fn receive_fast(&mut self, from: Proc, pattern: Pattern, data: Data) -> u32 {
        self.learned.habits.is_started(self.clock);
        data.expect();
        let place = Some(self.matching.post(pattern, self.requests.next()));
        let side = Side::Receive { place, from, published: Published::NOT, received: 0, expected: 0 };
        self.requests.insert(Transfer::new(data, side))
    }

    /// Its general twin: a receive that may have to be published, or whose message may be there.
    #[inline(never)]
    fn receive_general(&mut self, from: Proc, pattern: Pattern, data: Data) -> u32 {
        let long = !self.is_short(&data) && from != UNKNOWN;
        let located = self.call.located.take();
        let request = self.receive_matched(data);
        // What waits in a context that has ended waits for its sender to ask it back.
        if let Some(place) = self.matching.find_unexpected(&pattern)
            && !self.loss.has_ended(pattern.context)
        {
            let arrival = self.matching.take_unexpected(place);
            self.consume(arrival, request);
            return request;
        }
        let goes_on = self.loss.survives && from == UNKNOWN;
        if !self.loss.spares(pattern.context)
            && let Some(peer) = self.loss.hits(from, pattern.context)
            && (peer == REVOKED || !goes_on)
        {
            self.fail(request, peer);
            return request;
        }
        let visible = if long { self.publish(request, from, &pattern, located) } else { Published::NOT };
        self.learned.habits.is_started(self.clock);
        let posted = self.matching.post(pattern, request);
        if visible.is_published() {
            // Its sender writes into it: these lines had better stay where they are.
            self.matching.publish(posted);
        } else {
            self.requests.get(request).data.expect();
        }
        let side = &mut self.requests.get_mut(request).side;
        *side = Side::Receive { place: Some(posted), from, published: visible, received: 0, expected: 0 };
        request
    }

    /// Begins a receive by a call that waits for nothing else, as transfer [`EXPECTED`]: nothing is
    /// allocated or listed. It is [not to be published](State::takes_packets). False when another such call is under way, or a
    /// process is lost, or the context has ended. Ends by [`State::end_expected`].
    #[inline]
    pub fn expect(&mut self, from: Proc, context: u32, data: Data) -> bool {
        self.loss.spares(context) && self.requests.expect(from, data)
    }

    /// Opens that receive to what is about to be looked at, unless a message has matched it already.
    #[inline]
    pub fn open(&mut self, pattern: Pattern) {
        if self.requests.is_expected_begun() {
            return;
        }
        if let Some(place) = self.matching.find_unexpected(&pattern) {
            self.requests.note_expected(true);
            let arrival = self.matching.take_unexpected(place);
            self.consume(arrival, EXPECTED);
        } else {
            self.matching.expect(pattern, EXPECTED);
        }
    }

    /// Closes it again; its status when it is complete.
    #[inline]
    pub fn expected(&mut self) -> Option<Status> {
        self.requests.note_expected(!self.matching.unexpect());
        self.requests.expected()
    }

    #[inline]
    pub fn end_expected(&mut self) {
        self.requests.end_expected();
        self.end_ready();
    }

    /// True when the next message of the stream can only be for the receive that is about to start, or for a later one, and nothing
    /// waits to be sent. Then no receive is published, if this one is not to be either. Tells where payloads lie.
    #[inline]
    pub fn may_take_next(&self) -> Option<Source> {
        let free = self.matching.is_empty() && !self.requests.is_expected_begun() && self.stream.is_flushed();
        free.then_some(self.payload)
    }

    /// The same where other receives are open, or messages kept, none of which can be in front of it by the program's promise.
    pub fn may_take_past_others(&self, pattern: &Pattern) -> Option<Source> {
        let free = !self.requests.is_expected_begun() && self.stream.is_flushed() && self.matching.is_alone(pattern);
        free.then_some(self.payload)
    }

    /// True for a receive that is not to be published, by a call that waits for nothing else. Of a longer one that is, its memory
    /// is located then, for [`State::receive`].
    #[inline]
    pub fn takes_packets(&mut self, from: Proc, pattern: &Pattern, data: &Data) -> bool {
        self.is_short(data) || self.takes_long_packets(from, pattern, data)
    }

    fn takes_long_packets(&mut self, from: Proc, pattern: &Pattern, data: &Data) -> bool {
        // Its call waits for nothing else.
        self.starts(true);
        if from == UNKNOWN || from == self.mcm.me() {
            return false;
        }
        let mut receiving = Receiving::waiting(self, from, pattern, data);
        let plan = receiving.plan(policy::receive_waiting);
        let memory = receiving.located.or(receiving.speculative);
        let (facts, _) = receiving.known();
        if plan != RecvPlan::Publish {
            // One that is published is told of when it is posted.
            self.note_receive(from, &facts, plan);
        }
        match plan {
            RecvPlan::Await | RecvPlan::Packets => true,
            RecvPlan::Fetch => {
                self.tell_ready(from, pattern);
                true
            }
            RecvPlan::Publish => {
                self.call.located = memory;
                false
            }
        }
    }

    /// The program begins to wait for requests.
    #[inline]
    pub fn wait(&mut self) {
        self.learned.wait(self.clock);
    }

    /// The program goes on after it has waited for requests.
    #[inline]
    pub fn go_on(&mut self) {
        self.learned.go_on(self.matching.is_receiving(), self.clock);
    }

    /// True for a receive that is too short to be published.
    #[inline]
    pub fn is_short(&self, data: &Data) -> bool {
        data.len() < self.direct_from
    }

    /// True while receives are posted and no message waits for one.
    #[inline]
    pub fn is_receiving(&self) -> bool {
        self.matching.is_receiving()
    }

    /// Of a short receive that is posted, while nothing waits to be sent, the process that it names and what it asks for: the next
    /// message of the stream that it matches is for it. And whether no other is posted, and no message kept.
    #[inline]
    pub fn next_posted_fast(&self, request: u32) -> Option<(Proc, Pattern, bool)> {
        let Transfer { side: Side::Receive { place: Some(place), from, .. }, data, .. } = self.requests.get(request)
        else {
            return None;
        };
        let only = self.matching.is_only_one();
        let next = (only || self.matching.is_first(*place)) && self.is_short(data) && self.stream.is_flushed();
        next.then(|| (*from, self.matching.posted_pattern(*place), only))
    }

    /// Ends a receive without its message, if no other is posted, no message is kept, nothing waits to be sent, and it is not
    /// better published.
    #[inline]
    pub fn end_only_one(&mut self, request: u32) -> bool {
        let Transfer { side: Side::Receive { place: Some(place), published, .. }, data, .. } =
            self.requests.get(request)
        else {
            return false;
        };
        let (place, published, len) = (*place, *published, data.len());
        let only = self.matching.is_only_one() && self.stream.is_flushed();
        if !only || !self.withdraw_for_packets(request, published, len) {
            return false;
        }
        self.wait();
        self.matching.withdraw(place);
        self.requests.free(request);
        self.go_on();
        true
    }

    /// Completes the receive of [`State::next_posted_fast`] with its message.
    #[inline]
    pub fn fill_posted_fast(&mut self, request: u32, from: Proc, tuple: &Tuple, payload: &[u8]) {
        if let Side::Receive { place, published, .. } = &mut self.requests.get_mut(request).side
            && let Some(place) = place.take()
        {
            let watched = published.is_watched();
            self.matching.withdraw(place);
            if watched {
                self.left(request);
            }
        }
        let transfer = self.requests.get_mut(request);
        transfer.status = transfer.data.fill(tuple.source, tuple.tag, payload, self.payload);
        transfer.done = true;
        tern_counters::received(payload.len());
        self.count_taken(from, tuple);
    }

    /// A receive that was complete when it started.
    #[inline]
    pub fn received(&mut self, status: Status) -> u32 {
        let request = self.receive_matched(Data::none());
        let transfer = self.requests.get_mut(request);
        transfer.status = status;
        transfer.done = true;
        request
    }
}
