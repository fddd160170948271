//! Receives: started, waited for, found by a probe.

use crate::packet::Packet;
use crate::state::State;
use crate::*;
use tern_copy::Source;
use tern_mcm::{Sink, Step, lock};
use tern_policy::cuts::PIECE;

/// Looks at the rings between two looks at everything, by a call that waits for a message.
const LOOKS: u32 = 16;

/// The same where it waits for others as well, whose messages may come before.
const LOOKS_AMONG: u32 = 4;

/// Packets for earlier receives that the start of a receive takes at most.
const AT_ONCE: u32 = 4;

impl Adi {
    /// Starts a receive. `from` is the process that the pattern's source stands for, or [`UNKNOWN`].
    #[inline]
    pub fn irecv(&self, from: Proc, pattern: Pattern, data: Data) -> Request {
        Request(self.receive(&mut self.state.borrow_mut(), from, pattern, data))
    }

    /// As [`Adi::irecv`], for a caller that keeps the status of a message that is there already.
    #[inline]
    pub fn start_receive(&self, from: Proc, pattern: Pattern, data: &Data) -> Received<Request> {
        self.start_known(from, pattern, data, |_, request| Request(request))
    }

    /// The same, with what [`Adi::name`] does.
    #[inline]
    pub fn start_named_receive(&self, from: Proc, pattern: Pattern, data: &Data, owner: Owner) -> Received<Name> {
        self.start_known(from, pattern, data, |state, request| state.requests.name(request, owner))
    }

    /// Starts a receive; `known` says by what it is known if it completes later.
    #[inline(always)]
    fn start_known<T>(
        &self, from: Proc, pattern: Pattern, data: &Data, known: impl FnOnce(&mut State, u32) -> T,
    ) -> Received<T> {
        let mut state = self.state.borrow_mut();
        match self.start_receive_fast(&mut state, from, &pattern, data) {
            Some(status) => Received::Done(status),
            None => {
                let request = state.receive(from, pattern.fresh(), data.clone());
                Received::Pending(known(&mut state, request))
            }
        }
    }

    /// A request for a receive that was complete when it started.
    #[cold]
    pub fn received(&self, status: Status) -> Request {
        Request(self.state.borrow_mut().received(status))
    }

    /// Starts a receive.
    #[inline]
    fn receive(&self, state: &mut State, from: Proc, pattern: Pattern, data: Data) -> u32 {
        match self.start_receive_fast(state, from, &pattern, &data) {
            Some(status) => state.received(status),
            None => state.receive(from, pattern, data),
        }
    }

    /// The short path of a receive that starts: a short message that is there, as the next one from its sender, goes straight into its
    /// place.
    #[inline(always)]
    fn start_receive_fast(&self, state: &mut State, from: Proc, pattern: &Pattern, data: &Data) -> Option<Status> {
        if !state.learned.order.receive() || !self.is_peer(from) || !state.is_short(data) || lock::enabled() {
            return None;
        }
        // Packets for receives before this one would be in the way.
        for _ in 0..AT_ONCE {
            if !state.is_receiving()
                || !self.mcm.take_next(from, 1, |header, payload| {
                    state.packet(from, header, payload);
                    true
                })
            {
                break;
            }
        }
        self.take_fast(state, from, pattern, data, 1)
    }

    /// Receives and returns when the data is there; makes progress meanwhile. `from` is as for
    /// [`Adi::irecv`].
    ///
    /// The receive is not listed. A message that is the next thing to come from `from` goes straight
    /// into its place; to whatever else comes the receive is open while that is looked at.
    #[inline]
    pub fn recv(&self, from: Proc, pattern: Pattern, data: Data) -> Status {
        let packets = !lock::enabled() && self.state.borrow_mut().takes_packets(from, &pattern, &data);
        self.recv_by(from, pattern, data, packets)
    }

    /// The same for a receive that [`Adi::end_only_one`] has ended.
    pub fn recv_again(&self, from: Proc, pattern: Pattern, data: Data) -> Status {
        let mut state = self.state.borrow_mut();
        if !state.is_short(&data) {
            state.get_ready(from, &pattern, &data);
        }
        drop(state);
        self.recv_by(from, pattern, data, true)
    }

