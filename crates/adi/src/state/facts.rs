//! Composer: what the policy asks of a send and of a receive when it needs to know: looks at the peer, costs of the device, trials, habits.

use super::State;
use super::direct::key;
use crate::{ANY_TAG, Data, Pattern, Proc, SendMode, Tuple};
use tern_mcm::{Direct, Lending, Memory, SpeculativeAddress};
use tern_policy::{
    self as policy, Along, Copied, Facts, Locate, Look, Message, Purpose, Readiness, RecvFacts, RecvLook, Source,
    ZeroCopy, rules,
};

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
    /// Where its message lies, once that was found out, and whether that is sure.
    found: Option<(Memory, bool)>,
    speculative: Option<(Memory, bool)>,
    /// All memory from its lowest byte to its highest, once it was found out that a peer can copy from there.
    pub span: Option<Memory>,
}

impl<'a> Sending<'a> {
    pub fn new(state: &'a mut State, to: Proc, tuple: &'a Tuple, data: &'a Data) -> Sending<'a> {
        Sending { state, to, tuple, data, found: None, speculative: None, span: None }
    }

    /// That of a message that was located.
    pub fn located(state: &'a mut State, to: Proc, tuple: &'a Tuple, data: &'a Data, memory: Memory) -> Sending<'a> {
        Sending { found: Some((memory, true)), ..Sending::new(state, to, tuple, data) }
    }

    /// Where the message lies, by what was found out, and whether that is sure.
    pub fn found(&self) -> (Memory, bool) {
        self.found.unwrap_or_else(|| (self.data.memory(), true))
    }

    fn direct(&self) -> &dyn Direct {
        self.state.direct()
    }
}

impl Locate for Sending<'_> {
    fn speculate(&mut self) -> Option<bool> {
        self.speculative = self.state.speculate(self.to, self.data);
        self.speculative.map(|(_, sure)| sure)
    }

    fn take_speculative(&mut self) -> Source {
        self.found = self.speculative;
        self.source()
    }

    fn locate(&mut self, purpose: Purpose) {
        let (memory, quiet) = (self.data.memory(), self.state.requests.is_quiet(0));
        let locate_for = |purpose| self.direct().locate_for(self.to, memory, quiet, purpose);
        let memory = match purpose {
            Purpose::Unknown => self.direct().locate(self.to, memory, quiet),
            Purpose::Message => locate_for(tern_mcm::Purpose::Message),
            Purpose::Awaited => locate_for(tern_mcm::Purpose::Awaited),
            Purpose::Exchange => locate_for(tern_mcm::Purpose::Exchange),
        };
        self.found = Some((memory, true));
    }

    fn source(&mut self) -> Source {
        let (memory, sure) = self.found();
        source(&memory, sure)
    }
}

impl Look for Sending<'_> {
    fn device_copies(&mut self) -> bool {
        self.data.len() <= self.direct().copies_up_to(self.to)
    }

    fn suits_one_copy(&mut self) -> bool {
        self.data.len() >= self.state.packets_below(self.to, true)
    }

    fn finds_receive(&mut self) -> bool {
        let key = key(self.tuple.context, self.tuple.source, self.tuple.tag);
        let last = self.state.queues.last(self.to, self.tuple);
        self.direct().is_awaited(self.to, &key, last, self.data.len() as u64)
    }

    fn zero_copy(&mut self) -> ZeroCopy {
        self.state.release_unused(&self.found().0);
        self.found = Some((Memory::opaque(self.data.len()), true));
        let Data::Bytes(base, len) = *self.data else { return ZeroCopy::No };
        // SAFETY: the caller of the send keeps the buffer valid (see `Data`).
        match self.state.mcm.lending(self.to, unsafe { std::slice::from_raw_parts(base, len) }) {
            Lending::No => ZeroCopy::No,
            Lending::Saves(nanoseconds) => ZeroCopy::Saves(nanoseconds),
            Lending::Always => ZeroCopy::Always,
        }
    }

    fn waits_for_zero_copy(&mut self, saves: u32) -> bool {
        self.state.pays_to_wait(self.data.len(), saves)
    }

    fn readiness(&mut self, predicts: bool) -> Readiness {
        self.state.readiness(self.to, self.tuple, self.data.len(), predicts)
    }

    fn is_ready(&mut self) -> bool {
        self.state.is_ready(self.to, self.tuple, self.data.len())
    }

    fn suits_kernel(&mut self) -> tern_policy::Likely {
        self.state.suits_kernel(self.to, self.data.len())
    }

    fn suits_both(&mut self) -> bool {
        self.direct().pair(self.to).suits_both(self.data.len())
    }

    fn tries(&mut self, along: Along, copied: Copied) -> bool {
        let (state, len) = (&mut *self.state, self.data.len());
        // Of two that send to each other the lower one tries.
        let shown = if self.to < state.mcm.me() { state.learned.way(self.to, len) } else { None };
        let message = Message { len, along, copied, long: len > state.eager_limit(self.to), shown };
        state.learned.one_copy(&message, state.clock)
    }

