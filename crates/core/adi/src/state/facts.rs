//! Composer: the steps that the policy has a send or a receive take before it says how they go: looks at the peer, questions to the device, trials.

use super::State;
use crate::{ANY_TAG, Data, Pattern, Proc, SendMode, Tuple};
use tern_counters as counters;
use tern_mcm::{Found, Key, Lending, Memory, PeerState, SpeculativeAddress, Use, way_into};
use tern_policy::pair::Pair;
use tern_policy::transfer::ChosenBy;
use tern_policy::{
    self as policy, Address, Along, Copied, CopyMode, Decision, Facts, Known, Message, Purpose, RecvFacts, RecvKnown,
    RecvOutcome, RecvPlan, RecvStep, Source, Step, Turn, ZeroCopy,
};

/// A tuple, as devices have it.
pub(super) fn key(context: u32, source: i32, tag: i32) -> Key {
    Key { context, source, tag }
}

/// Where the bytes of a message lie, for the policy. `sure`: that is known, else speculative.
pub(super) fn source(memory: &Memory, sure: bool) -> Source {
    let dense = memory.is_dense();
    match memory {
        _ if memory.is_region() => Source::Segments,
        _ if memory.is_opaque() => Source::Opaque,
        Memory { key: 1.., .. } => Source::Registered,
        Memory { place: 1.., .. } => Source::Shared { dense, sure },
        _ => Source::Private { dense },
    }
}

/// A send that is about to start.
pub(super) struct Sending<'a> {
    state: &'a mut State,
    to: Proc,
    tuple: &'a Tuple,
    data: &'a Data,
    facts: &'a Facts,
    known: Known,
    /// Where its message lies, by its shape or as it was located.
    memory: Memory,
    speculative: Option<Memory>,
    /// All memory from its lowest byte to its highest, once it was found out that a peer can copy from there.
    span: Option<Memory>,
    /// The published receive that a look has found.
    found: Option<Found>,
}

/// How a message goes, and where it lies.
pub(super) struct Planned {
    pub decision: Decision,
    pub memory: Memory,
    /// Of a region of segments.
    pub span: Option<Memory>,
    /// The published receive that it goes into, where that was looked for.
    pub found: Option<Found>,
    /// What its trial has told it.
    pub turn: Option<Turn>,
    /// It goes into no published receive, though it was to go into one.
    pub passes_by: bool,
}