    /// Sends and receives, and returns when the data is there; the send may go on. For two processes of this node other than this
    /// one ([`Adi::is_near`]), in a process whose calls need no lock.
    pub fn exchange(
        &self, to: Proc, tuple: Tuple, out: Data, from: Proc, pattern: Pattern, into: Data,
    ) -> (Sent, Status) {
        self.will_exchange();
        let sent = self.isend(to, tuple, out, SendMode::Standard);
        let status = self.recv_by(from, pattern, into, true);
        self.state.borrow_mut().call.end();
        // A message that was there has not been waited for.
        self.mcm.set_waiting(false);
        (sent, status)
    }

    /// A process of this node, and not this one.
    pub fn is_near(&self, process: Proc) -> bool {
        self.is_peer(process) && self.mcm.direct().is_some_and(|direct| direct.pair(process).near)
    }

    /// `packets`: as [`State::takes_packets`] says.
    #[inline]
    fn recv_by(&self, from: Proc, pattern: Pattern, data: Data, packets: bool) -> Status {
        if packets {
            // Else its sender writes to it.
            data.expect_alone();
        }
        let long = packets && data.len() > PIECE;
        if long {
            // The longest go without asking if their sender sees this process wait.
            self.mcm.set_waiting(true);
        }
        match packets.then(|| self.recv_fast(from, &pattern, &data)).flatten() {
            Some(status) => {
                if long {
                    self.mcm.set_waiting(false);
                    self.state.borrow_mut().end_ready();
                }
                status
            }
            None => self.recv_general(from, pattern, data, packets),
        }
    }

    /// The short path of [`Adi::recv`]: waits a little for the message, if that may be the next thing to come from `from`, and
    /// does nothing else meanwhile: so only if there is nothing else to do.
    #[inline]
    fn recv_fast(&self, from: Proc, pattern: &Pattern, data: &Data) -> Option<Status> {
        if self.has_hooks.get() {
            return None;
        }
        let mut state = self.state.borrow_mut();
        if from == UNKNOWN {
            if state.may_take_next().is_some() {
                self.mcm.glance(LOOKS);
            }
            return None;
        }
        self.take_fast(&mut state, from, pattern, data, LOOKS)
    }

    /// The same for a receive that others are open beside, which cannot be in front of it by the program's promise ([`Assertions`]).
    fn recv_past_others(&self, from: Proc, pattern: &Pattern, data: &Data) -> Option<Status> {
        if self.has_hooks.get() || lock::enabled() || !self.is_peer(from) {
            return None;
        }
        let mut state = self.state.borrow_mut();
        let lies = state.may_take_past_others(pattern)?;
        let status = self.take_next(&mut state, from, pattern, data, (LOOKS, lies))?;
        tern_counters::RECEIVED_PAST.add(1);
        Some(status)
    }

    /// Its general twin: the receive is open to what comes meanwhile, or published.
    #[inline(never)]
    fn recv_general(&self, from: Proc, pattern: Pattern, data: Data, packets: bool) -> Status {
        // With several threads there may be several calls that wait.
        if !packets || !self.state.borrow_mut().expect(from, pattern.context, data.clone()) {
            self.state.borrow_mut().end_ready();
            self.will_wait();
            // Before it is published: its sender looks at once whether this process would help.
            self.mcm.set_waiting(true);
            let request = self.irecv(from, pattern, data);
            let mut ends = || self.is_done(request) || self.is_interrupted(request);
            self.wait_until_telling(&mut ends, &|| Awaited::Transfers(vec![request]));
            if !self.is_done(request) {
                self.end_interrupted(request);
            }
            return self.take(request);
        }
        let mut status = self.recv_past_others(from, &pattern, &data);
        if let Some(status) = status {
            self.state.borrow_mut().end_expected();
            return status;
        }
        let bytes = data.len() as u64;
        let awaited = |idle| self.tell(idle, &|| Awaited::Message { from, pattern, bytes: Some(bytes) });
        let look = || {
            self.state.borrow_mut().open(pattern);
            let moved = self.progress();
            status = self.state.borrow_mut().expected();
            if status.is_none() && !moved {
                status = self.recv_fast(from, &pattern, &data);
                status = status.or_else(|| self.recv_past_others(from, &pattern, &data));
            }
            match status {
                Some(_) => Step::Done,
                None if moved || self.help() => Step::Moved,
                None => Step::Idle,
            }
        };
        self.mcm.wait_telling(look, &awaited, &|mcm| from == UNKNOWN || mcm.shares_core(from));
        self.state.borrow_mut().end_expected();
        status.expect("the receive is complete")
    }

