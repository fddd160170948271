//! What the policy asks of a send and of a receive when it needs to know: looks at the peer, costs of the device, trials, habits.

use super::State;
use super::course::Course;
use crate::{Data, Pattern, Proc, SendMode, Tuple};
use tern_mcm::{Likely, Memory};
use tern_policy::{Along, Copied, Facts, Hope, Look, Message, RecvFacts, RecvLook, Source, rules};

/// Where the bytes of a message lie, for the policy. `sure`: that is known, else presumed.
fn source(memory: &Memory, sure: bool) -> Source {
    let dense = memory.is_dense();
    match memory {
        _ if memory.is_opaque() => Source::Opaque,
        Memory { key: 1.., .. } => Source::Registered,
        Memory { place: 1.., .. } => Source::Shared { dense, sure },
        _ => Source::Private { dense },
    }
}

/// A send that is about to start.
pub(super) struct Sending<'a> {
    pub state: &'a mut State,
    pub to: Proc,
    pub tuple: &'a Tuple,
    /// Bytes of its message.
    pub len: usize,
}

impl Look for Sending<'_> {
    fn hope(&mut self, trusts: bool) -> Hope {
        self.state.will_be_hoped(self.to, self.tuple, self.len, trusts)
    }

    fn is_hoped(&mut self) -> bool {
        self.state.is_hoped(self.to, self.tuple, self.len)
    }

    fn suits_kernel(&mut self) -> tern_policy::Likely {
        match self.state.direct().suits_kernel(self.to, self.len) {
            Likely::No => tern_policy::Likely::No,
            Likely::Perhaps => tern_policy::Likely::Perhaps,
            Likely::Yes => tern_policy::Likely::Yes,
        }
    }

    fn suits_both(&mut self) -> bool {
        self.state.direct().suits_both(self.to, self.len)
    }

    fn tries(&mut self, along: Along, copied: Copied) -> bool {
        let (state, len) = (&mut *self.state, self.len);
        // Of two that send to each other the lower one tries.
        let shown = if self.to < state.mcm.me() { state.ways[self.to as usize].of(len) } else { None };
        let message = Message { len, along, copied, long: len > state.eager_limit(self.to), shown };
        state.copies.asks(&message, state.clock)
    }

    fn takes_packets(&mut self) -> bool {
        self.state.suits_packets(self.to, self.len, false) && self.state.direct().is_waiting(self.to, self.len)
    }

    fn waits_for_sends(&mut self, one: bool) -> bool {
        if one { self.state.habits.waits_for_one_send() } else { self.state.habits.waits_for_sends() }
    }
}

/// A receive that is about to be posted.
pub(super) struct Receiving<'a> {
    pub state: &'a mut State,
    pub request: u32,
    pub from: Proc,
    pub pattern: &'a Pattern,
    /// Its memory, once that was found out.
    pub located: Option<Memory>,
}

impl Receiving<'_> {
    fn data(&self) -> &Data {
        &self.state.transfers.get(self.request).data
    }
}

impl RecvLook for Receiving<'_> {
    fn exchanges(&mut self, at_once: bool) -> bool {
        if at_once {
            return self.state.habits.exchanges();
        }
        self.state.exchanges_with(self.from, self.data().len())
    }

    fn packets_were_chosen(&mut self) -> bool {
        self.state.chooses_packets(self.from, self.data().len())
    }

    fn suits_packets(&mut self, shared: bool) -> bool {
        self.state.suits_packets(self.from, self.data().len(), shared)
    }

    fn may_fetch(&mut self) -> bool {
        let data = self.data().clone();
        self.state.had_better_fetch(self.from, self.pattern, &data)
    }

    fn is_shared(&mut self) -> bool {
        let memory = match self.located {
            Some(memory) => memory,
            None => self.state.locate_receive(self.request, self.from),
        };
        self.located = Some(memory);
        memory.place != 0
    }

    fn at_once_applies(&mut self) -> bool {
        rules::AT_ONCE.applies()
    }
}

impl State {
    /// What is known of a send whose message lies in `memory`. `hoped`: a look has shown that the receiver waits for it.
    pub(super) fn send_facts(
        &self, to: Proc, memory: &Memory, sure: bool, hoped: bool, course: Course, mode: SendMode,
    ) -> Facts {
        Facts {
            size: memory.len as usize,
            eager_limit: self.eager_limit(to),
            caller: course.caller,
            pattern: course.pattern,
            standard: mode == SendMode::Standard,
            source: source(memory, sure),
            hoped,
            full: self.is_full(to),
        }
    }

    /// What is known of a receive of `len` bytes from `from`, which the program has posted just now.
    pub(super) fn receive_facts(&mut self, from: Proc, len: usize) -> RecvFacts {
        let (near, call_exchanges) = (self.direct().shares_with(from), self.call_exchanges(from, len));
        let habitual = near && !call_exchanges && !self.waits;
        RecvFacts {
            size: len,
            eager_limit: self.eager_limit(from),
            near,
            call_waits: self.waits,
            call_exchanges,
            at_once: habitual && self.habits.post(self.clock),
            alone: habitual && self.habits.waits_for_one() && self.matching.is_empty() && self.is_flushed(),
        }
    }
}