impl<'a> Sending<'a> {
    /// Of a message that lies in `memory`, as far as that is known.
    #[inline(always)]
    pub fn new(
        state: &'a mut State, to: Proc, tuple: &'a Tuple, data: &'a Data, facts: &'a Facts, memory: Memory,
    ) -> Sending<'a> {
        let known = Known::new(source(&memory, true));
        Sending { state, to, tuple, data, facts, known, memory, speculative: None, span: None, found: None }
    }

    /// Of a message whose published receive has turned out to be gone, which was planned so before.
    pub fn aside(
        state: &'a mut State, to: Proc, tuple: &'a Tuple, data: &'a Data, facts: &'a Facts, planned: &Planned,
    ) -> Sending<'a> {
        let known = Known::aside(source(&planned.memory, true), planned.turn);
        Sending { known, ..Sending::new(state, to, tuple, data, facts, planned.memory) }
    }

    /// Takes the steps that the policy tells, until it tells how the message goes.
    #[inline]
    pub fn plan(&mut self) -> Planned {
        loop {
            match policy::send(self.facts, &self.known) {
                Ok(decision) => {
                    let memory = match decision.address {
                        Address::Speculative { .. } => self.speculative.unwrap_or(self.memory),
                        Address::Located => self.memory,
                    };
                    let Known { turn, passes_by, .. } = self.known;
                    return Planned { decision, memory, span: self.span, found: self.found, turn, passes_by };
                }
                Err(step) => self.take(step),
            }
        }
    }

    #[inline]
    fn take(&mut self, step: Step) {
        let (to, tuple, len) = (self.to, self.tuple, self.facts.size);
        match step {
            Step::Speculate => {
                let found = self.facts.is_fetched().then(|| self.state.speculate(self.data)).flatten();
                self.speculative = found.map(|(memory, _)| memory);
                self.known.speculative = Some(found.map(|(_, sure)| sure));
            }
            Step::Locate(purpose) => self.locate(purpose),
            Step::LocateSegments => self.known.segments = Some(self.locate_segments()),
            Step::LookPublished => {
                self.found = self.state.look_published(to, tuple, len as u64);
                self.known.published = Some(self.found.map(|found| found.receive));
            }
            Step::Choose(mode) => self.choose(mode),
            Step::PassBy => self.known = Known::aside(self.known.source, self.known.turn),
            Step::LookReady { predicts } => {
                self.known.readiness = Some(self.state.readiness(to, tuple, self.facts.is_fetched(), predicts));
            }
            Step::PeekReady => self.known.ready = Some(self.state.is_ready(to, tuple, self.facts.is_fetched())),
            Step::LookWaiting => self.known.waiting = Some(self.state.direct().peer_is(to, PeerState::Waiting(len))),
            Step::Try(along, copied) => {
                // A message has one turn: of what it turned out to be last.
                let turn = self.state.turn(to, len, along, copied);
                self.known.turn.replace(turn).iter().for_each(|other| self.state.learned.give_back(other));
            }
            Step::AskZeroCopy => self.known.zero_copy = Some(self.ask_zero_copy()),
            Step::TryLending(saves) => self.known.lends = Some(self.state.pays_to_wait(len, saves)),
        }
    }

    /// Has the device state the facts of the copy, and the policy choose the way by them.
    fn choose(&mut self, mode: CopyMode) {
        let (state, waits) = (&*self.state, self.facts.caller.waits());
        let found = self.found.as_ref().expect("a receive was found");
        let of = (waits, state.then(waits), mode);
        let chosen =
            way_into(state.direct(), state.chooser.as_deref(), self.to, (&self.memory, found), of, state.clock);
        self.known.delivery = Some(chosen);
        // A trial between shared memories says nothing of others, and the message nothing of the trial.
        if let (Some(turn), true) = (&self.known.turn, chosen.is_some_and(|chosen| chosen.by != ChosenBy::Plan)) {
            self.state.learned.give_back(turn);
        }
    }

    fn locate(&mut self, purpose: Purpose) {
        let (memory, quiet) = (self.data.memory(), self.state.requests.is_quiet(0));
        self.memory = self.state.direct().locate(self.to, memory, Use { purpose, bytes: memory.len, quiet });
        (self.known.source, self.known.located) = (source(&self.memory, true), true);
    }

    fn locate_segments(&mut self) -> Option<Copied> {
        let span = self.data.span().filter(|_| self.facts.pair.near)?;
        let (bytes, quiet) = (self.data.len() as u64, self.state.requests.is_quiet(0));
        let used = Use { purpose: Purpose::Message, bytes, quiet };
        let located = self.state.direct().locate(self.to, span, used);
        let copied = self.facts.pair.in_segments(located.place != 0);
        self.span = copied.map(|_| located);
        copied
    }

    fn ask_zero_copy(&mut self) -> ZeroCopy {
        self.state.release_unused(&self.memory);
        self.memory = Memory::opaque(self.data.len());
        let Data::Bytes(base, len) = *self.data else { return ZeroCopy::No };
        // SAFETY: the caller of the send keeps the buffer valid (see `Data`).
        match self.state.mcm.lending(self.to, unsafe { std::slice::from_raw_parts(base, len) }) {
            Lending::No => ZeroCopy::No,
            Lending::Saves(nanoseconds) => ZeroCopy::Saves(nanoseconds),
            Lending::Always => ZeroCopy::Always,
        }
    }
}

/// A receive that is about to start.
pub(super) struct Receiving<'a> {
    state: &'a mut State,
    /// None by a call that waits for it alone.
    request: Option<u32>,
    from: Proc,
    data: Data,
    facts: RecvFacts,
    known: RecvKnown,
    /// Its memory, once that was located.
    pub located: Option<Memory>,
    /// Its memory at its speculative address, if that is sure.
    pub speculative: Option<Memory>,
}

impl<'a> Receiving<'a> {
    /// A receive that is a request, and whose memory may have been located.
    pub fn posted(
        state: &'a mut State, request: u32, from: Proc, pattern: &Pattern, located: Option<Memory>,
    ) -> Receiving<'a> {
        let data = state.requests.get(request).data.clone();
        let facts = state.receive_facts(from, pattern, &data);
        let known = RecvKnown { shared: located.map(|memory| memory.place != 0), ..RecvKnown::default() };
        Receiving { state, request: Some(request), from, data, facts, known, located, speculative: None }
    }

    /// What is known of it, to go on with it later.
    pub fn known(&self) -> (RecvFacts, RecvKnown) {
        (self.facts, self.known)
    }

    /// A receive of which so much is known.
    pub fn resumed(
        state: &'a mut State, request: u32, from: Proc, (facts, known): (RecvFacts, RecvKnown),
    ) -> Receiving<'a> {
        let data = state.requests.get(request).data.clone();
        Receiving { state, request: Some(request), from, data, facts, known, located: None, speculative: None }
    }

    /// A receive that its call waits for, and for nothing else.
    pub fn waiting(state: &'a mut State, from: Proc, pattern: &Pattern, data: &Data) -> Receiving<'a> {
        let facts = state.receive_facts_alone(from, pattern, data);
        let (data, known) = (data.clone(), RecvKnown::default());
        Receiving { state, request: None, from, data, facts, known, located: None, speculative: None }
    }

    /// Takes the steps that `next` tells, until it tells how the receive goes.
    #[inline]
    pub fn plan(&mut self, next: impl Fn(&RecvFacts, &RecvKnown) -> RecvOutcome<RecvPlan>) -> RecvPlan {
        loop {
            match next(&self.facts, &self.known) {
                Err(RecvStep::Speculate) => self.known.speculative = Some(self.speculate()),
                Err(RecvStep::Locate) => self.locate(),
                Ok(plan) => return plan,
            }
        }
    }

    fn locate(&mut self) {
        let memory = match self.request {
            Some(request) => self.state.locate_receive(request, self.from),
            None => {
                let (memory, quiet) = (self.data.memory(), self.state.requests.is_quiet(0));
                let used = Use { purpose: Purpose::Message, bytes: memory.len, quiet };
                let memory = self.state.direct().locate(self.from, memory, used);
                self.state.release_unused(&memory);
                memory
            }
        };
        self.located = Some(memory);
        self.known.shared = Some(memory.place != 0);
    }

    fn speculate(&mut self) -> Option<bool> {
        let memory = self.data.memory();
        let SpeculativeAddress { place, sure } =
            memory.is_dense().then(|| self.state.direct().speculative_address(&memory)).flatten()?;
        self.speculative = sure.then_some(Memory { place, ..memory });
        Some(sure)
    }
}