    fn takes_packets(&mut self) -> bool {
        let len = self.data.len();
        self.state.suits_packets(self.to, len, false) && self.direct().is_waiting(self.to, len)
    }

    fn irregular_blocks(&mut self) -> Option<u64> {
        self.data.irregular_blocks()
    }

    fn in_segments(&mut self) -> Option<Copied> {
        let quiet = self.state.requests.is_quiet(0);
        let locate = |span: Memory| self.direct().locate_span(self.to, &span, self.data.len() as u64, quiet);
        self.span = self.data.span().and_then(locate);
        self.span.map(|span| self.direct().pair(self.to).in_segments(span.place != 0))
    }
}

/// A receive that is about to start.
pub(super) struct Receiving<'a> {
    state: &'a mut State,
    /// None by a call that waits for it alone.
    request: Option<u32>,
    from: Proc,
    pattern: &'a Pattern,
    data: Data,
    /// Its memory, once that was located.
    pub located: Option<Memory>,
    /// Its memory at its speculative address, if that is sure.
    pub speculative: Option<Memory>,
}

impl<'a> Receiving<'a> {
    /// A receive that is a request, and whose memory may have been located.
    pub fn posted(
        state: &'a mut State, request: u32, from: Proc, pattern: &'a Pattern, located: Option<Memory>,
    ) -> Receiving<'a> {
        let data = state.requests.get(request).data.clone();
        Receiving { state, request: Some(request), from, pattern, data, located, speculative: None }
    }

    /// A receive that its call waits for, and for nothing else.
    pub fn waiting(state: &'a mut State, from: Proc, pattern: &'a Pattern, data: &Data) -> Receiving<'a> {
        Receiving { state, request: None, from, pattern, data: data.clone(), located: None, speculative: None }
    }

    fn locate(&mut self) -> Memory {
        if let Some(request) = self.request {
            return self.state.locate_receive(request, self.from);
        }
        let memory = self.state.direct().locate(self.from, self.data.memory(), self.state.requests.is_quiet(0));
        self.state.release_unused(&memory);
        memory
    }
}

impl RecvLook for Receiving<'_> {
    fn exchanges(&mut self, at_once: bool) -> bool {
        if at_once {
            return self.state.learned.habits.exchanges();
        }
        self.state.exchanges_with(self.from, self.data.len())
    }

    fn packets_were_chosen(&mut self) -> bool {
        self.state.learned.chooses_packets(self.from, self.data.len())
    }

    fn suits_packets(&mut self, shared: bool) -> bool {
        self.state.suits_packets(self.from, self.data.len(), shared)
    }

    fn suits_fetching(&mut self, sure: bool) -> bool {
        self.pattern.tag != ANY_TAG
            && self.data.memory().is_dense()
            && self.state.suits_fetching(self.from, self.data.len(), sure)
    }

    fn suits_kernel(&mut self) -> bool {
        self.state.suits_kernel(self.from, self.data.len()) != policy::Likely::No
    }

    fn speculative(&mut self) -> Option<bool> {
        let memory = self.data.memory();
        let SpeculativeAddress { place, sure } =
            memory.is_dense().then(|| self.state.direct().speculative_address(&memory)).flatten()?;
        self.speculative = sure.then_some(Memory { place, ..memory });
        Some(sure)
    }

    fn publishes_again(&mut self) -> bool {
        self.state.publishes_again(self.from)
    }

    fn is_shared(&mut self) -> bool {
        let memory = match self.located {
            Some(memory) => memory,
            None => self.locate(),
        };
        self.located = Some(memory);
        memory.place != 0
    }

    fn at_once_applies(&mut self) -> bool {
        rules::AT_ONCE.applies()
    }
}

impl State {
    /// What is known of a send of `len` bytes; `waits`: see [`State::send`].
    pub(super) fn send_facts(&self, to: Proc, len: usize, mode: SendMode, waits: bool) -> Facts {
        let pattern = match len < self.direct_from {
            true => policy::Pattern::Plain,
            false => self.pattern(to, len, waits),
        };
        Facts {
            size: len,
            direct_from: self.direct_from,
            eager_limit: self.eager_limit(to),
            waiting_limit: self.waiting_limit(to),
            zero_copy_from: self.lends_from,
            caller: self.call.caller(waits),
            pattern,
            standard: mode == SendMode::Standard,
            full: self.stream.is_full(to),
        }
    }

    /// What is known of a receive of `len` bytes from `from`, which the program has posted just now.
    pub(super) fn receive_facts(&mut self, from: Proc, len: usize) -> RecvFacts {
        let (near, call_exchanges) = (self.direct().shares_with(from), self.call_exchanges(from, len));
        let habitual = near && !call_exchanges && !self.call.waits;
        RecvFacts {
            size: len,
            eager_limit: self.eager_limit(from),
            near,
            call_waits: self.call.waits,
            call_exchanges,
            at_once: habitual && self.learned.habits.post(self.clock),
            alone: habitual
                && self.learned.habits.waits_for_one()
                && self.matching.is_empty()
                && self.stream.is_flushed(),
        }
    }
}
