//! The connections of one agent. It calls once more if the answer to its call has not come through, so there may be two for a
//! while, and the end of the first may be heard before the second has come or after. It serves on the one where it says that it
//! has begun.

use std::sync::Arc;
use std::time::Instant;

use crate::uplink::{CALLS_AGAIN, Line};

/// What is known of them.
#[derive(Default)]
pub(in super::super) struct Lines {
    /// Those that stand, the newest last.
    all: Vec<Arc<Line>>,
    /// Some agent has called.
    called: bool,
    /// It has begun, on the only one that is left in `all`.
    begun: bool,
    /// Until when it may call once more: its connection has ended before it had begun.
    until: Option<Instant>,
}

/// What the end of a connection means.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) enum End {
    /// The agent does not use it.
    Unused,
    /// The agent has not begun, and may call once more.
    Waits,
    /// The agent is gone, or the way to it.
    Gone,
}

impl Lines {
    /// The agent has called. False: it has begun before, on another connection.
    pub fn add(&mut self, line: Arc<Line>) -> bool {
        if self.begun {
            return false;
        }
        (self.called, self.until) = (true, None);
        self.all.push(line);
        true
    }

    /// The agent has begun, with what it was told on that connection.
    pub fn begin(&mut self, line: Arc<Line>) {
        (self.begun, self.until, self.all) = (true, None, vec![line]);
    }

    /// A connection has ended. `expected`: another call may come yet.
    pub fn end(&mut self, line: &Arc<Line>, expected: bool) -> End {
        let before = self.all.len();
        self.all.retain(|other| !Arc::ptr_eq(other, line));
        if self.all.len() == before || !self.all.is_empty() {
            return End::Unused;
        }
        if self.begun || !expected {
            return End::Gone;
        }
        self.until = Some(Instant::now() + CALLS_AGAIN);
        End::Waits
    }

    /// No call can come any more. True: one was waited for.
    pub fn give_up(&mut self) -> bool {
        self.until.take().is_some()
    }

    pub fn clear(&mut self) {
        self.all.clear();
    }

    pub fn all(&self) -> &[Arc<Line>] {
        &self.all
    }

    /// The one that the agent is told something on.
    pub fn last(&self) -> Option<&Arc<Line>> {
        self.all.last()
    }

    pub fn have_called(&self) -> bool {
        self.called
    }

    pub fn have_begun(&self) -> bool {
        self.begun
    }

    /// Until when another call is waited for.
    pub fn until(&self) -> Option<Instant> {
        self.until
    }
}

impl super::Server<'_> {
    /// A connection to an agent has ended.
    pub(super) fn lost(&mut self, number: usize, line: &Arc<Line>) {
        let ending = self.is_ending();
        let agent = &mut self.agents[number];
        let expected = agent.running && agent.ended.is_none() && !agent.done && !ending;
        match agent.lines.end(line, expected) {
            End::Gone => self.gone(number),
            End::Waits | End::Unused => {}
        }
    }

    /// There is no connection to an agent any more, and there will be none.
    fn gone(&mut self, number: usize) {
        let agent = &self.agents[number];
        if !agent.done {
            let text = format!(
                "the connection to host {} is lost: its agent, the host or the network to it is gone",
                agent.name
            );
            match self.can_lose_hosts() {
                true => self.host_lost(number, &text),
                false => self.fail(1, &text),
            }
        }
        if self.awaited {
            self.keeper_gone(number);
        } else if self.agents[number].pid == 0 {
            // Another agent has started it.
            self.agents[number].running = false;
        }
    }

    /// No agent of that host will call any more. Its connection may have ended before it had begun.
    pub(super) fn calls_no_more(&mut self, number: usize) {
        if self.agents[number].lines.give_up() {
            self.gone(number);
        }
    }

    /// When to stop to wait for an agent that may call once more.
    pub(super) fn calls_due(&self) -> Option<Instant> {
        self.agents.iter().filter_map(|agent| agent.lines.until()).min()
    }

    pub(super) fn check_calls(&mut self, now: Instant) {
        for number in 0..self.agents.len() {
            if self.agents[number].lines.until().is_some_and(|until| now >= until) {
                self.calls_no_more(number);
            }
        }
    }
}

#[cfg(test)]
mod tests;