impl State {
    /// What is known of a send of `len` bytes; `waits`: see [`State::send`].
    pub(super) fn send_facts(&self, to: Proc, data: &Data, mode: SendMode, waits: bool) -> Facts {
        let len = data.len();
        // Shorter ones ask nothing of the device that reaches memory, which may not be there.
        let long = len >= self.direct_from;
        let pair = if long { self.direct().pair(to) } else { Pair::default() };
        Facts {
            size: len,
            pair,
            irregular_blocks: if long { data.irregular_blocks() } else { None },
            direct_from: self.direct_from,
            eager_limit: self.eager_limit(to),
            waiting_limit: self.waiting_limit_by(to, || pair.window),
            zero_copy_from: self.lends_from,
            caller: self.call.caller(waits),
            habit: if long { self.habit(to, &pair, len, waits) } else { policy::Habit::Plain },
            standard: mode == SendMode::Standard,
            full: self.stream.is_full(to),
        }
    }

    /// What is known of a receive from `from` that its call waits for, and for nothing else.
    fn receive_facts_alone(&self, from: Proc, pattern: &Pattern, data: &Data) -> RecvFacts {
        let pair = self.direct().pair(from);
        RecvFacts {
            size: data.len(),
            pair,
            eager_limit: self.eager_limit(from),
            waiting_limit: self.waiting_limit_by(from, || pair.window),
            near: pair.near,
            fetchable: pattern.tag != ANY_TAG && data.memory().is_dense(),
            call_waits: true,
            call_exchanges: false,
            at_once: false,
            alone: false,
            exchanges: false,
            exchanges_at_once: false,
        }
    }

    /// What is known of a receive from `from` that the program has posted just now.
    fn receive_facts(&mut self, from: Proc, pattern: &Pattern, data: &Data) -> RecvFacts {
        let (alone, len) = (self.receive_facts_alone(from, pattern, data), data.len());
        let (call_waits, call_exchanges) = (self.call.waits, self.call_exchanges(from, len));
        let habitual = alone.near && !call_exchanges && !call_waits;
        let at_once = habitual && self.learned.habits.post(self.clock);
        RecvFacts {
            call_waits,
            call_exchanges,
            at_once,
            alone: habitual
                && self.learned.habits.waits_for_one()
                && self.matching.is_empty()
                && self.stream.is_flushed(),
            exchanges: habitual && len <= alone.eager_limit && self.exchanges_with(from, len),
            exchanges_at_once: at_once && len > alone.eager_limit && self.learned.habits.exchanges(),
            ..alone
        }
    }

    /// The published receive that a message of `len` bytes may go into. Where the program promises that messages may overtake each other, that is
    /// also one that an earlier message on the stream could take; but only where a claim is one step that both processes see.
    fn look_published(&self, to: Proc, tuple: &Tuple, len: u64) -> Option<Found> {
        let key = key(tuple.context, tuple.source, tuple.tag);
        let found = self.direct().find_published(to, &key, self.queues.last(to, tuple), len);
        let overtakes = found.is_none() && tuple.tag >= 0 && self.matching.asserted(tuple.context).allow_overtaking;
        if !overtakes || !self.direct().pair(to).near {
            return found;
        }
        let found = self.direct().find_published(to, &key, self.queues.long_taken(to), len);
        found.inspect(|_| counters::SENT_OVERTAKING.add(1))
    }

    /// What its trial tells a message to `to`: whether one copy is the way.
    fn turn(&mut self, to: Proc, len: usize, along: Along, copied: Copied) -> Turn {
        let (shown, peer_tries) = (self.learned.way(to, len), to < self.mcm.me());
        let message = Message { len, along, copied, long: len > self.eager_limit(to), shown, peer_tries };
        self.learned.turn(&message, self.clock)
    }
}