    /// A process whose messages come through a device: known, and not this one.
    #[inline]
    fn is_peer(&self, from: Proc) -> bool {
        from != UNKNOWN && from != self.mcm.me()
    }

    /// What both short paths of receives end with: takes the next packet from `from`, looking `looks` times for it, if it is the message of a short
    /// receive and no other receive is in front.
    #[inline]
    fn take_fast(&self, state: &mut State, from: Proc, pattern: &Pattern, data: &Data, looks: u32) -> Option<Status> {
        let lies = state.may_take_next()?;
        if !self.is_peer(from) {
            return None;
        }
        self.take_next(state, from, pattern, data, (looks, lies))
    }

    /// Takes the next packet from `from`, looking `looks` times for it, if it is the message of this receive, which nothing is in front of.
    #[inline(always)]
    fn take_next(
        &self, state: &mut State, from: Proc, pattern: &Pattern, data: &Data, (looks, lies): (u32, Source),
    ) -> Option<Status> {
        let (mut status, mut preferred) = (None, false);
        self.mcm.take_next(from, looks, |header, payload| {
            let Some(tag) = Packet::wanted(header, pattern, payload.len()) else { return false };
            status = Some(data.fill(pattern.source, tag, payload, lies));
            preferred = Packet::is_preferred(header);
            tern_counters::received(payload.len());
            true
        });
        if let Some(Status { source, tag, bytes, .. }) = status {
            state.count_taken(from, &Tuple { context: pattern.context, source, tag });
            state.note_packets(from, bytes, preferred);
        }
        status
    }

    /// Ends a receive that no message has come for and that packets are better for, if it is the only one: its caller then
    /// goes on by [`Adi::recv_again`], which has less to do when the message is there. False when other receives or messages
    /// are in the way, and then nothing has happened.
    #[inline]
    pub fn end_only_one(&self, request: Request) -> bool {
        !lock::enabled() && self.state.borrow_mut().end_only_one(request.0)
    }

    /// The short path of [`Adi::wait_for`]: looks a little for the message of a posted receive, and does nothing else meanwhile: so only if there is
    /// nothing else to do. True when it has come.
    #[inline]
    pub(crate) fn wait_fast(&self, state: &mut State, request: u32) -> bool {
        if self.has_hooks.get() || lock::enabled() {
            return false;
        }
        let Some((from, pattern, only)) = state.next_posted_fast(request).filter(|&(from, ..)| self.is_peer(from))
        else {
            return false;
        };
        let mut done = false;
        let looks = if only { LOOKS } else { LOOKS_AMONG };
        self.mcm.take_next(from, looks, |header, payload| {
            let Some(tag) = Packet::wanted(header, &pattern, payload.len()) else { return false };
            if !only {
                self.mcm.expect_more(from);
            }
            let tuple = Tuple { context: pattern.context, source: pattern.source, tag };
            state.fill_posted_fast(request, from, &tuple, payload);
            done = true;
            true
        });
        done
    }

    /// The oldest message that matches and has not been received, if there is one. No progress.
    pub fn probe(&self, pattern: Pattern) -> Option<Status> {
        let mut state = self.state.borrow_mut();
        let place = state.matching.find_unexpected(&pattern)?;
        let (arrival, tuple) = state.matching.unexpected(place);
        let bytes = state.unexpected.get(arrival).size;
        Some(Status { source: tuple.source, tag: tuple.tag, bytes, ..Status::default() })
    }

    /// Takes the oldest matching message out of matching. No progress.
    pub fn matched_probe(&self, pattern: Pattern) -> Option<Message> {
        let status = self.probe(pattern)?;
        let mut state = self.state.borrow_mut();
        let place = state.matching.find_unexpected(&pattern)?;
        Some(Message { unexpected: state.matching.take_unexpected(place), status })
    }

    /// The process that has sent it.
    pub fn sender(&self, message: &Message) -> Proc {
        self.state.borrow().unexpected.get(message.unexpected).from
    }

    /// Receives a message found by [`Adi::matched_probe`].
    pub fn imrecv(&self, message: Message, data: Data) -> Request {
        let mut state = self.state.borrow_mut();
        let request = state.receive_matched(data);
        state.consume(message.unexpected, request);
        Request(request)
    }
}
